import { LabError } from '../domain/error.ts';
import { visibleText } from '../domain/visible-text.ts';
import { csvLine } from '../interop/text-tables.ts';
import { receivedError } from '../protocol/failure.ts';
import { type FromSql, fromSqlSchema, type ToSql } from '../protocol/sql.ts';
import { MOST_SQL_RUNS, type SqlCell, type SqlRows, schemaName } from '../store/sql-session.ts';
import { askChild } from './ask-child.ts';
import { type Column, formatCount, formatTable } from './format.ts';
import { printJson, printLine, printNote } from './output.ts';
import { findNewestRun } from './runs.ts';

export interface SqlOptions {
  readonly runs: string;
  readonly with?: readonly string[];
  readonly limit: number;
  readonly timeout: number;
  readonly json?: boolean;
  readonly csv?: boolean;
}

/** Longer cells are cut in a table; JSON and CSV have all of them. */
const CELL_WIDTH = 60;

/** Runs one query over a run's index, and those of others beside it, and prints its rows. */
export async function querySql(id: string | undefined, sql: string, options: SqlOptions): Promise<void> {
  if (options.json === true && options.csv === true) {
    throw new LabError('usage', { message: '--json and --csv exclude each other', hint: 'name one of them' });
  }
  const others = options.with ?? [];
  if (others.length >= MOST_SQL_RUNS) {
    throw new LabError('usage', {
      message: `--with names ${others.length} runs; at most ${MOST_SQL_RUNS - 1} can be attached`,
      hint: 'export the metrics of each, and compare the files',
    });
  }
  const [first, ...rest] = [id, ...others].map((name) => findNewestRun(options.runs, name));
  if (first === undefined) return;
  const place = (run: typeof first): ToSql['runs'][0] => ({ id: run.id, database: run.paths.database });
  const message: ToSql = { type: 'sql', runs: [place(first), ...rest.map(place)], sql, limit: options.limit };
  const table = await ask(message, options.timeout);
  print(table, options);
  for (const [index, run] of rest.entries()) {
    const name = schemaName(index + 1);
    if (options.json !== true && options.csv !== true) printNote(`${name}_… are the views of ${run.id}`);
  }
  if (table.truncated) {
    printNote(`only the first ${formatCount(options.limit)} rows are shown; --limit sets how many`);
  }
}

async function ask(message: ToSql, timeoutS: number): Promise<SqlRows> {
  const reply = await askChild<FromSql>({
    entry: 'sql',
    message,
    schema: fromSqlSchema,
    timeoutMs: timeoutS * 1000,
  });
  const { answer } = reply;
  if (answer === null) {
    throw new LabError('child-failed', {
      message: `the query was ended: ${reply.ended}${reply.stderr === '' ? '' : `\n${reply.stderr.trim()}`}`,
      hint: 'ask for less, or give it more time with --timeout SECONDS',
    });
  }
  if (answer.type === 'rows') return answer;
  if (answer.type === 'failed') throw receivedError(answer);
  // A hello is no answer: `askChild` keeps it to itself.
  throw new LabError('internal', { message: 'the process that runs queries said nothing but hello' });
}

function print({ columns, rows }: SqlRows, options: SqlOptions): void {
  if (options.json === true) {
    // Columns may share a name, which keys of an object cannot.
    for (const row of rows) printJson(Object.fromEntries(columns.map((name, index) => [name, row[index]])));
    return;
  }
  if (options.csv === true) {
    printLine(csvLine(columns));
    for (const row of rows) printLine(csvLine(row));
    return;
  }
  const tableColumns = columns.map((name, index): Column<readonly SqlCell[]> => {
    const numeric = rows.some((row) => typeof row[index] === 'number');
    return {
      title: cut(name),
      align: numeric ? 'right' : 'left',
      cell: (row) => formatCell(row[index] ?? null),
    };
  });
  for (const line of formatTable(tableColumns, rows)) printLine(line);
}

function formatCell(value: SqlCell): string {
  if (value === null) return '–';
  // 1/3 in full would push the other columns off the screen.
  if (typeof value === 'number')
    return String(Number.isInteger(value) ? value : Number(value.toPrecision(7)));
  return cut(value);
}

/** Values may be text of an environment, and a column's name is what the query says. */
function cut(value: string): string {
  const text = visibleText(value);
  return text.length > CELL_WIDTH ? `${text.slice(0, CELL_WIDTH - 1)}…` : text;
}

/** `RUN QUERY` or `QUERY` as typed. Throws `usage`. */
export function runAndQuery(words: readonly string[]): {
  readonly run: string | undefined;
  readonly query: string;
} {
  const [first = '', second, more] = words;
  if (second === undefined) return { run: undefined, query: first };
  if (more === undefined) return { run: first, query: second };
  throw new LabError('usage', {
    message: `got ${words.length} words; wanted a run and a query`,
    hint: 'put the query in quotes: agentrl-lab sql RUN "SELECT …"',
  });
}
