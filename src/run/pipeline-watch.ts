import { duration } from '../domain/figure-text.ts';
import type { PipelineStage, Stall } from '../domain/pipeline.ts';
import type { ChildStatus } from '../domain/run.ts';
import { stallOf, type Trouble, type TroubleKind } from './stall-text.ts';

/** What the run wants to come through just now; `nothing` while it is meant to rest. */
export type Goal = 'start' | 'samples' | 'evaluation' | 'pause' | 'nothing';

/** The oldest in a stage of a worker. */
export interface WorkerStageView {
  readonly stage: PipelineStage;
  readonly ageMs: number;
  readonly count: number;
  readonly slot: number | null;
}

/** A worker at one moment, as the run process knows it. */
export interface WorkerView {
  readonly name: string;
  readonly state: ChildStatus['state'];
  /** It is given no episodes: somebody drains it. */
  readonly resting: boolean;
  /** Since its last sign of life, ms. */
  readonly silentMs: number;
  /** Since it last moved anything, or was last let go, ms. */
  readonly idleMs: number;
  /** What its main thread is inside of, where that takes long. */
  readonly call: { readonly stage: string; readonly slot: number; readonly ms: number } | null;
  readonly stages: readonly WorkerStageView[];
}

/** The pipeline at one moment. Times are ms. */
export interface PipelineView {
  readonly goal: Goal;
  /** For how long that has been the goal. */
  readonly goalMs: number;
  /** Number of the next update, or of the one that is under way. */
  readonly iteration: number;
  /** Workers are told to stand still. */
  readonly held: boolean;
  /** For how long an update has been under way; null when none is. */
  readonly updateMs: number | null;
  /** Since the update last got on, or began; 0 when none is. */
  readonly updateStillMs: number;
  /** A whole batch waits for the trainer. */
  readonly batchWaits: boolean;
  readonly trainer: Pick<WorkerView, 'name' | 'state' | 'silentMs'>;
  readonly workers: readonly WorkerView[];
  /** A worker that has not said yet that it has the newest weights. */
  readonly behind: { readonly name: string; readonly policyVersion: number; readonly ageMs: number } | null;
  /** How long the newest write took, and how long ago it ended; null before the first. */
  readonly write: { readonly ms: number; readonly agoMs: number } | null;
}

export interface PipelineWatchOptions {
  readonly stepTimeoutMs: number;
  /** What times in a stage were 99 % of the time, ms; null until that is known. */
  readonly p99: (stage: PipelineStage) => number | null;
}

/** Nothing shorter is a stall, ms: a garbage collection, a busy machine. */
const LEAST_MS = 3000;
/** What takes so many times as long as 99 % of its kind. */
const TIMES_P99 = 3;
/** An environment of which nothing is known yet has half its time limit, at most so long, ms. */
const MOST_UNKNOWN_MS = 10_000;
/** A process may take so long to start before it is worth saying, ms. */
const START_MS = 20_000;
/** An update is never called slow before, ms. */
const LEAST_UPDATE_MS = 10_000;
/** While nobody knows what updates take, one minibatch may take so long, ms. */
const MOST_UNKNOWN_UPDATE_MS = 60_000;
/** A write to the store that took so long is one too long; it is told for a while, since it cannot be while it lasts. */
const SLOW_WRITE_MS = 1500;
const TELL_WRITE_MS = 5000;

/** Those that hold up a worker whatever the others do. */
const BLOCKING: ReadonlySet<TroubleKind> = new Set(['stuck', 'silent']);

/**
 * Decides whether anything has stopped coming through, and who is to blame, by following who waits for whom: the run for an
 * update, that for the trainer or for samples, those for workers, those for a slot, the store or tasks. It judges one moment,
 * and knows no clock.
 */
export class PipelineWatch {
  readonly #options: PipelineWatchOptions;

  constructor(options: PipelineWatchOptions) {
    this.#options = options;
  }

  /** The stall at this moment, or null. */
  look(view: PipelineView): Stall | null {
    if (view.goal === 'nothing') return null;
    if (view.goal === 'start') return this.#judgeStart(view);
    const trainer = this.#judgeTrainer(view);
    // What the run waits for now comes first; a trainer that it will need later stays to be said.
    if (trainer !== null && (view.updateMs !== null || view.batchWaits)) return trainer;
    return this.#judgeStore(view) ?? this.#judgeWorkers(view) ?? trainer ?? this.#judgeBroadcast(view);
  }

