import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { FAILURES } from '../../src/domain/failure.ts';
import { type EpisodeMarks, NO_MARKS } from '../../src/store/episode-marks.ts';
import type { EpisodeListView } from '../episode-list.ts';
import { formatClock, formatCount, formatDecimal, MISSING } from '../format.ts';
import { KeptBy } from '../kept.ts';
import {
  fit,
  fitLine,
  joinFitting,
  type Line,
  lineWidth,
  type Segment,
  seg,
  spread,
  untrusted,
} from '../line.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';

interface Column {
  readonly title: string;
  readonly width: number;
  readonly align: 'left' | 'right';
  /** Shown on terminals at least this wide. */
  readonly from: number;
  readonly text: (episode: EpisodeSummary, marks: EpisodeMarks) => string;
}

/** How rows are shown, beside what is in them. */
export interface RowLook {
  /** Names of the columns; null: by the width. */
  readonly columns: readonly string[] | null;
  readonly marks: EpisodeMarks;
  /** Ids of the selected episodes. */
  readonly selection: ReadonlySet<string>;
}

const PLAIN_ROWS: RowLook = { columns: null, marks: NO_MARKS, selection: new Set() };

const COLUMNS: readonly Column[] = [
  { title: 'episode', width: 9, align: 'left', from: 0, text: ({ id }) => id },
  { title: 'outcome', width: 16, align: 'left', from: 0, text: outcome },
  {
    title: 'reward',
    width: 8,
    align: 'right',
    from: 0,
    text: ({ reward }) => (reward === null ? 'void' : formatDecimal(reward)),
  },
  { title: 'steps', width: 6, align: 'right', from: 48, text: ({ steps }) => formatCount(steps) },
  { title: 'iter', width: 6, align: 'right', from: 60, text: ({ iteration }) => String(iteration) },
  { title: 'policy', width: 7, align: 'right', from: 70, text: ({ policyVersion }) => `v${policyVersion}` },
  { title: 'family', width: 18, align: 'left', from: 80, text: ({ task }) => untrusted(task.family) },
  { title: 'phase', width: 6, align: 'left', from: 100, text: ({ phase }) => phase },
  { title: 'split', width: 9, align: 'left', from: 110, text: ({ task }) => task.split },
  { title: 'wall', width: 9, align: 'right', from: 120, text: ({ wallMs }) => `${formatCount(wallMs)}ms` },
  {
    title: 'behaviours',
    width: 26,
    align: 'left',
    from: 140,
    text: ({ behaviours }) => behaviours.join(','),
  },
  {
    title: 'detail',
    width: 40,
    align: 'left',
    from: 190,
    text: ({ failureDetail }) => untrusted(failureDetail ?? ''),
  },
  ...chosenOnly([
    ['env', 12, 'left', ({ task }) => untrusted(task.env)],
    ['index', 6, 'right', ({ task }) => String(task.index)],
    ['seed', 10, 'right', ({ seed }) => String(seed)],
    ['difficulty', 10, 'right', ({ difficulty }) => String(difficulty)],
    ['mode', 7, 'left', ({ mode }) => mode],
    ['trust', 7, 'left', ({ trust }) => trust],
    ['host', 10, 'left', ({ host }) => untrusted(host)],
    ['worker', 6, 'right', ({ worker }) => String(worker)],
    ['attempt', 7, 'right', ({ attempt }) => String(attempt)],
    ['started', 8, 'left', ({ startedAt }) => formatClock(startedAt)],
    ['tool calls', 10, 'right', ({ tools }) => formatCount(tools.calls)],
    ['failed', 6, 'right', ({ tools }) => formatCount(tools.failed)],
    ['tags', 20, 'left', ({ tags }) => untrusted(tags.join(','))],
    ['note', 40, 'left', ({ id }, { notes }) => untrusted(notes.get(id)?.text ?? '')],
  ]),
];

/** Columns that are shown where they are asked for. */
function chosenOnly(
  columns: readonly (readonly [title: string, width: number, align: Column['align'], text: Column['text']])[],
): Column[] {
  return columns.map(([title, width, align, text]) => ({ title, width, align, from: Infinity, text }));
}

/** All columns there are. */
export const COLUMN_NAMES: readonly string[] = COLUMNS.map(({ title }) => title);

/** Names of the columns of a list: as many of the chosen ones as fit, or those that its width has room for. */
export function columnsFor(width: number, chosen: readonly string[] | null): readonly string[] {
  return visibleColumns(width, chosen).map(({ title }) => title);
}

