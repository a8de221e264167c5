import { LabError } from '../domain/error.ts';
import type { FailureType } from '../domain/failure.ts';
import { deriveSeed } from '../domain/random.ts';
import { ACTION_TYPES, type Action, type Candidate, formatAction, takesArgument } from '../domain/space.ts';
import type { Execution, ExecutionRequest } from '../protocol/replay.ts';
import type { StoredEpisode } from '../store/queries.ts';
import { actingOf, type PolicySettings } from './acting.ts';
import { compareExecutions } from './compare.ts';
import { type ExecutionSettings, executionRequest, recordedExecution } from './recorded.ts';

/** Where an episode is left, and how. */
export interface ForkPlan {
  /** From 1: the first step that may be another. */
  readonly step: number;
  /** What is done in it; null: what the policy draws. */
  readonly action: Action | null;
  /** The policy that goes on; null: the one that acted in each step then. */
  readonly version: number | null;
  /** How many continuations, each with random numbers of its own. */
  readonly count: number;
  /** Steps after which one is truncated, those before it included; null: what the run says. */
  readonly maxSteps: number | null;
}

/** How an episode, or a continuation of one, ended. */
export interface Outcome {
  readonly success: boolean;
  /** `broken`: the environment failed. */
  readonly failure: FailureType | 'broken' | null;
  readonly reward: number;
  readonly steps: number;
}

/** Least, lower quartile, median, upper quartile, most. */
export type Quantiles = readonly [number, number, number, number, number];

export interface Fork {
  readonly plan: ForkPlan;
  /** What was done in the step. */
  readonly was: Action;
  readonly original: Outcome;
  /** Those that acted after the step. */
  readonly versions: readonly number[];
  readonly outcomes: readonly Outcome[];
  readonly successShare: number;
  readonly reward: Quantiles;
  readonly steps: Quantiles;
  /** How many failed in which way, the most frequent first. */
  readonly failures: readonly (readonly [string, number])[];
  /** What the first environment that failed said; null: none did. */
  readonly brokenBy: string | null;
  /** The first difference from the record before the step: the environment does not repeat itself, or has changed. Null: none. */
  readonly drift: string | null;
}

/**
 * The requests for the continuations. Throws `usage` for a step that there is not or an argument that was not on offer in it, and
 * `checkpoint-missing` without any weights.
 */
export function forkRequests(
  episode: StoredEpisode,
  settings: ExecutionSettings,
  policy: PolicySettings,
  plan: ForkPlan,
): ExecutionRequest[] {
  const { step, action, version, count, maxSteps } = plan;
  checkPlan(episode, plan);
  const request = executionRequest(episode, settings);
  const before = request.actions.slice(0, step - 1);
  const actions = action === null ? before : [...before, action];
  const wanted = version === null ? null : { from: actions.length, wanted: version };
  return Array.from({ length: count }, (_, index) => {
    const seed = deriveSeed(episode.summary.seed, 'fork', step, index);
    // Another action than the recorded one may need more steps than the record has: the limit is the run's.
    const limited = maxSteps === null ? policy : { ...policy, maxSteps };
    const acting = actingOf(episode, limited, seed, wanted);
    return { ...request, actions, acting: { ...acting, mode: 'sampled' } };
  });
}

/** An action as people write it: `input notes.txt`, `input "notes.txt"`, `confirm`. Throws `usage`. */
export function parseAction(text: string): Action {
  const [word = '', ...rest] = text.trim().split(' ');
  const type = ACTION_TYPES.find((each) => each === word);
  const argument = rest.join(' ').trim();
  if (type === undefined || takesArgument(type) !== (argument !== '')) {
    throw new LabError('usage', {
      message: `"${text}" is no action`,
      hint: `wanted a type (${ACTION_TYPES.join(', ')}), and after read, select_tool and input an argument, as in: input notes.txt`,
    });
  }
  if (argument === '') return { type, argument: null };
  const quoted = /^"(.*)"$/u.exec(argument)?.[1];
  return { type, argument: quoted ?? argument };
}

/** What may be done in a step instead: the arguments on offer, and the types without one, of which the record does not say which were legal. */
export function offeredActions(candidates: readonly Candidate[]): Action[] {
  const bare = ACTION_TYPES.filter((type) => !takesArgument(type));
  return [
    ...candidates.map(({ type, text }) => ({ type, argument: text })),
    ...bare.map((type) => ({ type, argument: null })),
  ];
}

