import { describe, expect, test, vi } from 'vitest';
import type { Environment, EnvironmentDefinition } from '../../envs/contract.ts';
import { waiting } from '../../envs/waiting/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { policySpecSchema } from '../../src/domain/policy-spec.ts';
import { deriveSeed } from '../../src/domain/random.ts';
import type { WorkerReport, WorkerSettings } from '../../src/protocol/worker.ts';
import { SamplingWorker } from '../../src/sampling/worker.ts';
import { initialWeights } from '../../trainer/policy/parameters.ts';

const policy = policySpecSchema.parse({ vocabulary: 256, embedding: 8, hidden: 8 });

interface Trial {
  readonly definition?: EnvironmentDefinition;
  readonly options: Readonly<Record<string, unknown>>;
  readonly family: string;
  readonly episodes: number;
  readonly settings?: Partial<WorkerSettings>;
  /** How long a claim is on its way, there and back. */
  readonly claimMs?: number;
  readonly queuedBytes?: () => number;
  /** What the test does with the worker meanwhile. */
  readonly meanwhile?: (worker: SamplingWorker) => void;
}

interface Outcome {
  /** In the order of their ids. */
  readonly summaries: readonly EpisodeSummary[];
  readonly bodies: readonly string[];
  readonly report: WorkerReport;
}

/** Has a worker in this process sample so many episodes; claims are answered in a later turn, as by a run. */
async function sample(trial: Trial): Promise<Outcome> {
  const { definition = waiting, options, family, episodes, settings, claimMs = 1, queuedBytes } = trial;
  const delivered: { summary: EpisodeSummary; body: string }[] = [];
  let dispatched = 0;
  const worker: SamplingWorker = await SamplingWorker.create({
    settings: {
      worker: 0,
      host: 'local',
      env: { name: 'waiting', options },
      slots: 32,
      slice: 16,
      inferenceThreads: 1,
      providers: ['cpu'],
      allowFallback: false,
      policy,
      rewards: DEFAULT_REWARDS,
      maxSteps: 120,
      stepTimeoutMs: 60_000,
      episodeTimeoutMs: 60_000,
      unackedBytes: 1 << 24,
      ...settings,
    },
    definition,
    lifeline: { begin: () => undefined, end: () => undefined },
    queuedBytes,
    send: (message, attachments) => {
      if (message.type === 'claim') setTimeout(dispatch, claimMs, message.count);
      if (message.type !== 'episode') return;
      delivered.push({ summary: message.summary, body: Buffer.from(attachments?.['body'] ?? []).toString() });
      worker.ack(message.bytes);
    },
  });
  function dispatch(count: number): void {
    const wanted = Math.min(count, episodes - dispatched);
    // The steady state begins when there are tasks, and ends when there are none.
    if (dispatched === 0) worker.report();
    const assignments = Array.from({ length: wanted }, () => ({
      id: episodeId(++dispatched),
      task: { env: 'waiting', family, split: 'train' as const, index: dispatched },
      seed: deriveSeed('pool', dispatched),
      phase: 'train' as const,
      mode: 'sampled' as const,
      iteration: 1,
      attempt: 1,
    }));
    worker.dispatch(assignments);
    if (dispatched >= episodes) report ??= worker.report();
  }
  let report: WorkerReport | undefined;
  worker.load(initialWeights(policy, 1), 3);
  worker.go();
  trial.meanwhile?.(worker);
  const deadlines = setInterval(() => worker.checkDeadlines(), 20);
  await vi.waitUntil(() => delivered.length >= episodes, { timeout: 25_000 });
  clearInterval(deadlines);
  report ??= worker.report();
  await worker.stop();
  delivered.sort((a, b) => (a.summary.id < b.summary.id ? -1 : 1));
  return {
    summaries: delivered.map(({ summary }) => summary),
    bodies: delivered.map(({ body }) => body),
    report,
  };
}

/** The same environment; `spoil` may replace what each instance does, and says how many instances there were. */
function counted(spoil: (environment: Environment, instance: number) => Partial<Environment>) {
  const instances = { built: 0, closed: 0 };
  const definition: EnvironmentDefinition = {
    ...waiting,
    create: (options) => {
      const environment = waiting.create(options);
      const instance = ++instances.built;
      return {
        reset: (task, seed) => environment.reset(task, seed),
        step: (action) => environment.step(action),
        getState: () => environment.getState(),
        fullReset: () => environment.fullReset(),
        close: () => {
          instances.closed++;
          return environment.close();
        },
        ...spoil(environment, instance),
      };
    },
  };
  return { definition, instances };
}

