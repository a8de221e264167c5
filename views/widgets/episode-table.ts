import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { FAILURES } from '../../src/domain/failure.ts';
import type { EpisodeListView } from '../episode-list.ts';
import { formatCount, formatDecimal, MISSING } from '../format.ts';
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
  readonly text: (episode: EpisodeSummary) => string;
}

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
];

/** The list's title: how many match, what is filtered, and what came in since the list stopped following. */
export function drawListTitle(list: EpisodeListView, width: number, look: Look): Line {
  const following = list.following
    ? seg('following', 'dim')
    : seg(`+${formatCount(list.fresh)} new (g)`, 'warn');
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
export function drawListHead(width: number, look: Look): Line {
  const cells = visibleColumns(width).map((column) => fit(column.title, column.width, look, column.align));
  return fitLine([seg(`  ${cells.join(' ')}`, 'dim')], width, look);
}

/** The visible rows; the selected one has a pointer. Says why when there is none. */
export function drawListRows(list: EpisodeListView, width: number, rows: number, look: Look): Line[] {
  const lines = list.rows.slice(0, rows).map((episode, index) => {
    const selected = list.top + index === list.selected;
    return episodeRow(episode, selected, width, look);
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

function episodeRow(episode: EpisodeSummary, selected: boolean, width: number, look: Look): Segment[] {
  const segments: Segment[] = [seg(selected ? `${symbolsOf(look).pointer} ` : '  ', 'accent')];
  for (const [index, column] of visibleColumns(width).entries()) {
    const text = `${index === 0 ? '' : ' '}${fit(column.text(episode), column.width, look, column.align)}`;
    segments.push(seg(text, column.title === 'outcome' ? outcomeTone(episode) : 'plain'));
  }
  const line = fitLine(segments, width, look);
  return selected ? line.map(({ text }) => seg(text, 'selected')) : line;
}

function visibleColumns(width: number): readonly Column[] {
  return COLUMNS.filter(({ from }) => width >= from);
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
