import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatEffective } from '../config/effective.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Override } from '../config/overrides.ts';
import type { Config } from '../config/schema.ts';
import { errorText, LabError } from '../domain/error.ts';
import { LAB_VERSION } from '../domain/lab-version.ts';
import { RUN_FORMAT, type RunManifest } from '../domain/run.ts';
import { entryCommand } from '../hosts/entries.ts';
import { loadCheckpoint } from '../run/checkpoint.ts';
import { connectControl } from '../run/control-client.ts';
import {
  createRunDirectory,
  isRunLive,
  type RunPaths,
  readManifest,
  runPaths,
  writeManifest,
} from '../store/run-directory.ts';
import { loadConfigFile } from './config-file.ts';
import type { FoundRun } from './runs.ts';

/** The shortest limit on the path of a Unix socket among our platforms is 104 bytes, its end included. */
const MAX_SOCKET_BYTES = 100;
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const LOG_LINES = 8;

export interface StartOptions {
  readonly runsDirectory: string;
  /** Config file; null for the defaults. */
  readonly file: string | null;
  readonly overrides: readonly Override[];
}

/**
 * Makes a run directory and starts its detached run process; resolves to the run's id once its control socket answers.
 * Throws `config-invalid`, `run-unwritable`, or `child-failed` with the run's own words when it could not start.
 */
export async function startRun(options: StartOptions): Promise<string> {
  const loaded = loadConfigFile(options.file, options.overrides);
  return await createRun(options.runsDirectory, loaded);
}

/** What a run that does not begin from nothing is given. */
export interface Heritage {
  readonly parent: NonNullable<RunManifest['parent']>;
  /** Puts into the new run's directory what it begins with, before it is started. */
  readonly fill: (paths: RunPaths) => void;
}

/** Makes the directory of a new run and starts it; resolves to its id. Throws as `startRun` does. */
export async function createRun(
  directory: string,
  loaded: LoadedConfig,
  heritage: Heritage | null = null,
): Promise<string> {
  const { config } = loaded;
  const runsDirectory = resolve(directory);
  const id = freeId(runsDirectory, config.name);
  const paths = runPaths(runsDirectory, id);
  createRunDirectory(paths);
  writeConfig(paths, loaded);
  heritage?.fill(paths);
  const manifest: RunManifest = {
    format: RUN_FORMAT,
    id,
    name: config.name,
    createdAt: Date.now(),
    labVersion: LAB_VERSION,
    seed: config.seed,
    state: 'starting',
    reason: null,
    attempt: 1,
    socket: socketAddress(paths),
    pid: null,
    parent: heritage?.parent ?? null,
  };
  writeManifest(paths, manifest);
  await launch(runsDirectory, paths, manifest);
  return id;
}

/** Starts a run that is not live again, from its last checkpoint; the overrides become part of its config. */
export async function restartRun(run: FoundRun, overrides: readonly Override[]): Promise<void> {
  const root = resolve(run.paths.root);
  const runsDirectory = resolve(root, '..');
  const paths = runPaths(runsDirectory, run.id);
  const loaded = loadConfigFile(paths.config, overrides);
  refuseAtItsEnd(run.id, paths, loaded.config);
  if (overrides.length > 0) writeConfig(paths, loaded);
  const manifest: RunManifest = {
    ...run.manifest,
    labVersion: LAB_VERSION,
    state: 'starting',
    reason: null,
    attempt: run.manifest.attempt + 1,
    socket: socketAddress(paths),
    pid: null,
  };
  writeManifest(paths, manifest);
  await launch(runsDirectory, paths, manifest);
}

