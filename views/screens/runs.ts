import type { RunListing } from '../../src/store/run-directory.ts';
import { formatBranchPoint, formatClock } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import { type Size, scrollTo } from '../layout.ts';
import { fit, fitLine, type Line, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import type { Toast } from '../toast.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';

/** What the list of runs shows. Row 0 starts a new run; the runs follow, newest first. */
export interface RunsModel {
  readonly runs: readonly RunListing[];
  readonly selected: number;
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
    ...model.runs.map((run) => runEntry(run, { id: idWidth, all: width }, look)),
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
    fitLine([seg(model.error === null ? '' : `! ${untrusted(model.error)}`, 'bad')], width, look),
    ...Array.from({ length: rows }, (_, row) => {
      const entry = entries[top + row];
      if (entry === undefined) return fitLine([], width, look);
      const selected = top + row === model.selected;
      const line = fitLine(
        [seg(selected ? `${symbolsOf(look).pointer} ` : '  ', 'accent'), ...entry],
        width,
        look,
      );
      return selected ? line.map(({ text }) => seg(text, 'selected')) : line;
    }),
    drawMessageRow({ toast: model.toast, event: null, now: 0 }, width, look),
    drawFooter('runs', model.keys, width, look),
  ];
}

function startEntry(model: RunsModel): Line {
  if (model.starting) return [seg('starting the demo run: this takes a few seconds', 'warn')];
  return [seg('start the demo run', 'bold'), seg('  (Enter)', 'dim')];
}

function runEntry(run: RunListing, widths: { readonly id: number; readonly all: number }, look: Look): Line {
  const id = fit(run.id, widths.id, look);
  if (run.manifest === null) return [seg(id), seg(` ! ${untrusted(run.error ?? 'cannot be read')}`, 'bad')];
  const { state, reason, createdAt, attempt, parent } = run.manifest;
  const branch = widths.all < ROOMY ? 'of' : 'branch of';
  const date = new Date(createdAt);
  const day = `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()} ${formatClock(createdAt).slice(0, 5)}`;
  // The manifest of a killed run still says "running": the lock knows better.
  const shown =
    run.live || state === 'stopped' || state === 'finished' || state === 'failed' ? state : 'dead';
  return [
    seg(`${id} `),
    seg(
      fit(run.live ? `${shown} (live)` : shown, 15, look),
      run.live ? 'good' : shown === 'dead' ? 'bad' : 'dim',
    ),
    seg(` ${fit(day, 16, look)}`),
    ...(attempt === 1 ? [] : [seg(`  attempt ${attempt}`, 'dim')]),
    ...(parent === null ? [] : [seg(`  ${branch} ${formatBranchPoint(parent)}`, 'accent')]),
    ...(reason === null ? [] : [seg(`  ${untrusted(reason)}`, 'dim')]),
  ];
}
