import { readFileSync } from 'node:fs';
import { loadConfig } from '../config/load.ts';
import type { AlertRule } from '../domain/alert.ts';
import { LabError } from '../domain/error.ts';
import { visibleText } from '../domain/visible-text.ts';
import { type AlertNews, AlertWatch } from '../run/alert-watch.ts';
import { parseFilter } from '../store/filter.ts';
import { openRunReader, type RunReader } from '../store/queries.ts';
import { loadConfigFile } from './config-file.ts';
import { formatCount, formatTable, formatTime } from './format.ts';
import { labCommand } from './lab-command.ts';
import { printJson, printLine, printNote } from './output.ts';
import { type FoundRun, findNewestRun } from './runs.ts';

export interface AlertOptions {
  readonly runs: string;
  readonly json?: boolean;
  readonly config?: string;
}

interface ListedAlert {
  readonly rule: AlertRule;
  readonly began: number;
  /** Newest beginning, or null. */
  readonly lastBegan: number | null;
}

/** Prints the alerts of a run, and how often each began. */
export function listAlerts(id: string | undefined, { runs, json }: AlertOptions): void {
  const run = findNewestRun(runs, id);
  const rules = rulesOf(run);
  const events = withReader(run, (reader) => reader.eventsOfKind('alert'));
  const rows = rules.map((rule): ListedAlert => {
    const begun = events.filter(({ subject, level }) => subject === rule.name && level === 'warning');
    return { rule, began: begun.length, lastBegan: begun.at(-1)?.time ?? null };
  });
  if (json === true) {
    for (const { rule, began, lastBegan } of rows) printJson({ ...rule, began, lastBegan });
    return;
  }
  if (rows.length === 0) return printLine(`${run.id} has no alerts; docs/ALERTS.md says how to add some`);
  const lines = formatTable<ListedAlert>(
    [
      { title: 'NAME', align: 'left', cell: ({ rule }) => rule.name },
      { title: 'BEGAN', align: 'right', cell: ({ began }) => formatCount(began) },
      {
        title: 'LAST',
        align: 'left',
        cell: ({ lastBegan }) => (lastBegan === null ? '–' : formatTime(lastBegan)),
      },
      { title: 'CONDITION', align: 'left', cell: ({ rule }) => visibleText(describeRule(rule)) },
    ],
    rows,
  );
  for (const line of lines) printLine(line);
}

/** `fail:gave_up of the newest 500 episodes above 30%`. */
function describeRule({ filter, among, metric, last, withinS, above, below }: AlertRule): string {
  const limit = above === undefined ? `below ${below ?? ''}` : `above ${above}`;
  if (metric !== undefined) {
    const over = withinS === undefined ? `mean of ${last ?? 1}` : `mean of ${withinS} s`;
    return `${metric} (${over}) ${limit}`;
  }
  const which = withinS === undefined ? `the newest ${last ?? 1} episodes` : `the episodes of ${withinS} s`;
  return `${filter ?? ''} of ${which}${among === undefined ? '' : ` with ${among}`} ${limit}`;
}

interface TestedAlert {
  readonly name: string;
  readonly began: number;
  readonly activeS: number;
  readonly first: AlertNews | null;
  readonly firstAt: number | null;
}

