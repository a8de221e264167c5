import { constants } from 'node:os';
import { type Override, parseOverride } from '../config/overrides.ts';
import { LabError } from '../domain/error.ts';
import { visibleText } from '../domain/visible-text.ts';
import { BenchDriver, type DriveEnd } from './bench/driver.ts';
import { formatBench } from './bench/format.ts';
import { parseTask } from './bench/plan.ts';
import { reportOf } from './bench/report.ts';
import { loadConfigFile } from './config-file.ts';
import { formatCount, formatShort } from './format.ts';
import { shellWord } from './lab-command.ts';
import { EXIT, printJson, printLine, printNote, showProgress } from './output.ts';

export interface BenchOptions {
  readonly env?: string;
  readonly tasks?: number;
  readonly task?: string;
  readonly set?: readonly string[];
  readonly json?: boolean;
}

const DEFAULT_TASKS = 10_000;
/** The steps and the reward of each task are kept for the quantiles. */
const MOST_TASKS = 10_000_000;
/** What environments and lost workers say is shown up to here: one that prints at every step must not hide the rest. */
const MOST_NOTES = 40;

/**
 * Tries tasks of an environment with a random policy, on the hosts of the config, and prints what came of it. Returns the
 * exit code: 1 when an environment failed (a void episode), a worker was given up or not every task was tried. Throws
 * `config-invalid`, `usage`, and `environment-invalid` or `child-failed` when no task could be tried at all.
 */
export async function benchEnvironment(file: string | null, options: BenchOptions): Promise<number> {
  const only = options.task === undefined ? null : parseTask(options.task);
  const tasks = options.tasks ?? (only === null ? DEFAULT_TASKS : 1);
  if (tasks > MOST_TASKS) {
    throw new LabError('usage', { message: `--tasks ${tasks} is too many: wanted at most ${MOST_TASKS}` });
  }
  const { config } = loadConfigFile(file, overridesFor(options));
  const driver = new BenchDriver({ config, tasks, only, onNote: noteTeller() });
  const { end, signal } = await drive(driver, tasks);
  const report = reportOf(driver, end);
  if (report.tasks === 0 && end.kind === 'broken') {
    throw new LabError('child-failed', {
      message: `no task could be tried: ${end.reason ?? 'no reason given'}`,
    });
  }
  if (options.json === true) printJson(report);
  else for (const line of formatBench(report, (task) => aloneCommand(file, options, task))) printLine(line);
  if (signal !== null) return exitCodeOf(signal);
  const isSound = end.kind === 'finished' && report.void === 0 && report.deadWorkers.length === 0;
  return isSound ? EXIT.ok : EXIT.failed;
}

type Signal = 'SIGINT' | 'SIGTERM';

/** A signal that comes so soon after the first is the same one, passed on by whoever started us too, as npx does. */
const SAME_SIGNAL_MS = 500;

/** Runs it with a line of progress. The first signal ends it with what it has so far, a second one at once. */
async function drive(
  driver: BenchDriver,
  tasks: number,
): Promise<{ readonly end: DriveEnd; readonly signal: Signal | null }> {
  let caught: Signal | null = null;
  let caughtAt = 0;
  const handlers = (['SIGINT', 'SIGTERM'] as const).map((signal) => {
    const handler = (): void => {
      // Workers end by themselves when this process has.
      if (caught !== null && Date.now() - caughtAt > SAME_SIGNAL_MS) process.exit(exitCodeOf(signal));
      if (caught !== null) return;
      caught = signal;
      caughtAt = Date.now();
      driver.interrupt(signal);
    };
    process.on(signal, handler);
    return { signal, handler };
  });
  try {
    const end = await driver.run(() => showProgress(progressOf(driver, tasks)));
    return { end, signal: caught };
  } finally {
    for (const { signal, handler } of handlers) process.off(signal, handler);
  }
}

function exitCodeOf(signal: Signal): number {
  return 128 + constants.signals[signal];
}

function progressOf(driver: BenchDriver, tasks: number): string {
  return [
    `bench: ${formatCount(driver.tally.tasks)}/${formatCount(tasks)} tasks`,
    `${formatShort(driver.stepsPerS)} steps/s`,
    `${driver.readyWorkers}/${driver.workers.length} workers`,
    `${formatCount(driver.tally.void)} void`,
  ].join(' · ');
}

function noteTeller(): (text: string) => void {
  let told = 0;
  return (text) => {
    told++;
    if (told <= MOST_NOTES) printNote(visibleText(text));
    if (told === MOST_NOTES) printNote('what workers print from here on is left out');
  };
}

function overridesFor({ env, set = [] }: BenchOptions): Override[] {
  const overrides = set.map(parseOverride);
  return env === undefined ? overrides : [...overrides, { path: ['env', 'name'], value: env }];
}

/** The command that tries one task, with the same config. */
function aloneCommand(file: string | null, { env, set = [] }: BenchOptions, task: string): string {
  const words = [
    ...(file === null ? [] : [file]),
    ...(env === undefined ? [] : ['--env', env]),
    '--task',
    task,
    ...(set.length === 0 ? [] : ['--set', ...set]),
  ];
  return ['agentrl-lab', 'bench', ...words.map(shellWord)].join(' ');
}
