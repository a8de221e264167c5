import type Database from 'better-sqlite3';
import type { EpisodeSummary } from '../domain/episode.ts';
import { countRows, giveBack, lendCopy } from './columns/bits.ts';
import { DerivedColumns, derivedFields } from './columns/derived-columns.ts';
import { componentOf } from './columns/episode-cells.ts';
import { EpisodeColumns } from './columns/episode-columns.ts';
import { countFacets, countTexts, type EpisodeFacets } from './columns/facets.ts';
import { KeptMatches, type MatchedRows } from './columns/kept-matches.ts';
import { choiceColumn, compileMatcher, type TextMatches, tagsOf } from './columns/match.ts';
import { firstRows } from './columns/order.ts';
import { cellsToEpisode, episodeColumnsSql, type SqlValue } from './episode-row.ts';
import type { Filter } from './filter.ts';
import type { ChoiceField, FilterNode, FilterSort, FilterTerm } from './filter-tree.ts';
import { schemaVersion } from './migrations.ts';

/** One page of a list. `next` continues it (with the same filter); null at the end. */
export interface EpisodePage {
  readonly episodes: EpisodeSummary[];
  readonly next: string | null;
}

export interface PageOptions {
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string | null;
}

/** What a search finds: its first page, or a later one, and how many there are in all. */
export interface EpisodeMatches extends EpisodePage {
  readonly count: number;
}

/** Filters whose matches are kept: those of a screen and of its counts, beside what is being typed. */
const KEPT_FILTERS = 8;
/** Episodes of pages that are kept as they were read, some 2 KB each. */
const KEPT_EPISODES = 1000;
/** Newest episodes whose tools are offered for completion. */
const TOOLS_FROM = 500;

/**
 * Answers filters from the columns of an index, and reads only a page's rows from its table. What matched in a block is
 * kept for the last few filters, so that a screen that looks again once a second costs what is new.
 */
export class EpisodeFinder {
  readonly #database: Database.Database;
  readonly #columns: EpisodeColumns;
  readonly #derived: DerivedColumns;
  readonly #now: () => number;
  readonly #text: TextMatches | null;
  readonly #kept = new KeptMatches(KEPT_FILTERS);

  /** Rows never change, and pages of one filter and the next, or of one look and the next, have most episodes in common. */
  readonly #episodes = new Map<number, EpisodeSummary>();
  #episodesOf = 0;
  #readRow: Database.Statement<[number], SqlValue[]> | null = null;

  /** `now` in ms since the epoch. `text` searches what was observed and done. */
  constructor(database: Database.Database, now: () => number, text: TextMatches | null = null) {
    this.#database = database;
    this.#columns = new EpisodeColumns(database);
    this.#derived = new DerivedColumns(database);
    this.#now = now;
    this.#text = text;
  }

  /** Takes in what the run has added, so that the next question need not. */
  follow(): void {
    this.#atOnce(() => this.#columns.blocks());
  }

