import type { EpisodeSummary } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { visibleText } from '../domain/visible-text.ts';
import type { BandCount, EpisodeFacets, ValueCount } from '../store/columns/facets.ts';
import { type EpisodeSearch, openEpisodeSearch } from '../store/episode-search.ts';
import { type Filter, parseFilter, type SavedFilters } from '../store/filter.ts';
import { openRunReader } from '../store/queries.ts';
import { readSavedFilters } from '../store/saved-filters.ts';
import { type Column, formatCount, formatNumber, formatTable } from './format.ts';
import { printJson, printLine } from './output.ts';
import { type FoundRun, findNewestRun } from './runs.ts';
import { wholeRow } from './whole-row.ts';

export interface EpisodesOptions {
  readonly runs: string;
  readonly run?: string;
  readonly json?: boolean;
  readonly limit: number;
  readonly facets?: boolean;
  /** What may follow this text, instead of episodes. */
  readonly complete?: string;
}

/** Lists the episodes that a filter matches, or how they are distributed, or how a filter text can go on. */
export async function printEpisodes(filterWords: readonly string[], options: EpisodesOptions): Promise<void> {
  const saved = readSavedFilters(options.runs);
  const filter = parseFilter(filterWords.join(' '), saved);
  const run = findNewestRun(options.runs, options.run);
  const search = openEpisodeSearch(run.paths);
  try {
    if (options.complete !== undefined) await printCompletion(search, options.complete, saved, options);
    else if (options.facets === true) await printFacets(search, filter, run, options);
    else await printPage(search, filter, run, options);
  } finally {
    await search.close();
  }
}

async function printPage(
  search: EpisodeSearch,
  filter: Filter,
  run: FoundRun,
  { limit, json }: EpisodesOptions,
): Promise<void> {
  const { episodes, next, count } = answered(await search.search(filter, { limit }));
  const { failures } = answered(await search.facets(filter.where));
  const outcomes = failures.map((failure) => ({ outcome: failure.value ?? 'success', count: failure.count }));
  if (json === true) {
    const counts = Object.fromEntries(outcomes.map((one) => [one.outcome, one.count]));
    const reader = openRunReader(run.paths);
    const rows = episodes.map((episode) => wholeRow(reader, episode));
    reader.close();
    printJson({ run: run.id, total: count, outcomes: counts, episodes: rows, more: next !== null });
    return;
  }
  if (episodes.length > 0) {
    for (const line of formatTable(EPISODE_COLUMNS, episodes)) printLine(line);
  }
  const shown = `${formatCount(episodes.length)} of ${formatCount(count)} episodes of ${run.id}`;
  printLine([shown, ...outcomes.map((one) => `${one.outcome} ${formatCount(one.count)}`)].join(' · '));
}

async function printFacets(
  search: EpisodeSearch,
  filter: Filter,
  run: FoundRun,
  { json }: EpisodesOptions,
): Promise<void> {
  const facets = answered(await search.facets(filter.where));
  if (json === true) printJson({ run: run.id, ...facets });
  else for (const line of facetLines(facets, run.id)) printLine(line);
}

function values(counts: readonly ValueCount[], missing: string): string[][] {
  return counts.map(({ value, count }) => [visibleText(value ?? missing), formatCount(count)]);
}

function bands(counts: readonly BandCount[]): string[][] {
  return counts.map(({ from, to, count }) => [
    `${formatNumber(from, 6)} to < ${formatNumber(to, 6)}`,
    formatCount(count),
  ]);
}

function facetLines(facets: EpisodeFacets, run: string): string[] {
  const withoutReward = facets.withoutReward > 0 ? [['none', formatCount(facets.withoutReward)]] : [];
  const parts: readonly (readonly [string, string[][]])[] = [
    ['OUTCOME', values(facets.failures, 'success')],
    ['FAMILY', values(facets.families, '')],
    ['HOST', values(facets.hosts, '')],
    ['BEHAVIOUR', values(facets.behaviours, '')],
    ['ITERATION', bands(facets.iterations)],
    ['REWARD', [...bands(facets.rewards), ...withoutReward]],
  ];
  const tables = parts
    .filter(([, rows]) => rows.length > 0)
    .flatMap(([title, rows]) => [
      ...formatTable(
        [
          { title, align: 'left', cell: ([value = '']: string[]) => value },
          { title: 'EPISODES', align: 'right', cell: ([, count = '']: string[]) => count },
        ],
        rows,
      ),
      '',
    ]);
  return [...tables, `${formatCount(facets.count)} episodes of ${run}`];
}

async function printCompletion(
  search: EpisodeSearch,
  text: string,
  saved: SavedFilters,
  { json }: EpisodesOptions,
): Promise<void> {
  const completion = answered(await search.complete(text, text.length, saved));
  if (json === true) {
    printJson(completion);
    return;
  }
  const before = text.slice(0, completion.from);
  const rows = completion.suggestions.map(({ text: suggested, count, meaning }) => [
    visibleText(before + suggested),
    count === null ? '' : formatCount(count),
    visibleText(meaning),
  ]);
  if (rows.length === 0) return;
  const columns: readonly Column<string[]>[] = [
    { title: 'FILTER', align: 'left', cell: ([suggested = '']) => suggested },
    { title: 'EPISODES', align: 'right', cell: ([, count = '']) => count },
    { title: 'MEANING', align: 'left', cell: ([, , meaning = '']) => meaning },
  ];
  for (const line of formatTable(columns, rows)) printLine(line);
}

/** The command asks one question after the other: none is overtaken. */
function answered<Value>(answer: Value | null): Value {
  if (answer !== null) return answer;
  throw new LabError('internal', { message: 'a question to the index was not answered' });
}

const EPISODE_COLUMNS: readonly Column<EpisodeSummary>[] = [
  { title: 'EPISODE', align: 'left', cell: ({ id }) => id },
  { title: 'ITER', align: 'right', cell: ({ iteration }) => String(iteration) },
  { title: 'POLICY', align: 'right', cell: ({ policyVersion }) => String(policyVersion) },
  {
    title: 'PHASE',
    align: 'left',
    cell: ({ phase, mode }) => (phase === 'eval' ? `eval ${mode}` : phase),
  },
  {
    title: 'TASK',
    align: 'left',
    cell: ({ task }) => visibleText(`${task.family}/${task.split}/${task.index}`),
  },
  { title: 'STEPS', align: 'right', cell: ({ steps }) => String(steps) },
  { title: 'REWARD', align: 'right', cell: ({ reward }) => formatNumber(reward) },
  { title: 'OUTCOME', align: 'left', cell: ({ failure }) => failure ?? 'success' },
  { title: 'BEHAVIOURS', align: 'left', cell: ({ behaviours }) => behaviours.join(' ') },
];
