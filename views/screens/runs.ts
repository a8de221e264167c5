import { formatBytes } from '../../src/domain/bytes.ts';
import type { RunListing } from '../../src/store/run-directory.ts';
import { formatBranchPoint, formatCount, formatDuration, formatShare } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import { type Size, scrollTo } from '../layout.ts';
import { fit, fitLine, type Line, lineWidth, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import { isDead, type RunFigureView } from '../runs-desk.ts';
import type { Toast } from '../toast.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { sparkline } from '../widgets/sparkline.ts';

/** What the list of runs shows. Row 0 starts a new run; the runs follow, newest first. */
export interface RunsModel {
  readonly runs: readonly RunListing[];
  readonly selected: number;
  /** What has been read of them, by id. */
  readonly figures: ReadonlyMap<string, RunFigureView>;
  /** Ids of those that are to be compared. */
  readonly marked: ReadonlySet<string>;
  /** Ms since the epoch. */
  readonly now: number;
  /** A new run is being started. */
  readonly starting: boolean;
  /** Why the runs cannot be listed, or null. */
  readonly error: string | null;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

const FRAME_ROWS = 5;
/** From this width on there is room for `branch of`, and not only `of`. */
const ROOMY = 100;
/** Columns of the longest id that is not cut. */
const ID_WIDTH = 28;

/** Rows of the list on a screen. */
export function runsHeight(size: Size): number {
  return Math.max(1, size.rows - FRAME_ROWS);
}

/** The runs there are, and the offer to start one. */
export function drawRuns(model: RunsModel, size: Size, look: Look): Line[] {
  const width = size.columns;
  const rows = runsHeight(size);
  const first = scrollTo(model.selected, Math.max(0, model.selected - Math.floor(rows / 2)), rows);
  const idWidth = Math.min(ID_WIDTH, Math.max(0, ...model.runs.map(({ id }) => id.length)));
  const entries = [
    startEntry(model),
    ...model.runs.map((run) => runEntry(run, model, { id: idWidth, all: width }, look)),
  ];
  const top = Math.max(0, Math.min(first, entries.length - rows));
  const live = model.runs.filter((run) => run.live).length;
  return [
    fitLine(
      [
        seg('agentrl-lab', 'bold'),
        seg(`  ${model.runs.length} ${model.runs.length === 1 ? 'run' : 'runs'}, ${live} live`),
      ],
      width,
      look,
    ),
    fitLine([seg(symbolsOf(look).rule.repeat(width), 'dim')], width, look),
    model.error !== null
      ? fitLine([seg(`! ${untrusted(model.error)}`, 'bad')], width, look)
      : headLine(model, { id: idWidth, all: width }, look),
    ...Array.from({ length: rows }, (_, row) => {
      const entry = entries[top + row];
      if (entry === undefined) return fitLine([], width, look);
      const selected = top + row === model.selected;
      const run = model.runs[top + row - 1];
      const mark = run !== undefined && model.marked.has(run.id) ? '+' : ' ';
      const pointer = seg(`${selected ? symbolsOf(look).pointer : ' '}${mark}`, 'accent');
      const line = fitLine([pointer, ...entry], width, look);
      return selected ? line.map(({ text }) => seg(text, 'selected')) : line;
    }),
    drawMessageRow({ toast: model.toast, event: null, now: 0 }, width, look),
    drawFooter('runs', model.keys, width, look),
  ];
}

function startEntry(model: RunsModel): Line {
  if (model.starting) return [seg('starting a run: this takes a few seconds', 'warn')];
  return [seg('start the demo run', 'bold'), seg('  (Enter)', 'dim')];
}

interface Widths {
  readonly id: number;
  readonly all: number;
}

/** Columns of a state, an age, an iteration, a success, an environment and a size. */
const STATE = 15;
const AGE = 6;
const ITERATION = 6;
const SHARE = 6;
const ENV = 10;
const BYTES = 9;

/** Columns of the curve of success: more where there is room. */
function curveWidth({ id, all }: Widths): number {
  const rest = all - 2 - id - STATE - AGE - ITERATION - SHARE - 6;
  return rest < 24 ? Math.max(0, Math.min(8, rest - 14)) : Math.min(32, Math.floor(rest / 3));
}

function headLine(model: RunsModel, widths: Widths, look: Look): Line {
  if (model.runs.length === 0) return fitLine([], widths.all, look);
  const curve = curveWidth(widths);
  const cells = [
    fit('run', widths.id, look),
    fit('state', STATE, look),
    fit('age', AGE, look, 'right'),
    fit('iter', ITERATION, look, 'right'),
    // Over the curve and its newest value: on a small screen the curve alone is narrower than the word.
    curve === 0 ? fit('', SHARE, look) : fit('success', curve + 1 + SHARE, look),
    ...(widths.all < ROOMY ? [] : [fit('env', ENV, look), fit('on disk', BYTES, look, 'right')]),
  ];
  return fitLine([seg(`  ${cells.join(' ')}`, 'dim')], widths.all, look);
}

function runEntry(run: RunListing, model: RunsModel, widths: Widths, look: Look): Line {
  const id = fit(run.id, widths.id, look);
  if (run.manifest === null) return [seg(id), seg(` ! ${untrusted(run.error ?? 'cannot be read')}`, 'bad')];
  const { state, reason, createdAt, attempt, parent } = run.manifest;
  const branch = widths.all < ROOMY ? 'of' : 'branch of';
  // The manifest of a killed run still says "running": the lock knows better.
  const dead = isDead(run);
  const shown = dead ? 'dead' : state;
  const age = formatDuration((model.now - createdAt) / 1000);
  return [
    seg(`${id} `),
    seg(fit(run.live ? `${shown} (live)` : shown, STATE, look), run.live ? 'good' : dead ? 'bad' : 'dim'),
    seg(` ${fit(age, AGE, look, 'right')}`),
    ...figureCells(model.figures.get(run.id), widths, look),
    ...(attempt === 1 ? [] : [seg(`  attempt ${attempt}`, 'dim')]),
    ...(parent === null ? [] : [seg(`  ${branch} ${formatBranchPoint(parent)}`, 'accent')]),
    ...(reason === null ? [] : [seg(`  ${untrusted(reason)}`, 'dim')]),
  ];
}

/** What had to be read; blank until it is there. */
function figureCells(view: RunFigureView | undefined, widths: Widths, look: Look): Line {
  if (view !== undefined && 'problem' in view) return [seg(`  ! ${untrusted(view.problem)}`, 'bad')];
  const curve = curveWidth(widths);
  const figures = view?.figures;
  const success = figures?.success ?? [];
  const drawn = sparkline(success, { low: 0, high: 1 }, { width: curve, tone: 'first' }, look);
  const cells: Line = [
    seg(` ${fit(figures === undefined ? '' : formatCount(figures.iteration), ITERATION, look, 'right')} `),
    ...(curve === 0 ? [] : [...drawn, seg(' '.repeat(curve - lineWidth(drawn) + 1))]),
    seg(fit(figures === undefined ? '' : formatShare(figures.newest), SHARE, look, 'right')),
  ];
  if (widths.all < ROOMY) return cells;
  const bytes = figures === undefined ? '' : formatBytes(figures.bytes);
  return [
    ...cells,
    seg(` ${fit(untrusted(figures?.env ?? ''), ENV, look)}`, 'dim'),
    seg(` ${fit(bytes, BYTES, look, 'right')}`, 'dim'),
  ];
}