/** Prints how often alerts would have begun in a run. */
export function testAlerts(id: string | undefined, options: AlertOptions): void {
  const run = findNewestRun(options.runs, id);
  const rules =
    options.config === undefined ? rulesOf(run) : loadConfigFile(options.config, []).config.alerts;
  if (rules.length === 0) {
    throw new LabError('usage', {
      message: `${options.config ?? run.id} has no alerts`,
      hint: 'docs/ALERTS.md says how to add some',
    });
  }
  const { told, episodes, iterations, until } = withReader(run, (reader) => replay(rules, reader));
  const rows = rules.map(({ name }) => summarize(name, told, until));
  if (options.json === true) {
    for (const { first, ...row } of rows)
      printJson({ ...row, message: first?.message, filter: first?.filter });
    return;
  }
  const lines = formatTable<TestedAlert>(
    [
      { title: 'NAME', align: 'left', cell: ({ name }) => name },
      { title: 'BEGINS', align: 'right', cell: ({ began }) => formatCount(began) },
      { title: 'SECONDS', align: 'right', cell: ({ activeS }) => formatCount(activeS) },
      {
        title: 'FIRST',
        align: 'left',
        cell: ({ firstAt }) => (firstAt === null ? '–' : formatTime(firstAt)),
      },
      { title: 'SEEN', align: 'left', cell: ({ first }) => visibleText(first?.message ?? '–') },
    ],
    rows,
  );
  for (const line of lines) printLine(line);
  printNote(`over ${formatCount(episodes)} episodes and ${formatCount(iterations)} iterations of ${run.id}`);
  const shown = rows.find(({ first }) => (first?.filter ?? '') !== '');
  if (shown !== undefined && shown.first !== null) {
    printNote(
      `the episodes of ${shown.name}: ${labCommand('episodes', '--run', run.id, `'${shown.first.filter}'`)}`,
    );
  }
}

interface Told extends AlertNews {
  readonly at: number;
}

interface Replayed {
  readonly told: readonly Told[];
  readonly episodes: number;
  readonly iterations: number;
  /** When the last of it happened, ms since the epoch. */
  readonly until: number;
}

const PAGE = 2000;
/** As often as a run looks by itself, where nothing happens. */
const LOOK_MS = 1000;
/** A longer silence is a rest of the run. */
const REST_MS = 60_000;

/** Has a run happen again as far as alerts look at it, in the order in which its episodes began. */
function replay(rules: readonly AlertRule[], reader: RunReader): Replayed {
  const watch = new AlertWatch(rules);
  const told: Told[] = [];
  const rows = reader.iterations();
  let [until, next, episodes] = [0, 0, 0];
  const settle = (at: number): void => {
    told.push(...watch.settle(at, true).map((news) => ({ ...news, at })));
  };
  const advance = (to: number): void => {
    const from = until === 0 ? to : until;
    if (to - from > REST_MS) watch.settle(to, false);
    else for (let at = from + LOOK_MS; at < to; at += LOOK_MS) settle(at);
    until = Math.max(until, to);
  };
  const iterateUntil = (time: number): void => {
    for (let row = rows[next]; row !== undefined && row.time <= time; row = rows[next]) {
      next += 1;
      advance(row.time);
      watch.iteration(row);
      settle(row.time);
    }
  };
  eachEpisode(reader, (summary) => {
    episodes += 1;
    const at = Math.max(until, summary.startedAt + summary.wallMs);
    iterateUntil(at);
    advance(at);
    watch.episode(summary, at);
    settle(at);
  });
  iterateUntil(Number.POSITIVE_INFINITY);
  return { told, episodes, iterations: rows.length, until };
}

function eachEpisode(
  reader: RunReader,
  visit: (summary: ReturnType<RunReader['episodes']>['episodes'][number]) => void,
): void {
  const filter = parseFilter('sort:started');
  let after: string | null = null;
  do {
    const page = reader.episodes(filter, { limit: PAGE, after });
    page.episodes.forEach(visit);
    after = page.next;
  } while (after !== null);
}

function summarize(name: string, told: readonly Told[], until: number): TestedAlert {
  const own = told.filter((news) => news.name === name);
  const begun = own.filter(({ begins }) => begins);
  let [activeMs, since] = [0, Number.NaN];
  for (const { begins, at } of own) {
    if (begins) since = at;
    else activeMs += at - since;
  }
  if (own.at(-1)?.begins === true) activeMs += until - since;
  const [first = null] = begun;
  return { name, began: begun.length, activeS: activeMs / 1000, first, firstAt: first?.at ?? null };
}

function rulesOf(run: FoundRun): readonly AlertRule[] {
  return loadConfig(readFileSync(run.paths.config, 'utf8'), { file: run.paths.config }).config.alerts;
}

function withReader<Value>(run: FoundRun, read: (reader: RunReader) => Value): Value {
  const reader = openRunReader(run.paths);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}
