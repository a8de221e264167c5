/** Columns and rows of the terminal. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Below this nothing useful fits; the app says so and goes on. */
export const SMALLEST: Size = { columns: 40, rows: 10 };

/** Whether a screen can be drawn at all. */
export function isTooSmall(size: Size): boolean {
  return size.columns < SMALLEST.columns || size.rows < SMALLEST.rows;
}

/** How many rows each part of the overview gets. */
export interface OverviewPlan {
  readonly header: number;
  /** Charts beside each other, and rows of one chart (1 is a sparkline). */
  readonly chartColumns: 1 | 2;
  readonly chartHeight: number;
  readonly knobs: number;
  /** Title of the list, its column heads, and its rows. */
  readonly listHead: number;
  readonly listRows: number;
}

const KNOBS = 1;
const EVENT = 1;
const FOOTER = 1;

/** Shares the rows out: charts grow with the terminal, the list takes what is left and at least two rows. */
export function planOverview(size: Size): OverviewPlan {
  const header = size.rows >= 20 ? 3 : 2;
  const chartColumns = size.columns >= 60 ? 2 : 1;
  const chartRows = 4 / chartColumns;
  const listHead = size.rows >= 16 ? 2 : 1;
  const rest = size.rows - header - KNOBS - EVENT - FOOTER - listHead;
  const wanted = Math.floor((rest * 0.55) / chartRows);
  // Two rows (a title and a row of dots) show less than a sparkline.
  const roomy = wanted < 3 || size.columns < 60 ? 1 : Math.min(wanted, 14);
  const chartHeight = rest - chartRows >= 2 ? roomy : 0;
  const columns = chartHeight === 0 && rest - 2 >= 1 ? 2 : chartColumns;
  const height = chartHeight === 0 && rest - 2 >= 1 ? 1 : chartHeight;
  return {
    header,
    chartColumns: columns,
    chartHeight: height,
    knobs: KNOBS,
    listHead,
    listRows: Math.max(0, rest - height * (4 / columns)),
  };
}

/** How the replay of an episode is laid out. */
export interface ReplayPlan {
  readonly header: number;
  /** Curves over the steps, a row each: value, then reward. */
  readonly curves: number;
  /** The list of steps: beside the details on wide terminals, above them on others. */
  readonly side: 'left' | 'top';
  readonly listWidth: number;
  readonly listRows: number;
  readonly detailWidth: number;
  readonly detailRows: number;
}

/** The step list takes a third of the screen; the details the rest. One column or row is the rule between them. */
export function planReplay(size: Size): ReplayPlan {
  const header = size.rows >= 16 ? 3 : 2;
  const curves = size.rows < 20 ? 0 : size.rows < 30 ? 1 : 2;
  const body = size.rows - header - curves - EVENT - FOOTER;
  if (size.columns >= 100) {
    const listWidth = Math.min(60, Math.floor(size.columns / 3));
    const detailWidth = size.columns - listWidth - 1;
    return { header, curves, side: 'left', listWidth, listRows: body, detailWidth, detailRows: body };
  }
  const listRows = Math.max(1, Math.floor((body - 1) / 3));
  const detailRows = Math.max(1, body - listRows - 1);
  const widths = { listWidth: size.columns, detailWidth: size.columns };
  return { header, curves, side: 'top', listRows, detailRows, ...widths };
}

/** First row of a window of `height` rows that shows `selected`, moved as little as possible from `top`. */
export function scrollTo(selected: number, top: number, height: number): number {
  return Math.max(0, Math.min(selected, Math.max(top, selected - height + 1)));
}
