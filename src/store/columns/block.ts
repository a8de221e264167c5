import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { LabError } from '../../domain/error.ts';
import type { Codes } from './bits.ts';
import { type Cell, Column } from './column.ts';
import type { ColumnBuilder } from './column-builder.ts';

/**
 * A block's bytes, little endian: CRC-32 of all that follows · length of the header · header (JSON) · then, each beginning
 * at a multiple of 8, the parts that the header names by offset: codes and values of each column.
 */
const PREFIX_BYTES = 8;

const WIDTHS = { u8: 1, u16: 2, u32: 4, f64: 8 } as const;
type Width = keyof typeof WIDTHS;

const partSchema = z.tuple([z.int().nonnegative(), z.int().nonnegative()]);
const columnSchema = z.object({
  name: z.string(),
  kind: z.enum(['text', 'number']),
  distinct: z.int().nonnegative(),
  missing: z.boolean(),
  /** Width, offset and count; null: every code is 0. */
  codes: z.tuple([z.enum(['u8', 'u16']), z.int().nonnegative()]).nullable(),
  /** Offset and bytes of a JSON array of text, or of numbers less `base`. */
  values: partSchema,
  width: z.enum(['u8', 'u16', 'u32', 'f64']),
  base: z.number(),
});
const headerSchema = z.object({ rows: z.int().positive(), columns: z.array(columnSchema) });
type ColumnHeader = z.infer<typeof columnSchema>;

/** Columns by name. */
export type Columns = Pick<ReadonlyMap<string, Column>, 'get' | 'keys'>;

/** So many rows, column by column. Columns that no row has a value in may be left out. */
export interface Block {
  readonly rows: number;
  readonly columns: Columns;
  /** Columns that are not stored, made when they are first asked for (derived-columns.ts). */
  readonly derived: Map<string, Column>;
}

/** The bytes of a block of `rows` rows. */
export function encodeBlock(rows: number, columns: readonly ColumnBuilder[]): Buffer {
  const parts: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  let end = 0;
  const place = (bytes: Uint8Array): [number, number] => {
    const at = end;
    parts.push({ at, bytes });
    end += Math.ceil(bytes.byteLength / 8) * 8;
    return [at, bytes.byteLength];
  };
  const headers = columns.map((column) => encodeColumn(column, place));
  const header = Buffer.from(JSON.stringify({ rows, columns: headers }));
  const start = partsStart(header.byteLength);
  const bytes = Buffer.alloc(start + end);
  bytes.writeUInt32LE(header.byteLength, 4);
  bytes.set(header, PREFIX_BYTES);
  for (const part of parts) bytes.set(part.bytes, start + part.at);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Throws `store-failed` when the bytes are not a whole block. The columns keep pointing into the bytes. */
export function decodeBlock(stored: Uint8Array): Block {
  // Typed arrays begin at multiples of their width only.
  const bytes = stored.byteOffset % 8 === 0 ? stored : new Uint8Array(stored);
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.byteLength < PREFIX_BYTES || view.readUInt32LE(0) !== crc32(view.subarray(4))) {
    throw damaged('its checksum is wrong');
  }
  const headerBytes = view.readUInt32LE(4);
  const header = headerSchema.safeParse(
    JSON.parse(view.toString('utf8', PREFIX_BYTES, PREFIX_BYTES + headerBytes)),
  );
  if (!header.success) throw damaged('its header is not as agreed');
  const { rows, columns } = header.data;
  const parts = bytes.subarray(partsStart(headerBytes));
  return {
    rows,
    columns: new Map(columns.map((column) => [column.name, decodeColumn(column, rows, parts)])),
    derived: new Map(),
  };
}

function partsStart(headerBytes: number): number {
  return Math.ceil((PREFIX_BYTES + headerBytes) / 8) * 8;
}

function damaged(what: string): LabError {
  return new LabError('store-failed', {
    message: `a block of the index's columns is damaged: ${what}`,
    hint: 'rebuild the index from the segments with: agentrl-lab fsck --repair',
  });
}

