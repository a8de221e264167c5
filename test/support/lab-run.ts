import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import type { RunEvent, RunManifest, RunStatus } from '../../src/domain/run.ts';
import { type ControlClient, connectControl } from '../../src/run/control-client.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import { type RunPaths, readManifest, runPaths } from '../../src/store/run-directory.ts';
import { type CliResult, type StartedCli, startCli } from './cli.ts';

// Real runs on a machine that others use too: a test that waits for one has no time of its own to keep.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const LIMIT_MS = 60_000;

/** A config with which a run is up, and has its first iterations, within seconds. */
export const TINY = {
  name: 'tiny',
  policy: { embedding: 16, hidden: 32, vocabulary: 512 },
  sampling: { slots: 32, batchSteps: 512 },
  knobs: { minibatch: 128 },
  trainer: { threads: 1 },
  evaluation: { every: 3, episodes: 10 },
  checkpoint: { every: 2 },
  stop: { minutes: null },
  hosts: [{ name: 'local', workers: 2 }],
} as const;

/** The same with updates that take seconds, for tests that do something in the middle of one. */
export const SLOW_UPDATES = { ...TINY, knobs: { minibatch: 16, epochs: 16, kl_limit: 0 } };

export interface LabProcess {
  readonly pid: number;
  readonly role: 'run' | 'text' | 'worker' | 'trainer' | 'other';
}

let labs = 0;

/** A directory of runs, and every process that was started for it: found by a mark in their environment. */
export class Lab {
  readonly directory = mkdtempSync(join(tmpdir(), 'agentrl-faults-'));
  readonly runs = join(this.directory, 'runs');
  readonly #mark = `${process.pid}-${++labs}-${Date.now()}`;
  readonly #env: Record<string, string>;

  constructor(env: Readonly<Record<string, string>> = {}) {
    this.#env = { ...env, AGENTRL_TEST_MARK: this.#mark };
    mkdirSync(this.runs);
  }

  write(name: string, content: unknown): string {
    const file = join(this.directory, name);
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  }

  start(...args: readonly string[]): StartedCli {
    return startCli(['--runs', this.runs, ...args], this.#env);
  }

  async cli(...args: readonly string[]): Promise<CliResult> {
    return await this.start(...args).result;
  }

  /** Starts a detached run. */
  async run(config: object, ...args: readonly string[]): Promise<LabRun> {
    const result = await this.cli('run', this.write('lab.yaml', config), '--detach', ...args);
    if (result.code !== 0) throw new Error(`the run did not start: ${result.stderr}`);
    return new LabRun(this, result.stdout.trim());
  }

  /** The only run that there is, as soon as it is live. */
  async onlyRun(): Promise<LabRun> {
    return await until('a run', async () => {
      const [id] = readdirSync(this.runs);
      if (id === undefined) return null;
      const run = new LabRun(this, id);
      return (await run.tryStatus()) === null ? null : run;
    });
  }

  /** Whatever runs, whoever its parent is by now; zombies left out. */
  processes(): LabProcess[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/u.test(name) && this.#isOurs(name))
      .map((name) => ({ pid: Number(name), role: roleOf(readProc(name, 'cmdline')) }));
  }

  pids(role: LabProcess['role']): number[] {
    return this.processes()
      .filter((found) => found.role === role)
      .map(({ pid }) => pid);
  }

  pid(role: LabProcess['role']): number {
    const [pid] = this.pids(role);
    if (pid === undefined) throw new Error(`there is no ${role} process`);
    return pid;
  }

  async untilEmpty(limitMs: number): Promise<void> {
    await until('no process left', () => this.processes().length === 0 || null, limitMs);
  }

  remove(): void {
    for (const { pid } of this.processes()) kill(pid);
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  #isOurs(pid: string): boolean {
    if (!readProc(pid, 'environ').includes(`AGENTRL_TEST_MARK=${this.#mark}`)) return false;
    return !/^\d+ \(.*\) [ZX]/su.test(readProc(pid, 'stat'));
  }
}

/** One run of a lab, asked as any client would. */
export class LabRun {
  readonly id: string;
  readonly lab: Lab;
  readonly paths: RunPaths;
  #client: ControlClient | null = null;

