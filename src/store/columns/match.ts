import { z } from 'zod';
import { BEHAVIOUR_NAMES } from '../../domain/failure.ts';
import { behaviourMask } from '../episode-row.ts';
import {
  allOf,
  type ChoiceField,
  type Comparison,
  ENDINGS,
  type FilterNode,
  type FilterTerm,
  type FixedNumberField,
  type Flag,
  isPart,
  isTool,
  type NumberField,
  not,
  PART_PREFIX,
} from '../filter-tree.ts';
import { dropRows, giveBack, isEmpty, keepRows, keepSets, lendCopy, type RowBits } from './bits.ts';
import type { Block } from './block.ts';
import { Column, firstAtLeast, lowerAscii } from './column.ts';
import type { DerivedField } from './derived-columns.ts';
import { type BlockColumn, componentColumn } from './episode-cells.ts';

/** Searches what was observed and done: the numbers of the episodes in which a text occurs, ascending. */
export interface TextMatches {
  match(text: string): Uint32Array;
  /** How many episodes are searched at once; grows while the run does. */
  readonly indexedEpisodes: number;
}

/** What a filter's meaning depends on beside the episodes. */
export interface MatchContext {
  /** Now, in ms since the epoch: what `age` counts from. */
  readonly now: number;
  /** Null: text terms look at failure detail, failure type and family only. */
  readonly text: TextMatches | null;
}

/** Takes the rows that do not match out of a set of a block's rows. */
export type Matcher = (block: Block, bits: RowBits) => void;

/** Makes a filter's condition ready to be asked of many blocks. */
export function compileMatcher(node: FilterNode, context: MatchContext): Matcher {
  switch (node.kind) {
    case 'all': {
      const parts = node.parts.map((part) => compileMatcher(part, context));
      return (block, bits) => {
        for (const part of parts) {
          part(block, bits);
          if (isEmpty(bits)) return;
        }
      };
    }
    case 'any':
      return anyMatcher(node.parts.map((part) => compileMatcher(part, context)));
    case 'not': {
      const part = compileMatcher(node.part, context);
      return (block, bits) => {
        const matched = lendCopy(bits);
        part(block, matched);
        dropRows(bits, matched);
        giveBack(matched);
      };
    }
    case 'choice':
    case 'flag':
    case 'numbers':
    case 'range':
    case 'compare':
    case 'text':
      return compileTerm(node, context);
  }
}

/** Marks with 1 the codes of a column whose value matches, in a table that is all 0 before; returns how many. */
type Marker = (column: Column, table: Uint8Array) => number;

function compileTerm(term: FilterTerm, context: MatchContext): Matcher {
  switch (term.kind) {
    case 'choice':
      return compileChoice(term.field, term.values, context);
    case 'flag':
      return anyMatcher(term.flags.map((flag) => FLAG_MATCHERS[flag]));
    case 'text':
      return compileText(term.text, context.text);
    case 'numbers':
    case 'range':
    case 'compare':
      return columnMatcher(numberColumn(term.field), numberMarker(term, context.now));
  }
}

/** Stands for a column that a block lacks: no row has a value. */
const NOTHING = new Column({
  kind: 'text',
  codes: null,
  distinct: 0,
  hasMissing: true,
  numbers: () => new Float64Array(0),
  texts: () => [],
});

/** One for all columns, one after the other: codes have 16 bits at most, and one is for missing values. */
const TABLE = new Uint8Array(2 ** 16 + 1);

function columnMatcher(name: string, mark: Marker): Matcher {
  return (block, bits) => {
    const column = block.columns.get(name) ?? block.derived.get(name) ?? NOTHING;
    TABLE.fill(0, 0, column.codeCount);
    const marked = mark(column, TABLE);
    if (marked === column.codeCount) return;
    if (column.codes === null || marked === 0) bits.fill(0);
    else if (column.sets === null) keepRows(bits, column.codes, TABLE);
    else keepMarked(bits, column.sets, marked);
  };
}

/** Keeps the rows whose code is marked in TABLE, as sets: those of the codes that are fewer, marked or not. */
function keepMarked(bits: RowBits, sets: readonly RowBits[], marked: number): void {
  if (marked <= sets.length - marked) return keepSets(bits, sets, TABLE);
  for (let code = 0; code < sets.length; code += 1) {
    const set = sets[code];
    if (TABLE[code] === 0 && set !== undefined) dropRows(bits, set);
  }
}

