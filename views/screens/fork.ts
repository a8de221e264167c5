import { formatTaskRef } from '../../src/domain/task.ts';
import type { ForkChoice, ForkDesk } from '../fork-desk.ts';
import { formatCount } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import type { Size } from '../layout.ts';
import { fit, fitLine, type Line, seg, untrusted, wrap } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import { drawFooter } from '../widgets/footer.ts';

/** What the question of a fork shows. */
export interface ForkModel {
  readonly desk: ForkDesk;
  readonly keys: KeyContext;
}

/** Title, question, rule, rule, footer. */
const FRAME = 5;
/** Rows for what came of it: six lines, some of which may be long. */
const RESULT_ROWS = 8;
const SHARE_WIDTH = 8;

/** Rows of the list of what might be done. */
export function forkHeight(size: Size): number {
  return Math.max(1, size.rows - FRAME - RESULT_ROWS);
}

/** What might be done instead, and below it what came of what was tried. */
export function drawFork({ desk, keys }: ForkModel, size: Size, look: Look): Line[] {
  const width = size.columns;
  const { summary } = desk;
  const rows = forkHeight(size);
  const rule = fitLine([seg(symbolsOf(look).rule.repeat(width), 'dim')], width, look);
  const results = resultLines(desk, width);
  const left = Math.max(0, size.rows - FRAME - rows);
  return [
    fitLine(
      [
        seg(`fork ${summary.id} at step ${desk.step}`, 'bold'),
        seg(`  ${untrusted(formatTaskRef(summary.task))}`),
      ],
      width,
      look,
    ),
    fitLine(
      [seg('what is done instead? then ', 'dim'), seg(howItGoesOn(desk)), seg('; nothing is stored', 'dim')],
      width,
      look,
    ),
    rule,
    ...Array.from({ length: rows }, (_, row): Line => {
      const place = desk.cursor.top + row;
      const choice = desk.choices[place];
      if (choice === undefined) return fitLine([], width, look);
      return choiceLine(choice, place === desk.cursor.selected, width, look);
    }),
    rule,
    ...Array.from({ length: left }, (_, row) => fitLine(results[row] ?? [], width, look)),
    drawFooter('fork', keys, width, look),
  ];
}

/** `policy v120 goes on, 20 times, to step 30`. */
function howItGoesOn({ version, count, maxSteps }: ForkDesk): string {
  const who = version === null ? 'the policy of that time' : `policy v${version}`;
  const times = count === 1 ? 'once' : `${formatCount(count)} times`;
  const limit = maxSteps === null ? '' : `, to step ${formatCount(maxSteps)} at most`;
  return `${who} goes on, ${times}${limit}`;
}

function choiceLine(choice: ForkChoice, isSelected: boolean, width: number, look: Look): Line {
  const { probability, text, isRecorded } = choice;
  const share = probability === null ? '' : `${(100 * probability).toFixed(1)}%`;
  const line: Line = [
    seg(isSelected ? `${symbolsOf(look).pointer} ` : '  ', 'accent'),
    seg(fit(share, SHARE_WIDTH, look), 'dim'),
    seg(untrusted(text)),
    ...(isRecorded ? [seg('  as it was', 'dim')] : []),
  ];
  const fitted = fitLine(line, width, look);
  return isSelected ? fitted.map((segment) => seg(segment.text, 'selected')) : fitted;
}

function resultLines({ busy, result }: ForkDesk, width: number): Line[] {
  if (busy !== null) return [[seg(`trying ${untrusted(busy)}`, 'accent')]];
  return result.flatMap((text) => wrap(untrusted(text), width).map((row): Line => [seg(row)]));
}
