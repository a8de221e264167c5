import { availableParallelism } from 'node:os';
import { LabError } from '../domain/error.ts';
import { createRandom } from '../domain/random.ts';
import { formatTaskRef } from '../domain/task.ts';
import { visibleText } from '../domain/visible-text.ts';
import type { ExecutionRequest } from '../protocol/replay.ts';
import { type Comparison, compareExecutions, VERDICTS, type Verdict } from '../replay/compare.ts';
import { executionRequest, recordedExecution } from '../replay/recorded.ts';
import { parseFilter } from '../store/filter.ts';
import { openRunReader, type RunReader, type StoredEpisode } from '../store/queries.ts';
import { type Column, formatCount, formatTable } from './format.ts';
import { EXIT, printJson, printLine, printNote } from './output.ts';
import { executionSettings } from './reexecute.ts';
import { Replayer } from './replayer.ts';
import { findNewestRun } from './runs.ts';

export interface ReplayOptions {
  readonly runs: string;
  readonly run?: string;
  readonly sample: number;
  readonly json?: boolean;
}

interface Result {
  readonly episode: StoredEpisode['summary'];
  readonly comparison: Comparison;
}

/** Episode ids as they are typed: `e120`, `120`. */
const EPISODE = /^e?\d+$/u;
/** Rows read at once while a sample is drawn. */
const PAGE = 500;
/** Characters shown of a reason in the table. */
const MOST_REASON = 160;
/** Differences of one episode that are shown. */
const MOST_DIFFERENCES = 20;

/**
 * Does stored episodes again, with the actions that were recorded, and says where each first differs: one by its id, or a sample of
 * those that a filter matches. The exit code is 1 when any drifted or broke.
 */
export async function replayEpisodes(words: readonly string[], options: ReplayOptions): Promise<number> {
  const run = findNewestRun(options.runs, options.run);
  const rest = executionSettings(run.paths);
  const reader = openRunReader(run.paths);
  try {
    const [word = ''] = words;
    const one = words.length === 1 && EPISODE.test(word);
    const ids = one
      ? [word.startsWith('e') ? word : `e${word}`]
      : drawSample(reader, words.join(' '), options.sample);
    const results = await executeAll(reader, ids, rest);
    const bad = results.filter(({ comparison }) => isBad(comparison.verdict)).length;
    if (options.json === true)
      printJson({ run: run.id, score: scoresOf(results), episodes: results.map(asJson) });
    else if (one) printOne(results);
    else printMany(run.id, results);
    return bad === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    reader.close();
  }
}

function isBad(verdict: Verdict): boolean {
  return verdict === 'drift' || verdict === 'broken';
}

/** So many of the episodes that a filter matches, evenly at random; the same ones each time while nothing is added. */
function drawSample(reader: RunReader, text: string, size: number): string[] {
  const filter = parseFilter(text);
  const random = createRandom(1);
  const sample: string[] = [];
  let seen = 0;
  // Reservoir sampling (Vitter 1985, algorithm R): one pass, whatever the number.
  for (let after: string | null = null; ; ) {
    const page = reader.episodes(filter, { limit: PAGE, after });
    for (const { id } of page.episodes) {
      const place = seen++ < size ? sample.length : random.integer(seen);
      if (place < size) sample[place] = id;
    }
    after = page.next;
    if (after === null) break;
  }
  if (sample.length === 0) {
    throw new LabError('episode-not-found', {
      message: `no episode matches: ${text === '' ? '(no filter)' : text}`,
      hint: 'see what there is with: agentrl-lab episodes',
    });
  }
  return sample;
}

async function executeAll(
  reader: RunReader,
  ids: readonly string[],
  rest: Pick<ExecutionRequest, 'env' | 'rewards' | 'stepTimeoutMs'>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    const replayer = new Replayer();
    try {
      for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
        const episode = reader.episode(id);
        const execution = await replayer.execute(executionRequest(episode, rest));
        const comparison = compareExecutions(recordedExecution(episode), execution);
        results.push({ episode: episode.summary, comparison });
      }
    } finally {
      replayer.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(ids.length, availableParallelism()) }, work));
  return results;
}

