import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countCodes,
  countCommon,
  countRows,
  dropRows,
  eachRowFromLast,
  giveBack,
  keepRows,
  keepSets,
  lendAllRows,
  lendCopy,
  setsByCode,
} from '../../src/store/columns/bits.ts';
import { type Block, decodeBlock, encodeBlock } from '../../src/store/columns/block.ts';
import { BlockBuilder } from '../../src/store/columns/block-builder.ts';
import { type Cell, type Column, type ColumnKind, lowerAscii } from '../../src/store/columns/column.ts';
import { ColumnBuilder } from '../../src/store/columns/column-builder.ts';
import { RowTail } from '../../src/store/columns/row-tail.ts';
import { episodeToRow } from '../../src/store/episode-row.ts';
import { mixedSummary } from './fixture.ts';

const numbers = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.integer({ min: 1_790_000_000_000, max: 1_790_000_100_000 }),
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
);
const cellsOf = (rows: number, value: fc.Arbitrary<Cell>): fc.Arbitrary<Cell[]> =>
  fc.array(fc.option(value, { nil: null, freq: 4 }), { minLength: rows, maxLength: rows });
const blocks = fc.integer({ min: 1, max: 400 }).chain((rows) =>
  fc.record({
    rows: fc.constant(rows),
    number: cellsOf(rows, numbers),
    whole: cellsOf(rows, fc.integer({ min: -40, max: 300_000 })),
    narrow: cellsOf(rows, fc.integer({ min: 1_790_000_000_000, max: 1_790_000_000_300 })),
    text: cellsOf(rows, fc.oneof(fc.constantFrom('a', 'b', ''), fc.string({ unit: 'grapheme' }))),
    same: fc.oneof(fc.constant(null), numbers).map((cell) => Array.from({ length: rows }, () => cell)),
  }),
);

function built({
  name,
  kind,
  cells,
}: {
  name: string;
  kind: ColumnKind;
  cells: readonly Cell[];
}): ColumnBuilder {
  const builder = new ColumnBuilder(name, kind);
  for (const cell of cells) builder.add(cell);
  return builder;
}

function cellOf(column: Column | undefined, row: number): Cell | undefined {
  const code = column?.codes?.[row] ?? 0;
  return (column?.kind === 'number' ? column.numbers : column?.texts)?.[code] ?? null;
}

describe('a block', () => {
  it('holds the cells that it was made of, in ascending distinct values', () => {
    fc.assert(
      fc.property(blocks, ({ rows, number, whole, narrow, text, same }) => {
        const columns = [
          { name: 'number', kind: 'number' as const, cells: number },
          { name: 'whole', kind: 'number' as const, cells: whole },
          { name: 'narrow', kind: 'number' as const, cells: narrow },
          { name: 'text', kind: 'text' as const, cells: text },
          { name: 'same', kind: 'number' as const, cells: same },
        ];
        const block = decodeBlock(encodeBlock(rows, columns.map(built)));
        expect(block.rows).toBe(rows);
        for (const { name, cells } of columns) {
          const column = block.columns.get(name);
          expect(cells.map((_, row) => cellOf(column, row))).toEqual(cells);
        }
        const values = [...(block.columns.get('number')?.numbers ?? [])];
        expect(values).toEqual(
          [...new Set(number.filter((cell) => cell !== null))].toSorted((a, b) => Number(a) - Number(b)),
        );
      }),
    );
  });

  it('is read wherever its bytes begin', () => {
    const bytes = encodeBlock(2, [built({ name: 'x', kind: 'number', cells: [0.5, 1e300] })]);
    const shifted = new Uint8Array(bytes.byteLength + 3);
    shifted.set(bytes, 3);
    expect(cellOf(decodeBlock(shifted.subarray(3)).columns.get('x'), 1)).toBe(1e300);
  });

  it('of which a byte is wrong, or some are missing, is refused', () => {
    const bytes = encodeBlock(3, [built({ name: 'x', kind: 'text', cells: ['a', null, 'b'] })]);
    fc.assert(
      fc.property(fc.nat(bytes.byteLength - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const wrong = Buffer.from(bytes);
        wrong[at] = (wrong[at] ?? 0) ^ change;
        expect(() => decodeBlock(wrong)).toThrow(expect.objectContaining({ code: 'store-failed' }));
        expect(() => decodeBlock(bytes.subarray(0, at))).toThrow(/block of the index's columns is damaged/u);
      }),
    );
  });
});

describe('the newest rows', () => {
  it('are the same columns as those of stored blocks, of any number of rows', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.constantFrom(20, 257), (count, blockRows) => {
        const tail = new RowTail(blockRows);
        const rows = Array.from({ length: count }, (_, n) =>
          episodeToRow(mixedSummary(n + 1), { segment: 1, offset: 0, length: 0 }),
        );
        const seen: Block[] = [];
        for (const [index, row] of rows.entries()) {
          tail.add(row);
          // Asked in between, as by a question: what it was told does not change.
          if (index % 7 === 3) seen.push(...tail.blocks().slice(-1));
        }
        expect(tail.rows).toBe(count);
        expect(tail.blocks().reduce((sum, block) => sum + block.rows, 0)).toBe(count);
        let start = 0;
        for (const block of tail.blocks()) {
          const builder = new BlockBuilder();
          for (const row of rows.slice(start, start + block.rows)) builder.add(row);
          const stored = decodeBlock(builder.encode());
          expect(new Set(block.columns.keys())).toEqual(new Set(stored.columns.keys()));
          for (const name of stored.columns.keys()) {
            const [column, wanted] = [block.columns.get(name), stored.columns.get(name)];
            expect(column).toMatchObject({
              kind: wanted?.kind,
              distinct: wanted?.distinct,
              hasMissing: wanted?.hasMissing,
            });
            for (let row = 0; row < block.rows; row += 1) {
              if (cellOf(column, row) !== cellOf(wanted, row))
                throw new Error(`${name} of row ${start + row}`);
            }
          }
          start += block.rows;
        }
        for (const block of seen) expect(block.columns.get('sequence')?.distinct).toBe(block.rows);
        expect(tail.blocks()[0]?.columns.get('nothing')).toBeUndefined();
      }),
      { numRuns: 8 },
    );
  });
});

