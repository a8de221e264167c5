import { ACTION_MODES, PHASES } from '../domain/episode.ts';
import { BEHAVIOUR_NAMES, FAILURE_TYPES } from '../domain/failure.ts';
import { REWARD_TRUSTS } from '../domain/reward.ts';
import { keysOf } from '../domain/table.ts';
import { SPLITS } from '../domain/task.ts';

/** What a number stands for: how it is typed and shown. */
export type NumberUnit = 'plain' | 'episode' | 'duration' | 'time';

/** Fields that are compared as numbers. */
export const NUMBER_FIELDS = {
  id: 'episode id, as e12 or 12',
  steps: 'number of steps',
  reward: 'paid reward; void episodes have none and never match',
  iter: 'iteration for which the episode was dispatched',
  policy: 'policy version of its last step',
  worker: 'number of the worker',
  slot: 'number of the slot',
  difficulty: 'difficulty of the task',
  index: 'number of the task in its family and split',
  attempt: '1, or more when the episode was dispatched again',
  ms: 'wall-clock length in ms',
  age: 'time since it began, as 90s, 10m, 2h or 3d',
  started: 'when it began, as 2026-11-30 or 2026-11-30T14:05, local time',
  agents: 'how many agents acted in it, 1 in most environments',
  'tool.calls': 'how often it used a tool',
  'tool.failed': 'how often a tool failed',
  'stage.reset': 'time until its first observation, as 20ms or 1.5s',
  'stage.step': "time in the environment's steps",
  'stage.inference': 'time in encoding, inference and waiting for them',
} as const;
export type FixedNumberField = keyof typeof NUMBER_FIELDS;
export const NUMBER_FIELD_NAMES = keysOf(NUMBER_FIELDS);

/** Begins a field that is a reward component: `part.goal` is what component `goal` paid. */
export const PART_PREFIX = 'part.';
export type PartField = `${typeof PART_PREFIX}${string}`;
export type NumberField = FixedNumberField | PartField | ToolField;

/** What may be asked of one tool. */
export const TOOL_COUNTS = ['calls', 'failed', 'ms'] as const;
type ToolCountName = (typeof TOOL_COUNTS)[number];
/** `tool.open.failed` is how often tool `open` failed. */
export type ToolField = `tool.${string}.${ToolCountName}`;

/** Which tool a field is about, and what of it; null for a field that is about none. */
export function toolOf(field: string): { readonly tool: string; readonly count: ToolCountName } | null {
  const found = /^tool\.(?<tool>[\w.-]+)\.(?<count>[a-z]+)$/u.exec(field)?.groups;
  const count = TOOL_COUNTS.find((name) => name === found?.['count']);
  return found?.['tool'] === undefined || count === undefined ? null : { tool: found['tool'], count };
}

/** Whether a field is about one tool. */
export function isTool(field: NumberField): field is ToolField {
  return toolOf(field) !== null;
}

/** Whether a field is a reward component. */
export function isPart(field: NumberField): field is PartField {
  return field.startsWith(PART_PREFIX);
}

/** What a field's numbers stand for. */
export function unitOf(field: NumberField): NumberUnit {
  if (field === 'id') return 'episode';
  if (field === 'age' || field.startsWith('stage.') || toolOf(field)?.count === 'ms') return 'duration';
  return field === 'started' ? 'time' : 'plain';
}

/** The ways an episode can end, as `ended:` names them: exactly one each. */
export const ENDINGS = ['terminated', 'truncated', 'void'] as const;

/** Fields that hold one of some names; `values` is the closed list, or null where any name may occur. */
export const CHOICE_FIELDS = {
  fail: { values: ['any', 'none', ...FAILURE_TYPES], meaning: 'failure type; any, none' },
  behaviour: { values: BEHAVIOUR_NAMES, meaning: 'a behaviour that was seen in the episode' },
  family: { values: null, meaning: 'task family' },
  env: { values: null, meaning: 'environment' },
  host: { values: null, meaning: 'host that ran it' },
  phase: { values: PHASES, meaning: 'why it was sampled' },
  mode: { values: ACTION_MODES, meaning: 'how actions were taken' },
  split: { values: SPLITS, meaning: 'which tasks' },
  trust: { values: REWARD_TRUSTS, meaning: 'whether its reward may be trained on' },
  ended: { values: ENDINGS, meaning: 'how it came to its end' },
  stage: { values: null, meaning: 'the stage that it failed in; any, none' },
  tag: { values: null, meaning: 'what its environment calls the task' },
  detail: { values: null, meaning: 'a part of what is said of its failure' },
} as const satisfies Record<string, { values: readonly string[] | null; meaning: string }>;
export type ChoiceField = keyof typeof CHOICE_FIELDS;
export const CHOICE_FIELD_NAMES = keysOf(CHOICE_FIELDS);

/** What may stand after `is:`. */
export const FLAGS = {
  success: 'it succeeded',
  failed: 'it did not succeed, for whatever reason (void ones too)',
  void: 'an infrastructure failure: nothing could be scored',
  truncated: 'a limit fired',
  terminated: 'the task came to its end',
  train: 'sampled to train on',
  eval: 'sampled to evaluate',
  heldout: 'its task is held out of training',
} as const;
export type Flag = keyof typeof FLAGS;
export const FLAG_NAMES = keysOf(FLAGS);

export const COMPARISONS = ['<=', '>=', '<', '>'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** One condition on an episode. */
export type FilterTerm =
  | { readonly kind: 'choice'; readonly field: ChoiceField; readonly values: readonly string[] }
  | { readonly kind: 'flag'; readonly flags: readonly Flag[] }
  | { readonly kind: 'numbers'; readonly field: NumberField; readonly values: readonly number[] }
  /** Both ends belong to it. */
  | { readonly kind: 'range'; readonly field: NumberField; readonly from: number; readonly to: number }
  | {
      readonly kind: 'compare';
      readonly field: NumberField;
      readonly comparison: Comparison;
      readonly value: number;
    }
  /** Occurs, whatever the case of ASCII letters, in the failure detail, the failure type or the family. */
  | { readonly kind: 'text'; readonly text: string };

/** A filter's condition. Build it with `allOf`, `anyOf` and `not`, which keep one form for each meaning. */
export type FilterNode =
  | { readonly kind: 'all'; readonly parts: readonly FilterNode[] }
  | { readonly kind: 'any'; readonly parts: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly part: FilterNode }
  | FilterTerm;

/** Order of a list; episodes alike in the field come newest first, those without a value last. */
export interface FilterSort {
  readonly field: NumberField;
  readonly descending: boolean;
}

/** Newest first. */
export const NEWEST_FIRST: FilterSort = { field: 'id', descending: true };

/** Matches what all parts match; without parts, everything. */
export function allOf(parts: readonly FilterNode[]): FilterNode {
  const flat = parts.flatMap((part) => (part.kind === 'all' ? part.parts : [part]));
  const [only] = flat;
  return flat.length === 1 && only !== undefined ? only : { kind: 'all', parts: flat };
}

/** Matches what any part matches; without parts, nothing. */
export function anyOf(parts: readonly FilterNode[]): FilterNode {
  const flat = parts.flatMap((part) => (part.kind === 'any' ? part.parts : [part]));
  const [only] = flat;
  if (only === undefined) return not(allOf([]));
  return flat.length === 1 ? only : { kind: 'any', parts: flat };
}

/** Matches what the part does not. */
export function not(part: FilterNode): FilterNode {
  return part.kind === 'not' ? part.part : { kind: 'not', part };
}