/** Share of episodes that came out the same, of all and by environment and host. */
interface Score {
  readonly of: string;
  readonly episodes: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Identical or cosmetic, of all; in [0, 1]. */
  readonly score: number;
}

function scoresOf(results: readonly Result[]): Score[] {
  const groups = new Map<string, Result[]>();
  for (const result of results) {
    const { task, host } = result.episode;
    for (const of of ['all', `family ${task.family}`, `host ${host}`]) {
      groups.set(of, [...(groups.get(of) ?? []), result]);
    }
  }
  return [...groups].map(([of, members]) => {
    const count = (verdict: Verdict): number =>
      members.filter(({ comparison }) => comparison.verdict === verdict).length;
    const verdicts = {
      identical: count('identical'),
      cosmetic: count('cosmetic'),
      drift: count('drift'),
      broken: count('broken'),
    };
    const score = (verdicts.identical + verdicts.cosmetic) / members.length;
    return { of, episodes: members.length, verdicts, score };
  });
}

function asJson({ episode, comparison }: Result): object {
  return { episode: episode.id, task: formatTaskRef(episode.task), seed: episode.seed, ...comparison };
}

function printOne(results: readonly Result[]): void {
  for (const { episode, comparison } of results) {
    printLine(`episode ${episode.id}  ${visibleText(formatTaskRef(episode.task))}  seed ${episode.seed}`);
    printLine(`${comparison.verdict}: ${visibleText(comparison.reason)}`);
    for (const difference of comparison.differences.slice(0, MOST_DIFFERENCES)) {
      const { step, kind, recorded, executed } = difference;
      printLine(`  step ${step} ${kind}`);
      printLine(`    recorded  ${visibleText(recorded)}`);
      printLine(`    now       ${visibleText(executed)}`);
    }
    const left = comparison.differences.length - MOST_DIFFERENCES;
    if (left > 0) printLine(`  and ${formatCount(left)} more`);
  }
}

const SCORE_COLUMNS: readonly Column<Score>[] = [
  { title: 'OF', align: 'left', cell: ({ of }) => visibleText(of) },
  { title: 'EPISODES', align: 'right', cell: ({ episodes }) => formatCount(episodes) },
  ...VERDICTS.map(
    (verdict): Column<Score> => ({
      title: verdict.toUpperCase(),
      align: 'right',
      cell: ({ verdicts }) => formatCount(verdicts[verdict]),
    }),
  ),
  { title: 'SCORE', align: 'right', cell: ({ score }) => `${(100 * score).toFixed(1)}%` },
];

const BAD_COLUMNS: readonly Column<Result>[] = [
  { title: 'EPISODE', align: 'left', cell: ({ episode }) => episode.id },
  { title: 'VERDICT', align: 'left', cell: ({ comparison }) => comparison.verdict },
  {
    title: 'FIRST DIFFERENCE',
    align: 'left',
    cell: ({ comparison }) => visibleText(comparison.reason).slice(0, MOST_REASON),
  },
];

function printMany(run: string, results: readonly Result[]): void {
  const bad = results.filter(({ comparison }) => comparison.verdict !== 'identical');
  if (bad.length > 0) {
    for (const line of formatTable(BAD_COLUMNS, bad.slice(0, MOST_DIFFERENCES))) printLine(line);
    if (bad.length > MOST_DIFFERENCES)
      printNote(`and ${formatCount(bad.length - MOST_DIFFERENCES)} more; all with --json`);
    printLine('');
  }
  for (const line of formatTable(SCORE_COLUMNS, scoresOf(results))) printLine(line);
  printLine(`${formatCount(results.length)} episodes of ${run} done again with their recorded actions`);
}
