import { formatBytes, formatForecast } from '../../src/domain/bytes.ts';
import { type ChildStatus, isFinal, type RunState, type RunStatus } from '../../src/domain/run.ts';
import { ROLLED_BACK, trainerFellBack } from '../alarms.ts';
import {
  formatBranchPoint,
  formatCount,
  formatDuration,
  formatNumber,
  formatRate,
  formatShare,
} from '../format.ts';
import { KeptBy } from '../kept.ts';
import { KEYMAP } from '../keymap.ts';
import { fitLine, joinFitting, type Line, lineWidth, type Segment, seg, untrusted } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';

const STATE_TONES: Readonly<Record<RunState, Tone>> = {
  starting: 'warn',
  running: 'good',
  pausing: 'warn',
  paused: 'warn',
  quiesced: 'good',
  stalled: 'loud',
  stopping: 'warn',
  stopped: 'dim',
  finished: 'accent',
  failed: 'loud',
};

/** Data older than this are called out. */
const OLD_S = 3;
/** A share of void episodes above this is called out. */
const MANY_VOID = 0.05;
/** Columns of the longest activity, `evaluating`. */
const ACTIVITY_WIDTH = 10;
/** From this width on there is room for the success of the greedy policy too. */
const ROOMY = 140;
/** A child that has been silent so long is called out. */
const SILENT_MS = 5000;
/** A rolled back update is called out at least so long. */
const ALARM_MS = 15_000;
/** A disk that is full within a day is told, and one within an hour is called out. */
const DISK_SOON_S = 86_400;
const FULL_SOON_S = 3600;

const DRAWN = new KeptBy<RunSnapshot, readonly Line[]>();

/** The run process is gone although its work was not done. */
function isDead(run: RunSnapshot): boolean {
  return run.connection === 'gone' && !isFinal(run.manifest.state);
}

/** What the run is, how far it is, how well it does, and whether its children are well; `rows` rows (2 or 3). */
export function drawHeader(run: RunSnapshot, width: number, rows: number, look: Look): readonly Line[] {
  return DRAWN.get(run, [width, rows, look], () => headerLines(run, width, rows, look));
}

function headerLines(run: RunSnapshot, width: number, rows: number, look: Look): Line[] {
  const [first, second] = [identityLine(run, width, look), figuresLine(run, width)];
  const children = childrenLine(run, width, look);
  const lines = rows >= 3 ? [first, second, children.line] : [first, children.loud ? children.line : second];
  return lines.map((line) => fitLine(line, width, look));
}

function identityLine(run: RunSnapshot, width: number, look: Look): Segment[] {
  const { manifest } = run;
  const state = isDead(run) ? 'dead' : run.connection === 'connecting' ? 'connecting' : manifest.state;
  const tone = state === 'dead' ? 'loud' : state === 'connecting' ? 'warn' : STATE_TONES[state];
  const left: Segment[] = [
    seg(untrusted(manifest.id), 'bold'),
    seg(' '),
    seg(` ${state.toUpperCase()} `, tone),
    ...(manifest.reason === null ? [] : [seg(` ${untrusted(manifest.reason)}`)]),
  ];
  const branch: Line[] =
    manifest.parent === null ? [] : [[seg(`branch of ${formatBranchPoint(manifest.parent)}`, 'dim')]];
  const right = joinFitting(progress(run), ` ${symbolsOf(look).dot} `, Math.floor(width * 0.6));
  const room = width - lineWidth(right) - 1;
  // In full or not at all: the list of runs and the charts say it too.
  const shown = lineWidth(left) > room ? left : joinFitting([left, ...branch], '  ', room);
  return [...fitLine(shown, room, look), seg(' '), ...right];
}

function progress(run: RunSnapshot): Line[] {
  const { status } = run;
  const last = run.iterations.at(-1);
  const iteration = status?.iteration ?? last?.iteration ?? 0;
  const elapsed = status?.elapsedS ?? last?.elapsedS ?? Number.NaN;
  const limit = status?.limitS ?? null;
  return [
    [seg('iteration ', 'dim'), seg(formatCount(iteration))],
    [seg(`${formatDuration(elapsed)}${limit === null ? '' : `/${formatDuration(limit)}`}`)],
    dataAge(run),
  ];
}

function dataAge(run: RunSnapshot): Line {
  const since = run.statusAt > 0 ? run.statusAt : (run.iterations.at(-1)?.time ?? 0);
  if (since === 0) return [seg('data ', 'dim'), seg('none yet')];
  const seconds = Math.max(0, (run.now - since) / 1000);
  const text = seconds < 1 ? '<1s old' : `${formatDuration(seconds)} old`;
  return [seg('data ', 'dim'), seg(text, seconds >= OLD_S ? 'warn' : 'plain')];
}

