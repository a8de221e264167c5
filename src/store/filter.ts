import { nearestNames } from '../domain/nearest.ts';
import { filterError } from './filter-error.ts';
import { type FilterWord, formatFieldNumber, readTerm } from './filter-term.ts';
import {
  allOf,
  anyOf,
  type FilterNode,
  type FilterSort,
  type FilterTerm,
  NEWEST_FIRST,
  not,
} from './filter-tree.ts';

/** Which episodes, and in what order. */
export interface Filter {
  readonly where: FilterNode;
  readonly sort: FilterSort;
}

const MAX_LENGTH = 4000;
/** Bounds what SQLite has to nest: it refuses expressions deeper than 1000. */
const MAX_TERMS = 200;
const MAX_DEPTH = 50;
const OPERATORS = ['<=', '>=', '<', '>', '='] as const;

/** Filters kept under a name: `@name` in a text stands for them. */
export type SavedFilters = ReadonlyMap<string, string>;
const NO_SAVED_FILTERS: SavedFilters = new Map();

/**
 * Understands a filter text; '' matches everything, newest first. Throws `filter-invalid`, whose message shows the column
 * with a caret and suggests what may have been meant. The language is described in docs/FILTER.md.
 */
export function parseFilter(text: string, saved: SavedFilters = NO_SAVED_FILTERS): Filter {
  return new FilterParser(text, saved, []).parse();
}

/** The text of a filter: parsing it gives the same filter again. */
export function formatFilter(filter: Filter): string {
  const { where, sort } = filter;
  const parts = where.kind === 'all' && where.parts.length === 0 ? [] : [formatNode(where)];
  const newest = sort.field === NEWEST_FIRST.field && sort.descending === NEWEST_FIRST.descending;
  if (!newest) parts.push(`sort:${sort.descending ? '-' : ''}${sort.field}`);
  // A sort after an `or` would belong to its last alternative only in the reader's eye; brackets make it plain.
  if (parts.length === 2 && where.kind === 'any') parts[0] = `(${parts[0]})`;
  return parts.join(' ');
}

function formatNode(node: FilterNode): string {
  switch (node.kind) {
    case 'all':
      if (node.parts.length === 0) return '*';
      return node.parts
        .map((part) => (part.kind === 'any' ? `(${formatNode(part)})` : formatNode(part)))
        .join(' ');
    case 'any':
      return node.parts.map(formatNode).join(' or ');
    case 'not': {
      const grouped = node.part.kind === 'any' || (node.part.kind === 'all' && node.part.parts.length > 0);
      return grouped ? `-(${formatNode(node.part)})` : `-${formatNode(node.part)}`;
    }
    case 'choice':
    case 'flag':
    case 'numbers':
    case 'range':
    case 'compare':
    case 'text':
      return formatTerm(node);
  }
}

function formatTerm(term: FilterTerm): string {
  switch (term.kind) {
    case 'choice':
      return `${term.field}:${term.values.map(quoteIfNeeded).join(',')}`;
    case 'flag':
      return `is:${term.flags.join(',')}`;
    case 'numbers':
      return `${term.field}:${term.values.map((value) => formatFieldNumber(term.field, value)).join(',')}`;
    case 'range': {
      const { field, from, to } = term;
      return `${field}:${formatFieldNumber(field, from)}..${formatFieldNumber(field, to)}`;
    }
    case 'compare':
      return `${term.field}${term.comparison}${formatFieldNumber(term.field, term.value)}`;
    case 'text':
      return quote(term.text);
  }
}

/** A value as it is typed: in quotes where it would not be read as one word. */
export function quoteIfNeeded(value: string): string {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_.@/-]*$/u.test(value) ? value : quote(value);
}

function quote(value: string): string {
  return `"${value.replace(/["\\]/gu, '\\$&')}"`;
}

