import type { Display, ThemeName } from '../domain/display.ts';
import { LabError } from '../domain/error.ts';
import { isFinal } from '../domain/run.ts';
import type { Execution } from '../protocol/replay.ts';
import type { Fork, ForkPlan } from '../replay/fork.ts';
import type { CompareApart } from '../replay/long-comparison.ts';
import type { ReplayMode } from '../replay/modes.ts';
import { listPolicies } from '../run/policy-shelf.ts';
import { isRunLive, listRuns, readManifest, runPaths } from '../store/run-directory.ts';
import { labCommand } from './lab-command.ts';
import { verbWork } from './lazy-work.ts';
import { printRuns } from './list-runs.ts';
import { clearProgress, EXIT, printJson, printLine, printNote, showProgress } from './output.ts';
import type { OverrideOptions } from './overrides.ts';
import { findLiveRun, findRun } from './runs.ts';

export interface TuiOptions {
  readonly display: Display;
  readonly runsDirectory: string;
  /** The run to show first; null to begin with the list of runs. */
  readonly runId: string | null;
  /** Starts a run with the default config. */
  readonly startRun: () => Promise<string>;
  readonly reexecute: (runId: string, episodeId: string, mode?: ReplayMode) => Promise<Execution>;
  readonly compare: CompareApart;
  readonly fork: (runId: string, episodeId: string, plan: ForkPlan) => Promise<Fork>;
  readonly keptPolicies: (runId: string) => readonly number[];
  readonly verb: (words: readonly string[]) => Promise<unknown[]>;
}

/** Opens the terminal UI; resolves when the user leaves it, with the run last shown. */
export type OpenTui = (
  options: TuiOptions,
) => Promise<{ readonly runId: string | null; readonly live: boolean }>;

/** Options of every verb that may open the screen. */
interface ShowOptions {
  readonly runs: string;
  readonly theme?: ThemeName;
  readonly mouse?: boolean;
  readonly lines?: boolean;
}

interface LaunchOptions extends OverrideOptions, ShowOptions {
  readonly json?: boolean;
  readonly detach?: boolean;
  readonly headless?: boolean;
}

/** Starts a run and shows it: in the TUI, or line by line where there is no terminal. Returns the exit code. */
export async function launchRun(
  file: string | null,
  options: LaunchOptions,
  openTui: OpenTui,
): Promise<number> {
  const since = Date.now();
  // Until its processes answer the terminal would be blank.
  if (process.stderr.isTTY) showProgress('starting a run: this takes a few seconds');
  const { overridesOf, startRun } = await verbWork();
  const id = await startRun({ runsDirectory: options.runs, file, overrides: overridesOf(options) });
  clearProgress();
  return await showRun({ id, since }, options, openTui);
}

/** Starts a run from a checkpoint of another one, `RUN` or `RUN@ITERATION`, and shows it. Returns the exit code. */
export async function launchBranch(place: string, options: LaunchOptions, openTui: OpenTui): Promise<number> {
  const since = Date.now();
  const { branchRun, overridesOf } = await verbWork();
  const { iterations, ...others } = options;
  const overrides = overridesOf(others);
  const id = await branchRun({ runsDirectory: options.runs, place, overrides, iterations });
  return await showRun({ id, since }, options, openTui);
}

/** Lets a paused run go on, or starts one that has ended again from its last checkpoint, and shows it. */
export async function resumeRun(
  id: string | undefined,
  options: LaunchOptions,
  openTui: OpenTui,
): Promise<number> {
  const since = Date.now();
  const run = findRun(options.runs, id);
  const { overridesOf, restartRun, resumeLiveRun } = await verbWork();
  const overrides = overridesOf(options);
  if (run.live && overrides.length > 0) {
    throw new LabError('usage', {
      message: `run ${run.id} is live: its config cannot change now`,
      hint: `turn its knobs with: agentrl-lab set; or stop it first: agentrl-lab stop ${run.id}`,
    });
  }
  if (run.live) await resumeLiveRun(run);
  else await restartRun(run, overrides);
  return await showRun({ id: run.id, since }, options, openTui);
}

/** Opens the TUI on a live run. Throws `usage` where there is no terminal. */
export async function attachRun(
  id: string | undefined,
  options: ShowOptions,
  openTui: OpenTui,
): Promise<number> {
  const run = findLiveRun(options.runs, id);
  if (!isShowable(options)) {
    throw new LabError('usage', {
      message: 'attach needs a terminal for its screen',
      hint: 'without one: attach --lines; or agentrl-lab ls, episodes and show, all of them with --json too',
    });
  }
  return await showTui(run.id, options, openTui);
}

/** No verb: the TUI, on the newest live run if there is one; without a terminal, what there is and how to get help. */
export async function openLab(options: ShowOptions, openTui: OpenTui): Promise<number> {
  if (isShowable(options)) {
    const live = listRuns(options.runs).find((run) => run.live);
    return await showTui(live?.id ?? null, options, openTui);
  }
  printRuns(options);
  printNote('not a terminal: start a run with "agentrl-lab run", see "agentrl-lab --help"');
  return EXIT.ok;
}

async function showRun(
  { id, since }: { readonly id: string; readonly since: number },
  options: LaunchOptions,
  openTui: OpenTui,
): Promise<number> {
  if (options.detach === true) {
    if (options.json === true) printJson({ run: id });
    else printLine(id);
    return EXIT.ok;
  }
  const headless = options.headless === true || options.json === true || !isShowable(options);
  if (!headless) return await showTui(id, options, openTui);
  const { followRun } = await verbWork();
  return await followRun({ paths: runPaths(options.runs, id), json: options.json === true, since });
}

async function showTui(id: string | null, options: ShowOptions, openTui: OpenTui): Promise<number> {
  const { runs, theme = null, mouse = false, lines = false } = options;
  const { runId } = await openTui({
    display: { theme, mouse, lines },
    runsDirectory: runs,
    runId: id,
    startRun: async () =>
      await (await verbWork()).startRun({ runsDirectory: runs, file: null, overrides: [] }),
    reexecute: async (run, episode, mode) => await (await verbWork()).reexecute(runs, run, episode, mode),
    compare: async (...asked) => await (await verbWork()).compareApart(runs, ...asked),
    fork: async (run, episode, plan) => await (await verbWork()).forkStored(runs, run, episode, plan),
    keptPolicies: (run) => listPolicies(runPaths(runs, run).checkpoints).map(({ version }) => version),
    verb: async (words) => await (await verbWork()).ownVerb(runs, words),
  });
  if (runId !== null) printLine(describeLeftRun(runs, runId));
  return EXIT.ok;
}

function describeLeftRun(runs: string, id: string): string {
  const paths = runPaths(runs, id);
  const { state } = readManifest(paths);
  // One that has ended may be tidying up for a moment.
  if (!isFinal(state) && isRunLive(paths)) {
    return `run ${id} goes on; see it again with: ${labCommand('attach', id)}`;
  }
  return `run ${id} ${isFinal(state) ? `is ${state}` : 'died'}; go on with: ${labCommand('resume', id)}`;
}

/** Lines can be read and typed anywhere, the screen only on a terminal. */
function isShowable({ lines }: ShowOptions): boolean {
  return lines === true || (process.stdin.isTTY && process.stdout.isTTY);
}