function anyMatcher(matchers: readonly Matcher[]): Matcher {
  const [only] = matchers;
  if (matchers.length === 1 && only !== undefined) return only;
  return (block, bits) => {
    // Rows that match already need not be looked at again.
    const open = lendCopy(bits);
    for (const matcher of matchers) {
      const matched = lendCopy(open);
      matcher(block, matched);
      dropRows(open, matched);
      giveBack(matched);
      if (isEmpty(open)) break;
    }
    dropRows(bits, open);
    giveBack(open);
  };
}

const NUMBER_COLUMNS = {
  id: 'sequence',
  steps: 'steps',
  reward: 'reward',
  iter: 'iteration',
  policy: 'policy_version',
  worker: 'worker',
  slot: 'slot',
  difficulty: 'difficulty',
  index: 'task_index',
  attempt: 'attempt',
  ms: 'wall_ms',
  age: 'started_at',
  started: 'started_at',
  agents: 'agents',
  'tool.calls': 'tool_calls',
  'tool.failed': 'tool_failed',
  'stage.reset': 'stage.reset',
  'stage.step': 'stage.step',
  'stage.inference': 'stage.inference',
} as const satisfies Record<FixedNumberField, BlockColumn | DerivedField>;

/** The column that holds a field's numbers. That of `age` holds when an episode began. */
export function numberColumn(field: NumberField): string {
  if (isTool(field)) return field;
  return isPart(field) ? componentColumn(field.slice(PART_PREFIX.length)) : NUMBER_COLUMNS[field];
}

type NumberTerm = Extract<FilterTerm, { readonly kind: 'numbers' | 'range' | 'compare' }>;
const TURNED = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const satisfies Record<
  Comparison,
  Comparison
>;

function numberMarker(term: NumberTerm, now: number): Marker {
  if (term.field === 'age') return numberMarker(startedTerm(term, now), now);
  switch (term.kind) {
    case 'numbers':
      return ({ numbers }, table) =>
        term.values.reduce((marked, value) => {
          const code = firstAtLeast(numbers, value);
          return marked + (numbers[code] === value ? markRange(table, code, code + 1) : 0);
        }, 0);
    case 'range':
      return ({ numbers }, table) =>
        markRange(table, firstAtLeast(numbers, term.from), firstAtLeast(numbers, term.to, true));
    case 'compare': {
      const { comparison, value } = term;
      const above = comparison === '<=' || comparison === '>';
      const isBelow = comparison === '<' || comparison === '<=';
      return ({ numbers }, table) => {
        const border = firstAtLeast(numbers, value, above);
        return isBelow ? markRange(table, 0, border) : markRange(table, border, numbers.length);
      };
    }
  }
}

/** Marks the codes from `from` to before `to`. */
function markRange(table: Uint8Array, from: number, to: number): number {
  table.fill(1, from, to);
  return to - from;
}

/** Marks the codes of the values that match. */
function markWhere<Value>(
  values: ArrayLike<Value>,
  table: Uint8Array,
  matches: (value: Value) => boolean,
): number {
  let marked = 0;
  for (let code = 0; code < values.length; code += 1) {
    const value = values[code];
    if (value === undefined || !matches(value)) continue;
    table[code] = 1;
    marked += 1;
  }
  return marked;
}

/** Younger than ten minutes is begun after ten minutes ago. */
function startedTerm(term: NumberTerm, now: number): NumberTerm {
  switch (term.kind) {
    case 'numbers':
      return { kind: 'numbers', field: 'started', values: term.values.map((value) => now - value) };
    case 'range':
      return { kind: 'range', field: 'started', from: now - term.to, to: now - term.from };
    case 'compare':
      return {
        kind: 'compare',
        field: 'started',
        comparison: TURNED[term.comparison],
        value: now - term.value,
      };
  }
}

const CHOICE_COLUMNS = {
  fail: 'failure',
  stage: 'failure_stage',
  family: 'family',
  env: 'env',
  host: 'host',
  phase: 'phase',
  mode: 'mode',
  split: 'split',
  trust: 'trust',
  behaviour: 'behaviours',
  tag: 'tags',
  detail: 'failure_detail',
} as const satisfies Record<Exclude<ChoiceField, 'ended'>, BlockColumn>;

/** The column that a field's names stand in. That of `ended`, which is made of several, is the first of them. */
export function choiceColumn(field: ChoiceField): BlockColumn {
  return field === 'ended' ? 'trust' : CHOICE_COLUMNS[field];
}