function checkPlan(episode: StoredEpisode, { step, action, maxSteps }: ForkPlan): void {
  const { steps, candidateSets } = episode.body;
  if (step < 1 || step > steps.length) {
    throw new LabError('usage', {
      message: `episode ${episode.summary.id} has no step ${step}: it has ${steps.length}`,
      hint: `list them with: agentrl-lab show ${episode.summary.id}`,
    });
  }
  if (maxSteps !== null && maxSteps < step) {
    throw new LabError('usage', {
      message: `a limit of ${maxSteps} steps leaves nothing to do from step ${step} on`,
      hint: 'the steps before it count too',
    });
  }
  if (action === null) return;
  const candidates = candidateSets[steps[step - 1]?.candidates ?? -1] ?? [];
  const offered = offeredActions(candidates).map((each) => formatAction(each));
  if (offered.includes(formatAction(action))) return;
  throw new LabError('usage', {
    message: `${formatAction(action)} was not on offer at step ${step}`,
    hint: `on offer were: ${offered.join(', ')}`,
  });
}

/** What the continuations came to, beside the episode. */
export function forkOf(episode: StoredEpisode, plan: ForkPlan, executions: readonly Execution[]): Fork {
  const outcomes = executions.map((execution) => outcomeOf(execution));
  const failures = new Map<string, number>();
  for (const { failure } of outcomes)
    if (failure !== null) failures.set(failure, (failures.get(failure) ?? 0) + 1);
  const { success, failure, reward, steps } = episode.summary;
  const acted = executions.flatMap((execution) =>
    execution.steps.flatMap(({ decision }) => (decision === undefined ? [] : [decision.policyVersion])),
  );
  return {
    plan,
    was: episode.body.steps[plan.step - 1]?.action ?? { type: 'noop', argument: null },
    original: { success, failure, reward: reward ?? 0, steps },
    versions: [...new Set(acted)].toSorted((a, b) => a - b),
    outcomes,
    successShare: outcomes.filter((outcome) => outcome.success).length / Math.max(1, outcomes.length),
    reward: quantiles(outcomes.map((outcome) => outcome.reward)),
    steps: quantiles(outcomes.map((outcome) => outcome.steps)),
    failures: [...failures].toSorted((a, b) => b[1] - a[1]),
    brokenBy: executions.find(({ broken }) => broken !== null)?.broken?.reason ?? null,
    drift: driftBefore(episode, plan.step, executions),
  };
}

function outcomeOf({ steps, end, broken }: Execution): Outcome {
  const reward = steps.reduce((sum, step) => sum + step.reward, 0);
  const failure = broken === null ? (end?.failure ?? null) : 'broken';
  return { success: broken === null && end?.success === true, failure, reward, steps: steps.length };
}

function driftBefore(episode: StoredEpisode, step: number, executions: readonly Execution[]): string | null {
  const recorded = recordedExecution(episode);
  for (const execution of executions) {
    const { differences } = compareExecutions(
      { ...recorded, steps: recorded.steps.slice(0, step), end: null },
      { ...execution, steps: execution.steps.slice(0, step) },
    );
    const first = differences.find(
      ({ kind, step: at, cosmetic }) =>
        !cosmetic &&
        (at < step || (at === step && (kind === 'agent' || kind === 'observation' || kind === 'candidates'))),
    );
    if (first !== undefined)
      return `${first.kind} at step ${first.step}: ${first.recorded} became ${first.executed}`;
  }
  return null;
}

/** By linear interpolation between the sorted values (Hyndman and Fan 1996, type 7); zeros of none. */
function quantiles(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const place = share * (sorted.length - 1);
    const [low, high] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
    return low + (high - low) * (place - Math.floor(place));
  };
  return [at(0), at(0.25), at(0.5), at(0.75), at(1)];
}

/** The spread as lines of text, for a terminal. */
export function forkLines({ plan, was, original, versions, outcomes, ...fork }: Fork): string[] {
  const done = plan.action === null ? 'what the policy draws' : formatAction(plan.action);
  const by = versions.length === 0 ? '' : `, policy ${versions.map((version) => `v${version}`).join(', ')}`;
  const failures = fork.failures.map(([name, count]) => `${name} ${count}`).join('  ');
  const succeeded = outcomes.filter(({ success }) => success).length;
  return [
    `from step ${plan.step}: ${done} instead of ${formatAction(was)}, then ${outcomes.length} ${outcomes.length === 1 ? 'continuation' : 'continuations'}${by}`,
    `          success  reward: least, quartiles, most         steps`,
    `recorded  ${(original.success ? 'yes' : 'no').padEnd(7)}  ${fixed(original.reward).padEnd(37)}  ${original.steps}${original.failure === null ? '' : `  ${original.failure}`}`,
    `forked    ${`${Math.round(100 * fork.successShare)}%`.padEnd(7)}  ${fork.reward
      .map((value) => fixed(value))
      .join('  ')
      .padEnd(37)}  ${fork.steps.map((value) => String(Math.round(value))).join(' ')}`,
    `${succeeded} of ${outcomes.length} succeeded${failures === '' ? '' : `; ${failures}`}`,
    ...(fork.brokenBy === null ? [] : [`broken: ${fork.brokenBy}`]),
    ...(fork.drift === null ? [] : [`the environment was not where it was recorded: ${fork.drift}`]),
  ];
}

function fixed(value: number): string {
  return value.toFixed(3);
}