describe('a set of rows', () => {
  const codes = fc
    .integer({ min: 1, max: 300 })
    .chain((rows) => fc.array(fc.nat(9), { minLength: rows, maxLength: rows }));

  it('keeps those whose code is marked, and counts and visits them', () => {
    fc.assert(
      fc.property(codes, fc.uint8Array({ min: 0, max: 1, minLength: 10, maxLength: 10 }), (ofRows, table) => {
        for (const array of [Uint8Array.from(ofRows), Uint16Array.from(ofRows)]) {
          const bits = lendAllRows(ofRows.length);
          keepRows(bits, array, table);
          const kept = ofRows.flatMap((code, row) => (table[code] === 1 ? [row] : []));
          const visited: number[] = [];
          eachRowFromLast(bits, (row) => void visited.push(row));
          expect(visited.toReversed()).toEqual(kept);
          expect(countRows(bits)).toBe(kept.length);
        }
      }),
    );
  });

  it('is narrowed and counted by the sets of codes as by the codes themselves', () => {
    fc.assert(
      fc.property(
        codes,
        fc.uint8Array({ min: 0, max: 1, minLength: 10, maxLength: 10 }),
        fc.uint8Array({ min: 0, max: 1, minLength: 10, maxLength: 10 }),
        (ofRows, first, second) => {
          const array = Uint8Array.from(ofRows);
          const sets = setsByCode(array, 10);
          const bits = lendAllRows(ofRows.length);
          keepSets(bits, sets, first);
          for (const [code, set] of sets.entries()) if (second[code] === 1) dropRows(bits, set);
          const kept = ofRows.filter((code) => first[code] === 1 && second[code] === 0);
          expect(countRows(bits)).toBe(kept.length);
          const counts = Array.from({ length: 10 }, (_, code) => kept.filter((one) => one === code).length);
          expect(sets.map((set) => countCommon(bits, set))).toEqual(counts);
          expect([...countCodes(bits, array, 10)]).toEqual(counts);
        },
      ),
    );
  });

  it('is lent as a copy, and lent again', () => {
    const bits = lendAllRows(70);
    const first = lendCopy(bits);
    dropRows(first, bits);
    expect(countRows(bits)).toBe(70);
    giveBack(first);
    const second = lendCopy(bits);
    expect(second).toBe(first);
    expect(second).toEqual(bits);
    expect(lendCopy(bits)).not.toBe(second);
  });
});

describe('texts of a column', () => {
  it('are found where they contain what is looked for, and nowhere between them', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '\n', 'é', '\u{1f600}'), maxLength: 6 });
    fc.assert(
      fc.property(fc.uniqueArray(text, { minLength: 1, maxLength: 40 }), text, (texts, typed) => {
        const wanted = lowerAscii(typed);
        const block = decodeBlock(
          encodeBlock(texts.length, [built({ name: 'x', kind: 'text', cells: texts })]),
        );
        const column = block.columns.get('x')!;
        const table = new Uint8Array(texts.length);
        const marked = column.markContaining(wanted, table);
        const wantedMarks = column.texts.map((one) => Number(lowerAscii(one).includes(wanted)));
        expect([...table]).toEqual(wantedMarks);
        expect(marked).toBe(wantedMarks.filter((mark) => mark === 1).length);
      }),
    );
  });
});
