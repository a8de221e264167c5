import type { RunEvent } from '../../src/domain/run.ts';
import { linkOf, linkText } from '../event-link.ts';
import type { EventLog } from '../event-log.ts';
import { formatClock, formatCount } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import { planOverview, type Size } from '../layout.ts';
import { fit, fitLine, type Line, seg, spread, untrusted, wrap } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';
import { runCurves } from '../run-curves.ts';
import type { Toast } from '../toast.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawHeader } from '../widgets/header.ts';
import { drawInputLine, type LineInput } from '../widgets/input-line.ts';

/** Everything the event screen shows. */
export interface EventsModel {
  readonly run: RunSnapshot;
  readonly log: EventLog;
  readonly filterInput: LineInput | null;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** Title, heads and footer rows around the list. */
const FRAME = 4;
/** Rows for the selected event in full. */
const DETAIL = 5;
/** From this height on the selected event is shown in full. */
const TALL = 18;
const LEVEL_TONES: Readonly<Record<RunEvent['level'], Tone>> = {
  info: 'plain',
  warning: 'warn',
  error: 'bad',
};
const LEVEL_WORDS: Readonly<Record<RunEvent['level'], string>> = {
  info: '',
  warning: 'warning',
  error: 'ERROR',
};

/** Rows of the list on a screen. */
export function eventsHeight(size: Size): number {
  return Math.max(1, size.rows - planOverview(size).header - FRAME - detailRows(size));
}

function detailRows(size: Size): number {
  return size.rows >= TALL ? DETAIL : 0;
}

/** Every event and command, newest first, and the selected one in full. */
export function drawEvents(model: EventsModel, size: Size, look: Look): Line[] {
  const { run, log, toast, keys, filterInput } = model;
  const width = size.columns;
  const rows = eventsHeight(size);
  const { top, selected } = log.cursor;
  const list = Array.from({ length: rows }, (_, row): Line => {
    const event = log.events[top + row];
    if (event === undefined) return row === 0 ? [seg(`  ${emptyText(log)}`, 'dim')] : [];
    return eventLine(event, top + row === selected, width, look);
  });
  return [
    ...drawHeader(run, width, planOverview(size).header, look),
    filterInput === null ? titleLine(log, width, look) : drawInputLine(filterInput, width, look),
    headLine(width, look),
    ...list.map((line) => fitLine(line, width, look)),
    ...detailLines(log.selected, run, { rows: detailRows(size), width, look }),
    drawMessageRow({ toast, event: null, now: run.now }, width, look),
    drawFooter(filterInput === null ? 'events' : 'filter', keys, width, look),
  ];
}

function emptyText(log: EventLog): string {
  return log.total === 0 ? 'nothing has happened yet' : 'no event matches; Esc clears the filter';
}

function titleLine(log: EventLog, width: number, look: Look): Line {
  const shown = log.filterText === '' ? '' : ` of ${formatCount(log.total)}`;
  const left: Line = [seg(`events ${formatCount(log.events.length)}${shown}`, 'bold')];
  const filter: Line =
    log.filterText === '' ? [] : [seg('  filter ', 'dim'), seg(untrusted(log.filterText), 'accent')];
  const position = log.events.length === 0 ? [] : [seg(formatCount(log.cursor.selected + 1), 'dim')];
  return spread([...left, ...filter], position, width, look);
}

const COLUMNS = [9, 8, 20, 18] as const;

function headLine(width: number, look: Look): Line {
  const [time, level, kind, subject] = COLUMNS;
  const cells = [fit('time', time, look), fit('level', level, look), fit('kind', kind, look)];
  if (width >= 80) cells.push(fit('subject', subject, look));
  return fitLine([seg(`  ${cells.join(' ')} what`, 'dim')], width, look);
}

function eventLine(event: RunEvent, selected: boolean, width: number, look: Look): Line {
  const [time, level, kind, subject] = COLUMNS;
  const { pointer, arrow } = symbolsOf(look);
  const line: Line = [
    seg(selected ? `${pointer} ` : '  ', 'accent'),
    seg(`${fit(formatClock(event.time), time, look)} `, 'dim'),
    seg(`${fit(LEVEL_WORDS[event.level], level, look)} `, LEVEL_TONES[event.level]),
    seg(`${fit(untrusted(event.kind), kind, look)} `, LEVEL_TONES[event.level]),
    ...(width < 80 ? [] : [seg(`${fit(untrusted(event.subject), subject, look)} `, 'dim')]),
    seg(untrusted(event.message).replaceAll('→', arrow)),
  ];
  return selected ? fitLine(line, width, look).map(({ text }) => seg(text, 'selected')) : line;
}

interface Detail {
  readonly rows: number;
  readonly width: number;
  readonly look: Look;
}

/** The selected event in full, and where Enter goes from it. */
function detailLines(event: RunEvent | null, run: RunSnapshot, { rows, width, look }: Detail): Line[] {
  if (rows === 0) return [];
  const { rule, arrow } = symbolsOf(look);
  const about = event === null || event.episodes.length === 0 ? '' : `  (${event.episodes.join(', ')})`;
  const text =
    event === null ? [] : wrap(`${untrusted(event.message)}${about}`.replaceAll('→', arrow), width);
  const link = event === null ? '' : `Enter goes to ${linkText(linkOf(event, runCurves(run)))}`;
  return [
    [seg(rule.repeat(width), 'dim')],
    ...Array.from({ length: rows - 2 }, (_, row) => fitLine([seg(text[row] ?? '')], width, look)),
    fitLine([seg(untrusted(link), 'dim')], width, look),
  ];
}