interface Figures {
  readonly speed: number;
  readonly voids: number | null;
  readonly episodes: number;
  readonly policyVersion: number;
}

/** From the run's own answer; from the last iteration while it does not answer. */
function figuresOf({ status, iterations }: RunSnapshot): Figures {
  if (status !== null) {
    const voids = status.episodes === 0 ? null : status.voidEpisodes / status.episodes;
    return {
      speed: status.envStepsPerS,
      voids,
      episodes: status.episodes,
      policyVersion: status.policyVersion,
    };
  }
  const last = iterations.at(-1);
  if (last === undefined) return { speed: Number.NaN, voids: null, episodes: 0, policyVersion: 0 };
  return {
    speed: Number.NaN,
    voids: last.voidShare,
    episodes: last.episodes,
    policyVersion: last.policyVersion,
  };
}

function figuresLine(run: RunSnapshot, width: number): Segment[] {
  const { speed, voids, episodes, policyVersion } = figuresOf(run);
  const short = width < 80;
  const activity = run.connection === 'live' ? run.status?.activity : undefined;
  const pieces: Line[] = [
    // Beside the speed, which is 0 while the trainer updates; of one width, so that the rest keeps its place.
    [
      ...figure(short ? 'steps/s' : 'env steps/s', formatRate(speed).padEnd(5)),
      ...(short || activity === undefined ? [] : [seg(` ${activity.padEnd(ACTIVITY_WIDTH)}`, 'accent')]),
    ],
    figure(short ? 'train' : 'success train', formatShare(run.iterations.at(-1)?.success ?? null)),
    figure('held-out', formatShare(heldOut(run))),
    ...(width < ROOMY ? [] : [figure('greedy', formatShare(run.iterations.at(-1)?.heldOutGreedy ?? null))]),
    figure('void', formatShare(voids), voids !== null && voids > MANY_VOID ? 'warn' : 'plain'),
    figure('train episodes', formatCount(episodes)),
    figure('policy', `v${policyVersion}`),
  ];
  return joinFitting(pieces, short ? ' ' : '   ', width);
}

function figure(label: string, value: string, tone: Tone = 'plain'): Line {
  return [seg(`${label} `, 'dim'), seg(value, tone)];
}

/** Newest held-out success of the sampled policy, in [0, 1]. */
function heldOut(run: RunSnapshot): number | null {
  const evaluation = run.evaluations.findLast(({ mode }) => mode === 'sampled');
  return evaluation?.success ?? run.iterations.at(-1)?.heldOutSuccess ?? null;
}

/** One line on the run's processes; `loud` when somebody should look. */
function childrenLine(
  run: RunSnapshot,
  width: number,
  look: Look,
): { readonly line: Line; readonly loud: boolean } {
  const warning = symbolsOf(look).warning;
  const trouble = (text: string): { line: Line; loud: boolean } => ({
    line: [seg(` ${warning} ${text} `, 'loud')],
    loud: true,
  });
  const again = `resume with: agentrl-lab resume ${run.manifest.id}`;
  if (isDead(run)) return trouble(`the run process is gone; ${again}`);
  // Of a run that writes no more, nothing but this would say why the screen is empty.
  const unread = run.storeError === null ? null : `no history: ${untrusted(run.storeError)}`;
  if (run.connection === 'gone' && unread !== null) return trouble(unread);
  if (run.connection === 'gone') return { line: [seg(`the run has ended; ${again}`, 'dim')], loud: false };
  if (run.status === null)
    return { line: [seg('waiting for the run process to answer', 'dim')], loud: false };
  if (run.connection === 'live' && run.now - run.statusAt > OLD_S * 1000) {
    return trouble(`no answer for ${formatDuration((run.now - run.statusAt) / 1000)}; figures are old`);
  }
  const { children } = run.status;
  const bad = children.filter(isTroubled).map(describeTrouble);
  const { stall } = run.status;
  if (bad.length > 0) return trouble(`${childrenSummary(children)}: ${bad.join('; ')}`);
  if (stall !== null) return trouble(untrusted(stall.message));
  if (unread !== null) return trouble(unread);
  const rolledBack = newRollBack(run);
  if (rolledBack !== null) return trouble(rolledBack);
  // What has held for long is known: the newest is news.
  const [alert, ...others] = run.status.alerts.toSorted((left, right) => right.since - left.since);
  if (alert !== undefined) return trouble(alertText(alert, others.length));
  return { line: joinFitting(wellPieces(run, run.status), '   ', width), loud: false };
}

