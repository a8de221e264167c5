import { type Size, SMALLEST } from '../layout.ts';
import { fitLine, type Line, seg, wrap } from '../line.ts';
import type { Look } from '../look.ts';

/** Says how large the terminal is and how large it has to be, in as many rows as there are. */
export function drawTooSmall(size: Size, look: Look): Line[] {
  const width = Math.max(1, size.columns);
  const text = `Terminal too small: ${size.columns}x${size.rows}, needs ${SMALLEST.columns}x${SMALLEST.rows}. The run goes on. q quits.`;
  return wrap(text, width)
    .slice(0, Math.max(1, size.rows))
    .map((row) => fitLine([seg(row)], width, look));
}
