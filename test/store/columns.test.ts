import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addRows,
  allRows,
  countRows,
  dropRows,
  eachRowFromLast,
  keepRows,
} from '../../src/store/columns/bits.ts';
import { decodeBlock, encodeBlock } from '../../src/store/columns/block.ts';
import type { Cell, Column, ColumnKind } from '../../src/store/columns/column.ts';
import { ColumnBuilder } from '../../src/store/columns/column-builder.ts';

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
      fc.property(blocks, ({ rows, number, text, same }) => {
        const columns = [
          { name: 'number', kind: 'number' as const, cells: number },
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

describe('a set of rows', () => {
  const codes = fc
    .integer({ min: 1, max: 300 })
    .chain((rows) => fc.array(fc.nat(9), { minLength: rows, maxLength: rows }));

  it('keeps those whose code is marked, and counts and visits them', () => {
    fc.assert(
      fc.property(codes, fc.uint8Array({ min: 0, max: 1, minLength: 10, maxLength: 10 }), (ofRows, table) => {
        for (const array of [Uint8Array.from(ofRows), Uint16Array.from(ofRows)]) {
          const bits = allRows(ofRows.length);
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

  it('is combined row by row', () => {
    const sets = fc
      .integer({ min: 1, max: 100 })
      .chain((rows) => fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: rows, maxLength: rows }));
    fc.assert(
      fc.property(sets, fc.boolean(), (rows, isDrop) => {
        const [mine, theirs] = [0, 1].map((side) => {
          const bits = allRows(rows.length);
          keepRows(
            bits,
            Uint8Array.from(rows, (pair) => Number(pair[side])),
            Uint8Array.of(0, 1),
          );
          return bits;
        });
        if (isDrop) dropRows(mine!, theirs!);
        else addRows(mine!, theirs!);
        const wanted = rows.filter(([left, right]) => (isDrop ? left && !right : left || right));
        expect(countRows(mine!)).toBe(wanted.length);
      }),
    );
  });
});
