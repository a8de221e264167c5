import { duration } from '../domain/figure-text.ts';
import type { PipelineStage, StageAge, Stall } from '../domain/pipeline.ts';
import type { ChildStatus, RunStatus } from '../domain/run.ts';
import type { WorkerReport } from '../protocol/worker.ts';
import type { EpisodeIntake } from './episode-intake.ts';
import type { Situation } from './flow.ts';
import type { Journal } from './journal.ts';
import { type Goal, type PipelineView, PipelineWatch, type WorkerView } from './pipeline-watch.ts';
import type { SampleQueue } from './sample-queue.ts';
import { SlotDrifts } from './slot-drifts.ts';
import { StageTimes } from './stage-times.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface PipelineParts {
  readonly workers: Pick<WorkerPool, 'status' | 'longCalls' | 'name' | 'isResting'>;
  /** `moves` grows with each sign that an update gets on. */
  readonly trainer: { readonly name: string; readonly moves: number; status(): ChildStatus };
  readonly queue: Pick<SampleQueue, 'oldest'>;
  readonly intake: Pick<EpisodeIntake, 'newestWrite'>;
  readonly journal: Pick<Journal, 'event'>;
  readonly stepTimeoutMs: number;
  readonly batchSteps: number;
}

/** What the run knows at a tick. */
export interface PipelineMoment {
  readonly situation: Situation;
  readonly held: boolean;
  /** Number of the update that is under way, or comes next. */
  readonly iteration: number;
  readonly policyVersion: number;
}

/** The newest report of a worker. */
interface Heard {
  readonly report: WorkerReport;
  readonly at: number;
  /** When it last moved anything. */
  readonly movedAt: number;
}

/** A stall must be there for so many ticks before it is told: one tick may come between two messages. */
const TICKS = 2;
/** Every worker has said how it is by then, after this process stood still, ms. */
const QUIET_MS = 1500;
const STAGE_ORDER: readonly PipelineStage[] = ['claim', 'reset', 'step', 'inference', 'store'];

/**
 * Keeps what the run process hears of every stage, tells of stalls as events, and gives the run's status its part. Times are
 * ms since the epoch.
 */
