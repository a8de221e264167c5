import type { ChartView } from '../chart-view.ts';
import type { KeyContext } from '../key-binding.ts';
import type { KnobDeskView } from '../knob-desk.ts';
import { planOverview, type Size } from '../layout.ts';
import type { Line } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import type { Look } from '../look.ts';
import type { Toast } from '../toast.ts';
import { drawEpisodePart, type EpisodePart } from '../widgets/filter-line.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawHeader } from '../widgets/header.ts';
import { drawKnobRow } from '../widgets/knob-row.ts';
import { drawRunCharts } from '../widgets/run-charts.ts';

/** Everything the overview shows. */
export interface OverviewModel extends EpisodePart {
  readonly run: RunSnapshot;
  readonly charts: ChartView;
  readonly knobs: KnobDeskView;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** Header, charts, knobs, episode list, newest event, keys: one line a row, as many as the screen has. */
export function drawOverview(model: OverviewModel, size: Size, look: Look): Line[] {
  const { run, filterInput } = model;
  const width = size.columns;
  const plan = planOverview(size);
  const grid = { width, columns: plan.chartColumns, height: plan.chartHeight };
  const event = run.events[0] ?? null;
  const footer = filterInput !== null ? 'filter' : model.knobs.preview === null ? 'overview' : 'knob';
  return [
    ...drawHeader(run, width, plan.header, look),
    ...drawRunCharts(run, model.charts, grid, look),
    drawKnobRow(model.knobs, width, look),
    ...drawEpisodePart(model, width, { head: plan.listHead, rows: plan.listRows }, look),
    drawMessageRow({ toast: model.toast, event, now: run.now }, width, look),
    drawFooter(footer, model.keys, width, look),
  ];
}