  /** Page and count, of one moment. Throws `usage` for a cursor that is none of this filter's. */
  search(filter: Filter, { limit, after = null }: PageOptions): EpisodeMatches {
    return this.#atOnce(() => {
      for (let trusting = true; ; trusting = false) {
        const matched = this.#matched(filter.where, filter.sort);
        const { sequences, next } = firstRows(matched, filter.sort, { limit, after });
        const count = matched.reduce((sum, { bits }) => sum + countRows(bits), 0);
        const episodes = this.#read(sequences);
        if (episodes !== null) return { episodes, next, count };
        this.#columns.reload(trusting);
      }
    });
  }

  count(where: FilterNode): number {
    return this.#atOnce(() => this.#matched(where).reduce((sum, { bits }) => sum + countRows(bits), 0));
  }

  /** How many episodes by failure type, and `success`; types that do not occur are left out. */
  failureCounts(where: FilterNode): Record<string, number> {
    const counts = this.#atOnce(() => countTexts(this.#matched(where), 'failure'));
    return Object.fromEntries(counts.map(({ value, count }) => [value ?? 'success', count]));
  }

  facets(where: FilterNode): EpisodeFacets {
    return this.#atOnce(() => countFacets(this.#matched(where)));
  }

  /** How many episodes match a condition and each of some more. */
  countsWithin(where: FilterNode, nodes: readonly FilterNode[]): number[] {
    return this.#atOnce(() => {
      const matched = this.#matched(where);
      const context = { now: this.#now(), text: this.#text };
      const blocks = matched.map(({ block }) => block);
      return nodes.map((node) => {
        this.#derived.add(blocks, derivedFields(node, null));
        const matcher = compileMatcher(node, context);
        return matched.reduce((sum, { block, bits }) => {
          const narrowed = lendCopy(bits);
          matcher(block, narrowed);
          const count = countRows(narrowed);
          giveBack(narrowed);
          return sum + count;
        }, 0);
      });
    });
  }

  /** The values that a field of names has in any episode, in alphabetical order. */
  values(field: ChoiceField): string[] {
    const column = choiceColumn(field);
    const values = new Set<string>();
    for (const block of this.#atOnce(() => this.#columns.blocks())) {
      for (const text of block.columns.get(column)?.texts ?? []) {
        for (const value of field === 'tag' ? tagsOf(text) : [text]) values.add(value);
      }
    }
    return [...values].toSorted();
  }

  /** The reward components that any episode was paid by, in alphabetical order. */
  components(): string[] {
    const blocks = this.#atOnce(() => this.#columns.blocks());
    const columns = new Set(blocks.flatMap((block) => [...block.columns.keys()]));
    return [...columns].flatMap((name) => componentOf(name) ?? []).toSorted();
  }

  /** The names of tools that the newest episodes used, in alphabetical order. */
  tools(): string[] {
    if (schemaVersion(this.#database) < 2) return [];
    return this.#database
      .prepare<[], string>(
        `SELECT DISTINCT key FROM (SELECT more FROM episodes ORDER BY sequence DESC LIMIT ${TOOLS_FROM}),
           json_each(more, '$.tools.byName') ORDER BY key`,
      )
      .pluck()
      .all();
  }

  #matched(where: FilterNode, sort: FilterSort | null = null): MatchedRows[] {
    const now = this.#now();
    const blocks = this.#columns.blocks();
    this.#derived.add(blocks, derivedFields(where, sort));
    // An age changes with time, and what a text occurs in as the index of texts grows.
    const texts = usesText(where) ? this.#text?.indexedEpisodes : 0;
    const key = JSON.stringify([where, usesAge(where) ? now : 0, texts ?? 0]);
    return this.#kept.of(key, blocks, compileMatcher(where, { now, text: this.#text }));
  }

  /** The episodes of these numbers; null when one is not there. */
  #read(sequences: readonly number[]): EpisodeSummary[] | null {
    if (this.#episodesOf !== this.#columns.generation) this.#episodes.clear();
    this.#episodesOf = this.#columns.generation;
    const episodes: EpisodeSummary[] = [];
    for (const sequence of sequences) {
      const episode = this.#episodes.get(sequence) ?? this.#readEpisode(sequence);
      if (episode === null) return null;
      // The last to be asked for is the last to be forgotten.
      this.#episodes.delete(sequence);
      this.#episodes.set(sequence, episode);
      episodes.push(episode);
    }
    for (const oldest of this.#episodes.keys()) {
      if (this.#episodes.size <= KEPT_EPISODES) break;
      this.#episodes.delete(oldest);
    }
    return episodes;
  }

  #readEpisode(sequence: number): EpisodeSummary | null {
    this.#readRow ??= this.#database
      .prepare<[number], SqlValue[]>(
        `SELECT ${episodeColumnsSql(schemaVersion(this.#database))} FROM episodes WHERE sequence = ?`,
      )
      .raw();
    const row = this.#readRow.get(sequence);
    return row === undefined ? null : cellsToEpisode(row);
  }

  /** Columns and rows of the same moment, while a run writes. */
  #atOnce<Value>(read: () => Value): Value {
    return this.#database.inTransaction ? read() : this.#database.transaction(read).deferred();
  }
}

function usesAge(node: FilterNode): boolean {
  return hasTerm(node, (term) => 'field' in term && term.field === 'age');
}

function usesText(node: FilterNode): boolean {
  return hasTerm(node, (term) => term.kind === 'text');
}

function hasTerm(node: FilterNode, is: (term: FilterTerm) => boolean): boolean {
  if (node.kind === 'all' || node.kind === 'any') return node.parts.some((part) => hasTerm(part, is));
  return node.kind === 'not' ? hasTerm(node.part, is) : is(node);
}
