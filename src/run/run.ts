import type { Config } from '../config/schema.ts';
import { errorText, LabError } from '../domain/error.ts';
import { episodeId } from '../domain/id.ts';
import type { KnobName } from '../domain/knob.ts';
import type { Evaluation, KnobChange, RunManifest, RunState, RunStatus } from '../domain/run.ts';
import type { Stuck } from '../protocol/lifeline.ts';
import type { UpdateMetrics } from '../protocol/trainer.ts';
import type { RunStore } from '../store/index-writer.ts';
import type { RunPaths } from '../store/run-directory.ts';
import { type Checkpoint, snapshotOf } from './checkpoint.ts';
import { CheckpointKeeper } from './checkpoint-keeper.ts';
import { trainerHost, trainerSettings, workerSettings } from './child-settings.ts';
import { Dispatcher } from './dispatcher.ts';
import { EpisodeIntake, type ReceivedEpisode } from './episode-intake.ts';
import { activityOf, mayDispatch, mayUpdate, mustHold, type Situation } from './flow.ts';
import { Journal } from './journal.ts';
import { stuckEpisode } from './lost-episode.ts';
import { Progress } from './progress.ts';
import { SampleQueue } from './sample-queue.ts';
import { identity, limits } from './status.ts';
import { TrainerLink } from './trainer-link.ts';
import { VoidBreaker } from './void-breaker.ts';
import { WorkerPool } from './worker-pool.ts';

export interface RunOptions {
  readonly config: Config;
  readonly manifest: RunManifest;
  readonly paths: RunPaths;
  readonly store: RunStore;
  /** Where to go on from; null for a run that begins. */
  readonly checkpoint: Checkpoint | null;
  readonly log: (line: string) => void;
}

const TICK_MS = 200;
/** How long children may take to end by themselves before their process groups are killed. */
const CHILD_GRACE_MS = 3000;
/** How long an ending run waits for an update in progress. */
const UPDATE_GRACE_MS = 15_000;
/** Rejected updates in a row after which the run waits for somebody. */
const MAX_REJECTED = 3;

/**
 * The core of the run process: hands out tasks, takes episodes in, has the trainer update, spreads weights, evaluates,
 * writes checkpoints, and moves between the run's states. Everything happens on one thread, driven by messages and a
 * tick; `#advance` is the one place that decides what comes next.
 */
export class Run {
  readonly #config: Config;
  readonly #checkpoints: CheckpointKeeper;
  readonly #journal: Journal;
  readonly #checkpointed: Checkpoint | null;
  readonly #workers: WorkerPool;
  readonly #trainer: TrainerLink;
  readonly #dispatcher: Dispatcher;
  readonly #queue = new SampleQueue();
  readonly #intake: EpisodeIntake;
  readonly #progress: Progress;
  readonly #breaker: VoidBreaker;
  readonly #done: Promise<void>;
  #resolveDone: () => void = () => undefined;
  #rejected = 0;
  #hardPaused = false;
  /** Set when the run shall end: the state that it will then have. */
  #ending: 'stopped' | 'finished' | 'failed' | null = null;
  #endingSince = 0;
  #finalEvaluationDone = false;
  #closing = false;
  #ticker: NodeJS.Timeout | null = null;