export class PipelineKeeper {
  readonly #parts: PipelineParts;
  readonly #times = new StageTimes();
  readonly #watch: PipelineWatch;
  readonly #drifts = new SlotDrifts();
  readonly #heard = new Map<number, Heard>();
  #goal: { readonly goal: Goal; since: number } = { goal: 'nothing', since: 0 };
  /** Since when workers have been let go; 0 while they are held. */
  #releasedAt = 0;
  #update: {
    readonly iteration: number;
    since: number;
    readonly queuedSince: number | null;
    moves: number;
    /** When it last got on, or began. */
    movedAt: number;
  } | null = null;
  #broadcast: { readonly policyVersion: number; since: number; done: boolean } | null = null;
  /** What the newest looks found, and for how many of them. */
  #suspicion: { stall: Stall; ticks: number; readonly since: number } | null = null;
  /** Since when the oldest episode in the queue had been there, at the tick before. */
  #queuedSince: number | null = null;
  /** What is found before is not told: news that came late is not sorted out yet. */
  #quietUntil = 0;
  #lastTick = 0;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    const { stepTimeoutMs } = parts;
    this.#watch = new PipelineWatch({ stepTimeoutMs, p99: (stage) => this.#times.p99(stage) });
  }

  /** A worker has reported. */
  report(worker: number, report: WorkerReport, now: number): void {
    const stages = report.watch?.stages ?? [];
    for (const { stage, seen } of stages) this.#times.add(stage, seen, now);
    const hasMoved =
      report.steps > 0 || stages.some(({ stage, seen }) => stage !== 'claim' && seen.buckets.length > 0);
    const movedAt = hasMoved ? now : (this.#heard.get(worker)?.movedAt ?? now);
    this.#heard.set(worker, { report, at: now, movedAt });
    const { journal, workers } = this.#parts;
    const { drifts = [], rebuilds = [] } = report.watch ?? {};
    for (const { slot, message } of this.#drifts.add(worker, drifts, now)) {
      journal.event('warning', 'slot-drift', `${workers.name(worker)}, slot ${slot}`, message);
    }
    for (const { slot, message } of this.#drifts.rebuilt(worker, rebuilds, now)) {
      journal.event('warning', 'slot-rebuilt', `${workers.name(worker)}, slot ${slot}`, message);
    }
  }

  /** To be called a few times a second. `asleepMs`: for how long this process stood still before, 0 if it did not. */
  tick(moment: PipelineMoment, now: number, asleepMs: number): void {
    this.#follow(moment, now);
    if (asleepMs > 0) this.#excuse(now, asleepMs);
    const found = this.#watch.look(this.#view(moment, now));
    if (found === null || (now < this.#quietUntil && found.stage !== 'store')) this.#endStall(now);
    else this.#addStall(found, now);
  }

  /** The pipeline's part of the run's status. */
  status(now: number): Pick<RunStatus, 'stages' | 'stall'> {
    const { stall, ticks } = this.#suspicion ?? { stall: null, ticks: 0 };
    return { stages: this.#stages(now), stall: ticks >= TICKS ? stall : null };
  }

  /** Notices what has begun and ended since the last tick. */
  #follow(moment: PipelineMoment, now: number): void {
    const goal = goalOf(moment.situation);
    if (goal !== this.#goal.goal) this.#goal = { goal, since: now };
    if (moment.held || goal === 'nothing' || goal === 'start') this.#releasedAt = 0;
    else if (this.#releasedAt === 0) this.#releasedAt = now;
    // What its process said before is nothing of the next one.
    const ready = this.#parts.workers.status().filter(({ state }) => state === 'ready');
    for (const worker of this.#heard.keys()) {
      if (!ready.some(({ index }) => index === worker)) this.#heard.delete(worker);
    }
    this.#followUpdate(moment, now);
    this.#followBroadcast(moment.policyVersion, now);
    this.#lastTick = now;
  }

  #followUpdate({ situation, iteration }: PipelineMoment, now: number): void {
    const update = this.#update;
    if (update !== null && (!situation.updating || update.iteration !== iteration)) {
      this.#times.addOne('update', now - update.since, now);
      const { since, queuedSince } = update;
      if (queuedSince !== null) this.#times.addOne('queue', Math.max(0, since - queuedSince), now);
      this.#update = null;
    }
    const { moves } = this.#parts.trainer;
    if (situation.updating) {
      this.#update ??= { iteration, since: now, queuedSince: this.#queuedSince, moves, movedAt: now };
      if (this.#update.moves !== moves) Object.assign(this.#update, { moves, movedAt: now });
    }
    // A pause at once stops it between two minibatches.
    if (this.#goal.goal === 'nothing') this.#excuseUpdate(now - this.#lastTick);
    this.#queuedSince = this.#parts.queue.oldest?.since ?? null;
  }

  #followBroadcast(policyVersion: number, now: number): void {
    if (policyVersion !== (this.#broadcast?.policyVersion ?? 0)) {
      this.#broadcast = { policyVersion, since: now, done: false };
    }
    if (this.#broadcast === null || this.#broadcast.done || this.#behind().length > 0) return;
    this.#broadcast.done = true;
    this.#times.addOne('broadcast', now - this.#broadcast.since, now);
  }

  /** Time in which this process, and maybe the whole machine, stood still is nobody's. */
  #excuse(now: number, ms: number): void {
    this.#quietUntil = now + QUIET_MS;
    for (const [worker, heard] of this.#heard) this.#heard.set(worker, { ...heard, at: now, movedAt: now });
    this.#goal.since += ms;
    this.#excuseUpdate(ms);
    if (this.#broadcast !== null) this.#broadcast.since += ms;
  }

  #excuseUpdate(ms: number): void {
    if (this.#update === null) return;
    this.#update.since += ms;
    this.#update.movedAt += ms;
  }

  /** Workers that have not told of the newest weights yet. */
  #behind(): number[] {
    const { policyVersion } = this.#broadcast ?? { policyVersion: 0 };
    return [...this.#heard].flatMap(([worker, { report }]) =>
      (report.watch?.policyVersion ?? policyVersion) < policyVersion ? [worker] : [],
    );
  }

  #view({ situation, held, iteration }: PipelineMoment, now: number): PipelineView {
    const { trainer, intake, batchSteps } = this.#parts;
    const { goal, since } = this.#goal;
    const { silentMs, state } = trainer.status();
    const write = intake.newestWrite;
    return {
      goal,
      goalMs: now - since,
      iteration,
      held,
      updateMs: this.#update === null ? null : now - this.#update.since,
      updateStillMs: this.#update === null ? 0 : now - this.#update.movedAt,
      batchWaits: situation.queuedSteps >= batchSteps,
      trainer: { name: trainer.name, state, silentMs },
      workers: this.#workerViews(now),
      behind: this.#behindView(now),
      write: write === null ? null : { ms: write.ms, agoMs: now - write.endedAt },
    };
  }

  #behindView(now: number): PipelineView['behind'] {
    const [worker] = this.#broadcast?.done === false ? this.#behind() : [];
    if (worker === undefined || this.#broadcast === null) return null;
    const { policyVersion, since } = this.#broadcast;
    return { name: this.#parts.workers.name(worker), policyVersion, ageMs: now - since };
  }

  #workerViews(now: number): WorkerView[] {
    const { workers } = this.#parts;
    const calls = workers.longCalls();
    return workers.status().map(({ state, silentMs, index: worker }) => {
      const heard = this.#heard.get(worker);
      const call = calls[worker] ?? null;
      const moved = Math.max(heard?.movedAt ?? now, this.#releasedAt === 0 ? now : this.#releasedAt);
      return {
        name: workers.name(worker),
        resting: workers.isResting(worker),
        state,
        silentMs,
        idleMs: now - moved,
        call: call === null ? null : { stage: call.stage, slot: call.slot, ms: now - call.since },
        stages: (heard?.report.watch?.stages ?? []).map(({ stage, ageMs, count, slot }) => ({
          stage,
          count,
          slot,
          ageMs: count === 0 ? 0 : ageMs + (now - (heard?.at ?? now)),
        })),
      };
    });
  }

  #addStall(stall: Stall, now: number): void {
    const { ticks, since } = this.#suspicion ?? { ticks: 0, since: now };
    this.#suspicion = { stall, ticks: ticks + 1, since };
    if (ticks + 1 === TICKS) this.#parts.journal.event('warning', 'stall', stall.stage, stall.message);
  }

  #endStall(now: number): void {
    if (this.#suspicion !== null && this.#suspicion.ticks >= TICKS) {
      const { stall, since } = this.#suspicion;
      const lasted = Math.max(stall.ageMs, now - since);
      this.#parts.journal.event(
        'info',
        'stall-over',
        stall.stage,
        `it lasted ${duration(lasted)}: ${stall.message}`,
      );
    }
    this.#suspicion = null;
  }

  #stages(now: number): StageAge[] {
    const ages = STAGE_ORDER.flatMap((stage) => this.#workerStage(stage, now) ?? []);
    const oldest = this.#parts.queue.oldest;
    if (oldest !== null)
      ages.push(this.#age('queue', now - oldest.since, 'samples of the oldest episode', oldest.count));
    if (this.#update !== null) {
      ages.push(this.#age('update', now - this.#update.since, `update ${this.#update.iteration}`, 1));
    }
    const behind = this.#broadcast?.done === false ? this.#behind() : [];
    const [first] = behind;
    if (this.#broadcast !== null && first !== undefined) {
      const subject = `policy version ${this.#broadcast.policyVersion} to ${this.#parts.workers.name(first)}`;
      ages.push(this.#age('broadcast', now - this.#broadcast.since, subject, behind.length));
    }
    return ages;
  }

  /** The oldest of a stage among all workers. */
  #workerStage(stage: PipelineStage, now: number): StageAge | null {
    let count = 0;
    let oldest: { readonly ageMs: number; readonly subject: string } | null = null;
    for (const view of this.#workerViews(now)) {
      // The steps after an inference call are a part of it until they are over.
      const isElsewhere = stage === 'inference' && view.call !== null;
      const found = isElsewhere ? undefined : view.stages.find((at) => at.stage === stage);
      const inCall = view.call?.stage === stage ? view.call : null;
      count += (found?.count ?? 0) + Number(inCall !== null);
      for (const [ageMs, slot] of [
        ...(found === undefined || found.count === 0 ? [] : [[found.ageMs, found.slot] as const]),
        ...(inCall === null ? [] : [[inCall.ms, inCall.slot] as const]),
      ]) {
        const subject = slot === null ? view.name : `${view.name}, slot ${slot}`;
        if (oldest === null || ageMs > oldest.ageMs) oldest = { ageMs, subject };
      }
    }
    return oldest === null ? null : this.#age(stage, oldest.ageMs, oldest.subject, count);
  }

  #age(stage: PipelineStage, ageMs: number, subject: string, count: number): StageAge {
    return { stage, ageMs: Math.max(0, ageMs), p99Ms: this.#times.p99(stage), subject, count };
  }
}

function goalOf({ state, hardPaused, evaluating }: Situation): Goal {
  if (hardPaused) return 'nothing';
  if (state === 'starting') return 'start';
  if (state === 'pausing') return 'pause';
  if (state !== 'running' && state !== 'stopping') return 'nothing';
  return evaluating ? 'evaluation' : 'samples';
}
