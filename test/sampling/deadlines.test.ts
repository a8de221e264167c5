import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Environment, EnvironmentDefinition, StepResult } from '../../envs/contract.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { Observation } from '../../src/domain/space.ts';
import type { FinishedEpisode } from '../../src/sampling/finished-episode.ts';
import { Slot } from '../../src/sampling/slot.ts';
import { settingsOf } from '../support/worker-settings.ts';

const policy = policySpecSchema.parse({ kind: 'features', features: 1, argumentSlots: { input: 2 } });
const layout = actionLayout(policy);
const observation: Observation = {
  lines: [],
  features: [0],
  legal: ['input'],
  candidates: [],
};
const result: StepResult = {
  observation,
  components: {},
  terminated: false,
  success: false,
  failure: null,
  effective: true,
};
const never = new Promise<never>(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A slot with an environment of which a method is another one, an episode begun in it, and what comes of it. */
function begin(change: Partial<Environment>, create?: () => Environment) {
  const finished: FinishedEpisode[] = [];
  const environment: Environment = {
    reset: () => observation,
    step: () => result,
    getState: () => null,
    fullReset: () => undefined,
    close: () => undefined,
    ...change,
  };
  const definition: EnvironmentDefinition = {
    catalog: { env: 'test', version: '1', maxSteps: 10, families: [{ name: 'test', train: 9, heldOut: 0 }] },
    createTask: (ref) => ({ ...ref, seed: 0, difficulty: 0, text: 'wait', params: {} }),
    create: create ?? (() => environment),
  };
  const watched: string[] = [];
  const slot = new Slot(
    {
      stepPace: { ms: 0 },
      settings: settingsOf({
        env: { name: 'test', options: {} },
        policy,
        maxSteps: 10,
      }),
      definition,
      layout,
      lifeline: {
        begin: (_subject, stage, index) => void watched.push(`${stage} ${index}`),
        end: () => void watched.push('end'),
      },
      onFinished: (_slot, episode) => finished.push(episode),
      onReady: () => undefined,
    },
    3,
  );
  const task = { env: 'test', family: 'test', split: 'train', index: 0 } as const;
  const assign = (sequence: number): void =>
    slot.begin({
      id: episodeId(sequence),
      task,
      seed: 1,
      phase: 'train',
      mode: 'sampled',
      iteration: 1,
      attempt: 1,
    });
  assign(1);
  return { slot, finished, watched, assign };
}

function step(slot: Slot): void {
  slot.act(
    { probability: 1, value: 0, entropy: 0, policyVersion: 1, action: { type: 'input', argument: 'go' } },
    {
      row: 0,
      observations: { features: new Float32Array(1), mask: new Float32Array(layout.size) },
      logProbabilities: new Float32Array(layout.size),
      action: 0,
      value: 0,
      policyVersion: 1,
    },
  );
}

describe('the deadline of an answer', () => {
  test.each([
    ['reset', { reset: () => never }],
    ['step', { step: () => never }],
  ] as const)('a %s that is never answered is env_timeout, with its stage', (stage, change) => {
    const { slot, finished, watched } = begin(change);
    if (stage === 'step') step(slot);
    vi.advanceTimersByTime(999);
    slot.checkDeadline(Date.now(), 0);
    expect(finished).toEqual([]);
    expect(slot.waiting).toMatchObject({ stage });
    vi.advanceTimersByTime(1);
    slot.checkDeadline(Date.now(), 0);
    expect(finished.map(({ summary }) => summary)).toMatchObject([
      { failure: 'env_timeout', failureStage: stage, trust: 'void', reward: null, slot: 3 },
    ]);
    // Closing calls the environment: that is watched too, and ended once for each beginning.
    expect(watched.slice(-2)).toEqual(['close 3', 'end']);
    expect(watched.filter((at) => at === 'end')).toHaveLength(watched.length / 2);
  });

  test('a process that stood still gets its time back', () => {
    const { slot, finished } = begin({ reset: () => never });
    vi.advanceTimersByTime(60_000);
    slot.excuse(59_500);
    slot.checkDeadline(Date.now(), 0);
    expect(finished).toEqual([]);
    vi.advanceTimersByTime(500);
    slot.checkDeadline(Date.now(), 0);
    expect(finished).toHaveLength(1);
  });

  test('what began within a standstill began no later than now', () => {
    const { slot } = begin({ reset: () => never });
    vi.advanceTimersByTime(100);
    slot.excuse(3000);
    expect(slot.waiting?.since).toBe(Date.now());
  });
});

describe('the time limit of an episode', () => {
  test('fires while a step is waited for: truncated, bootstrapped from the last observation, and trained on', async () => {
    let steps = 0;
    const { slot, finished } = begin({ step: async () => (++steps < 3 ? await later(900) : await never) });
    for (let taken = 0; taken < 2; taken++) {
      step(slot);
      await vi.advanceTimersByTimeAsync(900);
    }
    step(slot);
    await vi.advanceTimersByTimeAsync(699);
    slot.checkDeadline(Date.now(), 0);
    expect(slot.state).toBe('busy');
    await vi.advanceTimersByTimeAsync(1);
    slot.checkDeadline(Date.now(), 0);
    expect(slot.state).toBe('closing');
    slot.bootstrap(0.5);
    expect(finished).toMatchObject([
      {
        bootstrapValue: 0.5,
        summary: { failure: 'wall_clock', failureStage: null, truncated: true, trust: 'valid', steps: 2 },
      },
    ]);
    // Of the two steps that came to their end: what the third one was decided by is no sample.
    expect(finished[0]?.tensors?.['rewards']?.byteLength).toBe(2 * 4);
  });

  test('does not run while the worker is held', async () => {
    const { slot } = begin({ step: async () => await later(800) });
    for (let taken = 0; taken < 3; taken++) {
      step(slot);
      await vi.advanceTimersByTimeAsync(taken < 2 ? 800 : 799);
    }
    slot.checkDeadline(Date.now() + 150, 200);
    expect(slot.state).toBe('busy');
    slot.checkDeadline(Date.now() + 150, 0);
    expect(slot.state).toBe('closing');
  });
});

test('a slot whose environment cannot be built again fails one episode at a time, and recovers', () => {
  let built = 0;
  const sound: Environment = {
    reset: () => observation,
    step: () => {
      throw new Error('broken');
    },
    getState: () => null,
    fullReset: () => undefined,
    close: () => {
      throw new Error('and does not close');
    },
  };
  const { slot, finished, assign } = begin({}, () => {
    built++;
    if (built === 2) throw new Error('no licence left');
    return sound;
  });
  step(slot);
  assign(2);
  assign(3);
  expect(slot.state).toBe('ready');
  expect(finished.map(({ summary }) => summary)).toMatchObject([
    { failure: 'env_crash', failureStage: 'step', failureDetail: 'broken' },
    { failure: 'env_crash', failureStage: 'build', failureDetail: 'no licence left' },
  ]);
});

describe('an environment is closed under the lifeline, once begun and once ended', () => {
  test.each<[string, Partial<Environment>, (slot: Slot) => void]>([
    ['after a reset that is rejected', { reset: async () => await rejected() }, () => undefined],
    ['after a step that is rejected', { step: async () => await rejected() }, step],
    ['after a step that throws', { step: () => fail() }, step],
    ['when it uses too much', {}, (slot) => slot.evict('600 MiB')],
    ['when its observation is of no use', {}, (slot) => slot.fail('env_crash', 'no features')],
  ])('%s', async (_when, change, act) => {
    const calls: string[] = [];
    const { slot, finished, watched } = begin({
      ...change,
      close: () => {
        calls.push(...watched.slice(watched.lastIndexOf('end') + 1));
        throw new Error('does not close');
      },
    });
    act(slot);
    await vi.advanceTimersByTimeAsync(1);
    expect(finished).toHaveLength(1);
    expect(calls).toEqual([expect.stringMatching(/^(?:close|step) 3$/u)]);
    expect(watched.map((at) => at === 'end')).toEqual(watched.map((_at, index) => index % 2 === 1));
    expect(watched).not.toHaveLength(0);
  });
});

async function rejected(): Promise<never> {
  return await Promise.reject(new Error('connection lost'));
}

function fail(): never {
  throw new Error('broken');
}

async function later(ms: number): Promise<StepResult> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
  return result;
}
