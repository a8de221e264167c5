import type { Config } from '../../config/schema.ts';
import { errorText, LabError } from '../../domain/error.ts';
import type { Catalog } from '../../domain/task.ts';
import { workerOptions } from '../../run/child-settings.ts';
import { culpritFailure, lostEpisode } from '../../run/lost-episode.ts';
import { findGuilty } from '../../run/lost-worker.ts';
import { Scheduler } from '../../run/scheduler.ts';
import { VoidBreaker } from '../../run/void-breaker.ts';
import { type DeliveredEpisode, type WorkerLoss, WorkerPool } from '../../run/worker-pool.ts';
import { type NamedTask, TaskPlan } from './plan.ts';
import { Tally } from './tally.ts';
import { addReport, createStages, createWorkerUse, type Stages, type WorkerUse } from './worker-use.ts';

export interface DriverOptions {
  readonly config: Config;
  readonly tasks: number;
  readonly only: NamedTask | null;
  /** Something that happened, for people: a worker was lost, or what an environment prints. */
  readonly onNote: (text: string) => void;
}

/** Why it is over: every task was tried, or for the reason given. */
export interface DriveEnd {
  readonly kind: 'finished' | 'broken' | 'interrupted';
  readonly reason: string | null;
}

/** What the bench's own process was at. */
export interface RunSide {
  /** The part of the time that its event loop was at work. */
  readonly busy: number;
  readonly cpuMs: number;
}

/** How much longer to wait for the last reports, each of which comes every 500 ms. */
const LAST_REPORT_MS = 1500;
const CHILD_GRACE_MS = 3000;
const TICK_MS = 100;
/** A tick that comes so late says that the machine or this process was asleep. */
const ASLEEP_MS = 2000;

/**
 * Has the workers of a config try tasks with a random policy, as a run would: the same processes, on the same hosts,
 * restarted and asked in the same way. Nothing is stored: an episode is counted, acknowledged and dropped.
 */
export class BenchDriver {
  readonly tally = new Tally();
  readonly stages: Stages = createStages();
  readonly workers: readonly WorkerUse[];
  readonly #options: DriverOptions;
  readonly #scheduler: Scheduler;
  readonly #breaker: VoidBreaker;
  readonly #pool: WorkerPool;
  #plan: TaskPlan | null = null;
  #catalog: Catalog | null = null;
  /** Workers that were ready or lost at least once: when all were, the tasks are given out. */
  readonly #seen = new Set<number>();
  /** Tasks given to each worker and not lost with it. */
  readonly #given: number[] = [];
  #allGiven = false;
  #acks = new Map<number, number>();
  /** Workers whose last report is still wanted. */
  #unreported: Set<number> | null = null;
  #createdAt = performance.now();
  #startedAt: number | null = null;
  #endedAt: number | null = null;
  #busyBefore = performance.eventLoopUtilization();
  #cpuBefore = process.cpuUsage();
  #lastTick = Date.now();
  #runSide: RunSide = { busy: 0, cpuMs: 0 };
  #end: DriveEnd | null = null;
  #error: LabError | null = null;
  #resolve: () => void = () => undefined;