function encodeColumn(
  { name, kind, distinct, rows }: ColumnBuilder,
  place: (bytes: Uint8Array) => [number, number],
): ColumnHeader {
  const missing = distinct.includes(null);
  const numbers = Float64Array.from(distinct.filter((cell) => typeof cell === 'number')).toSorted();
  const texts = distinct.filter((cell) => typeof cell === 'string').toSorted();
  const count = kind === 'number' ? numbers.length : texts.length;
  const codes = distinct.length > 1 ? encodeCodes(rows, distinct, kind === 'number' ? numbers : texts) : null;
  const { width, base } = kind === 'number' ? narrowest(numbers) : { width: 'u8' as const, base: 0 };
  const dictionary =
    kind === 'number' ? packNumbers(numbers, width, base) : Buffer.from(JSON.stringify(texts));
  return {
    name,
    kind,
    distinct: count,
    missing,
    codes: codes === null ? null : [codes.BYTES_PER_ELEMENT === 1 ? 'u8' : 'u16', place(bytesOf(codes))[0]],
    values: place(dictionary),
    width,
    base,
  };
}

/** From places among the cells as they came to places among the ascending values; null comes after those. */
function encodeCodes(rows: ArrayLike<number>, distinct: readonly Cell[], values: ArrayLike<Cell>): Codes {
  const codeOf = new Map<Cell, number>();
  for (let code = 0; code < values.length; code += 1) codeOf.set(values[code] ?? null, code);
  const turned = Uint16Array.from(distinct, (cell) => codeOf.get(cell) ?? values.length);
  const codes = distinct.length <= 256 ? new Uint8Array(rows.length) : new Uint16Array(rows.length);
  for (let row = 0; row < rows.length; row += 1) codes[row] = turned[rows[row] ?? 0] ?? 0;
  return codes;
}

/** The fewest bytes that hold every value: whole numbers as what they are above the least one. */
function narrowest(ascending: Float64Array): { readonly width: Width; readonly base: number } {
  const least = ascending[0] ?? 0;
  const span = (ascending.at(-1) ?? 0) - least;
  if (!ascending.every(Number.isSafeInteger) || span >= 2 ** 32) return { width: 'f64', base: 0 };
  return { width: span < 256 ? 'u8' : span < 65_536 ? 'u16' : 'u32', base: least };
}

function packNumbers(values: Float64Array, width: Width, base: number): Uint8Array {
  const less = values.map((value) => value - base);
  if (width === 'f64') return bytesOf(less);
  if (width === 'u32') return bytesOf(Uint32Array.from(less));
  return bytesOf(width === 'u16' ? Uint16Array.from(less) : Uint8Array.from(less));
}

function bytesOf(array: Codes | Uint32Array | Float64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function decodeColumn(header: ColumnHeader, rows: number, parts: Uint8Array): Column {
  const [at, length] = header.values;
  const count = header.kind === 'number' ? header.distinct * WIDTHS[header.width] : length;
  const codesEnd = header.codes === null ? 0 : header.codes[1] + rows * WIDTHS[header.codes[0]];
  if (Math.max(at + length, codesEnd) > parts.byteLength || count !== length)
    throw damaged('it is too short');
  return new Column({
    kind: header.kind,
    codes: header.codes === null ? null : decodeCodes(parts, header.codes[0], header.codes[1], rows),
    distinct: header.distinct,
    hasMissing: header.missing,
    numbers: () =>
      header.kind === 'number'
        ? unpackNumbers(parts.subarray(at, at + length), header.width, header.base)
        : new Float64Array(0),
    texts: () =>
      header.kind === 'text' ? z.array(z.string()).parse(JSON.parse(textOf(parts, at, length))) : [],
  });
}

function decodeCodes(parts: Uint8Array, width: 'u8' | 'u16', at: number, rows: number): Codes {
  const offset = parts.byteOffset + at;
  return width === 'u8'
    ? new Uint8Array(parts.buffer, offset, rows)
    : new Uint16Array(parts.buffer, offset, rows);
}

function textOf(parts: Uint8Array, at: number, length: number): string {
  return Buffer.from(parts.buffer, parts.byteOffset + at, length).toString('utf8');
}

function unpackNumbers(bytes: Uint8Array, width: Width, base: number): Float64Array {
  const { buffer, byteOffset, byteLength } = bytes;
  if (width === 'f64') return new Float64Array(buffer, byteOffset, byteLength / 8);
  const whole =
    width === 'u32'
      ? new Uint32Array(buffer, byteOffset, byteLength / 4)
      : width === 'u16'
        ? new Uint16Array(buffer, byteOffset, byteLength / 2)
        : bytes;
  // Not Float64Array.from with a function: that takes ten times as long, and every new block's columns come by here.
  const numbers = new Float64Array(whole.length);
  for (let index = 0; index < whole.length; index += 1) numbers[index] = (whole[index] ?? 0) + base;
  return numbers;
}