  constructor(lab: Lab, id: string) {
    this.lab = lab;
    this.id = id;
    this.paths = runPaths(lab.runs, id);
  }

  manifest(): RunManifest {
    return readManifest(this.paths);
  }

  async client(): Promise<ControlClient> {
    this.#client ??= await connectControl(this.manifest());
    return this.#client;
  }

  async tryStatus(): Promise<RunStatus | null> {
    try {
      return await (await this.client()).status();
    } catch {
      this.#client?.close();
      this.#client = null;
      return null;
    }
  }

  /** The first status that is as wanted. */
  async until(what: string, is: (status: RunStatus) => boolean, limitMs = LIMIT_MS): Promise<RunStatus> {
    return await until(
      what,
      async () => {
        const status = await this.tryStatus();
        return status !== null && is(status) ? status : null;
      },
      limitMs,
      () => this.log(),
    );
  }

  async untilIteration(iteration: number): Promise<RunStatus> {
    return await this.until(`iteration ${iteration}`, (status) => status.iteration >= iteration);
  }

  async untilUpdating(): Promise<RunStatus> {
    return await this.until('an update', (status) => status.activity === 'updating');
  }

  async untilEvent(kind: string, is: (event: RunEvent) => boolean = () => true): Promise<RunEvent> {
    return await until(
      `event ${kind}`,
      () => this.events().find((event) => event.kind === kind && is(event)) ?? null,
      LIMIT_MS,
      () => this.log(),
    );
  }

  read<T>(use: (reader: RunReader) => T): T {
    const reader = openRunReader(this.paths);
    try {
      return use(reader);
    } finally {
      reader.close();
    }
  }

  /** Newest first. */
  events(): RunEvent[] {
    return this.read((reader) => reader.events(1000));
  }

  episodes(filter = ''): EpisodeSummary[] {
    return this.read((reader) => reader.episodes(parseFilter(filter), { limit: 1_000_000 }).episodes);
  }

  iterations(): number[] {
    return this.read((reader) => reader.iterations().map(({ iteration }) => iteration));
  }

  log(): string {
    try {
      return readFileSync(join(this.paths.logs, 'run.log'), 'utf8');
    } catch {
      return 'no log';
    }
  }

  /** Asks it to stop, and waits until nothing of it is left. */
  async stop(): Promise<void> {
    this.#client?.close();
    this.#client = null;
    const { code, stderr } = await this.lab.cli('stop', this.id);
    if (code !== 0) throw new Error(`stop failed: ${stderr}`);
  }

  /** What a total is worth: each episode stored once and whole, and the sums agree. */
  account(): { total: number; distinct: number; byOutcome: number; training: number } {
    return this.read((reader) => {
      const all = parseFilter('');
      const { episodes } = reader.episodes(all, { limit: 1_000_000 });
      const counts = reader.failureCounts(all);
      const outcomes = ['success', ...FAILURE_TYPES];
      for (const { id } of episodes) reader.episode(id);
      return {
        total: reader.countEpisodes(all),
        distinct: new Set(episodes.map(({ id }) => id)).size,
        byOutcome: outcomes.reduce((sum, outcome) => sum + (counts[outcome] ?? 0), 0),
        training: episodes.filter(({ phase }) => phase === 'train').length,
      };
    });
  }
}

/** Waits for something that is not null. */
export async function until<T>(
  what: string,
  look: () => Promise<T | null> | T | null,
  limitMs = LIMIT_MS,
  explain: () => string = () => '',
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not come within ${limitMs} ms\n${explain()}`);
    await sleep(25);
  }
}

export function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

function roleOf(commandLine: string): LabProcess['role'] {
  if (/run\/main\.js\0/u.test(commandLine)) return 'run';
  if (/run\/text-main\.js\0/u.test(commandLine)) return 'text';
  if (/sampling\/main\.js\0|worker-process\0/u.test(commandLine)) return 'worker';
  return /trainer\/main\.js\0/u.test(commandLine) ? 'trainer' : 'other';
}

function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
