import { beforeAll, describe, expect, it } from 'vitest';
import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { corridor } from '../../envs/corridor/definition.ts';
import { relay } from '../../envs/relay/definition.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import { type Assignment, episodeBodySchema } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, type PolicySpec, policySpecSchema } from '../../src/domain/policy-spec.ts';
import { formatAction } from '../../src/domain/space.ts';
import type { Execution, ExecutionRequest } from '../../src/protocol/replay.ts';
import { nearestVersion, type PolicySettings, policyRequest } from '../../src/replay/acting.ts';
import { alignExecutions } from '../../src/replay/align.ts';
import { compareExecutions } from '../../src/replay/compare.ts';
import { executeEpisode } from '../../src/replay/execute.ts';
import { type Fork, forkLines, forkOf, forkRequests, parseAction } from '../../src/replay/fork.ts';
import { PolicyActor, PolicyBench } from '../../src/replay/policy-actor.ts';
import { executionRequest, recordedExecution } from '../../src/replay/recorded.ts';
import { InferenceBatch } from '../../src/sampling/inference-batch.ts';
import { Slot } from '../../src/sampling/slot.ts';
import type { StoredEpisode } from '../../src/store/queries.ts';
import { createPolicy } from '../../trainer/policy/inference.ts';
import { initialWeights } from '../../trainer/policy/parameters.ts';
import { RING_REWARDS, ring } from '../support/ring.ts';
import { settingsOf } from '../support/worker-settings.ts';

const SLOTS = 12;
const MAX_STEPS = 9;
const REWARDS = {
  ...DEFAULT_REWARDS,
  time: { weight: 1, cap: null },
  wrong_end: { weight: 1, cap: null },
  own: RING_REWARDS.own,
  gift: RING_REWARDS.gift,
};

/** A run in small: its environment, its policy, and weights of two versions. */
class Lab {
  readonly definition: EnvironmentDefinition;
  readonly policy: PolicySpec;
  readonly weights: ReadonlyMap<number, Float32Array>;
  #bench: PolicyBench | null = null;

  constructor(definition: EnvironmentDefinition, policy: PolicySpec) {
    this.definition = definition;
    this.policy = policy;
    this.weights = new Map([
      [1, initialWeights(policy, 1)],
      // Surer of itself: new policies hold all actions nearly equally likely.
      [2, initialWeights(policy, 2).map((weight) => 4 * weight)],
    ]);
  }

  get ground(): PolicySettings {
    return { policy: this.policy, maxSteps: MAX_STEPS, episodeTimeoutMs: 60_000, versions: [1, 2] };
  }

  get settings(): Pick<ExecutionRequest, 'env' | 'rewards' | 'stepTimeoutMs' | 'liveTools'> {
    const { env } = this.definition.catalog;
    return {
      env: { name: env, options: {} },
      rewards: REWARDS,
      stepTimeoutMs: 5000,
      liveTools: false,
    };
  }

