import type { Config } from '../config/schema.ts';
import { errorWithHint } from '../domain/error.ts';
import type { KnobName } from '../domain/knob.ts';
import type { KnobChange, Preview, RunState, RunStatus } from '../domain/run.ts';
import { keysOf } from '../domain/table.ts';
import type { UpdateMetrics, UpdateSpot } from '../protocol/trainer.ts';
import { type Checkpoint, snapshotOf } from './checkpoint.ts';
import { CheckpointKeeper } from './checkpoint-keeper.ts';
import { trainerOptions, workerOptions } from './child-settings.ts';
import { Dispatcher } from './dispatcher.ts';
import { Ending } from './ending.ts';
import { bytesByWorker, EpisodeIntake, type ReceivedEpisode } from './episode-intake.ts';
import { EvaluationKeeper } from './evaluation-keeper.ts';
import { activityOf, type EndKind, mayDispatch, mayUpdate, mustHold, type Situation } from './flow.ts';
import { describeStop, type RejectedUpdate, reactTo } from './guard.ts';
import { Journal, type JournalOptions } from './journal.ts';
import { KnobKeeper } from './knob-keeper.ts';
import { describeLoss, settleLostWorker } from './lost-worker.ts';
import { Progress } from './progress.ts';
import { ProviderNews } from './provider-news.ts';
import { SampleQueue } from './sample-queue.ts';
import { StaleSamples } from './stale-samples.ts';
import { identity, limits } from './status.ts';
import { StoreKeeper } from './store-keeper.ts';
import { TrainerLink } from './trainer-link.ts';
import { VoidBreaker } from './void-breaker.ts';
import { type WorkerLoss, WorkerPool } from './worker-pool.ts';

export interface RunOptions extends JournalOptions {
  readonly config: Config;
  /** Where to go on from; null for a run that begins. */
  readonly checkpoint: Checkpoint | null;
  /** Every change of a knob stored so far, oldest first. */
  readonly knobChanges: readonly KnobChange[];
}