function compileChoice(field: ChoiceField, values: readonly string[], context: MatchContext): Matcher {
  if (field === 'ended') {
    return anyMatcher(
      ENDINGS.filter((ending) => values.includes(ending)).map((ending) =>
        compileMatcher(ENDING_MEANINGS[ending], context),
      ),
    );
  }
  const column = CHOICE_COLUMNS[field];
  if (field === 'behaviour') return columnMatcher(column, behaviourMarker(values));
  if (field === 'tag') return columnMatcher(column, tagMarker(values));
  if (field === 'detail') return columnMatcher(column, partMarker(values));
  const nullable = field === 'fail' || field === 'stage';
  const wanted = new Set(values);
  const all = nullable && wanted.has('any');
  return columnMatcher(column, ({ texts, distinct, hasMissing }, table) => {
    const marked = markWhere(texts, table, (text) => all || wanted.has(text));
    if (!nullable || !hasMissing || !wanted.has('none')) return marked;
    return marked + markRange(table, distinct, distinct + 1);
  });
}

const VOID: FilterNode = { kind: 'flag', flags: ['void'] };
const TRUNCATED: FilterNode = { kind: 'flag', flags: ['truncated'] };
const ENDING_MEANINGS = {
  void: VOID,
  truncated: allOf([not(VOID), TRUNCATED]),
  terminated: allOf([not(VOID), not(TRUNCATED)]),
} as const satisfies Record<(typeof ENDINGS)[number], FilterNode>;

function behaviourMarker(values: readonly string[]): Marker {
  const wanted = behaviourMask(BEHAVIOUR_NAMES.filter((name) => values.includes(name)));
  return ({ numbers }, table) => markWhere(numbers, table, (mask) => (mask & wanted) !== 0);
}

/** Each value of the column is the JSON array of an episode's tags. */
function tagMarker(values: readonly string[]): Marker {
  return ({ texts }, table) =>
    markWhere(texts, table, (text) => {
      const tags = tagsOf(text);
      return values.some((value) => tags.includes(value));
    });
}

const tagsSchema = z.array(z.string());

/** The tags in a value of column `tags`. */
export function tagsOf(text: string): string[] {
  return tagsSchema.parse(JSON.parse(text));
}

const FLAG_MATCHERS: Readonly<Record<Flag, Matcher>> = {
  success: columnMatcher('success', numberMarker(equals(1), 0)),
  failed: columnMatcher('success', numberMarker(equals(0), 0)),
  truncated: columnMatcher('truncated', numberMarker(equals(1), 0)),
  terminated: columnMatcher('terminated', numberMarker(equals(1), 0)),
  void: columnMatcher('trust', textMarker('void')),
  train: columnMatcher('phase', textMarker('train')),
  eval: columnMatcher('phase', textMarker('eval')),
  heldout: columnMatcher('split', textMarker('held_out')),
};

function equals(value: number): NumberTerm {
  return { kind: 'numbers', field: 'started', values: [value] };
}

function textMarker(value: string): Marker {
  return ({ texts }, table) => markWhere(texts, table, (text) => text === value);
}

/** Any of the texts occurs, whatever the case of ASCII letters. */
function partMarker(texts: readonly string[]): Marker {
  const wanted = texts.map(lowerAscii);
  return (column, table) => {
    for (const text of wanted) column.markContaining(text, table);
    return table.reduce((marked, mark) => marked + mark, 0);
  };
}

const SEARCHED: readonly BlockColumn[] = ['failure_detail', 'failure', 'family'];

function compileText(text: string, source: TextMatches | null): Matcher {
  const wanted = lowerAscii(text);
  const contains: Marker = (column, table) => column.markContaining(wanted, table);
  const matchers = SEARCHED.map((column) => columnMatcher(column, contains));
  if (source !== null) matchers.push(sequenceMatcher(source.match(text)));
  return anyMatcher(matchers);
}

/** Episodes of these numbers, ascending. */
function sequenceMatcher(sequences: Uint32Array): Matcher {
  return columnMatcher('sequence', ({ numbers }, table) => {
    let at = firstAtLeast(sequences, numbers[0] ?? 0);
    return markWhere(numbers, table, (number) => {
      while (at < sequences.length && (sequences[at] ?? 0) < number) at += 1;
      return sequences[at] === number;
    });
  });
}
