import { describe, expect, test } from 'vitest';
import {
  CONFORMANCE_RULES,
  type ConformanceRule,
  checkEnvironment,
  randomAction,
} from '../../envs/conformance.ts';
import type { Environment, EnvironmentDefinition, StepResult } from '../../envs/contract.ts';
import { createRandom } from '../../src/domain/random.ts';
import type { Observation } from '../../src/domain/space.ts';

/** A sound environment: press noop three times, then it is done. `broken` spoils one thing. */
function createCounter(broken: (state: CounterState) => Partial<Broken>): EnvironmentDefinition {
  let builds = 0;
  return {
    catalog: {
      env: 'counter',
      version: '1',
      maxSteps: 10,
      families: [{ name: 'three', train: 5, heldOut: 2 }],
    },
    createTask: (ref) => {
      builds++;
      return {
        ...ref,
        seed: ref.index,
        difficulty: 1,
        text: 'count',
        params: {},
        ...broken({ count: 0, builds, episodes: 0 }).task,
      };
    },
    create: () => {
      builds++;
      return counter(broken, builds);
    },
    createOracle: () => () => ({ type: 'noop', argument: null }),
  };
}

interface CounterState {
  count: number;
  builds: number;
  episodes: number;
}

interface Broken {
  task: object;
  observation: Partial<Observation>;
  result: Partial<StepResult>;
  state: unknown;
  throws: string;
}

function counter(broken: (state: CounterState) => Partial<Broken>, builds: number): Environment {
  const state: CounterState = { count: 0, builds, episodes: 0 };
  const observe = (): Observation => ({
    lines: ['task count to three', `count ${state.count}`],
    legal: ['noop', 'read'],
    candidates: [{ type: 'read', text: 'manual', kind: 'file' }],
    ...broken(state).observation,
  });
  return {
    reset: () => {
      state.count = 0;
      state.episodes++;
      return observe();
    },
    step: () => {
      state.count++;
      const { throws, result } = broken(state);
      if (throws !== undefined) throw new Error(throws);
      const terminated = state.count === 3;
      return {
        observation: observe(),
        components: { success: terminated ? 1 : 0 },
        terminated,
        success: terminated,
        failure: null,
        effective: true,
        ...result,
      };
    },
    getState: () => ({ count: state.count, ...Object(broken(state).state) }),
    fullReset: () => {
      state.count = 0;
      state.episodes = 0;
    },
    close: () => undefined,
  };
}

async function findRules(definition: EnvironmentDefinition): Promise<ConformanceRule[]> {
  const findings = await checkEnvironment(definition, { episodes: 3, seed: 1 });
  return [...new Set(findings.map((finding) => finding.rule))];
}

function seen(agent: string): Observation {
  return { agent, lines: ['task take turns'], legal: ['noop'], candidates: [] };
}

function turn(agent: string): StepResult {
  const ending = { terminated: false, success: false, failure: null };
  return { observation: seen(agent), components: {}, ...ending, effective: true };
}

/** What the rule `agents` finds in two agents who take turns, with something changed. */
async function agentFindings(change: Partial<Environment>): Promise<string[]> {
  const sound = createCounter(() => ({}));
  const environment: Environment = {
    reset: () => seen('speaker'),
    step: () => turn('listener'),
    look: seen,
    getState: () => ({}),
    fullReset: () => undefined,
    close: () => undefined,
    ...change,
  };
  const definition: EnvironmentDefinition = {
    catalog: { ...sound.catalog, agents: ['speaker', 'listener'] },
    createTask: (ref) => sound.createTask(ref),
    create: () => environment,
  };
  const findings = await checkEnvironment(definition, { episodes: 1, seed: 1 });
  return [...new Set(findings.filter(({ rule }) => rule === 'agents').map(({ message }) => message))];
}

const changing = ['task count'];