  constructor(options: DriverOptions) {
    this.#options = options;
    const { config } = options;
    this.#scheduler = new Scheduler(config.seed, 0);
    this.#breaker = new VoidBreaker(config.supervision, config.sampling.slots);
    const { settings, ...places } = workerOptions(config);
    this.#pool = new WorkerPool({
      ...places,
      settings: { ...settings, actor: 'random', lockstep: false },
      onReady: (worker, catalog) => this.#guard(() => this.#ready(worker, catalog)),
      onRoom: () => this.#fill(),
      onEpisode: (worker, episode) => this.#take(worker, episode),
      onLost: (worker, loss) => this.#lost(worker, loss),
      onRefused: (worker, reason) => {
        this.#fail(new LabError('environment-invalid', { message: `${this.#pool.name(worker)}: ${reason}` }));
      },
      onStderr: (worker, line) => options.onNote(`${this.#pool.name(worker)}: ${line}`),
      onReport: (worker, report) => {
        const use = this.workers[worker];
        if (use !== undefined) addReport(use, this.stages, report, this.#allGiven);
        this.#unreported?.delete(worker);
      },
    });
    const remote = new Set(config.hosts.filter(({ ssh }) => ssh !== null).map(({ name }) => name));
    this.workers = this.#pool.status().map(({ host, slots }, index) => {
      const name = this.#pool.name(index);
      return createWorkerUse({ name, host, isRemote: remote.has(host), slots });
    });
  }

  get catalog(): Catalog | null {
    return this.#catalog;
  }

  /** Tasks to try; null before a worker has said what there is. */
  get total(): number | null {
    return this.#plan?.total ?? null;
  }

  get readyWorkers(): number {
    return this.#pool.readyCount;
  }

  get stepsPerS(): number {
    return this.#pool.stepsPerS();
  }

  /** Until the workers were up, in s. */
  get startS(): number {
    return ((this.#startedAt ?? performance.now()) - this.#createdAt) / 1000;
  }

  /** From the first task given out to the last one back, in s. */
  get elapsedS(): number {
    if (this.#startedAt === null) return 0;
    return ((this.#endedAt ?? performance.now()) - this.#startedAt) / 1000;
  }

  /** This process from the first task given out to the last one back. */
  get runSide(): RunSide {
    return this.#runSide;
  }

  /** Names of the workers that were given up. */
  get dead(): readonly string[] {
    return this.#pool.dead;
  }

  /** Ends it before its time; it need not have begun. */
  interrupt(signal: string): void {
    this.#finish({ kind: 'interrupted', reason: signal });
  }

  /**
   * Tries every task; resolves when no process of it is left. Throws `environment-invalid` when a worker cannot have the
   * environment at all, `usage` for a task that there is not.
   */
  async run(onTick: () => void): Promise<DriveEnd> {
    const over = new Promise<void>((resolve) => {
      this.#resolve = resolve;
    });
    const ticker = setInterval(() => {
      this.#tick();
      onTick();
    }, TICK_MS);
    this.#pool.start();
    try {
      await over;
      await this.#awaitReports();
    } finally {
      clearInterval(ticker);
      await this.#pool.stop(CHILD_GRACE_MS);
    }
    if (this.#error !== null) throw this.#error;
    return this.#end ?? { kind: 'finished', reason: null };
  }

  #tick(): void {
    const asleep = Date.now() - this.#lastTick > ASLEEP_MS;
    this.#lastTick = Date.now();
    this.#pool.checkHeartbeats(asleep);
    this.#fill();
  }

  #ready(worker: number, catalog: Catalog): void {
    if (this.#catalog !== null && JSON.stringify(this.#catalog) !== JSON.stringify(catalog)) {
      throw new LabError('environment-invalid', {
        message: `${this.#pool.name(worker)} offers another version of environment ${catalog.env}: ${catalog.version}, not ${this.#catalog.version}`,
        hint: 'install the same version of it, and of agentrl-lab, on every host',
      });
    }
    this.#catalog = catalog;
    this.#plan ??= new TaskPlan(catalog, this.#options.tasks, this.#options.only);
    this.#see(worker);
  }

  #see(worker: number): void {
    this.#seen.add(worker);
    if (this.#startedAt !== null || this.#seen.size < this.#pool.size || this.#pool.readyCount === 0) return;
    this.#startedAt = performance.now();
    this.#busyBefore = performance.eventLoopUtilization();
    this.#cpuBefore = process.cpuUsage();
    this.#pool.setPace(1);
  }

  #fill(): void {
    const plan = this.#plan;
    if (plan === null || this.#startedAt === null || this.#end !== null) return;
    // Where all fit in at once, the first worker would take them all, and the others remain untried.
    const share = Math.ceil(plan.total / Math.max(1, this.#pool.readyCount));
    const fitAtOnce = plan.total <= 2 * this.#options.config.sampling.slots;
    this.#pool.fill((worker) => {
      const given = this.#given[worker] ?? 0;
      if (fitAtOnce && given >= share) return null;
      const lost = this.#scheduler.reassign(worker, null);
      const next = lost === null ? plan.next() : null;
      if (lost === null && next === null) this.#allGiven = true;
      else this.#given[worker] = given + 1;
      return next === null ? lost : this.#scheduler.assign(next, worker);
    });
  }

  #take(worker: number, { summary, bytes }: DeliveredEpisode): void {
    if (this.#end !== null) return;
    this.#acknowledge(worker, bytes);
    if (!this.#scheduler.complete(summary.id, worker)) return;
    const use = this.workers[worker];
    if (use !== undefined) use.tasks++;
    this.#count(worker, summary);
  }

  #count(worker: number, summary: DeliveredEpisode['summary']): void {
    this.tally.add(summary, this.#pool.name(worker));
    const trouble = this.#breaker.observe(summary.trust === 'void', summary.failureDetail);
    if (this.tally.tasks >= (this.#plan?.total ?? 0)) this.#finish({ kind: 'finished', reason: null });
    else if (trouble !== null) this.#finish({ kind: 'broken', reason: trouble });
  }

  /** Once a turn of the event loop, as a run does after it has stored what arrived in it. */
  #acknowledge(worker: number, bytes: number): void {
    if (this.#acks.size === 0) {
      setImmediate(() => {
        for (const [to, sum] of this.#acks) this.#pool.ack(to, sum);
        this.#acks = new Map();
      });
    }
    this.#acks.set(worker, (this.#acks.get(worker) ?? 0) + bytes);
  }

  #lost(worker: number, loss: WorkerLoss): void {
    if (this.#end !== null) return;
    const name = this.#pool.name(worker);
    const again = loss.retryMs === null ? 'given up' : `starting it again in ${loss.retryMs} ms`;
    // How its process ended is no more than the end of it where the environment is known to be the reason.
    const why = loss.culprit === null ? loss.reason : culpritFailure(loss.culprit, loss.reason).detail;
    this.#options.onNote(`${name}: ${why}; ${again}`);
    // What it sent is gone with it: another process must not be told of it.
    this.#acks.delete(worker);
    const scheduler = this.#scheduler;
    const guilty = findGuilty(worker, loss, {
      find: (id) => scheduler.find(id),
      suspects: (of, most) => {
        scheduler.suspect(of);
        return scheduler.at(of).filter(({ id }) => scheduler.deaths(id) >= most);
      },
    });
    for (const [assignment, fault] of guilty) {
      scheduler.complete(assignment.id, worker);
      this.#count(worker, lostEpisode(assignment, { host: this.#pool.hostName(worker), worker, ...fault }));
    }
    this.#given[worker] = (this.#given[worker] ?? 0) - scheduler.lose(worker);
    if (this.#pool.dead.length === this.#pool.size) {
      const reason = `every worker was given up; the last one, ${name}: ${why}`;
      this.#finish({ kind: 'broken', reason });
    }
    this.#see(worker);
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    this.#error ??=
      thrown instanceof LabError
        ? thrown
        : new LabError('internal', { message: `internal error: ${errorText(thrown)}`, cause: thrown });
    this.#finish({ kind: 'broken', reason: this.#error.message });
  }

  #finish(end: DriveEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#endedAt = performance.now();
    const { user, system } = process.cpuUsage(this.#cpuBefore);
    const { utilization: busy } = performance.eventLoopUtilization(this.#busyBefore);
    this.#runSide = { busy, cpuMs: (user + system) / 1000 };
    this.#resolve();
  }

  /** The steps that were taken since a worker's last report are in its next one. */
  async #awaitReports(): Promise<void> {
    if (this.#error !== null || this.#startedAt === null) return;
    const ready = this.#pool.status().flatMap(({ state }, index) => (state === 'ready' ? [index] : []));
    const unreported = new Set(ready);
    this.#unreported = unreported;
    const deadline = Date.now() + LAST_REPORT_MS;
    while (unreported.size > 0 && Date.now() < deadline) {
      await new Promise((resolve) => {
        setTimeout(resolve, TICK_MS / 5);
      });
    }
  }
}
