import { Unicode11Addon } from '@xterm/addon-unicode11';
import { type IBufferCell, Terminal } from '@xterm/headless';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Size } from '../../views/layout.ts';
import { type Segment, seg } from '../../views/line.ts';
import { paintLine, type Row } from '../../views/row.ts';
import { ScreenWriter } from '../../views/screen-writer.ts';
import { COLOUR } from './looks.ts';

const SIZE: Size = { columns: 30, rows: 5 };
const NO_WRAP = '\u001B[?7l';

class Emulator {
  readonly #terminal: Terminal;

  constructor(size: Size, unicode = '11') {
    this.#terminal = new Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
    this.#terminal.loadAddon(new Unicode11Addon());
    this.#terminal.unicode.activeVersion = unicode;
    this.#terminal.write(NO_WRAP);
  }

  async write(bytes: string): Promise<void> {
    await new Promise<void>((resolve) => this.#terminal.write(bytes, resolve));
  }

  resize(size: Size): void {
    this.#terminal.resize(size.columns, size.rows);
  }

  /** Of each row every cell with how it looks. */
  get cells(): string[] {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#terminal.rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      return Array.from({ length: this.#terminal.cols }, (__, column) => looks(line?.getCell(column))).join(
        '',
      );
    });
  }

  /** Where a character of the first row is; -1 without it. */
  columnOf(character: string): number {
    const { active } = this.#terminal.buffer;
    const line = active.getLine(active.baseY);
    return Array.from({ length: this.#terminal.cols }, (_, column) =>
      line?.getCell(column)?.getChars(),
    ).indexOf(character);
  }

  dispose(): void {
    this.#terminal.dispose();
  }
}

function looks(cell: IBufferCell | undefined): string {
  if (cell === undefined) return '?';
  if (cell.getWidth() === 0) return '';
  const characters = cell.getChars() || ' ';
  // The colour of what a blank would be written in is not seen.
  if (characters === ' ' && cell.isInverse() === 0) return ' ';
  const styles = [cell.isBold(), cell.isDim(), cell.isInverse(), cell.getFgColor()];
  return styles.every((style) => style === 0 || style === -1)
    ? characters
    : `[${styles.join()}]${characters}`;
}

function rowsOf(lines: readonly (readonly Segment[])[], size: Size): Row[] {
  return lines.map((line) => paintLine(line, size.columns, COLOUR));
}

const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', ' ', ' ', '─', '⠿', '…'), maxLength: 14 }),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom('a', ' ', '文', 'e\u0301', '👍', '한'), maxLength: 12 }),
  },
);
const segment = fc.record({ text, tone: fc.constantFrom('plain', 'dim', 'good', 'bad', 'selected', 'loud') });
const line = fc.array(segment, { maxLength: 4 });
const size = fc.oneof(
  { weight: 4, arbitrary: fc.constant(SIZE) },
  {
    weight: 1,
    arbitrary: fc.record({ columns: fc.integer({ min: 2, max: 40 }), rows: fc.integer({ min: 1, max: 7 }) }),
  },
);
/** Frames mostly have the rows of the one before, at most as many as the terminal. */
const frames = fc.array(
  fc.record({
    size,
    changed: fc.dictionary(fc.constantFrom('0', '1', '2', '3', '4'), line, { maxKeys: 4 }),
    count: fc.nat(5),
  }),
  { minLength: 1, maxLength: 8 },
);

describe('ScreenWriter', () => {
  it('makes the terminal show the newest frame, whatever it showed before', async () => {
    await fc.assert(
      fc.asyncProperty(frames, async (sequence) => {
        const emulator = new Emulator(SIZE);
        const writer = new ScreenWriter();
        const lines: Segment[][] = [];
        for (const frame of sequence) {
          for (const [row, changed] of Object.entries(frame.changed)) lines[Number(row)] = [...changed];
          const shown = Array.from(
            { length: Math.min(frame.count, frame.size.rows) },
            (_, row) => lines[row] ?? [],
          );
          const rows = rowsOf(shown, frame.size);
          emulator.resize(frame.size);
          await emulator.write(writer.frame(rows, frame.size));

          const fresh = new Emulator(frame.size);
          await fresh.write(rows.map(({ painted }, row) => `\u001B[${row + 1}H${painted}`).join(''));
          expect(emulator.cells).toEqual(fresh.cells);
          fresh.dispose();
        }
        emulator.dispose();
      }),
      { numRuns: 100 },
    );
  });

  it('sends nothing where nothing has changed', () => {
    const writer = new ScreenWriter();
    const rows = rowsOf([[seg('one')], [seg('two', 'good')]], SIZE);
    expect(writer.frame(rows, SIZE)).not.toBe('');
    expect(writer.frame(rowsOf([[seg('one')], [seg('two', 'good')]], SIZE), SIZE)).toBe('');
  });

  it('sends the columns that differ, in one synchronised update', () => {
    const writer = new ScreenWriter();
    writer.frame(rowsOf([[seg('steps 1,200          kl 0.01')]], SIZE), SIZE);
    expect(writer.frame(rowsOf([[seg('steps 1,300          kl 0.02')]], SIZE), SIZE)).toBe(
      '\u001B[?2026h\u001B[1;9H3\u001B[1;28H2\u001B[?2026l',
    );
    expect(writer.frame(rowsOf([[seg('steps')]], SIZE), SIZE)).toBe(
      '\u001B[?2026h\u001B[1;7H\u001B[K\u001B[?2026l',
    );
  });

  it('writes a few columns that stay between two that change rather than to jump over them', () => {
    const writer = new ScreenWriter();
    writer.frame(rowsOf([[seg('a23456b')]], SIZE), SIZE);
    expect(writer.frame(rowsOf([[seg('c23456d')]], SIZE), SIZE)).toBe(
      '\u001B[?2026h\u001B[1Hc23456d\u001B[?2026l',
    );
  });

  it('writes the whole screen again when somebody else has written to it, without clearing it first', async () => {
    const emulator = new Emulator(SIZE);
    const writer = new ScreenWriter();
    const rows = rowsOf([[seg('x'.repeat(30), 'selected')], [seg('two')]], SIZE);
    await emulator.write(writer.frame(rows, SIZE));
    const before = emulator.cells;
    await emulator.write('\u001B[3HI was here\u001B[1Hand here');
    writer.forget();
    const frame = writer.frame(rows, SIZE);
    await emulator.write(frame);
    expect(emulator.cells).toEqual(before);
    expect(frame).not.toContain('\u001B[2J');
    emulator.dispose();
  });

  it('keeps what follows in its column on a terminal that takes a character for narrower', async () => {
    // In Unicode 6 the woman is one column wide, in Unicode 11 she is two.
    const rows = rowsOf([[seg('a🤷b│'), seg('c', 'good')]], SIZE);
    for (const unicode of ['6', '11']) {
      const emulator = new Emulator(SIZE, unicode);
      await emulator.write(new ScreenWriter().frame(rows, SIZE));
      expect(['a', 'b', '│', 'c'].map((character) => emulator.columnOf(character))).toEqual([0, 3, 4, 5]);
      emulator.dispose();
    }
  });
});
