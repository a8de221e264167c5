import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { errorText } from '../src/domain/error.ts';
import { type PolicySpec, policySpecSchema } from '../src/domain/policy-spec.ts';
import { createRandom, deriveSeed, type RandomStream } from '../src/domain/random.ts';
import {
  type Action,
  ARGUMENT_TYPES,
  formatAction,
  type Observation,
  takesArgument,
} from '../src/domain/space.ts';
import { formatTaskRef, type Task } from '../src/domain/task.ts';
import type { Environment, EnvironmentDefinition, StepResult } from './contract.ts';

/** Something that an environment does against its contract. */
export interface Finding {
  /** The rule that is broken. */
  readonly rule: ConformanceRule;
  /** Where: a task's reference. */
  readonly task: string;
  /** What was seen and what was wanted. */
  readonly message: string;
}

/** What is checked, and in which words. */
export const CONFORMANCE_RULES = {
  task: 'a reference names one task, always the same',
  deterministic: 'the same task, seed and actions give the same results on a fresh instance',
  isolated: 'an instance that was used before, or fully reset, is like a fresh one',
  stable: 'an observation does not change after it was given',
  state: 'getState gives plain JSON',
  candidates: 'candidates are within the limits, of legal types, not empty, unique for each type',
  lines: 'an observation has a task line and no line breaks',
  components: 'reward components are finite numbers',
  agents: 'where the catalog names agents, every observation is for one of them, and only they are paid',
  ending: 'success and failure agree with terminated',
  oracle: 'the oracle solves every task within the step limit',
  runs: 'nothing throws on a task and actions that are on offer',
} as const;
export type ConformanceRule = keyof typeof CONFORMANCE_RULES;

export interface ConformanceOptions {
  /** Episodes tried for each family and split. */
  readonly episodes: number;
  /** Seed of the tasks tried and of the random actions. */
  readonly seed: number;
  /** The policy whose limits on candidates hold; the default one if absent. */
  readonly policy?: PolicySpec;
  /** Options for the environment; none if absent. */
  readonly env?: Readonly<Record<string, unknown>>;
}

/** A recorded execution: what was seen at reset and after each action. */
interface Execution {
  readonly actions: readonly Action[];
  readonly seen: readonly unknown[];
  readonly states: readonly string[];
  readonly last: StepResult | null;
}

type Report = (rule: ConformanceRule, message: string) => void;
type Policy = (observation: Observation) => Action | undefined;

/**
 * Tries an environment against its contract with a random policy, and with its oracle if it has one, on tasks of every
 * family and split. Gives what it found wrong, nothing if all is well; never throws for a fault of the environment.
 */
export async function checkEnvironment(
  definition: EnvironmentDefinition,
  options: ConformanceOptions,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const random = createRandom(deriveSeed('conformance', options.seed));
  const used = definition.create(options.env ?? {});
  for (const ref of drawReferences(definition, options.episodes, random)) {
    const report: Report = (rule, message) => findings.push({ rule, task: formatTaskRef(ref), message });
    try {
      const task = definition.createTask(ref);
      if (!isDeepStrictEqual(task, definition.createTask(ref))) report('task', 'made twice, it differs');
      await checkEpisode({ definition, options, used, task, report }, random);
    } catch (thrown) {
      report('runs', errorText(thrown));
    }
  }
  await used.close();
  return findings;
}

function drawReferences(definition: EnvironmentDefinition, episodes: number, random: RandomStream) {
  const { env, families } = definition.catalog;
  return families.flatMap(({ name, train, heldOut }) =>
    (
      [
        ['train', train],
        ['held_out', heldOut],
      ] as const
    ).flatMap(([split, count]) =>
      Array.from({ length: count === 0 ? 0 : episodes }, () => ({
        env,
        family: name,
        split,
        index: random.integer(count),
      })),
    ),
  );
}

interface Trial {
  readonly definition: EnvironmentDefinition;
  readonly options: ConformanceOptions;
  /** The instance that all episodes share. */
  readonly used: Environment;
  readonly task: Task;
  readonly report: Report;
}

async function checkEpisode(trial: Trial, random: RandomStream): Promise<void> {
  const { definition, options, used, task, report } = trial;
  const seed = random.integer(2 ** 31);
  const fresh = definition.create(options.env ?? {});
  const first = await execute(trial, fresh, seed, (observation) => randomAction(observation, random));
  const another = definition.create(options.env ?? {});
  compare(first, await replay(trial, another, seed, first.actions), 'deterministic', report);
  await another.close();
  compare(first, await replay(trial, used, seed, first.actions), 'isolated', report);
  await fresh.fullReset();
  compare(first, await replay(trial, fresh, seed, first.actions), 'isolated', report);
  if (definition.createOracle !== undefined) {
    const solved = await execute(trial, fresh, seed, definition.createOracle(task));
    if (solved.last?.success !== true) {
      report(
        'oracle',
        `not solved after ${solved.actions.length} of at most ${definition.catalog.maxSteps} steps`,
      );
    }
  }
  await fresh.close();
}

async function replay(trial: Trial, env: Environment, seed: number, actions: readonly Action[]) {
  let next = 0;
  return execute(trial, env, seed, () => actions[next++]);
}

