import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { errorText, errorWithHint, LabError } from '../domain/error.ts';
import { type KnobChange, RUN_FORMAT, type RunEvent, type RunManifest } from '../domain/run.ts';
import type { ControlRequest } from '../protocol/control.ts';
import { openRunStore, type RunStore } from '../store/index-writer.ts';
import { setPin } from '../store/pins.ts';
import { openRunReader } from '../store/queries.ts';
import { lockRun, type RunPaths, readManifest, runPaths, writeManifest } from '../store/run-directory.ts';
import { segmentBytesWithin } from '../store/segment.ts';
import { type Checkpoint, loadCheckpoint } from './checkpoint.ts';
import { startingKnobs } from './config-knobs.ts';
import { ControlServer } from './control-server.ts';
import { Run } from './run.ts';
import { TextFollower } from './text-follower.ts';

/** Entry of a run process: `main.js RUNS_DIRECTORY RUN_ID`. The directory, its manifest and config exist already. */

const [runsDirectory = '', runId = ''] = process.argv.slice(2);
const paths = runPaths(runsDirectory, runId);

// Its own text goes to the log file: stdout and stderr may be a terminal that is long gone.
const logPath = join(paths.logs, 'run.log');
function log(line: string): void {
  try {
    appendFileSync(logPath, `${new Date().toISOString()} ${line}\n`);
  } catch {
    // A full disk must not end the run by way of its log.
  }
}

async function main(): Promise<void> {
  const lock = lockRun(paths);
  // A run of an older lab is gone on with in the format of this one.
  const manifest: RunManifest = { ...readManifest(paths), format: RUN_FORMAT, pid: process.pid };
  try {
    await work(manifest);
  } finally {
    lock.release();
  }
}

async function work(manifest: RunManifest): Promise<void> {
  const { config } = loadConfig(readFileSync(paths.config, 'utf8'), { file: paths.config });
  const store = openRunStore(paths, { segmentBytes: segmentBytesWithin(config.store.budgetGiB) });
  const text = config.store.textIndex ? createTextFollower(store) : null;
  try {
    const { checkpoint, knobChanges } = findStart(store, config);
    const textPid = (): number | null => text?.pid ?? null;
    const run = new Run({ config, manifest, paths, store, checkpoint, knobChanges, log, textPid });
    const server = new ControlServer(manifest.socket, async (request) => await answer(run, request));
    writeManifest(paths, { ...manifest, state: 'starting', reason: null });
    await server.listen();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => run.stop(signal));
    process.on('SIGHUP', () => log('the terminal is gone; the run goes on'));
    text?.start();
    run.start();
    await run.done;
    await Promise.all([server.close(), text?.stop()]);
  } finally {
    store.close();
  }
}

/** What it says becomes events of the run; on a full disk it is only logged. */
function createTextFollower(store: RunStore): TextFollower {
  const onEvent = (level: RunEvent['level'], kind: string, message: string): void => {
    log(`${level} ${kind}: ${message}`);
    try {
      store.appendEvent({ time: Date.now(), level, kind, subject: 'text index', message, episodes: [] });
    } catch (thrown) {
      log(`could not be recorded: ${errorText(thrown)}`);
    }
  };
  return new TextFollower({ runs: runsDirectory, run: runId, onEvent, log });
}

/** Where a run goes on from. */
interface Start {
  /** Null for a run that begins. */
  readonly checkpoint: Checkpoint | null;
  /** Every change of a knob so far, oldest first. */
  readonly knobChanges: readonly KnobChange[];
}

/** Finds the checkpoint to go on from; what was passed over or changed on the way is recorded. */
function findStart(store: RunStore, config: Config): Start {
  const { checkpoint, skipped } = loadCheckpoint(paths.checkpoints);
  const time = Date.now();
  const record = (level: 'info' | 'warning', kind: string, message: string): void => {
    log(`${level} ${kind}: ${message}`);
    store.appendEvent({ time, level, kind, subject: 'run', message, episodes: [] });
  };
  for (const { message } of skipped) {
    record('warning', 'checkpoint-skipped', `${message}; an older checkpoint is used`);
  }
  const history = readKnobChanges();
  if (checkpoint === null) return { checkpoint, knobChanges: history };
  const { restored, changes, ...start } = startingKnobs(checkpoint, config, history, { runId, time });
  if (restored.length > 0) {
    const turns = restored.map(({ knob, to, who }) => `${knob} ${to} by ${who}`).join(', ');
    record('info', 'knobs-restored', `turned after the checkpoint was written, and kept: ${turns}`);
  }
  for (const change of changes) store.appendKnobChange(change);
  return { checkpoint: start.checkpoint, knobChanges: [...history, ...changes] };
}

function readKnobChanges(): KnobChange[] {
  const reader = openRunReader(paths);
  try {
    return reader.knobChanges();
  } finally {
    reader.close();
  }
}

async function answer(run: Run, request: ControlRequest): Promise<unknown> {
  switch (request.command) {
    case 'status':
      return run.status();
    case 'slots':
      return await run.slots(request.workers ?? null);
    case 'pause':
      return request.quiesce ? run.quiesce(request.who) : run.pause(request.who, request.now);
    case 'resume':
      return run.resume(request.who);
    case 'stop':
      return run.stop(request.who);
    case 'set':
      return await run.steering.set(request.who, request.knobs);
    case 'schedule':
      return await run.steering.takeUpSchedule(request.who, request.knobs);
    case 'undo':
      return await run.steering.undo(request.who);
    case 'preview':
      return await run.steering.preview(request.knobs);
    case 'checkpoint':
      return run.checkpoint(request.who);
    case 'workers':
      return run.changeWorkers((desk) => desk.act(request.who, request));
    case 'add_worker':
      return run.changeWorkers((desk) => desk.add(request.who, request.host, request.slots));
    case 'pin':
      return setPin(paths, request);
  }
}

/** The last thing an attempt that failed does: the manifest says why. */
function recordFailure(at: RunPaths, thrown: unknown): void {
  const text = errorText(thrown);
  log(`error run-failed: ${thrown instanceof Error ? (thrown.stack ?? text) : text}`);
  // Somebody else's run must not be marked as failed.
  if (thrown instanceof LabError && thrown.code === 'run-locked') return;
  try {
    writeManifest(at, { ...readManifest(at), state: 'failed', reason: errorWithHint(thrown), pid: null });
  } catch (second) {
    log(`the manifest could not be written: ${errorText(second)}`);
  }
}

process.on('uncaughtException', (thrown) => {
  recordFailure(paths, thrown);
  process.exit(1);
});

try {
  await main();
  process.exit(0);
} catch (thrown) {
  recordFailure(paths, thrown);
  process.stderr.write(`${errorText(thrown)}\n`);
  process.exit(1);
}
