import type { Config } from '../config/schema.ts';
import { errorWithHint } from '../domain/error.ts';
import type { WorkerSlots } from '../domain/pipeline.ts';
import type { KnobChange, RunStatus } from '../domain/run.ts';
import type { UpdateMetrics, UpdateSpot } from '../protocol/trainer.ts';
import { AlertKeeper } from './alert-keeper.ts';
import { BackPressure, flowRules } from './back-pressure.ts';
import { type Checkpoint, snapshotOf } from './checkpoint.ts';
import { CheckpointKeeper } from './checkpoint-keeper.ts';
import { trainerOptions, workerOptions } from './child-settings.ts';
import { Dispatcher } from './dispatcher.ts';
import { bytesByWorker, EpisodeIntake, type ReceivedEpisode } from './episode-intake.ts';
import { EvaluationKeeper } from './evaluation-keeper.ts';
import {
  activityOf,
  type EndKind,
  type FlowRules,
  isUpdateDue,
  mayDispatch,
  mayUpdate,
  type Situation,
  situationOf,
} from './flow.ts';
import { describeStop } from './guard.ts';
import { HostKeeper } from './host-keeper.ts';
import { Journal, type JournalOptions } from './journal.ts';
import { KnobKeeper } from './knob-keeper.ts';
import { LeakKeeper } from './leak-keeper.ts';
import { Lifecycle } from './lifecycle.ts';
import { LostChildren } from './lost-children.ts';
import { PipelineKeeper } from './pipeline-keeper.ts';
import { Progress } from './progress.ts';
import { ProviderNews } from './provider-news.ts';
import { RejectedUpdates } from './rejected-updates.ts';
import { SampleFlow } from './sample-flow.ts';
import { identity, limits } from './status.ts';
import { Steering } from './steering.ts';
import { StoreKeeper } from './store-keeper.ts';
import { TrainerLink } from './trainer-link.ts';
import { WorkerDesk } from './worker-desk.ts';
import { WorkerPool } from './worker-pool.ts';

export interface RunOptions extends JournalOptions {
  readonly config: Config;
  /** Where to go on from; null for a run that begins. */
  readonly checkpoint: Checkpoint | null;
  /** Every change of a knob stored so far, oldest first. */
  readonly knobChanges: readonly KnobChange[];
  /** The process of the text indexer; null while there is none. */
  readonly textPid: () => number | null;
}