  constructor(options: RunOptions) {
    const { config, paths, store, checkpoint } = options;
    this.#config = config;
    this.#journal = new Journal(options);
    this.#breaker = new VoidBreaker(config.supervision.voidShare);
    this.#checkpointed = checkpoint;
    this.#done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    const totals = store.totals();
    this.#progress = new Progress(totals, checkpoint);
    this.#dispatcher = new Dispatcher({
      seed: config.seed,
      lastSequence: totals.lastSequence,
      curriculum: config.curriculum,
      curriculumState: checkpoint?.curriculum ?? null,
      evaluationEpisodes: config.evaluation.episodes,
    });
    this.#intake = new EpisodeIntake(store, {
      onStored: (episodes) => this.#stored(episodes),
      onFailed: (error) => this.#stall('store-failed', 'run', error.message),
    });
    this.#trainer = this.#createTrainer();
    this.#workers = this.#createWorkers();
    this.#checkpoints = new CheckpointKeeper(paths.checkpoints, config.checkpoint, {
      trainer: this.#trainer,
      dispatcher: this.#dispatcher,
      progress: this.#progress,
      journal: this.#journal,
      store,
    });
  }

  /** Resolves when the run has ended and none of its children is left. */
  get done(): Promise<void> {
    return this.#done;
  }

  start(): void {
    const { attempt } = this.#journal.manifest;
    this.#journal.event(
      'info',
      'run-started',
      'run',
      `attempt ${attempt}, from iteration ${this.#progress.iteration}`,
    );
    this.#trainer.start();
    this.#workers.start();
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
  }

  status(): RunStatus {
    return {
      ...identity(this.#journal.manifest),
      ...this.#progress.totals(),
      ...limits(this.#config),
      activity: activityOf(this.#situation()),
      envStepsPerS: this.#workers.stepsPerS(),
      queuedSteps: this.#queue.steps,
      knobs: this.#trainer.knobs,
      children: [...this.#workers.status(), this.#trainer.status()],
    };
  }

  /** Soft: what is in flight is finished, then all rest. `now`: every slot and the trainer stop where they are. */
  pause(who: string, now: boolean): void {
    this.#refuseWhenEnding();
    const { state } = this.#journal.manifest;
    if (state === 'paused' || (state === 'pausing' && !now)) return;
    this.#journal.event('info', 'pause', 'run', `${now ? 'paused at once' : 'asked to pause'} by ${who}`);
    this.#hardPaused = now;
    this.#trainer.setPaused(now);
    this.#setState('pausing', null);
    this.#advance();
  }

  resume(who: string): void {
    this.#refuseWhenEnding();
    const { state } = this.#journal.manifest;
    if (state === 'running' || state === 'starting') return;
    this.#journal.event('info', 'resume', 'run', `resumed by ${who}`);
    this.#hardPaused = false;
    this.#rejected = 0;
    this.#breaker.reset();
    this.#trainer.setPaused(false);
    this.#workers.revive();
    this.#trainer.revive();
    this.#setState(this.#ready() ? 'running' : 'starting', null);
    this.#intake.flush();
    this.#advance();
  }

  /** Begins to end the run: an update in progress is finished, a checkpoint written, every child ended. */
  stop(who: string): void {
    if (this.#ending !== null && this.#ending !== 'finished') return;
    this.#journal.event('info', 'stop', 'run', `stopped by ${who}`);
    this.#end('stopped', null);
  }

  /** Changes knobs; refuses all of them when one is out of range. Resolves when the trainer has taken them over. */
  async set(who: string, knobs: Readonly<Partial<Record<KnobName, number>>>): Promise<KnobChange[]> {
    this.#refuseWhenEnding();
    return await this.#trainer.setAll(knobs, who);
  }

  /** Writes a checkpoint of the newest good state; returns its name. */
  checkpoint(): string {
    return this.#checkpoints.write();
  }

  #createTrainer(): TrainerLink {
    return new TrainerLink({
      host: trainerHost(this.#config),
      restart: this.#config.supervision,
      settings: trainerSettings(this.#config),
      knobs: this.#config.knobs,
      snapshot: this.#checkpointed === null ? null : snapshotOf(this.#checkpointed),
      onReady: ({ state, weights }) => {
        this.#progress.policyVersion = state.policyVersion;
        this.#workers.broadcast(state.policyVersion, weights);
        this.#childReady();
      },
      onUpdated: (iteration, metrics) => this.#updated(iteration, metrics),
      onRejected: (iteration, reason) => this.#updateRejected(iteration, reason),
      onKnob: (change) => this.#journal.knobChange(change),
      onStderr: (line) => this.#journal.log(`trainer: ${line}`),
      onLost: (reason, retryMs) => this.#trainerLost(reason, retryMs),
    });
  }

  #createWorkers(): WorkerPool {
    const { hosts, sampling, supervision } = this.#config;
    return new WorkerPool({
      hosts: hosts.filter(({ roles }) => roles.includes('worker')),
      slots: sampling.slots,
      restart: supervision,
      settings: workerSettings(this.#config),
      onReady: (catalog) => {
        try {
          this.#dispatcher.setCatalog(catalog);
          this.#childReady();
        } catch (thrown) {
          this.#end('failed', errorText(thrown));
        }
      },
      onRoom: () => this.#advance(),
      onEpisode: (worker, episode) => this.#intake.add({ ...episode, worker }),
      onLost: (worker, reason, retryMs, stuck) => this.#workerLost(worker, { reason, retryMs, stuck }),
      onStderr: (worker, line) => this.#journal.log(`${this.#workers.name(worker)}: ${line}`),
    });
  }

  // What children do -------------------------------------------------------------------------------------------------

  #ready(): boolean {
    return this.#trainer.ready && this.#workers.readyCount > 0 && this.#dispatcher.ready;
  }

  #childReady(): void {
    if (this.#journal.manifest.state === 'starting' && this.#ready()) {
      this.#setState('running', null);
      if (this.#checkpointed === null && this.#progress.iteration === 0) this.#checkpoints.tryWrite();
    }
    this.#advance();
  }

  #trainerLost(reason: string, retryMs: number | null): void {
    if (this.#closing) return;
    const { name } = this.#trainer;
    if (retryMs === null) {
      this.#stall(
        'trainer-given-up',
        name,
        `${reason}; given up after ${this.#config.supervision.maxRestarts} restarts`,
      );
      return;
    }
    this.#journal.event(
      'warning',
      'trainer-died',
      name,
      `${reason}; starting it again in ${retryMs} ms from the last good state`,
    );
  }

  #workerLost(
    worker: number,
    { reason, retryMs, stuck }: { reason: string; retryMs: number | null; stuck: Stuck | null },
  ): void {
    if (this.#closing) return;
    const name = this.#workers.name(worker);
    // What it delivered before it died is stored first: it will not be dispatched again.
    this.#intake.flush();
    if (stuck !== null) this.#storeStuck(worker, stuck);
    const lost = this.#dispatcher.lose(worker);
    const next = retryMs === null ? 'given up' : `starting it again in ${retryMs} ms`;
    const level = retryMs === null ? 'error' : 'warning';
    this.#journal.event(
      level,
      'worker-died',
      name,
      `${reason}; ${next}; ${lost} episodes will be dispatched again`,
    );
    if (this.#workers.dead.length === this.#workers.size) {
      this.#stall('workers-given-up', name, `no worker is left: ${reason}`);
    }
    this.#advance();
  }

  #storeStuck(worker: number, stuck: Stuck): void {
    const assignment = this.#dispatcher.find(episodeId(stuck.subject));
    if (assignment === null) return;
    const host = this.#workers.hostName(worker);
    const summary = stuckEpisode(assignment, { host, worker }, stuck);
    this.#intake.add({ worker, summary, bytes: 0, bootstrapValue: null, attachments: {} });
    this.#intake.flush();
  }

  #stored(episodes: readonly ReceivedEpisode[]): void {
    const acknowledged = new Map<number, number>();
    for (const episode of episodes) {
      const { worker, summary, bytes } = episode;
      acknowledged.set(worker, (acknowledged.get(worker) ?? 0) + bytes);
      if (!this.#dispatcher.complete(summary, worker) || summary.phase === 'eval') continue;
      this.#progress.add(summary);
      const broken = this.#breaker.observe(summary.trust === 'void', summary.failureDetail);
      if (broken !== null) this.#stall('void-episodes', 'run', broken);
      if (summary.trust === 'valid' && summary.steps > 0) this.#queue.push(episode);
    }
    for (const [worker, bytes] of acknowledged) if (bytes > 0) this.#workers.ack(worker, bytes);
    this.#advance();
  }

  #updated(iteration: number, metrics: UpdateMetrics): void {
    this.#rejected = 0;
    const { snapshot } = this.#trainer;
    if (snapshot !== null) {
      this.#progress.policyVersion = snapshot.state.policyVersion;
      this.#workers.broadcast(snapshot.state.policyVersion, snapshot.weights);
    }
    const row = this.#progress.finishIteration(iteration, this.#journal.manifest.attempt, metrics);
    this.#journal.record((store) => store.appendIteration(row));
    this.#checkpoints.afterIteration(iteration);
    if (this.#config.stop.iterations !== null && iteration >= this.#config.stop.iterations) {
      this.#end('finished', 'final evaluation');
    } else if (iteration % this.#config.evaluation.every === 0 && this.#ending === null) {
      this.#beginEvaluation();
    }
    this.#advance();
  }

  #updateRejected(iteration: number, reason: string): void {
    this.#rejected++;
    this.#journal.event('error', 'update-rejected', 'trainer', `update ${iteration} was dropped: ${reason}`);
    if (this.#rejected >= MAX_REJECTED) {
      this.#stall(
        'updates-rejected',
        'trainer',
        `${this.#rejected} updates in a row were dropped: ${reason}`,
      );
    }
    this.#advance();
  }

  // What comes next --------------------------------------------------------------------------------------------------

  #advance(): void {
    if (this.#closing) return;
    this.#takeEvaluation();
    if (this.#ending !== null) this.#advanceEnding();
    else if (this.#journal.manifest.state === 'pausing') this.#advancePausing();
    else if (mayUpdate(this.#situation(), this.#config.sampling)) this.#beginUpdate();
    const now = this.#situation();
    this.#workers.setHeld(mustHold(now, this.#config.sampling));
    if (!mayDispatch(now)) return;
    const iteration = this.#progress.iteration + 1;
    const training = this.#ending === null;
    this.#workers.fill((worker) => this.#dispatcher.next(worker, iteration, training));
  }

  #beginUpdate(): void {
    const batch = this.#queue.take(this.#config.sampling.batchSteps);
    this.#progress.beginUpdate(batch);
    this.#trainer.update(this.#progress.iteration + 1, batch);
  }

  #advancePausing(): void {
    const rested = this.#dispatcher.inFlight === 0 && !this.#trainer.updating;
    if (!rested && !this.#hardPaused) return;
    this.#setState('paused', null);
    this.#checkpoints.tryWrite();
  }

  #advanceEnding(): void {
    const waited = Date.now() - this.#endingSince;
    const { evaluating, updating, trainerReady } = this.#situation();
    if (evaluating && this.#ending === 'finished') return;
    if (updating && trainerReady && waited < UPDATE_GRACE_MS) return;
    if (this.#ending === 'finished' && !this.#finalEvaluationDone) {
      this.#finalEvaluationDone = true;
      if (this.#ready() && this.#beginEvaluation()) return;
    }
    void this.#close(this.#ending ?? 'stopped');
  }

  #beginEvaluation(): boolean {
    const { iteration, policyVersion } = this.#progress;
    if (!this.#dispatcher.beginEvaluation(iteration, policyVersion)) return false;
    this.#progress.beginEvaluation();
    return true;
  }

  #takeEvaluation(): void {
    const results: Evaluation[] | null = this.#dispatcher.takeEvaluation();
    if (results === null) return;
    this.#progress.finishEvaluation(results);
    for (const result of results) this.#journal.record((store) => store.appendEvaluation(result));
  }

  #tick(): void {
    this.#workers.checkHeartbeats();
    this.#trainer.checkHeartbeat();
    const { minutes } = this.#config.stop;
    if (this.#ending === null && minutes !== null && this.#progress.elapsedS >= minutes * 60) {
      this.#end('finished', 'final evaluation');
    }
    this.#advance();
  }

  // States -----------------------------------------------------------------------------------------------------------

  #situation(): Situation {
    return {
      state: this.#journal.manifest.state,
      hardPaused: this.#hardPaused,
      ending: this.#ending,
      evaluating: this.#dispatcher.evaluating,
      updating: this.#trainer.updating,
      trainerReady: this.#trainer.ready,
      queuedSteps: this.#queue.steps,
      queuedBytes: this.#queue.bytes,
    };
  }

  #setState(state: RunState, reason: string | null): void {
    if (!this.#journal.setState(state, reason)) return;
    this.#progress.setRunning(state === 'running' || state === 'pausing' || state === 'stopping');
  }

  #stall(kind: string, subject: string, reason: string): void {
    if (this.#ending !== null || this.#journal.manifest.state === 'stalled') return;
    this.#setState('stalled', reason);
    this.#workers.setHeld(true);
    this.#journal.event('error', kind, subject, `${reason}; the run waits: repair it, then resume`);
  }

  #end(ending: 'stopped' | 'finished' | 'failed', reason: string | null): void {
    this.#ending = ending;
    this.#endingSince = Date.now();
    this.#hardPaused = false;
    this.#trainer.setPaused(false);
    this.#setState('stopping', reason);
    this.#advance();
  }

  #refuseWhenEnding(): void {
    if (this.#ending === null) return;
    throw new LabError('run-not-live', {
      message: `run ${this.#journal.manifest.id} is ending`,
      hint: `start it again from its last checkpoint with: agentrl-lab resume ${this.#journal.manifest.id}`,
    });
  }

  async #close(state: 'stopped' | 'finished' | 'failed'): Promise<void> {
    this.#closing = true;
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#workers.setHeld(true);
    this.#intake.flush();
    this.#checkpoints.tryWrite();
    await Promise.all([this.#workers.stop(CHILD_GRACE_MS), this.#trainer.stop(CHILD_GRACE_MS)]);
    this.#intake.flush();
    const { reason } = this.#journal.manifest;
    this.#journal.forgetProcess();
    this.#setState(state, state === 'failed' ? reason : null);
    this.#journal.event('info', `run-${state}`, 'run', `after iteration ${this.#progress.iteration}`);
    this.#resolveDone();
  }
}
