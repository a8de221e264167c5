import { nearestNames } from '../domain/nearest.ts';
import { keysOf } from '../domain/table.ts';
import { filterError } from './filter-error.ts';
import {
  CHOICE_FIELD_NAMES,
  CHOICE_FIELDS,
  type ChoiceField,
  COMPARISONS,
  type Comparison,
  type FilterSort,
  type FilterTerm,
  FLAG_NAMES,
  NUMBER_FIELD_NAMES,
  type NumberField,
  PART_PREFIX,
  TOOL_COUNTS,
  toolOf,
  unitOf,
} from './filter-tree.ts';

/** A value as typed, and where. A quoted one is taken as it stands. */
export interface FilterWord {
  readonly text: string;
  readonly at: number;
  readonly quoted: boolean;
}

/** `field operator value,value…` as typed. */
export interface RawTerm {
  readonly field: FilterWord;
  readonly operator: ':' | '=' | Comparison;
  /** At least one. */
  readonly values: readonly FilterWord[];
}

const ALIASES: Readonly<Record<string, string>> = {
  behavior: 'behaviour',
  failure: 'fail',
  iteration: 'iter',
};
const ALL_FIELDS = [
  ...CHOICE_FIELD_NAMES,
  'is',
  ...NUMBER_FIELD_NAMES,
  `${PART_PREFIX}NAME`,
  ...TOOL_COUNTS.map((count) => `tool.NAME.${count}`),
  'sort',
];
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu;

/** Understands one term of a filter text; `sort` is one too. Throws `filter-invalid`. */
export function readTerm(source: string, term: RawTerm): FilterTerm | { kind: 'sort'; sort: FilterSort } {
  const typed = term.field.text.toLowerCase();
  const name = ALIASES[typed] ?? typed;
  if (name === 'sort') return { kind: 'sort', sort: readSort(source, term) };
  if (name === 'is') {
    equalityOnly(source, term);
    return { kind: 'flag', flags: closedValues(source, term.values, FLAG_NAMES) };
  }
  const choice = CHOICE_FIELD_NAMES.find((field) => field === name);
  if (choice !== undefined) return readChoice(source, term, choice);
  const number = numberFieldOf(term.field.text);
  if (number !== null) return readNumbers(source, term, number);
  throw filterError(source, {
    at: term.field.at,
    message: `unknown field "${term.field.text}"`,
    suggestions: nearestNames(name, [...ALL_FIELDS, ...Object.keys(ALIASES)]),
    hint: `fields: ${ALL_FIELDS.join(', ')}; to search for the text itself, put it in quotes`,
  });
}

function readChoice(source: string, term: RawTerm, field: ChoiceField): FilterTerm {
  equalityOnly(source, term);
  const known = CHOICE_FIELDS[field].values;
  if (known !== null) return { kind: 'choice', field, values: closedValues(source, term.values, known) };
  return { kind: 'choice', field, values: unique(term.values.map((value) => value.text)) };
}

function readNumbers(source: string, term: RawTerm, field: NumberField): FilterTerm {
  const { operator, values } = term;
  const comparison = COMPARISONS.find((one) => one === operator);
  const [first, second] = values;
  const dots = first?.text.indexOf('..') ?? -1;
  if (first !== undefined && second === undefined) {
    if (comparison !== undefined)
      return { kind: 'compare', field, comparison, value: readNumber(source, field, first) };
    if (dots >= 0) return readRange(source, field, first, dots);
  } else if (second !== undefined && (comparison !== undefined || dots >= 0)) {
    throw filterError(source, {
      at: second.at,
      message: `${field}${operator} takes one value here`,
      hint: examplesOf(field),
    });
  }
  return { kind: 'numbers', field, values: unique(values.map((value) => readNumber(source, field, value))) };
}

function readRange(source: string, field: NumberField, word: FilterWord, dots: number): FilterTerm {
  const part = (start: number, end: number): FilterWord | null =>
    start === end ? null : { text: word.text.slice(start, end), at: word.at + start, quoted: word.quoted };
  const low = part(0, dots);
  const high = part(dots + 2, word.text.length);
  if (low === null && high === null) {
    throw filterError(source, {
      at: word.at,
      message: `${field}:.. has no end`,
      hint: `e.g. ${field}:10..20, ${field}:10.. or ${field}:..20`,
    });
  }
  const shown = (value: number): string => formatFieldNumber(field, value);
  const from = low === null ? null : readNumber(source, field, low);
  const to = high === null ? null : readNumber(source, field, high);
  if (from !== null && to !== null) {
    if (from <= to) return { kind: 'range', field, from, to };
    throw filterError(source, {
      at: word.at,
      message: `${field}:${word.text} is empty: ${shown(from)} is more than ${shown(to)}`,
      suggestions: [`${field}:${shown(to)}..${shown(from)}`],
      hint: 'a range goes from the smaller to the greater number',
    });
  }
  return from === null
    ? { kind: 'compare', field, comparison: '<=', value: to ?? 0 }
    : { kind: 'compare', field, comparison: '>=', value: from };
}

/** The field of numbers that a name stands for, or null. Names of components and tools are taken as they are typed. */
function numberFieldOf(typed: string): NumberField | null {
  if (typed.toLowerCase().startsWith(PART_PREFIX) && typed.length > PART_PREFIX.length) {
    return `${PART_PREFIX}${typed.slice(PART_PREFIX.length)}`;
  }
  const lower = typed.toLowerCase();
  const name = ALIASES[lower] ?? lower;
  const about = toolOf(
    typed.replace(/^tool(?=\.)/iu, 'tool').replace(/\w+$/u, (count) => count.toLowerCase()),
  );
  if (about !== null) return `tool.${about.tool}.${about.count}`;
  return NUMBER_FIELD_NAMES.find((field) => field === name) ?? null;
}

