import { LabError } from '../domain/error.ts';
import type { EpisodeFinder } from './episode-finder.ts';
import { parseFilter, quoteIfNeeded, type SavedFilters } from './filter.ts';
import {
  allOf,
  CHOICE_FIELD_NAMES,
  CHOICE_FIELDS,
  type FilterNode,
  FLAG_NAMES,
  FLAGS,
  NUMBER_FIELD_NAMES,
  NUMBER_FIELDS,
  not,
  PART_PREFIX,
} from './filter-tree.ts';

/** What may stand at the cursor. */
export interface Suggestion {
  /** Takes the place of the text from `from` to `to`. */
  readonly text: string;
  /** How many episodes the filter would match with it; null for what is not a whole term yet. */
  readonly count: number | null;
  /** One line for people; '' where the text says it. */
  readonly meaning: string;
}

/** What may be typed at a place of a filter text. */
export interface Completion {
  /** The part of the text that a suggestion takes the place of: from index `from` to before `to`. */
  readonly from: number;
  readonly to: number;
  /** Values with the most episodes first; those without any come last. */
  readonly suggestions: readonly Suggestion[];
}

const MOST = 20;
/** Values that are counted: a column may have thousands. */
const MOST_COUNTED = 200;

interface Candidate {
  readonly text: string;
  /** What has to begin as is typed, where that is not the text: a value without its quotes. */
  readonly value?: string;
  readonly meaning: string;
  /** The term that it makes; null for what is not a whole one yet. */
  readonly term: FilterNode | null;
}

/**
 * What may be typed where the cursor stands (an index into the text), with how many episodes the whole filter would then
 * match. What does not read as a filter yet is left out of the counts. Never throws for what is typed.
 */
export function completeFilter(
  text: string,
  cursor: number,
  { finder, saved }: { readonly finder: EpisodeFinder; readonly saved: SavedFilters },
): Completion {
  const word = wordAt(text, cursor);
  const typed = text.slice(word.from, cursor);
  const operator = /^(?<field>[a-z_]+)[:=](?:[^,]*,)*/iu.exec(typed);
  const from = word.from + (operator?.[0].length ?? 0);
  const begun = text.slice(from, cursor).replace(/^"/u, '').toLowerCase();
  const field = operator?.groups?.['field']?.toLowerCase();
  const tools = begun.startsWith(TOOL) ? finder.tools() : [];
  const candidates =
    field === undefined ? nameCandidates(saved, finder, tools) : valueCandidates(field, finder);
  const fitting = candidates
    .filter((candidate) => (candidate.value ?? candidate.text).toLowerCase().startsWith(begun))
    .slice(0, MOST_COUNTED);
  const rest = conditionOf(`${text.slice(0, word.start)} ${text.slice(word.to)}`, saved);
  const terms = fitting.map(({ term }) => term ?? allOf([]));
  const counts = finder.countsWithin(rest, word.isNegated ? terms.map(not) : terms);
  const suggestions = fitting
    .map(({ text: suggested, meaning, term }, index) => ({
      text: suggested,
      meaning,
      count: term === null ? null : (counts[index] ?? 0),
    }))
    .toSorted((left, right) => (right.count ?? 0) - (left.count ?? 0))
    .slice(0, MOST);
  return { from, to: word.to, suggestions };
}

/** The word that a place in a text belongs to: from `start` with its `-`, or from `from` without, to before `to`. */
function wordAt(
  text: string,
  cursor: number,
): { start: number; from: number; to: number; isNegated: boolean } {
  let [start, isQuoted] = [0, false];
  for (let at = 0; at < cursor; at += 1) {
    const character = text[at] ?? '';
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted && character === '\\') at += 1;
    else if (!isQuoted && /[\s()]/u.test(character)) start = at + 1;
  }
  const after = (isQuoted ? /^[^"]*"?/u : /^[^\s()",]*/u).exec(text.slice(cursor))?.[0] ?? '';
  const isNegated = text.startsWith('-', start) && start < cursor;
  return { start, from: start + Number(isNegated), to: cursor + after.length, isNegated };
}

/** The condition of a text, or all episodes when it is not a filter. */
function conditionOf(text: string, saved: SavedFilters): FilterNode {
  try {
    return parseFilter(text, saved).where;
  } catch (thrown) {
    if (thrown instanceof LabError) return allOf([]);
    throw thrown;
  }
}

function named(text: string, meaning: string): Candidate {
  return { text, meaning, term: null };
}

/** Begins fields that are about one tool: their names are looked up only then. */
const TOOL = 'tool.';

function nameCandidates(saved: SavedFilters, finder: EpisodeFinder, tools: readonly string[]): Candidate[] {
  return [
    ...CHOICE_FIELD_NAMES.map((name) => named(`${name}:`, CHOICE_FIELDS[name].meaning)),
    named('is:', `one of: ${FLAG_NAMES.join(', ')}`),
    ...NUMBER_FIELD_NAMES.map((name) => named(name, NUMBER_FIELDS[name])),
    ...finder.components().map((name) => named(`${PART_PREFIX}${name}`, `what component ${name} paid`)),
    ...tools.flatMap((tool) => [
      named(`${TOOL}${tool}.calls`, `how often it used ${tool}`),
      named(`${TOOL}${tool}.failed`, `how often ${tool} failed`),
      named(`${TOOL}${tool}.ms`, `how long ${tool} ran, as 20ms or 1.5s`),
    ]),
    named('sort:', 'order; a - before the field turns it round'),
    ...[...saved].map(([name, text]) => ({
      text: `@${name}`,
      meaning: text,
      term: conditionOf(text, saved),
    })),
  ];
}

function valueCandidates(field: string, finder: EpisodeFinder): Candidate[] {
  if (field === 'is') {
    return FLAG_NAMES.map((flag) => ({
      text: flag,
      meaning: FLAGS[flag],
      term: { kind: 'flag', flags: [flag] },
    }));
  }
  if (field === 'sort') {
    return NUMBER_FIELD_NAMES.flatMap((name) => [
      { text: name, meaning: NUMBER_FIELDS[name], term: null },
      { text: `-${name}`, meaning: `${NUMBER_FIELDS[name]}; greatest first`, term: null },
    ]);
  }
  const choice = CHOICE_FIELD_NAMES.find((name) => name === field);
  if (choice === undefined) return [];
  const known: readonly string[] = CHOICE_FIELDS[choice].values ?? finder.values(choice);
  return known.map((value) => ({
    text: quoteIfNeeded(value),
    value,
    meaning: '',
    term: { kind: 'choice', field: choice, values: [value] },
  }));
}
