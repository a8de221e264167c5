import { setTimeout as sleep } from 'node:timers/promises';
import { LabError, systemErrorCode } from '../domain/error.ts';
import { KNOB_NAMES } from '../domain/knob.ts';
import { parseKnobs, parseTurns } from '../domain/knob-assignment.ts';
import { isFinal, type KnobChange, type Preview } from '../domain/run.ts';
import { keysOf } from '../domain/table.ts';
import { type ControlClient, connectControl } from '../run/control-client.ts';
import { isRunLive, lockRun, readManifest } from '../store/run-directory.ts';
import { formatAmount, formatNumber, formatRate } from './format.ts';
import { labCommand } from './lab-command.ts';
import { printJson, printLine } from './output.ts';
import { type FoundRun, findLiveRun, runState } from './runs.ts';

const STOP_TIMEOUT_MS = 120_000;
const EXIT_GRACE_MS = 2000;
const POLL_MS = 50;

export interface ControlOptions {
  readonly runs: string;
  readonly json?: boolean;
}

export interface PauseOptions extends ControlOptions {
  readonly now?: boolean;
  readonly quiesce?: boolean;
}

/**
 * Pauses a live run: after the episodes in flight, or with `now` where every slot stands. With `quiesce` it waits until nothing is
 * in flight and all of it is in a checkpoint; throws `run-not-live` where that does not come about.
 */
export async function pauseRun(id: string | undefined, options: PauseOptions): Promise<void> {
  if (options.quiesce === true) {
    if (options.now === true)
      throw new LabError('usage', { message: '--now and --quiesce exclude each other' });
    await quiesceRun(id, options);
    return;
  }
  const run = findLiveRun(options.runs, id);
  const now = options.now === true;
  await withClient(run, async (client) => await client.pause(now));
  if (options.json === true) printJson({ run: run.id, paused: true, now });
  else {
    const how = now ? 'is paused' : 'is pausing: episodes in flight are finished first';
    printLine(`run ${run.id} ${how}; go on with: ${labCommand('resume', run.id)}`);
  }
}

async function quiesceRun(id: string | undefined, options: ControlOptions): Promise<void> {
  const run = findLiveRun(options.runs, id);
  const reason = await withClient(run, async (client) => {
    await client.quiesce();
    for (;;) {
      const { state, reason: why } = await client.status();
      if (state === 'quiesced') return why ?? '';
      if (state !== 'pausing') {
        throw new LabError('run-not-live', {
          message: `run ${run.id} is not quiesced, but ${state}${why === null ? '' : `: ${why}`}`,
          hint: `see its events: ${labCommand('attach', run.id)}`,
        });
      }
      await sleep(POLL_MS);
    }
  });
  if (options.json === true) printJson({ run: run.id, quiesced: true, reason });
  else printLine(`run ${run.id} is quiesced: ${reason}; go on with: ${labCommand('resume', run.id)}`);
}

/** Lets a live run go on. */
export async function resumeLiveRun(run: FoundRun): Promise<void> {
  await withClient(run, async (client) => await client.resume());
}

/** Ends a run and waits until no process of it is left. A run that has ended already is no error. */
export async function stopRun(id: string | undefined, options: ControlOptions): Promise<void> {
  const run = findLiveRun(options.runs, id);
  if (run.live) {
    await askToStop(run);
    await untilGone(run);
  }
  const state = runState({ manifest: readManifest(run.paths), live: false });
  if (options.json === true) printJson({ run: run.id, state });
  else if (run.live) printLine(`run ${run.id} is ${state}; go on with: ${labCommand('resume', run.id)}`);
  else printLine(`run ${run.id} was not live: it is ${state}`);
}

async function askToStop(run: FoundRun): Promise<void> {
  try {
    await withClient(run, async (client) => await client.stop());
  } catch (thrown) {
    // Asked by somebody else meanwhile, it closes its socket before it is gone.
    const { state } = readManifest(run.paths);
    if (state !== 'stopping' && !isFinal(state)) throw thrown;
  }
}

/** Has a live run write a checkpoint now. */
export async function checkpointRun(id: string | undefined, options: ControlOptions): Promise<void> {
  const run = findLiveRun(options.runs, id);
  const checkpoint = await withClient(run, async (client) => await client.checkpoint());
  if (options.json === true) printJson({ run: run.id, checkpoint });
  else printLine(`run ${run.id} wrote checkpoint ${checkpoint}`);
}

