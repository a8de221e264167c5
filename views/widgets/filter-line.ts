import type { EpisodeListView } from '../episode-list.ts';
import type { CompletionView } from '../filter-completion.ts';
import { formatCount } from '../format.ts';
import { scrollTo } from '../layout.ts';
import { fit, fitLine, type Line, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import { drawListHead, drawListRows, drawListTitle, type RowLook } from './episode-table.ts';
import { drawInputLine, type LineInput } from './input-line.ts';

/** The episode list, and the filter line that is typed over it. */
export interface EpisodePart {
  readonly list: EpisodeListView;
  readonly filterInput: LineInput | null;
  /** What may be typed, once that was asked for. */
  readonly completion: CompletionView | null;
  readonly how: RowLook;
}

/** Columns of a suggestion, and of its count. */
const TEXT_WIDTH = 28;
const COUNT_WIDTH = 12;

/** `head` rows of title and column heads, then `rows` of episodes. While a filter is typed: the line, and what it says. */
export function drawEpisodePart(
  { list, filterInput, completion, how }: EpisodePart,
  width: number,
  { head, rows }: { readonly head: number; readonly rows: number },
  look: Look,
): Line[] {
  if (filterInput === null) {
    const heads = [drawListTitle(list, width, look), drawListHead(width, look, how)].slice(0, head);
    return [...heads, ...drawListRows(list, { width, rows }, look, how)];
  }
  const hint = '  e.g. fail:max_steps steps>20 -is:void sort:-reward   Tab: what may follow';
  const lines = [drawInputLine(filterInput, width, look), fitLine([seg(hint, 'dim')], width, look)];
  return [
    ...lines.slice(0, head),
    ...belowLine(filterInput, { list, completion, how }, { width, rows }, look),
  ];
}

function belowLine(
  { problem }: LineInput,
  { list, completion, how }: Omit<EpisodePart, 'filterInput'>,
  { width, rows }: { readonly width: number; readonly rows: number },
  look: Look,
): Line[] {
  if (problem.length === 0 && completion === null) return drawListRows(list, { width, rows }, look, how);
  const lines =
    problem.length > 0 || completion === null
      ? problem.map((text, row): Line => [seg(untrusted(text), row === 0 ? 'bad' : 'plain')])
      : suggestionLines(completion, width, rows, look);
  return Array.from({ length: rows }, (_, row) => fitLine(lines[row] ?? [], width, look));
}

function suggestionLines(completion: CompletionView, width: number, rows: number, look: Look): Line[] {
  const { suggestions, selected, isAsking, problem } = completion;
  if (problem !== null) return [[seg(`  ${untrusted(problem)}`, 'bad')]];
  if (suggestions.length === 0)
    return [[seg(isAsking ? '  looking for what may follow' : '  nothing is known to follow here', 'dim')]];
  const top = scrollTo(Math.max(0, selected), 0, rows);
  return suggestions.slice(top, top + rows).map(({ text, count, meaning }, row): Line => {
    const isSelected = top + row === selected;
    const line: Line = [
      seg(isSelected ? `${symbolsOf(look).pointer} ` : '  ', 'accent'),
      seg(fit(untrusted(text), TEXT_WIDTH, look), count === 0 || isAsking ? 'dim' : 'plain'),
      seg(fit(count === null ? '' : formatCount(count), COUNT_WIDTH, look, 'right'), 'dim'),
      seg(`  ${untrusted(meaning)}`, 'dim'),
    ];
    const fitted = fitLine(line, width, look);
    return isSelected ? fitted.map(({ text: shown }) => seg(shown, 'selected')) : fitted;
  });
}
