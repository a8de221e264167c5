import type { Display } from '../src/domain/display.ts';
import { LabError } from '../src/domain/error.ts';
import { closeAhead, openAhead } from '../src/store/episode-search.ts';
import { listRuns, runPaths } from '../src/store/run-directory.ts';
import { runLines } from './line-mode.ts';
import { detectLook } from './look.ts';
import { Session, type SessionOptions } from './session.ts';

/** What to open. Without a run id: the newest live run, or the list of runs with the offer to start one. */
export interface AppOptions
  extends Pick<
    SessionOptions,
    'runsDirectory' | 'startRun' | 'reexecute' | 'compare' | 'fork' | 'keptPolicies' | 'verb'
  > {
  readonly runId: string | null;
  readonly display: Display;
}

/** The run that was open when the user left, and whether it goes on without the screen. */
export interface AppResult {
  readonly runId: string | null;
  readonly live: boolean;
}

/**
 * Runs the terminal UI until the user leaves, or the same in lines. Throws `usage` for a screen without a terminal, and what
 * opening the run throws (`run-not-found`, …) before anything is drawn.
 */
export async function runApp(options: AppOptions): Promise<AppResult> {
  const { theme, mouse, lines } = options.display;
  if (!lines && !(process.stdout.isTTY && process.stdin.isTTY)) {
    throw new LabError('usage', {
      message: 'the terminal UI needs a terminal on standard input and output',
      hint: 'follow a run as plain lines with: agentrl-lab run --headless',
    });
  }
  const session = new Session(options);
  try {
    const runs = listRuns(options.runsDirectory);
    const runId = options.runId ?? runs.find(({ live }) => live)?.id ?? null;
    // The run that is looked at, or the one most likely to be: its columns are read beside the loading of the screen.
    const first = runId === null ? runs[0]?.id : runId;
    if (first !== undefined) openAhead(runPaths(options.runsDirectory, first));
    if (runId === null) session.showRuns();
    else session.open(runId);
    if (lines) await runLines(session, process.stdin, process.stdout);
    else {
      const { showInTerminal } = await importInteractive();
      await showInTerminal(session, detectLook(process.env, theme), mouse);
    }
    return { runId: session.runId, live: session.client !== null };
  } finally {
    session.close();
    closeAhead();
  }
}

/** Ink decides when it is loaded whether it may draw, and does not where CI is set: a terminal is there, so it may. */
async function importInteractive(): Promise<typeof import('./terminal.tsx')> {
  const names = ['CI', 'CONTINUOUS_INTEGRATION'] as const;
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = 'false';
  try {
    return await import('./terminal.tsx');
  } finally {
    for (const [index, name] of names.entries()) {
      const value = before[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