const TICK_MS = 200;
/** How long children may take to end by themselves before their process groups are killed. */
const CHILD_GRACE_MS = 3000;
/** Rejected updates in a row after which the run waits for somebody. */
const MAX_REJECTED = 3;
/** The same where each of them eased the knobs. */
const MAX_EASED = 10;
/** Reasons to stall that keep an evaluation from ending. */
const ENDLESS: ReadonlySet<string> = new Set(['store-failed', 'workers-given-up']);
/** A tick that comes so late says that the machine or this process was asleep. */
const ASLEEP_MS = 2000;

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
  readonly #knobs: KnobKeeper;
  readonly #providers: ProviderNews;
  readonly #queue = new SampleQueue();
  readonly #stale: StaleSamples;
  readonly #intake: EpisodeIntake;
  readonly #progress: Progress;
  readonly #breaker: VoidBreaker;
  readonly #evaluation: EvaluationKeeper;
  readonly #storeKeeper: StoreKeeper;
  readonly #ending = new Ending();
  readonly #done: Promise<void>;
  #resolveDone: () => void = () => undefined;
  #rejected = 0;
  #hardPaused = false;
  #closing = false;
  #ticker: NodeJS.Timeout | null = null;
  #lastTick = Date.now();

  constructor(options: RunOptions) {
    const { config, paths, store, checkpoint } = options;
    this.#config = config;
    this.#journal = new Journal(options);
    this.#providers = new ProviderNews(this.#journal);
    this.#storeKeeper = new StoreKeeper({ paths, store, journal: this.#journal, ...config.store });
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
    const { maxStaleness } = config.sampling;
    this.#stale = new StaleSamples(maxStaleness, this.#queue, this.#progress, this.#journal);
    this.#evaluation = new EvaluationKeeper(this.#dispatcher, this.#progress, this.#journal);
    this.#intake = new EpisodeIntake(store, {
      onStored: (episodes) => this.#stored(episodes),
      onFailed: (error) => this.#stall('store-failed', 'run', error.message),
    });
    this.#trainer = this.#createTrainer(options.knobChanges);
    this.#knobs = new KnobKeeper({
      schedule: config.schedule,
      trainer: this.#trainer,
      journal: this.#journal,
      clock: () => this.#progress.clock(),
      history: options.knobChanges,
      steering: checkpoint?.steering ?? null,
    });
    this.#workers = this.#createWorkers();
    this.#checkpoints = new CheckpointKeeper(paths.checkpoints, config, {
      trainer: this.#trainer,
      dispatcher: this.#dispatcher,
      progress: this.#progress,
      knobs: this.#knobs,
      journal: this.#journal,
      store,
    });
  }

  /** Resolves when the run has ended and none of its children is left. */
  get done(): Promise<void> {
    return this.#done;
  }

  start(): void {
    const from = `attempt ${this.#journal.manifest.attempt}, from iteration ${this.#progress.iteration}`;
    this.#journal.event('info', 'run-started', 'run', from);
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
      scheduled: this.#knobs.scheduled,
      undoable: this.#knobs.undoable,
      children: [...this.#workers.status(), this.#trainer.status()],
      batching: null,
      pressure: null,
      stages: [],
      stall: null,
      waste: null,
      store: this.#storeKeeper.status(),
    };
  }

  /** Soft: what is in flight is finished, then all rest. `now`: every slot and the trainer stop where they are. */
  pause(who: string, now: boolean): void {
    this.#ending.refuse(this.#journal.manifest.id);
    const { state } = this.#journal.manifest;
    // A stalled run rests already.
    if (state === 'paused' || (['pausing', 'stalled'].includes(state) && !now)) return;
    this.#journal.event('info', 'pause', 'run', `${now ? 'paused at once' : 'asked to pause'} by ${who}`);
    this.#hardPaused = now;
    this.#trainer.setPaused(now);
    this.#setState('pausing', null);
    this.#advance();
  }

  resume(who: string): void {
    this.#ending.refuse(this.#journal.manifest.id);
    const { state } = this.#journal.manifest;
    if (state === 'running' || state === 'starting') return;
    this.#journal.event('info', 'resume', 'run', `resumed by ${who}`);
    this.#hardPaused = false;
    this.#rejected = 0;
    this.#breaker.reset();
    this.#trainer.setPaused(false);
    this.#workers.revive();
    const dropped = this.#trainer.revive();
    if (dropped > 0) this.#journal.event('warning', 'batch-dropped', 'trainer', `${dropped} episodes`);
    this.#setState(this.#ready() ? 'running' : 'starting', null);
    this.#intake.flush();
    this.#advance();
  }

  /** Begins to end the run: an update in progress is finished, a checkpoint written, every child ended. */
  stop(who: string): void {
    if (!this.#ending.begin('stopped')) return;
    this.#journal.event('info', 'stop', 'run', `stopped by ${who}`);
    this.#beginEnd(null);
  }

  /** Changes knobs; refuses all of them when one is out of range. Resolves when the trainer has taken them over. */
  async set(who: string, knobs: Readonly<Partial<Record<KnobName, number>>>): Promise<KnobChange[]> {
    this.#ending.refuse(this.#journal.manifest.id);
    return await this.#knobs.set(who, knobs);
  }

  /** Puts back what the newest turn by a person changed. */
  async undo(who: string): Promise<KnobChange> {
    this.#ending.refuse(this.#journal.manifest.id);
    return await this.#knobs.undo(who);
  }

  /** Lets the schedule move knobs again that somebody has turned. */
  async takeUpSchedule(who: string, knobs: readonly KnobName[]): Promise<KnobChange[]> {
    this.#ending.refuse(this.#journal.manifest.id);
    return await this.#knobs.takeUp(who, knobs);
  }

  /** What knobs would do to the newest update. */
  async preview(knobs: Readonly<Partial<Record<KnobName, number>>>): Promise<Preview> {
    this.#ending.refuse(this.#journal.manifest.id);
    return await this.#trainer.preview(knobs);
  }

  /** Writes a checkpoint of the newest good state; returns its name. */
  checkpoint(): string {
    return this.#checkpoints.write();
  }

  #createTrainer(knobChanges: readonly KnobChange[]): TrainerLink {
    return new TrainerLink({
      ...trainerOptions(this.#config, knobChanges),
      snapshot: this.#checkpointed === null ? null : snapshotOf(this.#checkpointed),
      nextIteration: () => this.#progress.iteration + 1,
      onReady: ({ state, weights }, runsOn) => {
        this.#providers.tell(this.#trainer.name, runsOn);
        this.#progress.policyVersion = state.policyVersion;
        this.#workers.broadcast(state.policyVersion, weights);
        this.#childReady();
      },
      onUpdated: (iteration, metrics, stop) => this.#updated(iteration, metrics, stop),
      onRefused: (reason) => this.#fail('trainer-refused', this.#trainer.name, reason),
      onRejected: (update) => this.#updateRejected(update),
      onKnob: (change) => this.#knobs.taken(change),
      onStderr: (line) => this.#journal.log(`trainer: ${line}`),
      onLost: (reason, retryMs) => this.#trainerLost(reason, retryMs),
    });
  }

  #createWorkers(): WorkerPool {
    return new WorkerPool({
      ...workerOptions(this.#config),
      onReady: (worker, catalog, runsOn) => {
        this.#providers.tell(this.#workers.name(worker), runsOn);
        try {
          this.#dispatcher.setCatalog(catalog);
          this.#childReady();
        } catch (thrown) {
          this.#fail('workers-disagree', 'run', errorWithHint(thrown));
        }
      },
      onRoom: () => this.#advance(),
      onEpisode: (worker, episode) => this.#intake.add({ ...episode, worker }),
      onLost: (worker, loss) => this.#workerLost(worker, loss),
      onRefused: (worker, reason) => this.#fail('worker-refused', this.#workers.name(worker), reason),
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
    const { maxRestarts } = this.#config.supervision;
    if (retryMs === null) {
      this.#stall('trainer-given-up', name, `${reason}; given up after ${maxRestarts} restarts`);
    } else {
      const next = `starting it again in ${retryMs} ms from the last good state`;
      this.#journal.event('warning', 'trainer-died', name, `${reason}; ${next}`);
    }
  }

  #workerLost(worker: number, loss: WorkerLoss): void {
    if (this.#closing) return;
    const name = this.#workers.name(worker);
    const parts = {
      dispatcher: this.#dispatcher,
      intake: this.#intake,
      host: this.#workers.hostName(worker),
    };
    const lost = settleLostWorker(worker, loss, parts);
    this.#journal.event(
      loss.retryMs === null ? 'error' : 'warning',
      'worker-died',
      name,
      describeLoss(loss, lost),
    );
    if (this.#workers.dead.length === this.#workers.size) {
      this.#stall('workers-given-up', name, `no worker is left: ${loss.reason}`);
    }
    this.#advance();
  }

  #stored(episodes: readonly ReceivedEpisode[]): void {
    for (const episode of episodes) {
      const { worker, summary } = episode;
      if (!this.#dispatcher.complete(summary, worker) || summary.phase === 'eval') continue;
      this.#progress.add(summary);
      const broken = this.#breaker.observe(summary.trust === 'void', summary.failureDetail);
      if (broken !== null) this.#stall('void-episodes', 'run', broken);
      if (summary.trust === 'valid' && summary.steps > 0) this.#queue.push(episode);
    }
    for (const [worker, bytes] of bytesByWorker(episodes)) this.#workers.ack(worker, bytes);
    this.#advance();
  }

  #updated(iteration: number, metrics: UpdateMetrics, stop: UpdateSpot | null): void {
    this.#rejected = 0;
    if (stop !== null) {
      const { message, episodes } = describeStop(iteration, stop);
      this.#journal.event('info', 'kl-stop', 'trainer', message, episodes);
    }
    const { snapshot } = this.#trainer;
    if (snapshot !== null) {
      this.#progress.policyVersion = snapshot.state.policyVersion;
      this.#workers.broadcast(snapshot.state.policyVersion, snapshot.weights);
    }
    const row = this.#progress.finishIteration(iteration, this.#journal.manifest.attempt, metrics);
    this.#journal.record((store) => store.appendIteration(row));
    this.#checkpoints.afterIteration(iteration);
    if (this.#config.stop.iterations !== null && iteration >= this.#config.stop.iterations) {
      this.#finish();
    } else if (iteration % this.#config.evaluation.every === 0 && this.#ending.kind === null) {
      this.#evaluation.begin();
    }
    this.#advance();
  }

  #updateRejected(update: RejectedUpdate): void {
    this.#rejected++;
    const { guard } = this.#config;
    const { kind, message, episodes, ease, pause } = reactTo(update, guard, this.#trainer.knobs);
    this.#journal.event('error', kind, 'trainer', message, episodes);
    this.#knobs.ease(ease);
    // Easing gets further tries, as long as there is anything to ease.
    if (this.#rejected >= (keysOf(ease).length > 0 ? MAX_EASED : MAX_REJECTED)) {
      const what = `${this.#rejected} updates in a row were dropped: ${update.reason}`;
      this.#stall('updates-rejected', 'trainer', what);
    } else if (pause !== null && this.#journal.manifest.state === 'running') {
      this.#setState('pausing', pause);
    }
    this.#advance();
  }

  // What comes next --------------------------------------------------------------------------------------------------

  #advance(): void {
    if (this.#closing) return;
    this.#evaluation.take();
    const { kind } = this.#ending;
    if (kind !== null) this.#advanceEnding(kind);
    else if (this.#journal.manifest.state === 'pausing') this.#advancePausing();
    else if (mayUpdate(this.#situation(), this.#config.sampling)) this.#beginUpdate();
    const now = this.#situation();
    this.#workers.setHeld(mustHold(now, this.#config.sampling));
    if (!mayDispatch(now)) return;
    const iteration = this.#progress.iteration + 1;
    this.#workers.fill((worker) => this.#dispatcher.next(worker, iteration, kind === null));
  }

  #beginUpdate(): void {
    this.#stale.drop(Date.now());
    if (!mayUpdate(this.#situation(), this.#config.sampling)) return;
    const batch = this.#queue.take(this.#config.sampling.batchSteps);
    this.#knobs.beforeUpdate();
    this.#progress.beginUpdate(batch);
    this.#trainer.update(this.#progress.iteration + 1, batch);
  }

  #advancePausing(): void {
    const rested = this.#dispatcher.inFlight === 0 && !this.#trainer.updating;
    if (!rested && !this.#hardPaused) return;
    this.#setState('paused', this.#journal.manifest.reason);
    this.#checkpoints.tryWrite();
  }

  #advanceEnding(kind: EndKind): void {
    if (this.#ending.waits(this.#situation())) return;
    const canEvaluate = this.#workers.readyCount > 0 && this.#dispatcher.ready;
    if (this.#ending.takeFinalEvaluation() && canEvaluate && this.#evaluation.begin()) return;
    void this.#close(kind);
  }

  #tick(): void {
    const asleep = Date.now() - this.#lastTick > ASLEEP_MS;
    this.#lastTick = Date.now();
    this.#workers.checkHeartbeats(asleep);
    this.#trainer.checkHeartbeat(asleep);
    this.#storeKeeper.tick(this.#lastTick);
    const { minutes } = this.#config.stop;
    if (minutes !== null && this.#progress.elapsedS >= minutes * 60) this.#finish();
    this.#advance();
  }

  // States -----------------------------------------------------------------------------------------------------------

  #situation(): Situation {
    return {
      state: this.#journal.manifest.state,
      hardPaused: this.#hardPaused,
      ending: this.#ending.kind,
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
    // Without workers or a store the final evaluation would never end, and nobody would be asked.
    if (this.#ending.kind === 'finished' && ENDLESS.has(kind)) this.#fail(kind, subject, reason);
    if (this.#ending.kind !== null || this.#journal.manifest.state === 'stalled') return;
    this.#setState('stalled', reason);
    this.#workers.setHeld(true);
    this.#journal.event('error', kind, subject, `${reason}; the run waits: repair it, then resume`);
  }

  #fail(kind: string, subject: string, reason: string): void {
    if (!this.#ending.begin('failed')) return;
    this.#journal.event('error', kind, subject, reason);
    this.#beginEnd(reason);
  }

  #finish(): void {
    if (this.#ending.kind === null && this.#ending.begin('finished')) this.#beginEnd('final evaluation');
  }

  #beginEnd(reason: string | null): void {
    this.#hardPaused = false;
    this.#trainer.setPaused(false);
    this.#setState('stopping', reason);
    this.#advance();
  }

  async #close(state: EndKind): Promise<void> {
    this.#closing = true;
    this.#storeKeeper.close();
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
