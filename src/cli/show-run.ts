import { type Advice, adviceOf, adviceSetup } from '../domain/advice.ts';
import { percent } from '../domain/figure-text.ts';
import { type IdleShares, idleShares } from '../domain/idle.ts';
import { describePressure } from '../domain/pressure.ts';
import type { IterationMetrics, RunStatus } from '../domain/run.ts';
import { visibleText } from '../domain/visible-text.ts';
import { describeWaste } from '../domain/waste.ts';
import { connectControl } from '../run/control-client.ts';
import { openRunReader } from '../store/queries.ts';
import { formatAmount, formatCount, formatDuration, formatRate } from './format.ts';
import { printJson, printLine } from './output.ts';
import { type FoundRun, findNewestRun, runState } from './runs.ts';

/** Iterations that idle time is told of. */
const NEWEST = 20;

/** Prints how a run goes: what it is at, who waits for whom, and what sampling time was wasted. */
export async function printRun(
  id: string,
  options: { readonly runs: string; readonly json?: boolean },
): Promise<void> {
  const run = findNewestRun(options.runs, id);
  const rows = newestRows(run);
  const status = run.live ? await askStatus(run) : null;
  if (options.json === true) {
    printJson({
      run: run.id,
      state: runState(run),
      idle: idleShares(rows),
      advice: advice(rows, status),
      iteration: rows.at(-1),
      status,
    });
  } else {
    for (const line of formatRun(run, rows, status)) printLine(line);
  }
}

/** The same as lines of text. `status` is null for a run that does not answer. */
function formatRun(run: FoundRun, rows: readonly IterationMetrics[], status: RunStatus | null): string[] {
  const { reason } = run.manifest;
  const state = `${runState(run)}${reason === null ? '' : ` (${visibleText(reason)})`}`;
  const newest = status ?? rows.at(-1);
  if (newest === undefined) return [`run ${run.id}: ${state}, before its first iteration`];
  const { iteration, elapsedS, episodes, envSteps } = newest;
  const idle = idleShares(rows);
  const pressure = status?.pressure ?? null;
  const pressed = pressure === null ? null : describePressure(pressure);
  return [
    `run ${run.id}: ${state}`,
    `iteration ${formatCount(iteration)} · ${formatDuration(elapsedS)} · ${formatAmount(episodes, 'episode')} · ${formatAmount(envSteps, 'step')}`,
    ...(idle === null ? [] : [formatIdle(idle, rows.length - 1)]),
    ...(pressed === null ? [] : [pressed]),
    ...(status === null || status.waste === null ? [] : [describeWaste(status.waste)]),
    ...advice(rows, status).map(formatAdvice),
  ];
}

/** Of a live run: an ended one has no cores to spare. */
function advice(rows: readonly IterationMetrics[], status: RunStatus | null): Advice[] {
  const setup = status === null ? null : adviceSetup(status);
  return setup === null ? [] : adviceOf(rows, setup);
}

function formatAdvice({ what, gain, how }: Advice): string {
  return `advice: ${what}${gain === 0 ? '' : `, up to +${percent(gain)} iterations an hour`}: ${how}`;
}

function formatIdle({ trainer, samplers }: IdleShares, iterations: number): string {
  const waits = `the trainer waited for samples ${formatRate(trainer)} of the time`;
  return `${waits}, samplers stood still ${formatRate(samplers)} (last ${formatAmount(iterations, 'iteration')})`;
}

/** One more than are told of: the first is where their time begins. */
function newestRows(run: FoundRun): IterationMetrics[] {
  const reader = openRunReader(run.paths);
  try {
    // Twice as many numbers: a resumed run has left some of them to an earlier attempt.
    const rows = reader.iterations(Math.max(0, reader.lastIteration() - 2 * (NEWEST + 1)));
    return (rows.length > NEWEST ? rows : reader.iterations()).slice(-NEWEST - 1);
  } finally {
    reader.close();
  }
}

/** Null when the run ended between the look and the question. */
async function askStatus(run: FoundRun): Promise<RunStatus | null> {
  try {
    const client = await connectControl(run.manifest);
    try {
      return await client.status();
    } finally {
      client.close();
    }
  } catch {
    return null;
  }
}