describe('the pool of slots', () => {
  test('slots are built once, before there is a task, and reused', async () => {
    const { definition, instances } = counted(() => ({}));
    const { summaries } = await sample({
      definition,
      options: { latencyMs: 0 },
      family: 'short',
      episodes: 200,
    });
    expect(summaries.every(({ trust }) => trust === 'valid')).toBe(true);
    expect(instances).toEqual({ built: 32, closed: 32 });
  });

  test('without reuse every episode has an environment of its own', async () => {
    const resets = new Map<number, number>();
    const { definition, instances } = counted((environment, instance) => ({
      reset: (task, seed) => {
        resets.set(instance, (resets.get(instance) ?? 0) + 1);
        return environment.reset(task, seed);
      },
    }));
    const settings = { reuseSlots: false };
    await sample({ definition, options: { latencyMs: 1 }, family: 'short', episodes: 200, settings });
    expect([...resets.values()]).toEqual(Array.from({ length: 200 }, () => 1));
    expect(instances.closed).toBe(instances.built);
  });

  test.each<[string, Environment['reset'], string]>([
    ['throws', () => thrown('no reset'), 'env_crash'],
    ['rejects', async () => await Promise.reject(new Error('no reset')), 'env_crash'],
    ['gives no observation', () => JSON.parse('{"lines":"none"}'), 'env_crash'],
    ['does not answer', async () => await new Promise(() => undefined), 'env_timeout'],
  ])(
    'a slot whose reset %s is built anew, and what it was is never asked again',
    async (_what, reset, failure) => {
      const asked = new Map<number, number>();
      const { definition, instances } = counted((environment, instance) => ({
        reset: (task, seed) => {
          asked.set(instance, (asked.get(instance) ?? 0) + 1);
          return instance % 3 === 0 ? reset(task, seed) : environment.reset(task, seed);
        },
      }));
      const settings = { stepTimeoutMs: 150 };
      const trial = { definition, options: { latencyMs: 1 }, family: 'short', episodes: 120, settings };
      const { summaries } = await sample(trial);
      const failed = summaries.filter((summary) => summary.failure === failure).length;
      expect(failed).toBeGreaterThan(9);
      expect(summaries.filter(({ trust }) => trust === 'void')).toHaveLength(failed);
      // The next episode of its slot builds another, and there may be none.
      expect(instances.built).toBeLessThanOrEqual(32 + failed);
      expect([...asked].filter(([instance, times]) => instance % 3 === 0 && times > 1)).toEqual([]);
    },
  );
});

function thrown(message: string): never {
  throw new Error(message);
}

describe('claiming', () => {
  test('slots are hardly ever without a task, although episodes differ and claims take their time', async () => {
    const trial = { options: { latencyMs: 2 }, family: 'mixed', episodes: 160, claimMs: 100 };
    const { report, summaries } = await sample(trial);
    const steps = summaries.map((summary) => summary.steps);
    expect(Math.max(...steps) / Math.min(...steps)).toBeGreaterThan(20);
    expect(report.freeMs / (report.wallMs * 32)).toBeLessThan(0.05);
  });
});

describe('what was sent', () => {
  const trial: Trial = { options: { latencyMs: 0 }, family: 'short', episodes: 100 };

  test('gets turns of the event loop to be written in before the next call, until it is', async () => {
    let [queued, asked] = [0, 0];
    const queuedBytes = (): number => {
      asked++;
      queued = queued === 0 ? 300_000 : queued - 100_000;
      return queued;
    };
    const { report } = await sample({ ...trial, queuedBytes });
    expect(asked).toBeGreaterThan(3 * report.inferenceCalls);
  });

  test('keeps no call waiting for longer where it is not written', async () => {
    const { summaries } = await sample({ ...trial, queuedBytes: () => 1e6 });
    expect(summaries).toHaveLength(100);
  });

  test('stops calls while megabytes of it are not written, until somebody reads on', async () => {
    let [queued, steps] = [1e9, -1];
    const meanwhile = (worker: SamplingWorker): void => {
      setTimeout(() => {
        ({ steps } = worker.report());
        queued = 0;
        worker.drained();
      }, 50);
    };
    const { summaries } = await sample({ ...trial, queuedBytes: () => queued, meanwhile });
    expect(steps).toBe(0);
    expect(summaries).toHaveLength(100);
  });
});

/** How long a step was waited for is no two times the same. */
function timeless({ bodies }: Outcome): string[] {
  return bodies.map((body) => body.replaceAll(/,"ms":\d+/gu, ''));
}

describe('batches', () => {
  const batch = { minRows: 1, minWindowMs: 0, maxWindowMs: 0 };
  const trial: Trial = { options: { latencyMs: 24, jitter: 1 }, family: 'turns', episodes: 64 };

  test('with a window calls gather what comes meanwhile, without one they do not wait', async () => {
    const wide = { ...batch, minWindowMs: 12, maxWindowMs: 12 };
    const [never, window] = [
      await sample({ ...trial, settings: { batch } }),
      await sample({ ...trial, settings: { batch: wide } }),
    ];
    expect(never.report.gatherMs).toBe(0);
    expect(window.report.gatherMs).toBeGreaterThan(0);
    expect(window.report.windowMs).toBe(12);
    const waited = window.report.waitMs / window.report.steps;
    expect(waited).toBeGreaterThan(1);
  });

  test('an environment that answers at once never waits, whatever the window', async () => {
    const wide = { minRows: 16, minWindowMs: 1000, maxWindowMs: 1000 };
    const settings = { batch: wide };
    const { report } = await sample({ options: { latencyMs: 0 }, family: 'short', episodes: 200, settings });
    expect(report.gatherMs).toBe(0);
  });

  test('how observations were gathered changes nothing in an episode', async () => {
    const wide = { ...batch, minRows: 7, minWindowMs: 20, maxWindowMs: 20 };
    const [never, window] = [
      await sample({ ...trial, settings: { batch } }),
      await sample({ ...trial, settings: { batch: wide, slice: 7 } }),
    ];
    expect(timeless(window)).toEqual(timeless(never));
  });
});