class FilterParser {
  readonly #source: string;
  #at = 0;
  #terms = 0;
  #sort: FilterSort | null = null;
  readonly #saved: SavedFilters;
  /** Names of saved filters that this text is the meaning of, outermost first. */
  readonly #within: readonly string[];

  constructor(source: string, saved: SavedFilters, within: readonly string[]) {
    this.#source = source;
    this.#saved = saved;
    this.#within = within;
  }

  parse(): Filter {
    const { where, sort } = this.parts();
    return { where, sort: sort ?? NEWEST_FIRST };
  }

  /** Condition and order; null where the text says none. */
  parts(): { readonly where: FilterNode; readonly sort: FilterSort | null } {
    if (this.#source.length > MAX_LENGTH) {
      throw this.#error(MAX_LENGTH, `longer than ${MAX_LENGTH} characters`, 'use a shorter filter');
    }
    const where = this.#alternatives(0);
    if (this.#at < this.#source.length) {
      throw this.#error(this.#at, 'a ) without its (', 'remove it, or open a bracket before');
    }
    return { where, sort: this.#sort };
  }

  /** `a b or c`: alternatives of groups; a group may be empty only when it is all there is. */
  #alternatives(depth: number): FilterNode {
    const groups: FilterNode[] = [];
    let end = false;
    while (!end) {
      const start = this.#at;
      const parts = this.#group(depth);
      end = !this.#takeOr();
      if (parts.length === 0 && (depth > 0 || groups.length > 0 || !end)) {
        const what = depth > 0 && groups.length === 0 && end ? 'in the brackets' : 'on each side of "or"';
        throw this.#error(start, `a term is wanted ${what}`, 'to search for the word "or" itself, quote it');
      }
      groups.push(allOf(parts));
    }
    return anyOf(groups);
  }

  #group(depth: number): FilterNode[] {
    const parts: FilterNode[] = [];
    for (;;) {
      this.#skipSpace();
      const next = this.#source[this.#at];
      if (next === undefined || next === ')' || this.#seesOr()) return parts;
      const part = this.#factor(depth);
      if (part !== null) parts.push(part);
    }
  }

  /** A term, a negated one or a bracket; null for `sort:`, which is no condition. */
  #factor(depth: number): FilterNode | null {
    const start = this.#at;
    const next = this.#source[this.#at] ?? '';
    if (depth > MAX_DEPTH) throw this.#error(start, `nested deeper than ${MAX_DEPTH}`, 'use fewer brackets');
    if (next === '-') return this.#negated(depth);
    if (next === '(') return this.#bracket(depth);
    this.#terms += 1;
    if (this.#terms > MAX_TERMS) throw this.#error(start, `more than ${MAX_TERMS} terms`, 'use fewer terms');
    if (next === '@') return this.#savedFilter(depth);
    if (next === '"') return { kind: 'text', text: this.#nonEmpty(this.#quoted()) };
    return this.#term(depth);
  }

  #negated(depth: number): FilterNode {
    const start = this.#at;
    this.#at += 1;
    const after = this.#source[this.#at];
    if (after === undefined || after === ')' || /\s/u.test(after)) {
      throw this.#error(start, 'a - with nothing to negate', 'e.g. -fail:max_steps; no space after the -');
    }
    const part = this.#factor(depth + 1);
    if (part !== null) return not(part);
    throw this.#error(start, 'an order cannot be negated', 'to turn it round: sort:-steps');
  }

  #bracket(depth: number): FilterNode {
    const start = this.#at;
    this.#at += 1;
    const inside = this.#alternatives(depth + 1);
    if (this.#source[this.#at] !== ')') throw this.#error(start, 'a ( without its )', 'close the bracket');
    this.#at += 1;
    return inside;
  }

