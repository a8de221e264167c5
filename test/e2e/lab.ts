import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunStatus } from '../../src/domain/run.ts';
import { connectControl } from '../../src/run/control-client.ts';
import { isRunLive, listRuns, type RunListing } from '../../src/store/run-directory.ts';
import { runCli } from '../support/cli.ts';
import { AppTerminal, type ScreenSize } from './terminal.ts';

export const SIZES: readonly ScreenSize[] = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
];

/** A whole run, with a policy and batches so small that it starts in a second and does several iterations in another. */
const CONFIG = `
name: tiny
seed: 3
policy: {vocabulary: 256, embedding: 8, hidden: 16}
sampling: {slots: 32, batchSteps: 512, maxSteps: 12}
trainer: {threads: 1}
knobs: {epochs: 1}
evaluation: {every: 2, episodes: 20}
stop: {minutes: 5}
hosts: [{name: local, workers: 1}]
# Long enough for the screen to show that a worker is gone.
supervision: {backoffMs: 1500}
`;

/** A directory for runs, and the terminals opened on it. */
export class Lab {
  readonly #root = mkdtempSync(join(tmpdir(), 'agentrl-e2e-'));
  readonly runsDirectory = join(this.#root, 'runs');
  readonly #terminals: AppTerminal[] = [];

  /** Opens the program in a terminal: `agentrl-lab …args`; `then` is a shell command in it afterwards. */
  open(args: readonly string[], size: ScreenSize, then?: string): AppTerminal {
    const terminal = new AppTerminal([...args, '--runs', this.runsDirectory], size, then);
    this.#terminals.push(terminal);
    return terminal;
  }

  /** Path of a config for a tiny run; `more` are further lines of it. */
  writeConfig(more = ''): string {
    const file = join(this.#root, 'tiny.yaml');
    writeFileSync(file, `${CONFIG}${more}\n`);
    return file;
  }

  /** Starts a tiny run in the background. */
  async startRun(more = ''): Promise<void> {
    await this.cli('run', this.writeConfig(more), '--detach');
  }

  /** Runs `agentrl-lab …args` on these runs to its end; what it printed. */
  async cli(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runCli(...args, '--runs', this.runsDirectory);
    if (code !== 0) throw new Error(`agentrl-lab ${args.join(' ')} failed: ${stderr}`);
    return stdout.trim();
  }

  /** The only run there is. */
  run(): RunListing {
    const [run] = listRuns(this.runsDirectory);
    if (run === undefined) throw new Error('there is no run');
    return run;
  }

  isLive(): boolean {
    return isRunLive(this.run().paths);
  }

  /** How the run is, by its own account. */
  async status(): Promise<RunStatus> {
    const { manifest } = this.run();
    if (manifest === null) throw new Error('the run has no manifest');
    const client = await connectControl(manifest);
    try {
      return await client.status();
    } finally {
      client.close();
    }
  }

  /** The processes of the run: its own and those it started. */
  async processes(): Promise<number[]> {
    const { pid, children } = await this.status();
    return [pid, ...children.map((child) => child.pid).filter((child) => child !== null)];
  }

  /** Closes the terminals opened since the last time. Throws when a frame of theirs was not clean. */
  async closeTerminals(): Promise<void> {
    const problems: string[] = [];
    for (const terminal of this.#terminals.splice(0)) {
      await terminal.close();
      problems.push(...terminal.problems());
    }
    if (problems.length > 0) throw new Error(problems.join('\n'));
  }

  /** Makes the runs be opened as if nobody had looked at them before. */
  forgetViews(): void {
    for (const { paths } of listRuns(this.runsDirectory))
      rmSync(join(paths.root, 'view.json'), { force: true });
  }

  /** Stops what still runs and removes everything. */
  async remove(): Promise<void> {
    for (const { id, live } of listRuns(this.runsDirectory)) {
      if (live) await runCli('stop', id, '--runs', this.runsDirectory);
    }
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** The processes that a process has started. */
export function childrenOf(parent: number): number[] {
  return processTable()
    .filter((row) => row.parent === parent)
    .map(({ pid }) => pid);
}

/** Waits until none of the processes is left. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  while (alive(pids).length > 0) await sleep(20);
}

/** Those of the processes that are still there; one that is dead and not yet collected is not. */
export function alive(pids: readonly number[]): number[] {
  const running = new Set(processTable().map(({ pid }) => pid));
  return pids.filter((pid) => running.has(pid));
}

function processTable(): { readonly pid: number; readonly parent: number }[] {
  return execFileSync('ps', ['-eo', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/u))
    .filter(([, , state = 'Z']) => !state.startsWith('Z'))
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }));
}