/** What is said of the children and of the way of samples while nothing is wrong. */
function wellPieces(run: RunSnapshot, status: RunStatus): Line[] {
  const { children, queuedSteps, batchSteps } = status;
  const memory = children.reduce((sum, { rssMiB }) => sum + rssMiB, 0);
  const { staleSteps = 0, staleness = 0, stalest = 0 } = run.iterations.at(-1) ?? {};
  const fell = trainerFellBack(run.alarms);
  return [
    [seg(childrenSummary(children)), seg(providerText(children, fell), fell ? 'warn' : 'plain')],
    ...(staleSteps > 0 ? [[seg(`${formatCount(staleSteps)} stale steps left out`, 'warn')]] : []),
    [seg('slots busy ', 'dim'), seg(slotsText(children))],
    ...disk(status, 'forecast'),
    figure('memory', `${formatCount(memory)} MiB`),
    figure('queued steps', `${formatCount(queuedSteps)}/${formatCount(batchSteps)}`),
    figure('staleness', `${formatNumber(staleness)}, most ${formatCount(stalest)}`),
    ...disk(status, 'size'),
  ];
}

/**
 * What the run takes on the disk: with a forecast, which is worth a place further ahead, where there is a budget or the disk is
 * full within a day; else the size alone. Nothing where it is the other one's turn.
 */
function disk({ store }: RunStatus, part: 'forecast' | 'size'): Line[] {
  if (store === null) return [];
  const { bytes, budgetBytes, fullInS } = store;
  const used =
    budgetBytes === null ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(budgetBytes)}`;
  const forecast = fullInS !== null && (budgetBytes !== null || fullInS < DISK_SOON_S) ? fullInS : null;
  if ((forecast === null) !== (part === 'size')) return [];
  if (forecast === null) return [figure('disk', used)];
  const tone = forecast < FULL_SOON_S ? 'warn' : 'plain';
  return [[...figure('disk', used), seg(` ${formatForecast(forecast)}`, tone)]];
}

function childrenSummary(children: readonly ChildStatus[]): string {
  const workers = children.filter(({ role }) => role === 'worker');
  const ready = workers.filter(({ state }) => state === 'ready').length;
  const trainer = children.find(({ role }) => role === 'trainer');
  const state = trainer === undefined ? 'none' : trainer.state === 'ready' ? 'ok' : trainer.state;
  return `workers ${ready}/${workers.length}  trainer ${state}`;
}

/** What the trainer runs on, where that is not what goes without saying. */
function providerText(children: readonly ChildStatus[], fell: boolean): string {
  const provider = children.find(({ role }) => role === 'trainer')?.provider ?? null;
  if (provider === null || (provider === 'cpu' && !fell)) return '';
  return ` on ${untrusted(provider)}${fell ? ' (fell back)' : ''}`;
}

/** An update was rolled back: until another one is made, and long enough to be read. */
function newRollBack({ alarms, iterations, now }: RunSnapshot): string | null {
  const event = alarms.find(({ kind }) => kind === ROLLED_BACK);
  if (event === undefined) return null;
  const isOver = (iterations.at(-1)?.time ?? 0) > event.time;
  if (isOver && now - event.time > ALARM_MS) return null;
  const key = event.episodes.length === 0 ? '' : `${KEYMAP.eventEpisodes.keys[0]}: episodes; `;
  return `${key}${untrusted(event.message)}`;
}

/** An alert that holds, and how many beside it. */
function alertText({ name, message }: RunStatus['alerts'][number], others: number): string {
  const more = others === 0 ? '' : ` (and ${others} more)`;
  return `${KEYMAP.eventEpisodes.keys[0]}: episodes; alert ${untrusted(name)}${more}: ${untrusted(message)}`;
}

function slotsText(children: readonly ChildStatus[]): string {
  const total = (pick: (child: ChildStatus) => number): number =>
    children.reduce((sum, child) => sum + pick(child), 0);
  return `${formatCount(total(({ busySlots }) => busySlots))}/${formatCount(total(({ slots }) => slots))}`;
}

function isTroubled(child: ChildStatus): boolean {
  return (
    child.state === 'restarting' ||
    child.state === 'dead' ||
    (child.state === 'ready' && child.silentMs > SILENT_MS)
  );
}

const REMEDIES: Readonly<Record<ChildStatus['role'], Readonly<Record<'restarting' | 'dead', string>>>> = {
  worker: {
    restarting: 'restarting, its unfinished episodes are dispatched again',
    dead: 'dead, its unfinished episodes go to the other workers',
  },
  trainer: {
    restarting: 'restarting from its last good state, sampled episodes are kept',
    dead: 'dead, sampled episodes are kept',
  },
};

function describeTrouble(child: ChildStatus): string {
  const name = child.role === 'trainer' ? 'trainer' : `worker ${child.index}@${untrusted(child.host)}`;
  const times = child.restarts > 0 ? ` (restart ${child.restarts})` : '';
  if (child.state === 'restarting' || child.state === 'dead') {
    return `${name} ${REMEDIES[child.role][child.state]}${times}`;
  }
  return `${name} silent for ${formatDuration(child.silentMs / 1000)}`;
}