const READERS = {
  plain: { read: plainNumber, wants: 'a number', examples: ['>20', ':10..20', ':1,2,3'] },
  episode: { read: episodeNumber, wants: 'a number', examples: ['>20', ':10..20', ':e1,e2'] },
  duration: { read: durationMs, wants: 'a length of time', examples: ['<10m', ':1h..2h', '>3d'] },
  time: {
    read: timeMs,
    wants: 'a day or a time',
    examples: ['>2026-11-30', '<2026-11-30T14:05', ':2026-11-29..2026-11-30'],
  },
} as const;

/** Of stages and tools, which take less than days. */
const SHORT_TIMES = ['>2s', ':50ms..2s', '<20ms'] as const;

function examplesOf(field: NumberField): string {
  const unit = unitOf(field);
  const suffixes = unit === 'duration' && field !== 'age' ? SHORT_TIMES : READERS[unit].examples;
  const examples = suffixes.map((example) => field + example);
  return `e.g. ${examples[0]}, ${examples[1]} or ${examples[2]}`;
}

function readNumber(source: string, field: NumberField, word: FilterWord): number {
  const { read, wants } = READERS[unitOf(field)];
  const value = read(word.text);
  // + 0 turns -0, which prints as 0, into 0.
  if (Number.isFinite(value)) return value + 0;
  throw filterError(source, {
    at: word.at,
    message: `${field} takes ${wants}, got "${word.text}"`,
    hint: examplesOf(field),
  });
}

function plainNumber(text: string): number {
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}

function episodeNumber(text: string): number {
  return plainNumber(text.replace(/^e(?=\d)/iu, ''));
}

/** Units of time in ms, longest first. */
const DURATION_UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

function durationMs(text: string): number {
  // The only length that is the same in every unit.
  if (text === '0') return 0;
  const found = /^(?<amount>.*?)(?<unit>d|h|m|s|ms)$/u.exec(text.toLowerCase());
  const unit = keysOf(DURATION_UNITS).find((name) => name === found?.groups?.['unit']);
  return unit === undefined
    ? Number.NaN
    : plainNumber(found?.groups?.['amount'] ?? '') * DURATION_UNITS[unit];
}

/** A number as it is typed for a field: reading it gives the same number. */
export function formatFieldNumber(field: NumberField, value: number): string {
  if (field === 'id' && Number.isSafeInteger(value) && value >= 0) return `e${value}`;
  if (unitOf(field) !== 'duration') return String(value);
  const whole = (name: keyof typeof DURATION_UNITS): boolean =>
    value !== 0 && Number.isSafeInteger(value / DURATION_UNITS[name]) && value % DURATION_UNITS[name] === 0;
  const unit = keysOf(DURATION_UNITS).find(whole) ?? 'ms';
  return `${value / DURATION_UNITS[unit]}${unit}`;
}

/** Ms since the epoch of a day, or a time of one, in local time; or the number of ms itself. */
function timeMs(text: string): number {
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?$/u.test(text)) return plainNumber(text);
  // A day alone would be taken for one of UTC.
  return Date.parse(text.includes('T') ? text : `${text}T00:00`);
}

function readSort(source: string, term: RawTerm): FilterSort {
  equalityOnly(source, term);
  const [word, more] = term.values;
  if (word === undefined || more !== undefined) {
    throw filterError(source, {
      at: more?.at ?? term.field.at,
      message: 'sort takes one field',
      hint: 'e.g. sort:steps or sort:-reward',
    });
  }
  const descending = word.text.startsWith('-');
  const typed = word.text.slice(Number(descending)).toLowerCase();
  const field = numberFieldOf(word.text.slice(Number(descending)));
  if (field !== null) return { field, descending };
  throw filterError(source, {
    at: word.at + Number(descending),
    message: `cannot sort by "${typed}"`,
    suggestions: nearestNames(typed, NUMBER_FIELD_NAMES),
    hint: `sort by one of: ${NUMBER_FIELD_NAMES.join(', ')}; a - before it turns the order round`,
  });
}

function equalityOnly(source: string, term: RawTerm): void {
  if (term.operator === ':' || term.operator === '=') return;
  throw filterError(source, {
    at: term.field.at,
    message: `"${term.field.text}" cannot be compared with ${term.operator}`,
    suggestions: [`${term.field.text}:${term.values[0]?.text ?? ''}`],
    hint: `only numbers can: ${NUMBER_FIELD_NAMES.join(', ')}`,
  });
}

function closedValues<Name extends string>(
  source: string,
  words: readonly FilterWord[],
  names: readonly Name[],
): readonly Name[] {
  const values = words.map((word) => {
    // `is:heldout` and `split:held_out` are one word to who types them.
    const found = names.find((name) => withoutRules(name) === withoutRules(word.text));
    if (found !== undefined) return found;
    throw filterError(source, {
      at: word.at,
      message: `unknown value "${word.text}"`,
      suggestions: nearestNames(word.text, names),
      hint: `one of: ${names.join(', ')}`,
    });
  });
  return unique(values);
}

function withoutRules(name: string): string {
  return name.toLowerCase().replaceAll('_', '');
}

function unique<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)];
}