  #judgeStart({ goalMs, trainer, workers }: PipelineView): Stall | null {
    if (goalMs < START_MS) return null;
    const absent = [trainer, ...workers].filter(({ state }) => state !== 'ready');
    const names = absent.map(({ name, state }) => `${name} is ${state === 'ready' ? 'silent' : state}`);
    const message = `the run waits for its processes: ${names.join(', ')}, ${duration(goalMs)}`;
    return { stage: 'claim', message, ageMs: goalMs };
  }

  #judgeTrainer(view: PipelineView): Stall | null {
    const { trainer, updateMs, batchWaits, iteration } = view;
    const what = `update ${iteration} waits for the trainer`;
    if (trainer.state === 'ready' && trainer.silentMs >= LEAST_MS) {
      const ageMs = trainer.silentMs;
      return { stage: 'update', message: `${what}: ${trainer.name} silent, ${duration(ageMs)}`, ageMs };
    }
    if (trainer.state !== 'ready') {
      const isWanted = updateMs !== null || batchWaits;
      if (!isWanted || trainer.silentMs < START_MS) return null;
      const ageMs = trainer.silentMs;
      const state = `${trainer.name} is ${trainer.state}`;
      return { stage: 'update', message: `${what}: ${state}, ${duration(ageMs)}`, ageMs };
    }
    if (updateMs === null) return null;
    const p99 = this.#options.p99('update');
    if (p99 === null) return judgeUnknownUpdate(view);
    if (updateMs < Math.max(LEAST_UPDATE_MS, TIMES_P99 * p99)) return null;
    const message = `update ${iteration} takes ${duration(updateMs)}; 99 % take ${duration(p99)} at most`;
    return { stage: 'update', message, ageMs: updateMs };
  }

  #judgeStore({ write, iteration }: PipelineView): Stall | null {
    if (write === null || write.agoMs > TELL_WRITE_MS) return null;
    if (write.ms < Math.max(SLOW_WRITE_MS, TIMES_P99 * (this.#options.p99('store') ?? 0))) return null;
    const message = `update ${iteration} waits for samples: the store, whose newest write took ${duration(write.ms)}`;
    return { stage: 'store', message, ageMs: write.ms };
  }

  #judgeWorkers(view: PipelineView): Stall | null {
    const { workers, goal, held, updateMs } = view;
    const alive = workers.filter(({ state, resting }) => state !== 'dead' && !resting);
    const isDry = alive.length === 0 && workers.some(({ state, resting }) => state !== 'dead' && resting);
    // Those that are drained still finish what they have: a pause waits for that, and nothing else does.
    if (isDry && goal !== 'pause' && updateMs === null) {
      const message = `${waiter(goal, view.iteration)}: every worker is drained`;
      return { stage: 'claim', message, ageMs: 0 };
    }
    const troubles = alive.flatMap((worker) => this.#trouble(worker) ?? []);
    const isWholeStill = troubles.length === alive.length;
    // An update needs no samples until it is over, and held workers give none.
    if (isWholeStill && !held && updateMs === null && alive.length > 0) {
      return stallOf(waiter(goal, view.iteration), troubles);
    }
    const blocking = troubles.filter(({ kind }) => BLOCKING.has(kind));
    return stallOf(`${blocking.length} of ${alive.length} workers gives nothing`, blocking);
  }

  #judgeBroadcast({ behind }: PipelineView): Stall | null {
    if (behind === null) return null;
    const { name, policyVersion, ageMs } = behind;
    if (ageMs < Math.max(LEAST_MS, TIMES_P99 * (this.#options.p99('broadcast') ?? LEAST_MS))) return null;
    const message = `${name} waits for policy version ${policyVersion}, ${duration(ageMs)}`;
    return { stage: 'broadcast', message, ageMs };
  }

  #trouble(worker: WorkerView): Trouble | null {
    const { state, silentMs, call, idleMs } = worker;
    if (state !== 'ready') return silentMs >= START_MS ? trouble(worker, 'absent', 'claim', silentMs) : null;
    const stage = call?.stage === 'reset' ? 'reset' : 'step';
    if (call !== null && call.ms >= this.#environmentLimit(stage)) {
      return trouble(worker, 'stuck', stage, call.ms, { slot: call.slot, work: call.stage });
    }
    if (call === null && silentMs >= LEAST_MS) return trouble(worker, 'silent', 'step', silentMs);
    const limit = Math.max(this.#environmentLimit('step'), this.#environmentLimit('reset'));
    return idleMs < limit ? null : idleTrouble(worker);
  }

  #environmentLimit(stage: 'reset' | 'step'): number {
    const unknown = Math.min(MOST_UNKNOWN_MS, this.#options.stepTimeoutMs / 2);
    const p99 = this.#options.p99(stage);
    return Math.max(LEAST_MS, p99 === null ? unknown : TIMES_P99 * p99);
  }
}

/** One of the first updates: only its minibatches say whether it gets on. */
function judgeUnknownUpdate({ iteration, updateStillMs: ageMs, trainer }: PipelineView): Stall | null {
  if (ageMs < MOST_UNKNOWN_UPDATE_MS) return null;
  const message = `update ${iteration} does not get on: ${trainer.name} at one minibatch, ${duration(ageMs)}`;
  return { stage: 'update', message, ageMs };
}

function trouble(
  { name }: WorkerView,
  kind: TroubleKind,
  stage: PipelineStage,
  ageMs: number,
  more: Partial<Pick<Trouble, 'slot' | 'work'>> = {},
): Trouble {
  return { kind, worker: name, stage, ageMs, work: stage, slot: null, ...more };
}

/** What a worker that moves nothing waits for. */
function idleTrouble(worker: WorkerView): Trouble {
  const at = (wanted: PipelineStage): WorkerStageView | null =>
    worker.stages.find(({ stage, count }) => stage === wanted && count > 0) ?? null;
  const store = at('store');
  if (store !== null && store.ageMs >= LEAST_MS)
    return trouble(worker, 'unacknowledged', 'store', store.ageMs);
  const [oldest] = [at('reset'), at('step')]
    .flatMap((found) => found ?? [])
    .toSorted((a, b) => b.ageMs - a.ageMs);
  if (oldest !== undefined) {
    return trouble(worker, 'waiting', oldest.stage, oldest.ageMs, { slot: oldest.slot });
  }
  const call = at('inference');
  if (call !== null) return trouble(worker, 'asking', 'inference', call.ageMs);
  return trouble(worker, at('claim') === null ? 'idle' : 'unfed', 'claim', worker.idleMs);
}

function waiter(goal: Goal, iteration: number): string {
  if (goal === 'evaluation') return 'the evaluation waits for episodes';
  if (goal === 'pause') return 'the pause waits for the episodes in flight';
  return `update ${iteration} waits for samples`;
}