  /** Episodes of the sampler, their steps in one batch; version 2 acts from the fourth call on. */
  async sample(count = SLOTS): Promise<StoredEpisode[]> {
    const { definition, policy } = this;
    const layout = actionLayout(policy);
    const done: StoredEpisode[] = [];
    const slots = Array.from({ length: count }, (_, index) => {
      const context = {
        settings: settingsOf({
          env: { name: '', options: {} },
          policy,
          maxSteps: MAX_STEPS,
          rewards: REWARDS,
          record: { likeliest: 3, states: 'all' },
        }),
        definition,
        layout,
        lifeline: { begin: () => undefined, end: () => undefined },
        stepPace: { ms: 0 },
        onFinished: (
          _slot: Slot,
          { summary, body }: { summary: StoredEpisode['summary']; body: Uint8Array },
        ) =>
          void done.push({
            summary,
            body: episodeBodySchema.parse(JSON.parse(Buffer.from(body).toString('utf8'))),
          }),
        onReady: () => undefined,
      };
      const slot = new Slot(context, index);
      slot.begin(this.#assignment(index));
      return slot;
    });
    const engine = await createPolicy(policy, { threads: 1 });
    const batch = new InferenceBatch(policy, layout, count + 4);
    for (let call = 0; done.length < count; call++) {
      const version = call < 3 ? 1 : 2;
      engine.load(this.weights.get(version) ?? new Float32Array());
      await batch.run(
        slots.filter((slot) => slot.state !== 'free'),
        { ...engine, run: async (rows, arrays) => await engine.run(4 * Math.ceil(rows / 4), arrays) },
        version,
      );
    }
    await engine.close();
    return done;
  }

  async execute(request: ExecutionRequest): Promise<Execution> {
    this.#bench ??= await PolicyBench.create(this.policy, this.weights);
    const actor = request.acting === null ? undefined : new PolicyActor(this.#bench, request.acting);
    return await executeEpisode(this.definition, request, { actor });
  }

  #assignment(index: number): Assignment {
    const { env, families } = this.definition.catalog;
    const family = families[index % families.length]?.name ?? '';
    return {
      id: episodeId(index + 1),
      task: { env, family, split: 'train', index },
      seed: 1000 + index,
      phase: index % 2 === 0 ? 'train' : 'eval',
      mode: index % 4 === 3 ? 'greedy' : 'sampled',
      iteration: 1,
      attempt: 1,
    };
  }
}

const text = new Lab(workbench, policySpecSchema.parse({ embedding: 8, hidden: 16 }));
const memory = new Lab(
  corridor,
  policySpecSchema.parse({
    kind: 'features',
    features: 3,
    window: 6,
    network: 'gru',
    hidden: 8,
    argumentSlots: { input: 2 },
  }),
);

/** Two agents who see different things, and three each of whom looks back at what it saw itself. */
const relayed = new Lab(relay, policySpecSchema.parse({ embedding: 8, hidden: 16 }));
const round = new Lab(
  ring(),
  policySpecSchema.parse({
    kind: 'features',
    features: 2,
    window: 4,
    network: 'gru',
    hidden: 8,
    argumentSlots: { input: 1 },
  }),
);

describe.each([
  ['reads text', text],
  ['looks back at numbers', memory],
  ['acts for two agents', relayed],
  ['looks back for each of three agents', round],
])('a policy that %s', (_what, lab) => {
  it('takes the same actions again, whatever batches its steps were in, over a change of its version', async () => {
    const episodes = await lab.sample();
    expect(episodes.some(({ summary }) => summary.firstPolicyVersion < summary.policyVersion)).toBe(true);
    for (const episode of episodes) {
      const execution = await lab.execute(policyRequest(episode, lab.settings, lab.ground));
      const { verdict, reason, notes } = compareExecutions(recordedExecution(episode), execution);
      const { length } = episode.body.steps;
      expect({ verdict, reason, notes }).toEqual({
        verdict: 'identical',
        reason: `the same, in ${length} ${length === 1 ? 'step' : 'steps'}`,
        notes: [],
      });
      expect(execution.end).toEqual({
        terminated: episode.summary.terminated,
        success: episode.summary.success,
        failure: episode.summary.failure,
      });
    }
  });
});

describe('a policy whose weights are not there', () => {
  let episode: StoredEpisode;
  beforeAll(async () => {
    const episodes = await text.sample(240);
    const long = episodes.find(
      ({ summary }) => summary.mode === 'sampled' && summary.failure === 'max_steps',
    );
    if (long === undefined) throw new Error('every episode ended early');
    episode = long;
  });

  it('is stood in for by the nearest, with both probabilities where an action differs', async () => {
    const request = policyRequest(episode, text.settings, { ...text.ground, versions: [2] });
    expect(new Set(request.acting?.versions)).toEqual(new Set([2]));
    const execution = await text.execute(request);
    const { verdict, reason, notes, differences } = compareExecutions(recordedExecution(episode), execution);
    expect(verdict).toBe('policy drift');
    const at = episode.body.steps.findIndex(
      ({ action }, index) =>
        formatAction(action) !==
        formatAction(execution.steps[index]?.action ?? { type: 'noop', argument: null }),
    );
    expect(differences).toEqual([expect.objectContaining({ kind: 'action', step: at + 1 })]);
    expect(reason).toMatch(
      new RegExp(
        `^action at step ${at + 1}: .+ \\([\\d.]+%\\) became .+ \\([\\d.]+%; .+ has [\\d.]+%\\), by policy v2$`,
        'u',
      ),
    );
    expect(notes[0]).toMatch(/^policy v2 acted for v1, whose weights are not kept \(\d steps?\)$/u);
    expect(notes[1]).toMatch(/^probabilities of recorded actions differ by [\d.e-]+ at most$/u);
  });

  it('is the nearest by updates, the older of two, and none where none is kept', () => {
    expect(nearestVersion([8, 16, 24], 13)).toBe(16);
    expect(nearestVersion([8, 16, 24], 12)).toBe(8);
    expect(nearestVersion([8, 16, 24], 16)).toBe(16);
    expect(() => policyRequest(episode, text.settings, { ...text.ground, versions: [] })).toThrowError(
      'no weights of the policy are kept, and v1 is wanted',
    );
  });

  it('does not go further than an episode that was cut off', () => {
    const summary = { ...episode.summary, failure: 'wall_clock' as const, steps: 4 };
    expect(policyRequest({ ...episode, summary }, text.settings, text.ground).acting?.maxSteps).toBe(4);
  });

  it('goes on from any step in other ways, each draw its own, the same ones each time', async () => {
    const plan = { step: 3, action: null, version: null, count: 6, maxSteps: null };
    const fork = async (): Promise<Fork> =>
      forkOf(
        episode,
        plan,
        await Promise.all(
          forkRequests(episode, text.settings, text.ground, plan).map(async (each) => each),
        ).then(async (requests) => {
          const executions: Execution[] = [];
          for (const request of requests) executions.push(await text.execute(request));
          return executions;
        }),
      );
    const first = await fork();
    expect(first.drift).toBeNull();
    expect(first.outcomes).toHaveLength(6);
    expect(new Set(first.outcomes.map(({ reward, steps }) => `${reward} ${steps}`)).size).toBeGreaterThan(1);
    expect(first.outcomes.every(({ steps }) => steps >= 3 && steps <= MAX_STEPS)).toBe(true);
    expect(first.original).toMatchObject({ steps: MAX_STEPS, failure: 'max_steps', success: false });
    expect(await fork()).toEqual(first);
    expect(forkLines(first)[0]).toMatch(
      /^from step 3: what the policy draws instead of .+, then 6 continuations, policy v/u,
    );
  });

  it('takes another action at the step, or acts from there by another version', async () => {
    const { candidates } = recordedExecution(episode).steps[2] ?? { candidates: [] };
    const was = formatAction(episode.body.steps[2]?.action ?? { type: 'noop', argument: null });
    const other = candidates
      .map(({ type, text: argument }) => ({ type, argument }))
      .find((action) => formatAction(action) !== was);
    if (other === undefined) throw new Error('nothing else was on offer');
    const taken = { step: 3, action: other, version: null, count: 1, maxSteps: null };
    const [request] = forkRequests(episode, text.settings, text.ground, taken);
    if (request === undefined) throw new Error('no request');
    const { steps } = await text.execute(request);
    expect(steps.slice(0, 2).map(({ action }) => action)).toEqual(
      episode.body.steps.slice(0, 2).map(({ action }) => action),
    );
    expect(steps[2]?.action).toEqual(other);
    expect(steps[2]?.decision).toBeUndefined();
    expect(steps[3]?.decision?.policyVersion).toBe(2);
    const [by] = forkRequests(episode, text.settings, text.ground, { ...taken, action: null, version: 1 });
    expect(by?.actions).toHaveLength(2);
    expect(by?.acting?.versions.slice(2)).toEqual(episode.body.steps.slice(2).map(() => 1));
  });

  it('says where the environment was no longer what was recorded before the step', async () => {
    const [head, ...rest] = episode.body.lines;
    const body = { ...episode.body, lines: [`${head} then`, ...rest] };
    const plan = { step: 2, action: null, version: null, count: 1, maxSteps: null };
    const [request] = forkRequests(episode, text.settings, text.ground, plan);
    if (request === undefined) throw new Error('no request');
    const fork = forkOf({ ...episode, body }, plan, [await text.execute(request)]);
    expect(fork.drift).toMatch(/^observation at step 1: /u);
    expect(forkLines(fork).at(-1)).toMatch(/^the environment was not where it was recorded: observation/u);
  });

  it('refuses steps and actions that there are not', () => {
    const plan = { step: 3, action: null, version: null, count: 1, maxSteps: null };
    const ask = (change: object): unknown =>
      forkRequests(episode, text.settings, text.ground, { ...plan, ...change });
    expect(() => ask({ step: 10 })).toThrowError(`has no step 10: it has ${MAX_STEPS}`);
    expect(() => ask({ step: 0 })).toThrowError('has no step 0');
    expect(() => ask({ action: { type: 'read', argument: 'nothing such' } })).toThrowError(
      'read "nothing such" was not on offer at step 3',
    );
    expect(() => ask({ maxSteps: 2 })).toThrowError('a limit of 2 steps leaves nothing to do from step 3 on');
  });

  it('goes on to another limit of steps than the run has', async () => {
    const plan = { step: 3, action: null, version: null, count: 1, maxSteps: 4 };
    const [request] = forkRequests(episode, text.settings, text.ground, plan);
    if (request === undefined) throw new Error('no request');
    const { steps, end } = await text.execute(request);
    expect(steps.length).toBeLessThanOrEqual(4);
    expect(end === null || end.terminated || steps.length === 4).toBe(true);
  });
});

/** What an episode of two agents comes to, done again by its actions. */
async function verdictOf(of: StoredEpisode): Promise<string> {
  const execution = await relayed.execute(executionRequest(of, relayed.settings));
  const { verdict, reason } = compareExecutions(recordedExecution(of), execution);
  return `${verdict}: ${reason}`;
}

describe('an episode of several agents', () => {
  let episode: StoredEpisode;
  beforeAll(async () => {
    const episodes = await relayed.sample(40);
    const long = episodes.find(({ summary }) => summary.steps >= 4 && summary.mode === 'sampled');
    if (long === undefined) throw new Error('every episode ended early');
    episode = long;
  });
  const change = (steps: StoredEpisode['body']['steps']): StoredEpisode => ({
    ...episode,
    body: { ...episode.body, steps },
  });

  it('is done again by its actions, to the payments of every agent', async () => {
    expect(await verdictOf(episode)).toMatch(/^identical: the same, in [456] steps$/u);
  });

  it('parts where it is another agent’s turn, or another one is paid', async () => {
    const swapped = episode.body.steps.map((step, at) => (at === 2 ? { ...step, agent: 'listener' } : step));
    expect(await verdictOf(change(swapped))).toBe(
      'environment drift: agent at step 3: listener became speaker',
    );
    const last = episode.body.steps.length - 1;
    const kept = episode.body.steps.map((step, at) =>
      at === last ? { ...step, parts: step.parts.map(({ agent: _agent, ...part }) => part) } : step,
    );
    expect(await verdictOf(change(kept))).toMatch(/^environment drift: reward at step \d: .+ to speaker/u);
    const final = { ...episode, body: { ...episode.body, finalAgent: 'speaker' } };
    expect(await verdictOf(final)).toMatch(/^environment drift: agent at step \d: speaker became listener$/u);
  });

  it.each([1, 2, 3])('goes on in other ways from step %i, whoever acts in it', async (step) => {
    const plan = { step, action: null, version: null, count: 4, maxSteps: null };
    const executions: Execution[] = [];
    for (const request of forkRequests(episode, relayed.settings, relayed.ground, plan))
      executions.push(await relayed.execute(request));
    const fork = forkOf(episode, plan, executions);
    expect(fork.drift).toBeNull();
    expect(fork.brokenBy).toBeNull();
    for (const { steps } of executions)
      expect(steps.map(({ agent }) => agent)).toEqual(
        steps.map((_, at) => (at % 2 === 0 ? 'speaker' : 'listener')),
      );
  });

  it('is aligned with another by step, with the names of those who acted', () => {
    const recorded = recordedExecution(episode);
    const rows = alignExecutions(recorded, recorded).filter(({ kind }) => kind === 'step');
    expect(rows[0]?.left).toMatch(/^speaker: input "\w+"$/u);
    expect(rows[1]?.left).toMatch(/^listener: /u);
    const other = { ...recorded, steps: recorded.steps.map((step) => ({ ...step, agent: 'listener' })) };
    expect(alignExecutions(recorded, other).find(({ kind }) => kind === 'step')?.same).toBe(false);
  });
});

describe('an action as it is typed', () => {
  it('is a type, and an argument where the type takes one', () => {
    expect(parseAction('confirm')).toEqual({ type: 'confirm', argument: null });
    expect(parseAction(' read notes.txt ')).toEqual({ type: 'read', argument: 'notes.txt' });
    expect(parseAction('input "two words"')).toEqual({ type: 'input', argument: 'two words' });
    for (const wrong of ['', 'read', 'confirm it', 'jump high', 'READ notes'])
      expect(() => parseAction(wrong)).toThrowError(`"${wrong}" is no action`);
  });
});
