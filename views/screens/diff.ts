import { type AlignedRow, alignWords } from '../../src/replay/align.ts';
import type { Verdict } from '../../src/replay/compare.ts';
import type { EpisodeDiff } from '../episode-diff.ts';
import { formatCount } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import type { Size } from '../layout.ts';
import { fit, fitLine, type Line, type Segment, seg, spread, untrusted } from '../line.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';
import type { Toast } from '../toast.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';

/** Everything the diff screen shows. */
export interface DiffModel {
  readonly diff: EpisodeDiff;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** Title, verdict, heads, message and footer. */
const FRAME = 5;
/** Below this width two sides beside each other show nothing. */
const NARROW = 70;
const GUTTER = 9;
const VERDICT_TONES: Readonly<Record<Verdict, Tone>> = {
  identical: 'good',
  cosmetic: 'accent',
  'environment drift': 'bad',
  'tool drift': 'bad',
  'policy drift': 'bad',
  broken: 'loud',
};

/** Rows of the body on a screen. */
export function diffHeight(size: Size): number {
  return Math.max(1, size.rows - FRAME);
}

/** Two executions side by side, or one below the other where there is no room or the user wants it so. */
export function drawDiff({ diff, toast, keys }: DiffModel, size: Size, look: Look): Line[] {
  const width = size.columns;
  const rows = diffHeight(size);
  const beside = diff.sideBySide && width >= NARROW;
  const { top, selected } = diff.cursor;
  const body = Array.from({ length: rows }, (_, index): Line => {
    const row = diff.rows.row(top + index);
    if (row === undefined) return [];
    return beside
      ? besideLine(row, top + index === selected, width, look)
      : belowLine(row, top + index === selected, width, look);
  });
  return [
    titleLine(diff, width, look),
    verdictLine(diff, width, look),
    headLine(diff, beside, width, look),
    ...body.map((line) => fitLine(line, width, look)),
    drawMessageRow({ toast, event: null, now: 0 }, width, look),
    drawFooter('diff', keys, width, look),
  ];
}

function titleLine(diff: EpisodeDiff, width: number, look: Look): Line {
  const { task } = diff.left;
  const tasks = task === diff.right.task ? `  ${task}` : `  ${task} and ${diff.right.task}`;
  const left: Line = [
    seg(diff.comparison === null ? 'two episodes' : 'an episode and its re-execution', 'bold'),
    seg(untrusted(tasks), 'dim'),
  ];
  const place = `${formatCount(diff.cursor.selected + 1)}/${formatCount(diff.rows.length)}`;
  return spread(left, [seg(place, 'dim')], width, look);
}

function verdictLine({ comparison, differences, firstStep }: EpisodeDiff, width: number, look: Look): Line {
  if (comparison !== null) {
    const { verdict, reason } = comparison;
    return fitLine([seg(` ${verdict} `, VERDICT_TONES[verdict]), seg(` ${untrusted(reason)}`)], width, look);
  }
  const text =
    firstStep === null
      ? 'the same was seen, done and paid in every step'
      : `${formatCount(differences)} rows differ, the first at step ${firstStep}`;
  return fitLine([seg(text, firstStep === null ? 'good' : 'warn')], width, look);
}

function headLine({ left, right }: EpisodeDiff, beside: boolean, width: number, look: Look): Line {
  const half = halfWidth(width);
  const [before, after] = [untrusted(left.title), untrusted(right.title)];
  if (!beside) return fitLine([seg(`- ${before}  `, 'bad'), seg(`+ ${after}`, 'good')], width, look);
  const gutter = ' '.repeat(GUTTER);
  return fitLine(
    [seg(gutter), seg(`${fit(before, half, look)}   ${fit(after, half, look)}`, 'dim')],
    width,
    look,
  );
}

function halfWidth(width: number): number {
  return Math.max(1, Math.floor((width - GUTTER - 3) / 2));
}

const KIND_TONES: Readonly<Record<AlignedRow['kind'], Tone>> = {
  step: 'accent',
  sees: 'plain',
  gets: 'dim',
  end: 'bold',
};

/** `step 12`, `sees`, … of a row: `≠` or `!` where the sides differ. */
function gutterOf(row: AlignedRow, selected: boolean, look: Look): Line {
  const label = row.kind === 'step' ? `${row.step}` : row.kind;
  const pointer = selected ? symbolsOf(look).pointer : ' ';
  return [
    seg(pointer, 'accent'),
    seg(row.same ? ' ' : '!', 'warn'),
    seg(`${fit(label, GUTTER - 3, look, 'right')} `, row.kind === 'step' ? 'bold' : 'dim'),
  ];
}

function besideLine(row: AlignedRow, selected: boolean, width: number, look: Look): Line {
  const half = halfWidth(width);
  const [left, right] = sides(row, look);
  return [
    ...gutterOf(row, selected, look),
    ...fitLine(left, half, look),
    seg(row.same ? '   ' : ' | ', 'dim'),
    ...fitLine(right, half, look),
  ];
}

function belowLine(row: AlignedRow, selected: boolean, width: number, look: Look): Line {
  const [left, right] = sides(row, look);
  const gutter = gutterOf(row, selected, look);
  if (row.same) return [...gutter, ...left];
  const room = Math.floor((width - GUTTER) / 2) - 2;
  // Both in one row, so that a row stays a row: what does not fit is cut.
  return [
    ...gutter,
    ...(row.left === null ? [] : [seg('- ', 'bad'), ...cut(left, row.right === null ? width : room, look)]),
    ...(row.right === null ? [] : [seg(row.left === null ? '+ ' : ' + ', 'good'), ...right]),
  ];
}

function cut(line: Line, width: number, look: Look): Line {
  const length = line.reduce((sum, { text }) => sum + text.length, 0);
  return length <= width ? line : fitLine(line, width, look);
}

/** The two texts of a row, what differs within them marked: by tone, and by brackets where there is no colour. */
function sides(row: AlignedRow, look: Look): readonly [Segment[], Segment[]] {
  const tone = KIND_TONES[row.kind];
  const [left, right] = [row.left ?? '', row.right ?? ''].map(untrusted);
  if (row.same) return [[seg(left ?? '', tone)], [seg(right ?? '', tone)]];
  if (row.left === null) return [[], marked(right ?? '', 'good', look)];
  if (row.right === null) return [marked(left ?? '', 'bad', look), []];
  const before: Segment[] = [];
  const after: Segment[] = [];
  for (const { text, side } of alignWords(left ?? '', right ?? '')) {
    if (side === 'right') after.push(...marked(text, 'good', look));
    else if (side === 'left') before.push(...marked(text, 'bad', look));
    else {
      before.push(seg(text, tone));
      after.push(seg(text, tone));
    }
  }
  return [before, after];
}

function marked(text: string, tone: 'good' | 'bad', look: Look): Segment[] {
  if (look.colour) return [seg(text, tone)];
  return [seg(tone === 'bad' ? `[-${text}-]` : `{+${text}+}`)];
}
