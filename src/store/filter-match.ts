import { agentCount, type EpisodeSummary } from '../domain/episode.ts';
import { episodeSequence } from '../domain/id.ts';
import { lowerAscii } from './columns/column.ts';
import {
  type ChoiceField,
  type Comparison,
  type FilterNode,
  type FilterTerm,
  type FixedNumberField,
  type Flag,
  isPart,
  isTool,
  type NumberField,
  PART_PREFIX,
  toolOf,
} from './filter-tree.ts';

/** Whether an episode matches; `now` in ms since the epoch is what `age` counts from. */
export type SummaryMatcher = (episode: EpisodeSummary, now: number) => boolean;

/**
 * A condition for one episode at a time, as it is stored: what columns answer for a whole run. Text is looked for in failure
 * detail, failure type and family only, since a summary has no steps.
 */
export function summaryMatcher(node: FilterNode): SummaryMatcher {
  switch (node.kind) {
    case 'all': {
      const parts = node.parts.map(summaryMatcher);
      return (episode, now) => parts.every((matches) => matches(episode, now));
    }
    case 'any': {
      const parts = node.parts.map(summaryMatcher);
      return (episode, now) => parts.some((matches) => matches(episode, now));
    }
    case 'not': {
      const matches = summaryMatcher(node.part);
      return (episode, now) => !matches(episode, now);
    }
    case 'flag': {
      const flags = node.flags.map((flag) => FLAG_MEANINGS[flag]);
      return (episode) => flags.some((holds) => holds(episode));
    }
    case 'choice':
      return choiceMatcher(node.field, node.values);
    case 'text': {
      const wanted = lowerAscii(node.text);
      return ({ failureDetail, failure, task }) =>
        [failureDetail, failure, task.family].some((text) => hasPart(text, wanted));
    }
    case 'numbers':
    case 'range':
    case 'compare':
      return numberMatcher(node);
  }
}

const FLAG_MEANINGS: Readonly<Record<Flag, (episode: EpisodeSummary) => boolean>> = {
  success: ({ success }) => success,
  failed: ({ success }) => !success,
  void: ({ trust }) => trust === 'void',
  truncated: ({ truncated }) => truncated,
  terminated: ({ terminated }) => terminated,
  train: ({ phase }) => phase === 'train',
  eval: ({ phase }) => phase === 'eval',
  heldout: ({ task }) => task.split === 'held_out',
};

/** The one name that an episode has in a field; null for none. */
const NAMES = {
  fail: ({ failure }) => failure,
  stage: ({ failureStage }) => failureStage,
  family: ({ task }) => task.family,
  env: ({ task }) => task.env,
  split: ({ task }) => task.split,
  host: ({ host }) => host,
  phase: ({ phase }) => phase,
  mode: ({ mode }) => mode,
  trust: ({ trust }) => trust,
  ended: ({ trust, truncated }) => (trust === 'void' ? 'void' : truncated ? 'truncated' : 'terminated'),
} as const satisfies Partial<Record<ChoiceField, (episode: EpisodeSummary) => string | null>>;

function choiceMatcher(field: ChoiceField, values: readonly string[]): SummaryMatcher {
  if (field === 'behaviour') return ({ behaviours }) => behaviours.some((name) => values.includes(name));
  if (field === 'tag') return ({ tags }) => tags.some((tag) => values.includes(tag));
  if (field === 'detail') {
    const wanted = values.map(lowerAscii);
    return ({ failureDetail }) => wanted.some((text) => hasPart(failureDetail, text));
  }
  const nullable = field === 'fail' || field === 'stage';
  const [any, none] = [nullable && values.includes('any'), nullable && values.includes('none')];
  const nameOf = NAMES[field];
  return (episode) => {
    const name = nameOf(episode);
    return name === null ? none : any || values.includes(name);
  };
}

function hasPart(text: string | null, wanted: string): boolean {
  return text !== null && lowerAscii(text).includes(wanted);
}

const NUMBERS: Readonly<Record<FixedNumberField, (episode: EpisodeSummary, now: number) => number | null>> = {
  id: ({ id }) => episodeSequence(id),
  steps: ({ steps }) => steps,
  reward: ({ reward }) => reward,
  iter: ({ iteration }) => iteration,
  policy: ({ policyVersion }) => policyVersion,
  worker: ({ worker }) => worker,
  slot: ({ slot }) => slot,
  difficulty: ({ difficulty }) => difficulty,
  index: ({ task }) => task.index,
  attempt: ({ attempt }) => attempt,
  ms: ({ wallMs }) => wallMs,
  age: ({ startedAt }, now) => now - startedAt,
  started: ({ startedAt }) => startedAt,
  agents: (episode) => agentCount(episode),
  'tool.calls': ({ tools }) => tools.calls,
  'tool.failed': ({ tools }) => tools.failed,
  'stage.reset': ({ stages }) => stages.resetMs,
  'stage.step': ({ stages }) => stages.stepMs,
  'stage.inference': ({ stages }) => stages.inferenceMs,
};

function numberOf(field: NumberField): (episode: EpisodeSummary, now: number) => number | null {
  if (isPart(field)) {
    const component = field.slice(PART_PREFIX.length);
    return ({ components }) => components[component] ?? null;
  }
  if (!isTool(field)) return NUMBERS[field];
  const { tool = '', count = 'calls' } = toolOf(field) ?? {};
  const none = count === 'ms' ? null : 0;
  return ({ tools }) => tools.byName[tool]?.[count] ?? none;
}

const HOLDS: Readonly<Record<Comparison, (value: number, border: number) => boolean>> = {
  '<': (value, border) => value < border,
  '<=': (value, border) => value <= border,
  '>': (value, border) => value > border,
  '>=': (value, border) => value >= border,
};

type NumberTerm = Extract<FilterTerm, { readonly kind: 'numbers' | 'range' | 'compare' }>;

function numberMatcher(term: NumberTerm): SummaryMatcher {
  const valueOf = numberOf(term.field);
  const holds = numberTest(term);
  return (episode, now) => {
    const value = valueOf(episode, now);
    return value !== null && holds(value);
  };
}

function numberTest(term: NumberTerm): (value: number) => boolean {
  switch (term.kind) {
    case 'numbers':
      return (value) => term.values.includes(value);
    case 'range':
      return (value) => value >= term.from && value <= term.to;
    case 'compare': {
      const compare = HOLDS[term.comparison];
      return (value) => compare(value, term.value);
    }
  }
}