/** Turns knobs of a live run, or gives them back to their schedule, and says from which minibatch on that applies. */
export async function setKnobs(
  assignments: readonly string[],
  options: ControlOptions & { readonly run?: string },
): Promise<void> {
  const { values, scheduled } = parseTurns(assignments);
  const run = findLiveRun(options.runs, options.run);
  // Schedules first: one that is refused leaves everything as it was.
  const changes = await withClient(run, async (client) => [
    ...(scheduled.length > 0 ? await client.schedule(scheduled) : []),
    ...(keysOf(values).length > 0 ? await client.set(values) : []),
  ]);
  if (options.json === true) {
    printJson({ run: run.id, changes, ...(scheduled.length > 0 ? { scheduled } : {}) });
    return;
  }
  for (const change of changes) printLine(formatChange(change));
  if (scheduled.length > 0) printLine(`${scheduled.join(', ')} back on schedule`);
}

/** Puts back what the newest turn of a knob by a person changed. */
export async function undoKnob(id: string | undefined, options: ControlOptions): Promise<void> {
  const run = findLiveRun(options.runs, id);
  const change = await withClient(run, async (client) => await client.undo());
  if (options.json === true) printJson({ run: run.id, change });
  else printLine(`put back: ${formatChange(change)}`);
}

/**
 * Says what knobs would have done to the newest update of a live run, without turning them. `words`: assignments, before
 * which the run may stand.
 */
export async function previewKnobs(words: readonly string[], options: ControlOptions): Promise<void> {
  const [first = ''] = words;
  const isRun = words.length > 1 && !first.includes('=') && !KNOB_NAMES.some((name) => name === first);
  const assignments = isRun ? words.slice(1) : words;
  const knobs = parseKnobs(assignments);
  const run = findLiveRun(options.runs, isRun ? first : undefined);
  const preview = await withClient(run, async (client) => await client.preview(knobs));
  if (options.json === true) printJson({ run: run.id, knobs, preview });
  else for (const line of formatPreview(assignments, preview)) printLine(line);
}

function formatPreview(assignments: readonly string[], preview: Preview): string[] {
  const { iteration, minibatches, samples, now, wouldBe } = preview;
  const amount = `${formatAmount(minibatches, 'minibatch', 'minibatches')}, ${formatAmount(samples, 'sample')}`;
  return [
    `with ${assignments.join(' ')}, iteration ${iteration} computed again (${amount}):`,
    `  clipped ${formatRate(now.clipFraction)} → ${formatRate(wouldBe.clipFraction)}`,
    `  KL ${formatNumber(now.kl)} → ${formatNumber(wouldBe.kl)}`,
  ];
}

function formatChange(change: KnobChange): string {
  const values = `${formatNumber(change.from)} → ${formatNumber(change.to)}`;
  return `${change.knob} ${values} from iteration ${change.iteration}, minibatch ${change.minibatch}`;
}

/** Connects to a live run for as long as `use` takes. Throws `run-not-live`. */
export async function withClient<T>(run: FoundRun, use: (client: ControlClient) => Promise<T>): Promise<T> {
  const client = await connect(run);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

async function connect(run: FoundRun): Promise<ControlClient> {
  try {
    return await connectControl(run.manifest);
  } catch (thrown) {
    // Held by a process of another host, or by one that hangs: the lock says whose.
    if (run.live) lockRun(run.paths).release();
    throw thrown;
  }
}

async function untilGone(run: FoundRun): Promise<void> {
  const { pid } = readManifest(run.paths);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (isRunLive(run.paths)) {
    if (Date.now() > deadline) {
      throw new LabError('child-failed', {
        message: `run ${run.id} has not ended within ${STOP_TIMEOUT_MS / 1000} s (process ${pid ?? 'unknown'})`,
        hint: 'its children end with it: kill that process',
      });
    }
    await sleep(POLL_MS);
  }
  // Giving up its lock is the last thing it does but one. Where nobody collects dead processes, it stays visible.
  const patience = Date.now() + EXIT_GRACE_MS;
  while (isProcess(pid) && Date.now() < patience) await sleep(POLL_MS);
}

function isProcess(pid: number | null): boolean {
  try {
    return pid !== null && process.kill(pid, 0);
  } catch (thrown) {
    return systemErrorCode(thrown) === 'EPERM';
  }
}
