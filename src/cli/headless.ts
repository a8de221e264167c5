import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { LabError } from '../domain/error.ts';
import { isFinal, type RunStatus } from '../domain/run.ts';
import { visibleText } from '../domain/visible-text.ts';
import { type ControlClient, connectControl } from '../run/control-client.ts';
import { openRunReader, type RunReader } from '../store/queries.ts';
import { isRunLive, type RunPaths, readManifest } from '../store/run-directory.ts';
import { labCommand } from './lab-command.ts';
import { EXIT, printJson, printLine, printNote, showProgress } from './output.ts';
import { formatIteration, formatProgress, formatSummary } from './progress.ts';
import { lastLogLines } from './start.ts';

const POLL_MS = 250;
/** Newest events looked through for trouble. */
const MOST_EVENTS = 1000;
/** A run that has been stalled for so long with nobody watching is stopped: it would wait for ever. */
const STALL_LIMIT_MS = 30_000;

export interface FollowOptions {
  readonly paths: RunPaths;
  /** One JSON object an iteration on stdout, and nothing else there. */
  readonly json: boolean;
  /** Warnings and errors of the run from then on are told; ms since the epoch. */
  readonly since: number;
}

/** What following a run has come to so far. */
interface Progress {
  /** Newest iteration printed. */
  iteration: number;
  /** Warnings and errors printed so far. */
  troubles: number;
  reader: RunReader | null;
  client: ControlClient | null;
  interrupted: 'SIGINT' | 'SIGTERM' | null;
  stopAsked: boolean;
  stalledSince: number | null;
  /** State last spoken of. */
  state: string;
}

/**
 * Follows a run to its end: a line an iteration, the time left, a summary. Ctrl-C and SIGTERM stop the run; a lost
 * terminal does not. Returns the exit code: 0 when the run came to its own end.
 */
export async function followRun({ paths, json, since }: FollowOptions): Promise<number> {
  const progress: Progress = {
    iteration: 0,
    troubles: 0,
    reader: null,
    client: null,
    interrupted: null,
    stopAsked: false,
    stalledSince: null,
    state: 'starting',
  };
  const { id, attempt } = readManifest(paths);
  if (!json) printNote(`run ${id}: attach with "${labCommand('attach', id)}"; Ctrl-C stops it`);
  const release = catchSignals((signal) => (progress.interrupted = signal));
  try {
    for (;;) {
      // Asked before reading, so that the last rows of a run that ends meanwhile are not missed.
      const live = isRunLive(paths);
      printIterations(paths, progress, { json, attempt });
      if (!json) printTroubles(progress, since);
      if (!live) break;
      await lookAtRun(paths, progress);
      await sleep(POLL_MS);
    }
    return conclude(paths, progress, json);
  } finally {
    release();
    progress.client?.close();
    progress.reader?.close();
  }
}

function printIterations(
  paths: RunPaths,
  progress: Progress,
  { json, attempt }: { readonly json: boolean; readonly attempt: number },
): void {
  if (progress.reader === null) {
    if (!existsSync(paths.database)) return;
    progress.reader = openRunReader(paths);
  }
  for (const metrics of progress.reader.iterations(progress.iteration)) {
    // What earlier attempts did has been told already.
    if (metrics.attempt < attempt) continue;
    progress.iteration = metrics.iteration;
    if (json) printJson(metrics);
    else printLine(formatIteration(metrics));
  }
}

/** What went wrong with the run, or was put right, as it happens. */
function printTroubles(progress: Progress, since: number): void {
  const events = progress.reader?.events(MOST_EVENTS) ?? [];
  const troubles = events.filter(({ time, level }) => time >= since && level !== 'info').toReversed();
  for (const { level, subject, message } of troubles.slice(progress.troubles)) {
    printNote(visibleText(`${level}: ${subject}: ${message}`));
  }
  progress.troubles = troubles.length;
}

async function lookAtRun(paths: RunPaths, progress: Progress): Promise<void> {
  try {
    progress.client ??= await connectControl(readManifest(paths));
    if (progress.interrupted !== null && !progress.stopAsked) {
      printNote(`stopping the run after ${progress.interrupted}; again to leave it to itself`);
      await stop(progress.client, progress);
    }
    const status = await progress.client.status();
    tellState(status, progress);
    showProgress(formatProgress(status));
    await stopWhenStalled(status, progress.client, progress);
  } catch (thrown) {
    // It may just have ended: whether it lives is for its lock to say.
    if (!(thrown instanceof LabError) || thrown.code !== 'run-not-live') throw thrown;
    progress.client?.close();
    progress.client = null;
  }
}

function tellState(status: RunStatus, progress: Progress): void {
  if (status.state === progress.state) return;
  progress.state = status.state;
  if (status.state === 'running') return;
  const reason = status.reason === null ? '' : `: ${visibleText(status.reason)}`;
  printNote(`${status.id} is ${status.state}${reason}`);
}

async function stopWhenStalled(status: RunStatus, client: ControlClient, progress: Progress): Promise<void> {
  if (status.state !== 'stalled') {
    progress.stalledSince = null;
    return;
  }
  progress.stalledSince ??= Date.now();
  if (progress.stopAsked || Date.now() - progress.stalledSince < STALL_LIMIT_MS) return;
  printNote(`stalled for ${STALL_LIMIT_MS / 1000} s and nobody is here to act: stopping it`);
  await stop(client, progress);
}

async function stop(client: ControlClient, progress: Progress): Promise<void> {
  progress.stopAsked = true;
  await client.stop();
}

function conclude(paths: RunPaths, progress: Progress, json: boolean): number {
  const { id, state, reason } = readManifest(paths);
  if (!isFinal(state) || state === 'failed') {
    const how = state === 'failed' ? `failed: ${reason ?? 'no reason given'}` : 'died: its process is gone';
    const log = lastLogLines(paths).map((line) => `\n  ${line}`);
    throw new LabError('child-failed', {
      message: `run ${id} ${how}${log.join('')}`,
      hint: `start it again from its last checkpoint with: agentrl-lab resume ${id}`,
    });
  }
  if (!json) {
    const [last] = progress.reader?.iterations(progress.iteration - 1) ?? [];
    for (const line of formatSummary(
      { id, state, reason },
      last ?? null,
      progress.reader?.evaluations() ?? [],
    ))
      printLine(line);
  }
  if (progress.interrupted !== null) return 128 + constants.signals[progress.interrupted];
  return state === 'finished' ? EXIT.ok : EXIT.failed;
}

/** The first signal asks the run to stop; a second one ends this command alone. */
function catchSignals(onSignal: (signal: 'SIGINT' | 'SIGTERM') => void): () => void {
  const handlers = (['SIGINT', 'SIGTERM'] as const).map((signal) => {
    const handler = (): void => onSignal(signal);
    process.once(signal, handler);
    return { signal, handler };
  });
  return () => {
    for (const { signal, handler } of handlers) process.off(signal, handler);
  };
}
