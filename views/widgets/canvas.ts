import type { Segment } from '../line.ts';
import type { GlyphLevel, Tone } from '../look.ts';

/** Dots in one character cell. */
export const DOTS: Readonly<Record<GlyphLevel, { readonly x: number; readonly y: number }>> = {
  braille: { x: 2, y: 4 },
  block: { x: 1, y: 2 },
  ascii: { x: 1, y: 1 },
};

// Unicode braille: bit of the dot at [column][row] of a cell.
const BRAILLE_BITS = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;

interface Cell {
  bits: number;
  text: string | null;
  tone: Tone;
}

/** A grid of character cells on which curves are drawn dot by dot. (0, 0) is the top left. */
export class Canvas {
  readonly #cells: Cell[][];
  readonly #glyphs: GlyphLevel;

  constructor(columns: number, rows: number, glyphs: GlyphLevel) {
    this.#glyphs = glyphs;
    this.#cells = Array.from({ length: rows }, () =>
      Array.from({ length: columns }, () => ({ bits: 0, text: null, tone: 'plain' as Tone })),
    );
  }

  /** Sets a dot; outside the grid nothing happens. `ascii` stands for it where there is neither braille nor blocks. */
  dot(x: number, y: number, tone: Tone, ascii: string): void {
    const dots = DOTS[this.#glyphs];
    const cell = this.#cells[Math.floor(y / dots.y)]?.[Math.floor(x / dots.x)];
    if (cell === undefined) return;
    if (this.#glyphs === 'braille') cell.bits |= BRAILLE_BITS[x % 2 === 0 ? 0 : 1][y % 4] ?? 0;
    else if (this.#glyphs === 'block') cell.bits |= y % 2 === 0 ? 1 : 2;
    else cell.text = ascii;
    cell.tone = tone;
  }

  /** Puts a character into a cell that no dot was set in. */
  put(column: number, row: number, text: string, tone: Tone): void {
    const cell = this.#cells[row]?.[column];
    if (cell === undefined || cell.bits !== 0 || cell.text !== null) return;
    cell.text = text;
    cell.tone = tone;
  }

  /** The rows, cells of the same tone joined. Empty cells are spaces: the blank braille glyph is drawn by some fonts. */
  rows(): Segment[][] {
    return this.#cells.map((cells) => {
      const segments: { text: string; tone: Tone }[] = [];
      for (const cell of cells) {
        const text = cell.text ?? this.#glyph(cell.bits);
        const last = segments.at(-1);
        if (last?.tone === cell.tone) last.text += text;
        else segments.push({ text, tone: cell.tone });
      }
      return segments;
    });
  }

  #glyph(bits: number): string {
    if (bits === 0) return ' ';
    return this.#glyphs === 'braille' ? String.fromCodePoint(0x2800 + bits) : (' ▀▄█'[bits] ?? ' ');
  }
}