/** One episode, until it terminates, the step limit, or a policy without a next action; checks all that it sees. */
async function execute(trial: Trial, env: Environment, seed: number, policy: Policy): Promise<Execution> {
  const { task, report, definition } = trial;
  const spec = trial.options.policy ?? policySpecSchema.parse({});
  let observation = await env.reset(task, seed);
  const actions: Action[] = [];
  const given: unknown[] = [observation];
  const seen: unknown[] = [structuredClone(observation)];
  const states = [hashState(env, report)];
  let last: StepResult | null = null;
  const { agents } = definition.catalog;
  const look = (result: StepResult | null): void => {
    checkObservation(observation, spec, report);
    checkAgents({ env, agents, observation, result }, report);
  };
  look(null);
  while (actions.length < definition.catalog.maxSteps && last?.terminated !== true) {
    const action = policy(observation);
    if (action === undefined) break;
    last = await env.step(action);
    actions.push(action);
    observation = last.observation;
    given.push(last);
    seen.push(structuredClone(last));
    states.push(hashState(env, report));
    look(last);
    checkResult(last, action, report);
  }
  const changed = given.findIndex((each, i) => !isDeepStrictEqual(each, seen[i]));
  if (changed >= 0)
    report('stable', `what was given ${changed === 0 ? 'at reset' : `after step ${changed}`} changed later`);
  return { actions, seen, states, last };
}

/** How long a tool ran is measured, and another every time. */
function timeless(seen: unknown): unknown {
  if (typeof seen !== 'object' || seen === null || !('tool' in seen)) return seen;
  const { tool } = seen;
  return { ...seen, tool: typeof tool === 'object' ? { ...tool, ms: undefined } : tool };
}

function compare(first: Execution, second: Execution, rule: ConformanceRule, report: Report): void {
  for (let i = 0; i < first.seen.length; i++) {
    const action = first.actions[i - 1];
    const when = action === undefined ? 'at reset' : `after step ${i}, ${formatAction(action)}`;
    if (!isDeepStrictEqual(timeless(first.seen[i]), timeless(second.seen[i])))
      return report(rule, `${when}: what it shows differs`);
    if (first.states[i] !== second.states[i]) return report(rule, `${when}: the hash of its state differs`);
  }
}

/** Hash of the state; reports a state that JSON cannot carry. */
function hashState(env: Environment, report: Report): string {
  const state = [env.getState()];
  const json = JSON.stringify(state);
  if (!isDeepStrictEqual(JSON.parse(json), state)) {
    report('state', 'written as JSON and read again, the state differs');
  }
  return createHash('sha256').update(json).digest('hex');
}

function checkObservation({ lines, legal, candidates }: Observation, spec: PolicySpec, report: Report): void {
  if (lines.length === 0 || lines[0] === '') report('lines', 'there is no task line');
  const broken = lines.find((line) => /[\r\n]/u.test(line));
  if (broken !== undefined) report('lines', `there is a line break in ${JSON.stringify(broken)}`);
  for (const type of ARGUMENT_TYPES) {
    const texts = candidates.filter((candidate) => candidate.type === type).map(({ text }) => text);
    const limit = spec.argumentSlots[type];
    if (texts.length > limit)
      report('candidates', `${texts.length} for ${type}, at most ${limit} fit the policy`);
    if (texts.includes('')) report('candidates', `one for ${type} is empty`);
    if (new Set(texts).size < texts.length)
      report('candidates', `two for ${type} are the same: ${texts.join(', ')}`);
    if (texts.length > 0 && !legal.includes(type))
      report('candidates', `there are some for ${type}, which is not legal`);
    if (texts.length === 0 && legal.includes(type))
      report('candidates', `there is none for ${type}, which is legal`);
  }
}

interface Sight {
  readonly env: Environment;
  readonly agents: readonly string[] | undefined;
  readonly observation: Observation;
  /** Of the step before it; null at reset. */
  readonly result: StepResult | null;
}

/** Who sees it, and who was paid; that a look by another agent is that agent's, and changes nothing. */
function checkAgents({ env, agents, observation, result }: Sight, report: Report): void {
  const { agent } = observation;
  if (agents === undefined) {
    if (agent !== undefined)
      report('agents', `an observation is for ${agent}, and the catalog names no agents`);
    return;
  }
  if (agent === undefined || !agents.includes(agent))
    report('agents', `an observation is for ${agent ?? 'nobody'}, wanted one of ${agents.join(', ')}`);
  const strangers = Object.keys(result?.paid ?? {}).filter((paid) => !agents.includes(paid));
  if (strangers.length > 0) report('agents', `a step paid ${strangers.join(', ')}, who is no agent`);
  for (const other of agents) {
    if (other === agent || env.look === undefined) continue;
    const before = hashState(env, report);
    const seen = env.look(other);
    if (seen.agent !== other) report('agents', `a look of ${other} was for ${seen.agent ?? 'nobody'}`);
    if (hashState(env, report) !== before) report('agents', `a look of ${other} changed the state`);
  }
}

function checkResult(result: StepResult, action: Action, report: Report): void {
  const { components, terminated, success, failure } = result;
  const after = `after ${formatAction(action)}`;
  for (const [name, raw] of Object.entries(components)) {
    if (!Number.isFinite(raw)) report('components', `${after}: ${name} is ${raw}`);
  }
  const isConsistent = terminated ? success === (failure === null) : !success && failure === null;
  if (!isConsistent) {
    report('ending', `${after}: terminated ${terminated}, success ${success}, failure ${failure}`);
  }
}

/** A legal action: a type at random, then an argument at random. Undefined when nothing is legal. */
export function randomAction({ legal, candidates }: Observation, random: RandomStream): Action | undefined {
  if (legal.length === 0) return undefined;
  const type = random.pick(legal);
  if (!takesArgument(type)) return { type, argument: null };
  const choices = candidates.filter((candidate) => candidate.type === type);
  return choices.length === 0 ? undefined : { type, argument: random.pick(choices).text };
}