/** The list's title: how many match, what is filtered, and what came in since the list stopped following. */
export function drawListTitle(list: EpisodeListView, width: number, look: Look): Line {
  const following = list.following
    ? seg('following', 'dim')
    : seg(list.fresh === 0 ? 'stands still (g follows)' : `+${formatCount(list.fresh)} new (g)`, 'warn');
  const filters: Line[] = [
    ...(list.failure === null ? [] : [[seg('only ', 'dim'), seg(list.failure, 'accent')]]),
    ...(list.filterText === '' ? [] : [[seg('filter ', 'dim'), seg(untrusted(list.filterText), 'accent')]]),
  ];
  const left = joinFitting(
    [
      [seg(`episodes ${list.isSearching ? MISSING : formatCount(list.total)}`, 'bold')],
      [following],
      ...filters,
    ],
    '  ',
    width,
  );
  const right = failureSummary(list, Math.max(0, width - lineWidth(left) - 2));
  return spread(left, right, width, look);
}

/** How often each outcome occurs, most frequent first; as many as fit. */
function failureSummary(list: EpisodeListView, width: number): Line {
  const pieces = Object.entries(list.counts)
    .toSorted(([, left], [, right]) => right - left)
    .map(
      ([name, count]): Line => [
        seg(`${name} `, 'dim'),
        seg(formatCount(count), name === list.failure ? 'accent' : 'plain'),
      ],
    );
  return joinFitting(pieces, '  ', width);
}

/** The heads of the columns. */
export function drawListHead(width: number, look: Look, { columns } = PLAIN_ROWS): Line {
  const cells = visibleColumns(width, columns).map((column) =>
    fit(column.title, column.width, look, column.align),
  );
  return fitLine([seg(`  ${cells.join(' ')}`, 'dim')], width, look);
}

/** The visible rows; the selected one has a pointer. Says why when there is none. */
export function drawListRows(
  list: EpisodeListView,
  { width, rows }: { readonly width: number; readonly rows: number },
  look: Look,
  how: RowLook = PLAIN_ROWS,
): Line[] {
  const lines = list.rows.slice(0, rows).map((episode, index) => {
    const selected = list.top + index === list.selected;
    const { columns, marks } = how;
    const of = [selected, width, columns, marks, markOf(episode, how), look];
    return DRAWN.get(episode, of, () => episodeRow(episode, { selected, width, how }, look));
  });
  if (lines.length === 0 && rows > 0) lines.push(fitLine([seg(`  ${emptyText(list)}`, 'dim')], width, look));
  while (lines.length < rows) lines.push(fitLine([], width, look));
  return lines;
}

function emptyText(list: EpisodeListView): string {
  if (list.error !== null) return untrusted(list.error);
  if (list.isSearching) return 'searching';
  const filtered = list.filterText !== '' || list.failure !== null;
  return filtered ? 'no episode matches; Esc clears the filter' : 'no episode has finished yet';
}

interface RowFrame {
  readonly selected: boolean;
  readonly width: number;
  readonly how: RowLook;
}

const DRAWN = new KeptBy<EpisodeSummary, Line>();

function episodeRow(episode: EpisodeSummary, { selected, width, how }: RowFrame, look: Look): Line {
  const { pointer } = symbolsOf(look);
  const segments: Segment[] = [seg(`${selected ? pointer : ' '}${markOf(episode, how)}`, 'accent')];
  for (const [index, column] of visibleColumns(width, how.columns).entries()) {
    const own = fit(column.text(episode, how.marks), column.width, look, column.align);
    segments.push(
      seg(`${index === 0 ? '' : ' '}${own}`, column.title === 'outcome' ? outcomeTone(episode) : 'plain'),
    );
  }
  const line = fitLine(segments, width, look);
  return selected ? line.map(({ text }) => seg(text, 'selected')) : line;
}

/** `+` selected, `*` pinned, `"` noted. */
function markOf({ id }: EpisodeSummary, { marks, selection }: RowLook): string {
  if (selection.has(id)) return '+';
  if (marks.pins.has(id)) return '*';
  return marks.notes.has(id) ? '"' : ' ';
}

/** Columns of the pointer. */
const POINTER = 2;

function visibleColumns(width: number, chosen: readonly string[] | null): readonly Column[] {
  if (chosen === null) return COLUMNS.filter(({ from }) => width >= from);
  const shown: Column[] = [];
  let used = POINTER;
  for (const column of COLUMNS.filter(({ title }) => chosen.includes(title))) {
    used += column.width + (shown.length === 0 ? 0 : 1);
    if (used > width) break;
    shown.push(column);
  }
  // A list without a column would look like one without an episode.
  return shown.length === 0 ? visibleColumns(width, null) : shown;
}

/** `success`, or the failure type. */
export function outcome(episode: EpisodeSummary): string {
  return episode.success ? 'success' : (episode.failure ?? MISSING);
}

/** The tone of an episode's outcome: void is neither good nor bad. */
export function outcomeTone(episode: EpisodeSummary): Tone {
  if (episode.success) return 'good';
  if (episode.failure === null) return 'plain';
  return FAILURES[episode.failure].ending === 'void' ? 'warn' : 'bad';
}