  #term(depth: number): FilterNode | null {
    const start = this.#at;
    const name = this.#match(/(?:(?:part|tool)\.[\w.-]+|[a-z_.]+)(?=[:=<>])/iuy);
    if (name === null) return this.#bareText();
    const colon = this.#match(/:/uy) !== null;
    const operator = OPERATORS.find((one) => this.#source.startsWith(one, this.#at));
    this.#at += operator?.length ?? 0;
    const field = { text: name, at: start, quoted: false };
    const term = readTerm(this.#source, {
      field,
      operator: operator ?? (colon ? ':' : '='),
      values: this.#values(name),
    });
    if (term.kind !== 'sort') return term;
    this.#order(term.sort, start, depth);
    return null;
  }

  #order(sort: FilterSort, at: number, depth: number): void {
    if (depth > 0) {
      throw this.#error(at, 'sort belongs to the whole filter', 'put it outside the brackets, without a -');
    }
    if (this.#sort !== null) throw this.#error(at, 'a second sort', 'keep one of them');
    this.#sort = sort;
  }

  /** `@name`: what was saved under it, as if it were typed here in brackets; with its order, if it has one. */
  #savedFilter(depth: number): FilterNode {
    const start = this.#at;
    const name = this.#match(/@[\w-]*/uy)?.slice(1) ?? '';
    const text = this.#saved.get(name);
    if (text === undefined) {
      const names = [...this.#saved.keys()];
      throw filterError(this.#source, {
        at: start,
        message: `no filter is saved as "${name}"`,
        suggestions: nearestNames(name, names).map((near) => `@${near}`),
        hint:
          names.length > 0
            ? `saved: ${names.map((known) => `@${known}`).join(', ')}; to search for the text itself, put it in quotes`
            : "save one with: agentrl-lab filter save NAME 'FILTER'; to search for the text itself, put it in quotes",
      });
    }
    const path = [...this.#within, name];
    if (this.#within.includes(name)) {
      throw this.#error(
        start,
        `@${name} stands for itself: ${path.map((one) => `@${one}`).join(' → ')}`,
        'save one of them anew',
      );
    }
    const { where, sort } = new FilterParser(text, this.#saved, path).parts();
    if (sort !== null) this.#order(sort, start, depth);
    return where;
  }

  #bareText(): FilterNode {
    const at = this.#at;
    const text = this.#match(/[^\s()"]+/uy) ?? '';
    if (text === '*') return allOf([]);
    return { kind: 'text', text: this.#nonEmpty({ text, at, quoted: false }) };
  }

  #values(name: string): FilterWord[] {
    const values: FilterWord[] = [];
    do {
      const at = this.#at;
      if (this.#source[at] === '"') {
        values.push(this.#quoted());
        continue;
      }
      const text = this.#match(/[^\s()",]+/uy);
      if (text === null)
        throw this.#error(at, `a value is wanted after "${name}"`, 'no space goes before it');
      values.push({ text, at, quoted: false });
    } while (this.#match(/,/uy) !== null);
    return values;
  }

  #quoted(): FilterWord {
    const at = this.#at;
    const raw = this.#match(/"(?:[^"\\]|\\.)*"/suy);
    if (raw === null)
      throw this.#error(at, 'a quote that is not closed', 'end it with a "; inside, write \\"');
    return { text: raw.slice(1, -1).replace(/\\(.)/gsu, '$1'), at, quoted: true };
  }

  #nonEmpty(word: FilterWord): string {
    if (word.text !== '') return word.text;
    throw this.#error(word.at, 'a text to search for is wanted', 'put something between the quotes');
  }

  #seesOr(): boolean {
    return /or(?=[\s()]|$)/iuy.test(this.#source.slice(this.#at, this.#at + 3));
  }

  #takeOr(): boolean {
    if (!this.#seesOr()) return false;
    this.#at += 2;
    return true;
  }

  #skipSpace(): void {
    this.#match(/\s*/uy);
  }

  /** Takes what a sticky pattern finds here; null when it does not. */
  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found === null) return null;
    this.#at += found[0].length;
    return found[0];
  }

  #error(at: number, message: string, hint: string): ReturnType<typeof filterError> {
    return filterError(this.#source, { at, message, hint });
  }
}