const FAULTS: readonly [string, ConformanceRule, (state: CounterState) => Partial<Broken>][] = [
  ['a task that is another each time', 'task', ({ builds }) => ({ task: { text: `count ${builds}` } })],
  [
    'an observation that depends on the instance',
    'deterministic',
    ({ builds }) => ({ observation: { lines: [`task ${builds}`] } }),
  ],
  ['a state that depends on the instance', 'deterministic', ({ builds }) => ({ state: { builds } })],
  [
    'a trace of the episode before',
    'isolated',
    ({ episodes }) => ({ observation: { lines: [`task ${episodes}`] } }),
  ],
  ['a state that JSON cannot carry', 'state', () => ({ state: { seen: new Set([1]) } })],
  [
    'seven candidates for six slots',
    'candidates',
    () => ({
      observation: {
        candidates: [1, 2, 3, 4, 5, 6, 7].map((n) => ({ type: 'read', text: `file${n}`, kind: 'file' })),
      },
    }),
  ],
  [
    'an empty candidate',
    'candidates',
    () => ({ observation: { candidates: [{ type: 'read', text: '', kind: 'file' }] } }),
  ],
  [
    'a candidate twice',
    'candidates',
    () => ({ observation: { candidates: ['a', 'a'].map((text) => ({ type: 'read', text, kind: 'file' })) } }),
  ],
  ['candidates of a type that is not legal', 'candidates', () => ({ observation: { legal: ['noop'] } })],
  ['a legal type without candidates', 'candidates', () => ({ observation: { candidates: [] } })],
  ['a line break', 'lines', () => ({ observation: { lines: ['task\ncount'] } })],
  ['no lines', 'lines', () => ({ observation: { lines: [] } })],
  [
    'a component that is not a number',
    'components',
    () => ({ result: { components: { progress: Number.NaN } } }),
  ],
  [
    'an end without success or failure',
    'ending',
    () => ({ result: { terminated: true, success: false, failure: null } }),
  ],
  [
    'a failure without an end',
    'ending',
    () => ({ result: { terminated: false, success: false, failure: 'gave_up' } }),
  ],
  [
    'success and failure at once',
    'ending',
    () => ({ result: { terminated: true, success: true, failure: 'wrong_result' } }),
  ],
  ['an oracle that does not get there', 'oracle', () => ({ result: { terminated: false, success: false } })],
  ['an agent that the catalog does not name', 'agents', () => ({ observation: { agent: 'ann' } })],
  ['a step that throws', 'runs', () => ({ throws: 'out of order' })],
  [
    'an observation changed after it was given',
    'stable',
    ({ count }) => {
      changing[0] = `task count ${count}`;
      return { observation: { lines: changing } };
    },
  ],
];

describe('the conformance checks', () => {
  test('a sound environment has no findings', async () => {
    expect(await findRules(createCounter(() => ({})))).toEqual([]);
  });

  test.each(FAULTS)('%s is found', async (_what, rule, broken) => {
    expect(await findRules(createCounter(broken))).toContain(rule);
  });

  test('agents who take turns have no findings, and each fault of theirs has', async () => {
    expect(await agentFindings({})).toEqual([]);
    const look = { ...seen('listener'), agent: 'speaker' };
    expect(await agentFindings({ look: () => look })).toContain('a look of listener was for speaker');
    let looks = 0;
    const forgetful = { look: seen, getState: () => ({ looks: looks++ }) };
    expect(await agentFindings(forgetful)).toContain('a look of listener changed the state');
    const { agent: _, ...nobody } = seen('speaker');
    expect(await agentFindings({ reset: () => nobody })).toContain(
      'an observation is for nobody, wanted one of speaker, listener',
    );
    const stranger: StepResult = { ...turn('listener'), paid: { dan: { gift: 1 } } };
    expect(await agentFindings({ step: () => stranger })).toContain('a step paid dan, who is no agent');
  });

  test('there is a fault here for every rule', () => {
    expect(new Set(FAULTS.map(([, rule]) => rule))).toEqual(new Set(Object.keys(CONFORMANCE_RULES)));
  });

  test('a finding names the task, what was seen and what was wanted', async () => {
    const [finding] = await checkEnvironment(
      createCounter(() => ({ result: { components: { progress: Number.POSITIVE_INFINITY } } })),
      { episodes: 1, seed: 7 },
    );
    expect(finding?.task).toMatch(/^counter\/three\/train\/\d$/u);
    expect(finding?.message).toMatch(/^after (noop|read "manual"): progress is Infinity$/u);
  });

  test('an environment may answer later', async () => {
    const sound = createCounter(() => ({}));
    const later: EnvironmentDefinition = {
      ...sound,
      create: (options) => {
        const env = sound.create(options);
        return {
          ...env,
          step: async (action) => env.step(action),
          reset: async (task, seed) => env.reset(task, seed),
        };
      },
    };
    expect(await findRules(later)).toEqual([]);
  });

  test('a random action is undefined when nothing is legal', () => {
    expect(randomAction({ lines: ['task'], legal: [], candidates: [] }, createRandom(1))).toBeUndefined();
  });
});
