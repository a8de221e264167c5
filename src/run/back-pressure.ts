import { sampleBytesPerStep } from '../config/budgets.ts';
import type { Config } from '../config/schema.ts';
import type { Pressure } from '../domain/pipeline.ts';
import { type FlowRules, paceOf, type Situation } from './flow.ts';
import type { Progress } from './progress.ts';
import { QueueTrail } from './queue-trail.ts';
import type { WorkerPool } from './worker-pool.ts';

const MIB = 2 ** 20;
/** Paces differ by so much at least, so that workers are not told of each episode that is queued. */
const PACES = 16;

/**
 * Bytes of queued samples at which samplers slow down and stop. `sampling.ahead` batches are enough, whatever memory there is:
 * more would only be staler when its turn comes. A whole batch is always let through at full speed.
 */
export function pressureLimits(config: Config): Pick<Pressure, 'softBytes' | 'hardBytes'> {
  const { batchSteps, ahead, queueMiB, softShare } = config.sampling;
  const batch = batchSteps * sampleBytesPerStep(config);
  const hardBytes = Math.max(batch, Math.min(queueMiB * MIB, ahead * batch));
  return { softBytes: Math.min(hardBytes, Math.max(batch, softShare * hardBytes)), hardBytes };
}

/**
 * Bytes of queued samples beyond which the oldest are dropped: what workers had under way when they were stopped still has room.
 * Only episodes that are finished although the queue is full come to more: those in flight before a pause or an evaluation.
 */
export function mostQueuedBytes({ sampling, hosts }: Config): number {
  const workers = hosts.reduce((sum, host) => sum + host.workers, 0);
  return (sampling.queueMiB + workers * sampling.unackedMiB) * MIB;
}

/** What the flow of a run goes by, as its config says. */
export function flowRules(config: Config): FlowRules {
  const { overlap, batchSteps } = config.sampling;
  return { overlap, batchSteps, ...pressureLimits(config) };
}

/** Makes samplers go as fast as there is room for what they make, and measures how long they could not. */
export class BackPressure {
  readonly #rules: FlowRules;
  readonly #workers: Pick<WorkerPool, 'setPace'>;
  readonly #progress: Pick<Progress, 'elapsedS' | 'addHeld'>;
  #pace = 0;
  #evaluating = false;
  #since: number;
  #sampledS = 0;
  readonly #trail = new QueueTrail();

  constructor(
    rules: FlowRules,
    workers: Pick<WorkerPool, 'setPace'>,
    progress: Pick<Progress, 'elapsedS' | 'addHeld'>,
  ) {
    this.#rules = rules;
    this.#workers = workers;
    this.#progress = progress;
    this.#since = progress.elapsedS;
  }

  /** Running time, in seconds, in which samplers were not at a stand. */
  get sampledS(): number {
    const now = this.#progress.elapsedS;
    return this.#sampledS + (this.#pace > 0 ? now - this.#since : 0);
  }

  /** To be called whenever anything has changed, and a few times a second: gives workers their pace. */
  apply(situation: Situation): void {
    this.#trail.add(situation.queuedBytes, performance.now());
    this.#take(situation.evaluating);
    this.#set(Math.ceil(paceOf(situation, this.#rules) * PACES) / PACES);
  }

  /** Makes every worker stand still until the next `apply`. */
  hold(): void {
    this.#take(this.#evaluating);
    this.#set(0);
  }

  /** How much is queued, and what that does to the samplers. */
  pressure({ queuedBytes, queuedSteps }: Pick<Situation, 'queuedBytes' | 'queuedSteps'>): Pressure {
    const { batchSteps, softBytes, hardBytes } = this.#rules;
    const pressed = queuedSteps >= batchSteps && queuedBytes >= softBytes;
    const level = !pressed ? 'none' : queuedBytes >= hardBytes ? 'hard' : 'soft';
    return { level, bytes: queuedBytes, softBytes, hardBytes, trail: this.#trail.bytes };
  }

  #take(evaluating: boolean): void {
    const now = this.#progress.elapsedS;
    const seconds = now - this.#since;
    if (this.#pace > 0) this.#sampledS += seconds;
    // Held-out episodes are nothing that the trainer waits for or falls behind with.
    if (!this.#evaluating) this.#progress.addHeld(seconds * (1 - this.#pace));
    this.#since = now;
    this.#evaluating = evaluating;
  }

  #set(pace: number): void {
    this.#pace = pace;
    this.#workers.setPace(pace);
  }
}
