import type { Environment, EnvironmentDefinition } from '../../envs/contract.ts';
import type { Observation } from '../../src/domain/space.ts';
import type { Task } from '../../src/domain/task.ts';

/** How an environment fails to forget. */
export interface LeakyOptions {
  /** What the trace of the episode before shows in. */
  readonly where: 'observation' | 'state';
  /** Families in whose first observation or state it shows. */
  readonly families: readonly string[];
  /** Only when the episode before was of this family. */
  readonly from?: string;
  /** Only when the instance has had so many episodes before. */
  readonly after?: number;
  /** Resets answer so much later; absent: at once. */
  readonly latencyMs?: number;
}

/** An environment as it is, but for a trace that earlier episodes of an instance leave. `onReset` hears of each reset. */
export function leaky(
  base: EnvironmentDefinition,
  options: LeakyOptions,
  onReset: (task: Task, earlier: readonly Task[]) => void = () => undefined,
): EnvironmentDefinition {
  return { ...base, create: (of) => new Leaky(base.create(of), options, onReset) };
}

class Leaky implements Environment {
  readonly #inner: Environment;
  readonly #options: LeakyOptions;
  readonly #onReset: (task: Task, earlier: readonly Task[]) => void;
  readonly #earlier: Task[] = [];
  #trace: string | null = null;

  constructor(
    inner: Environment,
    options: LeakyOptions,
    onReset: (task: Task, earlier: readonly Task[]) => void,
  ) {
    this.#inner = inner;
    this.#options = options;
    this.#onReset = onReset;
  }

  reset(task: Task, seed: number): Observation | Promise<Observation> {
    const { where, families, from, after = 1, latencyMs } = this.#options;
    this.#onReset(task, this.#earlier);
    const before = this.#earlier.at(-1);
    const isCause = before !== undefined && (from === undefined || before.family === from);
    const isShown = isCause && this.#earlier.length >= after && families.includes(task.family);
    this.#trace = isShown ? `left over from ${before.text}` : null;
    this.#earlier.push(task);
    const observation = this.#inner.reset(task, seed);
    if (observation instanceof Promise) throw new Error('wanted an environment that answers at once');
    const { lines } = observation;
    const shown =
      where === 'observation' && this.#trace !== null
        ? { ...observation, lines: [...lines, this.#trace] }
        : observation;
    if (latencyMs === undefined) return shown;
    return new Promise((resolve) => {
      setTimeout(resolve, latencyMs, shown);
    });
  }

  step(action: Parameters<Environment['step']>[0]): ReturnType<Environment['step']> {
    return this.#inner.step(action);
  }

  getState(): unknown {
    const state = this.#inner.getState();
    return this.#options.where === 'state' ? { state, trace: this.#trace } : state;
  }

  fullReset(): ReturnType<Environment['fullReset']> {
    this.#earlier.length = 0;
    return this.#inner.fullReset();
  }

  close(): ReturnType<Environment['close']> {
    return this.#inner.close();
  }
}