const TICK_MS = 200;
/** How long children may take to end by themselves before their process groups are killed. */
const CHILD_GRACE_MS = 3000;
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
  /** What people do with the knobs. */
  readonly steering: Steering;
  readonly #providers: ProviderNews;
  readonly #samples: SampleFlow;
  readonly #rules: FlowRules;
  readonly #pressure: BackPressure;
  readonly #intake: EpisodeIntake;
  readonly #progress: Progress;
  readonly #evaluation: EvaluationKeeper;
  readonly #leaks: LeakKeeper;
  readonly #alerts: AlertKeeper;
  readonly #desk: WorkerDesk;
  readonly #hosts: HostKeeper;
  readonly #life: Lifecycle;
  readonly #rejected: RejectedUpdates;
  readonly #losses: LostChildren;
  readonly #pipeline: PipelineKeeper;
  readonly #storeKeeper: StoreKeeper;
  readonly #done: Promise<void>;
  #resolveDone: () => void = () => undefined;
  #closing = false;
  #ticker: NodeJS.Timeout | null = null;
  #lastTick = Date.now();

  constructor(options: RunOptions) {
    const { config, paths, store, checkpoint, textPid } = options;
    this.#config = config;
    this.#rules = flowRules(config);
    this.#journal = new Journal(options);
    this.#providers = new ProviderNews(this.#journal);
    this.#alerts = new AlertKeeper(config.alerts, this.#journal);
    this.#storeKeeper = new StoreKeeper({ paths, store, journal: this.#journal, ...config.store });
    this.#checkpointed = checkpoint;
    this.#done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    const totals = store.totals();
    this.#progress = new Progress(totals, checkpoint);
    this.#life = new Lifecycle({
      journal: this.#journal,
      progress: this.#progress,
      hold: () => this.#pressure.hold(),
      setTrainerPaused: (paused) => this.#trainer.setPaused(paused),
      onEnding: () => this.#advance(),
    });
    this.#dispatcher = new Dispatcher({
      seed: config.seed,
      lastSequence: totals.lastSequence,
      curriculum: config.curriculum,
      curriculumState: checkpoint?.curriculum ?? null,
      evaluationEpisodes: config.evaluation.episodes,
      clock: () => this.#pressure.sampledS,
      retries: config.supervision.retries,
    });
    this.#samples = new SampleFlow(config, this.#progress, this.#journal);
    this.#evaluation = new EvaluationKeeper(this.#dispatcher, this.#progress, this.#journal);
    this.#intake = new EpisodeIntake(store, {
      onStored: (episodes) => this.#stored(episodes),
      onFailed: (error) => this.#life.stall('store-failed', 'run', errorWithHint(error)),
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
    this.steering = new Steering({ life: this.#life, knobs: this.#knobs, trainer: this.#trainer });
    this.#workers = this.#createWorkers();
    this.#pressure = new BackPressure(this.#rules, this.#workers, this.#progress);
    const shared = {
      workers: this.#workers,
      trainer: this.#trainer,
      dispatcher: this.#dispatcher,
      journal: this.#journal,
      life: this.#life,
      intake: this.#intake,
      knobs: this.#knobs,
    };
    this.#rejected = new RejectedUpdates({ ...shared, guard: config.guard });
    this.#pipeline = new PipelineKeeper({
      ...shared,
      ...config.sampling,
      queue: this.#samples.queued,
    });
    this.#losses = new LostChildren({
      ...shared,
      samples: this.#samples,
      maxRestarts: config.supervision.maxRestarts,
    });
    this.#desk = new WorkerDesk({ ...shared, paths, hosts: config.hosts, slots: config.sampling.slots });
    this.#hosts = new HostKeeper({ hosts: config.hosts, workers: this.#workers, textPid });
    this.#leaks = new LeakKeeper({ paths, journal: this.#journal, workers: this.#workers });
    this.#checkpoints = new CheckpointKeeper(paths.checkpoints, config, {
      ...shared,
      progress: this.#progress,
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
    const now = Date.now();
    return {
      ...identity(this.#journal.manifest),
      ...this.#progress.totals(),
      ...limits(this.#config),
      ...this.#leaks.status(),
      activity: activityOf(this.#situation()),
      envStepsPerS: this.#workers.stepsPerS(),
      queuedSteps: this.#samples.queued.steps,
      knobs: this.#trainer.knobs,
      scheduled: this.#knobs.scheduled,
      undoable: this.#knobs.undoable,
      children: [
        ...this.#workers.status().map((child) => this.#desk.withDrain(child)),
        this.#hosts.withFigures(this.#trainer.status(), now),
      ],
      batching: this.#workers.batching(),
      pressure: this.#pressure.pressure(this.#situation()),
      ...this.#pipeline.status(now),
      ...this.#hosts.status(now),
      retried: this.#dispatcher.retried,
      waste: this.#samples.waste,
      store: this.#storeKeeper.status(),
      alerts: this.#alerts.status(),
    };
  }

  /** What is in every slot, or in those of these workers. */
  async slots(workers: readonly number[] | null): Promise<WorkerSlots[]> {
    return await this.#workers.slots(workers);
  }

  /** What people do with workers. */
  changeWorkers(change: (desk: WorkerDesk) => string | string[]): string | string[] {
    const names = change(this.#desk);
    this.#advance();
    return names;
  }

  /** Soft: what is in flight is finished, then all rest. `now`: every slot and the trainer stop where they are. */
  pause(who: string, now: boolean): void {
    if (this.#life.pause(who, now)) this.#advance();
  }

  /** Brings everything to rest and into a checkpoint: nothing in flight, safe to move or upgrade. */
  quiesce(who: string): void {
    if (this.#life.quiesce(who)) this.#advance();
  }

  resume(who: string): void {
    if (!this.#life.resume(who)) return;
    this.#rejected.forget();
    this.#samples.forgetVoid();
    this.#workers.revive();
    const dropped = this.#trainer.revive();
    if (dropped > 0) this.#journal.event('warning', 'batch-dropped', 'trainer', `${dropped} episodes`);
    this.#life.setState(this.#ready() ? 'running' : 'starting', null);
    this.#intake.flush();
    this.#advance();
  }

  /** Begins to end the run: an update in progress is finished, a checkpoint written, every child ended. */
  stop(who: string): void {
    this.#life.stop(who);
  }

  /** Writes a checkpoint of the newest good state; returns its name. */
  checkpoint(who: string): string {
    this.#journal.command(who, 'command', 'run', 'asked for a checkpoint');
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
      onRefused: (reason) => this.#life.fail('trainer-refused', this.#trainer.name, reason),
      onRejected: (update) => {
        this.#rejected.add(update);
        this.#advance();
      },
      onKnob: (change) => this.#knobs.taken(change),
      onStderr: (line) => this.#journal.log(`trainer: ${line}`),
      onLost: (reason, retryMs) => {
        if (!this.#closing) this.#losses.trainer(reason, retryMs);
      },
    });
  }

  #createWorkers(): WorkerPool {
    return new WorkerPool({
      ...workerOptions(this.#config),
      onReady: (worker, catalog, runsOn) => {
        this.#providers.tell(this.#workers.name(worker), runsOn);
        if (this.#desk.admit(worker, catalog)) this.#childReady();
      },
      onRoom: (inStep) => this.#roomLeft(inStep),
      onEpisode: (worker, episode) => this.#intake.add({ ...episode, worker }),
      onReport: (worker, report) => this.#pipeline.report(worker, report, Date.now()),
      onAudit: (worker, news) => this.#leaks.hear(worker, news),
      onLost: (worker, loss) => {
        if (this.#closing) return;
        this.#losses.worker(worker, loss);
        this.#advance();
      },
      onRefused: (worker, reason) => this.#desk.refuse(worker, 'worker-refused', reason),
      onStderr: (worker, line) => this.#journal.log(`${this.#workers.name(worker)}: ${line}`),
    });
  }

  // What children do -------------------------------------------------------------------------------------------------

  #ready(): boolean {
    return this.#trainer.ready && this.#workers.readyCount > 0 && this.#dispatcher.ready;
  }

  #childReady(): void {
    if (this.#life.state === 'starting' && this.#ready()) {
      this.#life.setState('running', null);
      if (this.#checkpointed === null && this.#progress.iteration === 0) this.#checkpoints.tryWrite();
    }
    this.#advance();
  }

  #stored(episodes: readonly ReceivedEpisode[]): void {
    for (const episode of episodes) {
      const { worker, summary } = episode;
      if (!this.#dispatcher.complete(summary, worker)) continue;
      this.#leaks.stored(episode);
      this.#alerts.stored(summary);
      if (summary.phase === 'eval') continue;
      const broken = this.#samples.add(episode);
      if (broken !== null) this.#life.stall('void-episodes', 'run', broken);
    }
    for (const [worker, bytes] of bytesByWorker(episodes)) this.#workers.ack(worker, bytes);
    this.#alerts.settle(this.#life.state, Date.now());
    this.#advance();
  }

  /** In lockstep, what is given out depends on what has come in: that counts first. Else slots do not wait for the store. */
  #roomLeft(inStep: boolean): void {
    if (inStep) this.#intake.flush();
    this.#advance();
  }

  #updated(iteration: number, metrics: UpdateMetrics, stop: UpdateSpot | null): void {
    this.#rejected.forget();
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
    this.#alerts.updated(row);
    this.#checkpoints.afterIteration(iteration);
    if (this.#config.stop.iterations !== null && iteration >= this.#config.stop.iterations) {
      this.#life.finish();
    } else if (iteration % this.#config.evaluation.every === 0 && this.#life.ending.kind === null) {
      this.#evaluation.begin();
    }
    this.#advance();
  }

  // What comes next --------------------------------------------------------------------------------------------------

  #advance(): void {
    if (this.#closing) return;
    this.#evaluation.take();
    const { kind } = this.#life.ending;
    if (kind !== null) this.#advanceEnding(kind);
    else if (this.#life.state === 'pausing') this.#advancePausing();
    else if (mayUpdate(this.#situation(), this.#rules)) this.#beginUpdate();
    const now = this.#situation();
    this.#pressure.apply(now);
    if (!mayDispatch(now)) return;
    const iteration = this.#progress.iteration + 1;
    this.#workers.fill((worker) => this.#dispatcher.next(worker, iteration, kind === null));
  }

  #beginUpdate(): void {
    const { bytes } = this.#samples.queued;
    const batch = this.#samples.takeBatch();
    if (batch === null) return;
    this.#knobs.beforeUpdate();
    this.#progress.beginUpdate(batch, bytes);
    this.#trainer.update(this.#progress.iteration + 1, batch);
  }

  #advancePausing(): void {
    const { quiescing } = this.#life;
    // Whole batches would be sampled again by a run that goes on elsewhere.
    if (quiescing && mayUpdate({ ...this.#situation(), state: 'running' }, this.#rules)) this.#beginUpdate();
    // One that was lost meanwhile comes back, unless it was given up: then nothing is to be waited for.
    const isDue = quiescing && isUpdateDue(this.#situation(), this.#rules);
    const trains = !this.#trainer.givenUp && (isDue || this.#trainer.updating);
    if ((trains || this.#dispatcher.inFlight > 0) && !this.#life.hardPaused) return;
    if (!quiescing) {
      this.#life.setState('paused', this.#journal.manifest.reason);
      this.#checkpoints.tryWrite();
      // What cannot be stored stalls the run by itself.
    } else if (this.#intake.flush()) this.#checkpoints.settle(this.#life, this.#samples.queued.steps);
  }

  #advanceEnding(kind: EndKind): void {
    if (this.#life.ending.waits(this.#situation())) return;
    const canEvaluate = this.#workers.samplingCount > 0 && this.#dispatcher.ready;
    if (this.#life.ending.takeFinalEvaluation() && canEvaluate && this.#evaluation.begin()) return;
    void this.#close(kind);
  }

  #tick(): void {
    const now = Date.now();
    const sinceMs = now - this.#lastTick;
    const asleep = sinceMs > ASLEEP_MS;
    this.#lastTick = now;
    this.#workers.checkHeartbeats(asleep);
    this.#trainer.checkHeartbeat(asleep);
    this.#storeKeeper.tick(this.#lastTick);
    this.#alerts.settle(this.#life.state, now);
    this.#desk.tick(now);
    const { minutes } = this.#config.stop;
    if (minutes !== null && this.#progress.elapsedS >= minutes * 60) this.#life.finish();
    this.#advance();
    const { iteration, policyVersion } = this.#progress;
    const moment = {
      situation: this.#situation(),
      held: this.#workers.held,
      iteration: iteration + 1,
      policyVersion,
    };
    this.#pipeline.tick(moment, now, asleep ? sinceMs : 0);
  }

  #situation(): Situation {
    return situationOf(this.#life, this.#dispatcher, this.#trainer, this.#samples.queued);
  }

  // The end -----------------------------------------------------------------------------------------------------------

  async #close(state: EndKind): Promise<void> {
    this.#closing = true;
    this.#storeKeeper.close();
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#pressure.hold();
    this.#intake.flush();
    this.#checkpoints.tryWrite();
    await Promise.all([this.#workers.stop(CHILD_GRACE_MS), this.#trainer.stop(CHILD_GRACE_MS)]);
    this.#intake.flush();
    const { reason } = this.#journal.manifest;
    this.#journal.forgetProcess();
    this.#life.setState(state, state === 'failed' ? reason : null);
    this.#journal.event('info', `run-${state}`, 'run', `after iteration ${this.#progress.iteration}`);
    this.#resolveDone();
  }
}
