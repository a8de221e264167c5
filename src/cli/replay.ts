import { LabError } from '../domain/error.ts';
import { createRandom } from '../domain/random.ts';
import { formatTaskRef } from '../domain/task.ts';
import { visibleText } from '../domain/visible-text.ts';
import { compareExecutions, isSame, VERDICTS } from '../replay/compare.ts';
import type { ReplayMode } from '../replay/modes.ts';
import { recordedExecution } from '../replay/recorded.ts';
import {
  type Result,
  type Score,
  scoresOf,
  sumTools,
  type ToolScore,
  toolScoresOf,
} from '../replay/score.ts';
import { parseFilter } from '../store/filter.ts';
import { openRunReader, type RunReader, type StoredEpisode } from '../store/queries.ts';
import { type Column, formatCount, formatTable } from './format.ts';
import { EXIT, printJson, printLine, printNote } from './output.ts';
import { type ReplayGround, replayGround, requestOf } from './reexecute.ts';
import { executeTogether } from './replayer.ts';
import { findNewestRun } from './runs.ts';

export interface ReplayOptions {
  readonly runs: string;
  readonly run?: string;
  readonly sample: number;
  readonly mode: ReplayMode;
  /** Call tools that only read again. */
  readonly live?: boolean;
  readonly json?: boolean;
}

/** Episode ids as they are typed: `e120`, `120`. */
const EPISODE = /^e?\d+$/u;
/** Rows read at once while a sample is drawn. */
const PAGE = 500;
/** Characters shown of a reason in the table. */
const MOST_REASON = 160;
/** Differences of one episode that are shown. */
const MOST_DIFFERENCES = 20;
/** Episodes done again in one go, each on a process that lives as long. */
const CHUNK = 500;

/**
 * Does stored episodes again, with the actions that were recorded or with the policy that acted, and says where each first differs:
 * one by its id, or a sample of those that a filter matches. The exit code is 1 when any drifted or broke.
 */
export async function replayEpisodes(words: readonly string[], options: ReplayOptions): Promise<number> {
  const run = findNewestRun(options.runs, options.run);
  const ground = replayGround(run.paths, options.live === true);
  const reader = openRunReader(run.paths);
  try {
    const [word = ''] = words;
    const one = words.length === 1 && EPISODE.test(word);
    const ids = one
      ? [word.startsWith('e') ? word : `e${word}`]
      : drawSample(reader, words.join(' '), options.sample);
    const results = await executeAll(reader, ids, ground, options.mode);
    const dropped = ids.length - results.length;
    if (dropped > 0)
      printNote(`${formatCount(dropped)} more were drawn whose steps were dropped to save room`);
    const bad = results.filter(({ comparison }) => !isSame(comparison.verdict)).length;
    if (options.json === true)
      printJson({
        run: run.id,
        mode: options.mode,
        score: scoresOf(results),
        tools: sumTools(results.flatMap(({ tools }) => tools)),
        episodes: results.map(asJson),
      });
    else if (one) printOne(results);
    else printMany(run.id, results, options.mode);
    return bad === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    reader.close();
  }
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
  ground: ReplayGround,
  mode: ReplayMode,
): Promise<Result[]> {
  const results: Result[] = [];
  // Episodes are read a few at a time: a sample may be of thousands.
  for (let from = 0; from < ids.length; from += CHUNK) {
    const episodes = ids.slice(from, from + CHUNK).flatMap((id) => keptEpisode(reader, id, ids.length === 1));
    const requests = episodes.map((episode) => requestOf(episode, ground, mode));
    const executions = await executeTogether(requests, ground.weights);
    for (const [index, episode] of episodes.entries()) {
      const execution = executions[index];
      if (execution === undefined) continue;
      const recorded = recordedExecution(episode);
      const comparison = compareExecutions(recorded, execution);
      results.push({ episode: episode.summary, comparison, tools: toolScoresOf(recorded, execution) });
    }
  }
  return results;
}

/** None where its steps were dropped to save room, unless it is the only one wanted. */
function keptEpisode(reader: RunReader, id: string, isOnly: boolean): StoredEpisode[] {
  try {
    return [reader.episode(id)];
  } catch (thrown) {
    if (isOnly || !(thrown instanceof LabError) || thrown.code !== 'episode-dropped') throw thrown;
    return [];
  }
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
    for (const note of comparison.notes) printLine(`note: ${visibleText(note)}`);
  }
}

const SCORE_COLUMNS: readonly Column<Score>[] = [
  { title: 'OF', align: 'left', cell: ({ of }) => visibleText(of) },
  { title: 'EPISODES', align: 'right', cell: ({ episodes }) => formatCount(episodes) },
  ...VERDICTS.map(
    (verdict): Column<Score> => ({
      // Of a drift, whose it is: the table has to fit a terminal of 80 columns.
      title: verdict.replace('environment', 'env').replace(' drift', '').toUpperCase(),
      align: 'right',
      cell: ({ verdicts }) => formatCount(verdicts[verdict]),
    }),
  ),
  { title: 'SCORE', align: 'right', cell: ({ score }) => `${(100 * score).toFixed(1)}%` },
];

const TOOL_COLUMNS: readonly Column<ToolScore>[] = [
  { title: 'TOOL', align: 'left', cell: ({ tool }) => visibleText(tool) },
  { title: 'USES', align: 'right', cell: ({ calls }) => formatCount(calls) },
  { title: 'SAME', align: 'right', cell: ({ same }) => formatCount(same) },
  { title: 'SCORE', align: 'right', cell: ({ calls, same }) => `${((100 * same) / calls).toFixed(1)}%` },
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

function printMany(run: string, results: readonly Result[], mode: ReplayMode): void {
  const bad = results.filter(({ comparison }) => comparison.verdict !== 'identical');
  if (bad.length > 0) {
    for (const line of formatTable(BAD_COLUMNS, bad.slice(0, MOST_DIFFERENCES))) printLine(line);
    if (bad.length > MOST_DIFFERENCES)
      printNote(`and ${formatCount(bad.length - MOST_DIFFERENCES)} more; all with --json`);
    printLine('');
  }
  for (const line of formatTable(SCORE_COLUMNS, scoresOf(results))) printLine(line);
  const tools = sumTools(results.flatMap((result) => result.tools));
  if (tools.length > 0) {
    printLine('');
    for (const line of formatTable(TOOL_COLUMNS, tools)) printLine(line);
  }
  printNotes(results);
  const how = mode === 'policy' ? 'by their policy' : 'with their recorded actions';
  printLine(`${formatCount(results.length)} episodes of ${run} done again ${how}`);
}

/** How many episodes had another policy act than their own. */
function printNotes(results: readonly Result[]): void {
  const swapped = results.filter(({ comparison }) =>
    comparison.notes.some((note) => note.includes('whose weights are not kept')),
  );
  if (swapped.length > 0)
    printNote(
      `in ${formatCount(swapped.length)} of them another version acted than recorded: the weights of theirs are not kept`,
    );
}
