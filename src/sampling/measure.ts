import type { Environment, EnvironmentDefinition, Eventual } from '../../envs/contract.ts';
import { Histogram } from '../domain/histogram.ts';
import type { IdleCause, MeasuredStage, WorkerMeasure } from '../protocol/worker.ts';

/**
 * Where a worker's time goes, call by call: for `agentrl-lab bench`, not for runs. It takes two looks at the clock a step,
 * which is a few per cent of the fastest environment's step, and nothing of a run's.
 */
export class Measure {
  readonly #stages: Readonly<Record<MeasuredStage, Histogram>> = {
    task: new Histogram(),
    reset: new Histogram(),
    step: new Histogram(),
  };
  #environmentMs = 0;
  #idleMs: Record<IdleCause, number> = noIdle();
  #idle: { readonly cause: IdleCause; since: number } | null = null;
  #since = performance.now();
  #cpu = process.cpuUsage();
  /** With the environment loaded, and before there is a slot. */
  readonly #emptyRssMiB = process.memoryUsage.rss() / 2 ** 20;

  /** Calls what may answer later. A call's length is that until its answer is there; one that throws has none. */
  call<T>(stage: MeasuredStage, call: () => Eventual<T>): Eventual<T> {
    const started = performance.now();
    const answer = this.#compute(started, call);
    if (answer instanceof Promise) return this.#await(stage, started, answer);
    this.#stages[stage].add(performance.now() - started);
    return answer;
  }

  /** The same for what answers at once. */
  callNow<T>(stage: MeasuredStage, call: () => T): T {
    const started = performance.now();
    const answer = this.#compute(started, call);
    this.#stages[stage].add(performance.now() - started);
    return answer;
  }

  /** From now on the worker has nothing to do, until `endIdle`. */
  beginIdle(cause: IdleCause): void {
    this.#idle = { cause, since: performance.now() };
  }

  endIdle(): void {
    this.#countIdle(performance.now());
    // What was computed before it was let go, as to build the slots, is not the tasks'.
    if (this.#idle?.cause === 'held') this.#cpu = process.cpuUsage();
    this.#idle = null;
  }

  /** What was measured since the last look. */
  take(): WorkerMeasure {
    const now = performance.now();
    this.#countIdle(now);
    const { user, system } = process.cpuUsage(this.#cpu);
    const { task, reset, step } = this.#stages;
    const measure: WorkerMeasure = {
      stages: { task: task.take(), reset: reset.take(), step: step.take() },
      wallMs: now - this.#since,
      environmentMs: this.#environmentMs,
      idleMs: this.#idleMs,
      cpuMs: (user + system) / 1000,
      emptyRssMiB: this.#emptyRssMiB,
      // libuv gives it in KiB everywhere.
      peakRssMiB: process.resourceUsage().maxRSS / 1024,
    };
    this.#since = now;
    this.#cpu = process.cpuUsage();
    this.#environmentMs = 0;
    this.#idleMs = noIdle();
    return measure;
  }

  /** Of an idle time that goes on, what there was of it until now. */
  #countIdle(now: number): void {
    if (this.#idle === null) return;
    this.#idleMs[this.#idle.cause] += now - this.#idle.since;
    this.#idle.since = now;
  }

  #compute<T>(started: number, call: () => T): T {
    try {
      return call();
    } finally {
      this.#environmentMs += performance.now() - started;
    }
  }

  async #await<T>(stage: MeasuredStage, started: number, answer: Promise<T>): Promise<T> {
    const value = await answer;
    this.#stages[stage].add(performance.now() - started);
    return value;
  }
}

/** The same environment, with every call of `createTask`, `reset` and `step` measured. */
export function measureEnvironment(
  definition: EnvironmentDefinition,
  measure: Measure,
): EnvironmentDefinition {
  return {
    catalog: definition.catalog,
    createTask(ref) {
      return measure.callNow('task', () => definition.createTask(ref));
    },
    create: (options, resources) => measured(definition.create(options, resources), measure),
  };
}

function measured(environment: Environment, measure: Measure): Environment {
  return {
    reset: (task, seed) => measure.call('reset', () => environment.reset(task, seed)),
    step: (action) => measure.call('step', () => environment.step(action)),
    getState: () => environment.getState(),
    fullReset: () => environment.fullReset(),
    close: () => environment.close(),
  };
}

function noIdle(): Record<IdleCause, number> {
  return { held: 0, answers: 0, tasks: 0, acknowledgement: 0 };
}
