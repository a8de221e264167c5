import type { ChartView } from '../chart-view.ts';
import type { EpisodeListView } from '../episode-list.ts';
import type { KeyContext } from '../key-binding.ts';
import type { KnobDeskView } from '../knob-desk.ts';
import { planOverview, type Size } from '../layout.ts';
import { fitLine, type Line, seg, untrusted } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import type { Look } from '../look.ts';
import type { Toast } from '../toast.ts';
import { drawListHead, drawListRows, drawListTitle } from '../widgets/episode-table.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawHeader } from '../widgets/header.ts';
import { drawInputLine, type LineInput } from '../widgets/input-line.ts';
import { drawKnobRow } from '../widgets/knob-row.ts';
import { drawRunCharts } from '../widgets/run-charts.ts';

/** Everything the overview shows. */
export interface OverviewModel {
  readonly run: RunSnapshot;
  readonly charts: ChartView;
  readonly knobs: KnobDeskView;
  readonly list: EpisodeListView;
  readonly filterInput: LineInput | null;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** Header, charts, knobs, episode list, newest event, keys: one line a row, as many as the screen has. */
export function drawOverview(model: OverviewModel, size: Size, look: Look): Line[] {
  const { run, list, filterInput } = model;
  const width = size.columns;
  const plan = planOverview(size);
  const grid = { width, columns: plan.chartColumns, height: plan.chartHeight };
  const event = run.events[0] ?? null;
  const footer = filterInput !== null ? 'filter' : model.knobs.preview === null ? 'overview' : 'knob';
  return [
    ...drawHeader(run, width, plan.header, look),
    ...drawRunCharts(run, model.charts, grid, look),
    drawKnobRow(model.knobs, width, look),
    ...(filterInput === null
      ? [drawListTitle(list, width, look), drawListHead(width, look)].slice(0, plan.listHead)
      : drawFilterInput(filterInput, width, look, plan.listHead)),
    ...(filterInput !== null && filterInput.problem.length > 0
      ? drawProblem(filterInput.problem, width, plan.listRows, look)
      : drawListRows(list, width, plan.listRows, look)),
    drawMessageRow({ toast: model.toast, event, now: run.now }, width, look),
    drawFooter(footer, model.keys, width, look),
  ];
}

function drawFilterInput(input: LineInput, width: number, look: Look, rows: number): Line[] {
  const example = '  e.g. fail:max_steps steps>20 -is:void sort:-reward';
  const lines = [drawInputLine(input, width, look), fitLine([seg(example, 'dim')], width, look)];
  return lines.slice(0, rows);
}

function drawProblem(problem: readonly string[], width: number, rows: number, look: Look): Line[] {
  return Array.from({ length: rows }, (_, row) =>
    fitLine([seg(untrusted(problem[row] ?? ''), row === 0 ? 'bad' : 'plain')], width, look),
  );
}
