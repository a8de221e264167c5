import { formatBytes } from '../../src/domain/bytes.ts';
import type { Leak } from '../../src/domain/leak.ts';
import {
  type Batching,
  PIPELINE_STAGES,
  type Pressure,
  type StageAge,
  type Waste,
} from '../../src/domain/pipeline.ts';
import type { ChildStatus, RunStatus } from '../../src/domain/run.ts';
import { keysOf } from '../../src/domain/table.ts';
import { WASTE_WORDS, wasteTotal } from '../../src/domain/waste.ts';
import { formatCount, formatDuration, formatMs, formatNumber, formatShare, MISSING } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import { planOverview, type Size } from '../layout.ts';
import { fit, fitLine, joinFitting, type Line, type Segment, seg, untrusted } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';
import type { Toast } from '../toast.ts';
import { adviceLines, ageLines, trailLines } from '../widgets/flow-lines.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawHeader } from '../widgets/header.ts';

/** Everything the pipeline screen shows. */
export interface PipelineModel {
  readonly run: RunSnapshot;
  /** Rows of the body above the window. */
  readonly scroll: number;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** Rows below the body: the message and the keys. */
const BELOW = 2;
/** An age so many times the p99 of its stage is called out. */
const LATE = 3;
/** Below this age, ms, nothing is late, however fast its stage is. */
const NEVER_LATE_MS = 1000;
const LABEL_WIDTH = 14;
/** Columns of the bar of shares: fits on the narrowest screen beside the label. */
const BAR_WIDTH = 26;

/** Who waits for whom: the oldest in each stage, how the policy is asked, back-pressure, waste, ages, advice, and the workers. */
export function drawPipeline(model: PipelineModel, size: Size, look: Look): Line[] {
  const { run, toast, keys } = model;
  const width = size.columns;
  const { header } = planOverview(size);
  const rows = bodyRows(size);
  const body = bodyLines(run, look, width);
  const top = Math.min(model.scroll, Math.max(0, body.length - rows));
  return [
    ...drawHeader(run, width, header, look),
    ...Array.from({ length: rows }, (_, row) => fitLine(body[top + row] ?? [], width, look)),
    drawMessageRow({ toast, event: run.events[0] ?? null, now: run.now }, width, look),
    drawFooter('pipeline', keys, width, look),
  ];
}

/** How far the body can be scrolled. */
export function pipelineScrollLimit(run: RunSnapshot, size: Size, look: Look): number {
  return Math.max(0, bodyLines(run, look, size.columns).length - bodyRows(size));
}

function bodyRows(size: Size): number {
  return Math.max(0, size.rows - planOverview(size).header - BELOW);
}

function bodyLines({ status, iterations }: RunSnapshot, look: Look, width: number): Line[] {
  if (status === null) return [[seg('the run does not answer: nothing is known of its pipeline', 'dim')]];
  const { batching, pressure, stages, stall, waste, children, leaks } = status;
  const place = { label: LABEL_WIDTH, width, look };
  return [
    stall === null
      ? [seg('everything comes through', 'good')]
      : [seg(` ${symbolsOf(look).warning} ${untrusted(stall.message)} `, 'loud')],
    ...leaks.map((leak) => leakLine(leak, look)),
    [],
    stageHead(look),
    ...PIPELINE_STAGES.map((stage) => stageLine(stage, stages, stall?.stage === stage, look)),
    [],
    labelled('policy', batchingPieces(batching), width, look),
    labelled('back-pressure', pressurePieces(pressure, look), width, look),
    ...trailLines(pressure, place),
    labelled('episode time', wastePieces(waste), width, look),
    ...wasteBar(waste, look),
    ...ageLines(iterations, place),
    labelled('resets', resetPieces(status), width, look),
    ...adviceLines(iterations, status, place),
    [],
    workerHead(look),
    ...children.map((child) => workerLine(child, look)),
  ];
}

function labelled(label: string, pieces: readonly Line[], width: number, look: Look): Line {
  const rest = joinFitting(pieces, '   ', width - LABEL_WIDTH);
  return [seg(fit(label, LABEL_WIDTH, look), 'bold'), ...rest];
}

function orMissing(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? MISSING : format(value);
}

function pair(label: string, value: string, tone: Tone = 'plain'): Line {
  return [seg(`${label} `, 'dim'), seg(value, tone)];
}

// Stages ---------------------------------------------------------------------------------------------------------------

const STAGE_COLUMNS = [LABEL_WIDTH, 10, 10, 10] as const;

function stageHead(look: Look): Line {
  const [name, count, age, p99] = STAGE_COLUMNS;
  const text = [
    fit('stage', name, look),
    fit('in flight', count, look, 'right'),
    fit('oldest', age, look, 'right'),
    fit('p99', p99, look, 'right'),
  ].join('');
  return [seg(`${text}  which`, 'dim')];
}

function stageLine(
  stage: StageAge['stage'],
  ages: readonly StageAge[],
  blamed: boolean,
  look: Look,
): Segment[] {
  const [name, count, age, p99] = STAGE_COLUMNS;
  const found = ages.find((one) => one.stage === stage);
  const first = seg(fit(stage, name, look), blamed ? 'loud' : 'plain');
  if (found === undefined) return [first, seg(fit('0', count, look, 'right'), 'dim')];
  return [
    first,
    seg(fit(formatCount(found.count), count, look, 'right')),
    seg(fit(formatMs(found.ageMs), age, look, 'right'), isLate(found) ? 'warn' : 'plain'),
    seg(fit(orMissing(found.p99Ms, formatMs), p99, look, 'right'), 'dim'),
    seg(`  ${untrusted(found.subject)}`),
  ];
}

function isLate({ ageMs, p99Ms }: StageAge): boolean {
  return p99Ms !== null && ageMs > Math.max(NEVER_LATE_MS, LATE * p99Ms);
}

// Policy, back-pressure, waste -----------------------------------------------------------------------------------------

function batchingPieces(batching: Batching | null): Line[] {
  if (batching === null) return [[seg('not asked yet', 'dim')]];
  const { rows, capacity, waitMs, windowMs, inferenceMs } = batching;
  return [
    pair('batch', `${orMissing(rows, formatCount)} of ${formatCount(capacity)}`),
    pair('waited', orMissing(waitMs, formatMs)),
    pair('inference', orMissing(inferenceMs, formatMs)),
    pair('window', formatMs(windowMs)),
  ];
}

const PRESSURE_TONES: Readonly<Record<Pressure['level'], Tone>> = {
  none: 'good',
  soft: 'warn',
  hard: 'loud',
};
const PRESSURE_WORDS: Readonly<Record<Pressure['level'], string>> = {
  none: 'none',
  soft: 'samplers slowed down',
  hard: 'samplers stopped',
};

function pressurePieces(pressure: Pressure | null, look: Look): Line[] {
  if (pressure === null) return [[seg('not known yet', 'dim')]];
  const { level, bytes, softBytes, hardBytes } = pressure;
  const { dot } = symbolsOf(look);
  return [
    [seg(PRESSURE_WORDS[level], PRESSURE_TONES[level])],
    pair('samples queued', formatBytes(bytes)),
    pair('slows at', `${formatBytes(softBytes)} ${dot} stops at ${formatBytes(hardBytes)}`),
  ];
}

const WASTE_TONES: Readonly<Record<keyof Waste, Tone>> = {
  useful: 'good',
  truncated: 'warn',
  stale: 'bad',
  void: 'bad',
  retried: 'bad',
};

function wastePieces(waste: Waste | null): Line[] {
  const total = waste === null ? 0 : wasteTotal(waste);
  if (waste === null || total === 0) return [[seg('no episode has ended yet', 'dim')]];
  const shares = keysOf(WASTE_WORDS)
    .filter((kind) => kind === 'useful' || waste[kind] > 0)
    .toSorted((a, b) => waste[b] - waste[a])
    .map((kind) => pair(WASTE_WORDS[kind], formatShare(waste[kind] / total), WASTE_TONES[kind]));
  return [...shares, pair('of', `${formatDuration(total)} slot time`)];
}

/** The shares as one bar, in the order of the table. */
function wasteBar(waste: Waste | null, look: Look): Line[] {
  const total = waste === null ? 0 : wasteTotal(waste);
  if (waste === null || total === 0) return [];
  let [before, drawn] = [0, 0];
  const bar = keysOf(WASTE_WORDS).map((kind) => {
    before += waste[kind];
    const end = Math.round((before / total) * BAR_WIDTH);
    const length = end - drawn;
    drawn = end;
    // By letters where there is no colour: nothing is said by colour alone.
    const cell = look.colour ? symbolsOf(look).rule : WASTE_WORDS[kind].slice(0, 1);
    return seg(cell.repeat(Math.max(0, length)), WASTE_TONES[kind]);
  });
  return [[seg(' '.repeat(LABEL_WIDTH)), ...bar]];
}

// Resets ---------------------------------------------------------------------------------------------------------------

/** The message names the family, and the episode in which it showed. */
function leakLine({ message }: Leak, look: Look): Line {
  return [seg(` ${symbolsOf(look).warning} ${untrusted(message)} `, 'loud')];
}

function resetPieces({ audits, leaks }: RunStatus): Line[] {
  const families = leaks.map(({ family }) => untrusted(family)).join(', ');
  return [
    pair('audited', formatCount(audits)),
    ...(audits === 0 && leaks.length === 0
      ? []
      : [pair('leaking', leaks.length === 0 ? 'none seen' : families, leaks.length === 0 ? 'good' : 'loud')]),
  ];
}

// Processes ------------------------------------------------------------------------------------------------------------

const WORKER_COLUMNS = [20, 11, 13, 7, 11, 7, 11] as const;

function workerHead(look: Look): Line {
  const [name, state, slots, cpu, memory, files, temp] = WORKER_COLUMNS;
  const text = [
    fit('process', name, look),
    fit('state', state, look),
    fit('slots busy', slots, look, 'right'),
    fit('cores', cpu, look, 'right'),
    fit('memory', memory, look, 'right'),
    fit('files', files, look, 'right'),
    fit('temporary', temp, look, 'right'),
  ].join('');
  return [seg(`${text}  restarts`, 'dim')];
}

function workerLine(child: ChildStatus, look: Look): Line {
  const [name, state, slots, cpu, memory, files, temp] = WORKER_COLUMNS;
  const { resources } = child;
  const title = child.role === 'trainer' ? 'trainer' : `worker ${child.index}`;
  const busy = child.slots === 0 ? MISSING : `${formatCount(child.busySlots)}/${formatCount(child.slots)}`;
  return [
    seg(fit(`${title}@${untrusted(child.host)}`, name, look)),
    seg(fit(child.state, state, look), child.state === 'ready' ? 'good' : 'warn'),
    seg(fit(busy, slots, look, 'right')),
    seg(fit(orMissing(resources?.cpu, formatNumber), cpu, look, 'right')),
    seg(fit(child.rssMiB === 0 ? MISSING : `${formatCount(child.rssMiB)} MiB`, memory, look, 'right')),
    seg(fit(orMissing(resources?.openFiles, formatCount), files, look, 'right')),
    seg(fit(orMissing(resources?.tempBytes, formatBytes), temp, look, 'right')),
    seg(`  ${formatCount(child.restarts)}`, child.restarts > 0 ? 'warn' : 'dim'),
  ];
}