/** A run that has had all the time or updates that its config gives it would end again at once. */
function refuseAtItsEnd(id: string, paths: RunPaths, { stop }: Config): void {
  const { checkpoint } = loadCheckpoint(paths.checkpoints);
  if (checkpoint === null) return;
  const { elapsedS, iteration } = checkpoint;
  const minutes = elapsedS / 60;
  if (stop.minutes !== null && minutes >= stop.minutes) {
    throw new LabError('usage', {
      message: `run ${id} has reached its end: ${minutes.toFixed(1)} of ${stop.minutes} minutes`,
      hint: `give it more in all: agentrl-lab resume ${id} --minutes ${Math.ceil(minutes + 10)}`,
    });
  }
  if (stop.iterations !== null && iteration >= stop.iterations) {
    throw new LabError('usage', {
      message: `run ${id} has reached its end: iteration ${iteration} of ${stop.iterations}`,
      hint: `give it more in all: agentrl-lab resume ${id} --iterations ${iteration + 100}`,
    });
  }
}

/** The last lines of the run process's log; empty when there are none. */
export function lastLogLines(paths: RunPaths): string[] {
  try {
    const lines = readFileSync(logFile(paths), 'utf8').split('\n');
    return lines.filter((line) => line.trim() !== '').slice(-LOG_LINES);
  } catch {
    return [];
  }
}

async function launch(runsDirectory: string, paths: RunPaths, manifest: RunManifest): Promise<void> {
  const [program, ...args] = entryCommand('run');
  const log = openSync(logFile(paths), 'a');
  const child = spawn(program, [...args, runsDirectory, manifest.id], {
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
  let ended: string | null = null;
  child.once('error', (error) => (ended = errorText(error)));
  child.once('exit', (code, signal) => (ended = `it ended with ${signal ?? `code ${code}`}`));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(manifest))) {
    if (ended !== null) throw notStarted(paths, manifest, ended);
    // One that holds its lock is at work, if only on the index of very many episodes.
    if (Date.now() > deadline && !isRunLive(paths)) {
      child.kill('SIGKILL');
      throw notStarted(paths, manifest, `it did not answer within ${START_TIMEOUT_MS / 1000} s`);
    }
    await sleep(POLL_MS);
  }
}

async function answers(manifest: RunManifest): Promise<boolean> {
  try {
    const client = await connectControl(manifest);
    try {
      await client.status();
    } finally {
      client.close();
    }
    return true;
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code === 'run-not-live') return false;
    throw thrown;
  }
}

function notStarted(paths: RunPaths, manifest: RunManifest, how: string): LabError {
  const written = readManifest(paths);
  const said = written.state === 'failed' ? written.reason : null;
  const reason = said ?? how;
  // Its process is gone, unless another one has taken the run meanwhile: nobody else will say so.
  if (written.state === 'starting' && !isRunLive(paths)) {
    writeManifest(paths, { ...manifest, state: 'failed', reason });
  }
  const log = lastLogLines(paths).map((line) => `\n  ${line}`);
  return new LabError('child-failed', {
    message: `run ${manifest.id} could not start: ${reason}${log.join('')}`,
    hint: `its whole log: ${logFile(paths)}`,
  });
}

function writeConfig(paths: RunPaths, { config, origins }: LoadedConfig): void {
  try {
    writeFileSync(paths.config, formatEffective(config, origins));
  } catch (thrown) {
    throw new LabError('run-unwritable', {
      message: `cannot write ${paths.config}: ${errorText(thrown)}`,
      cause: thrown,
    });
  }
}

/** The name and the second; a further number for a second run within it. */
function freeId(runsDirectory: string, name: string): string {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/gu, '').replace('T', '-');
  const base = `${name}-${stamp}`;
  let id = base;
  for (let number = 2; existsSync(runPaths(runsDirectory, id).root); number++) id = `${base}-${number}`;
  return id;
}

/** Beside the run where the platform can hold such a path, else in a directory of ours that nobody else may enter. */
function socketAddress(paths: RunPaths): string {
  const beside = join(paths.root, 'control.sock');
  if (Buffer.byteLength(beside) <= MAX_SOCKET_BYTES) return beside;
  return join(mkdtempSync(join(tmpdir(), 'agentrl-lab-')), 'control.sock');
}

function logFile(paths: RunPaths): string {
  return join(paths.logs, 'run.log');
}
