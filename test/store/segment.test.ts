import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { packGroup } from '../../src/store/record-group.ts';
import {
  type EncodedRecord,
  encodeEpisodes,
  encodeRecord,
  inflateBody,
  partsIn,
  partsOf,
  readRecord,
  type ScannedStretch,
  SegmentAppender,
  scanSegment,
} from '../../src/store/segment.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentrl-lab-segment-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const kinds = fc.constantFrom('episode', 'iteration', 'evaluation', 'event', 'knob');
const records = fc.array(
  fc.record({
    kind: kinds,
    header: fc.dictionary(fc.string(), fc.string()),
    body: fc.uint8Array({ maxLength: 200 }),
  }),
  { maxLength: 8 },
);

function fileOf(list: readonly { kind: 'episode'; header: object; body: Uint8Array }[]): Buffer {
  return Buffer.concat(list.flatMap(({ kind, header, body }) => encodeRecord(kind, header, body).chunks));
}

function write(bytes: Uint8Array): void {
  writeFileSync(join(directory, '000001.seg'), bytes);
}

function scan(): ScannedStretch[] {
  return [...scanSegment(directory, 1)];
}

function headersOf(stretches: readonly ScannedStretch[]): unknown[] {
  return stretches.flatMap((stretch) => (stretch.type === 'record' ? [stretch.record.header] : []));
}

function partHeaders(stretches: readonly ScannedStretch[]): unknown[] {
  return stretches.flatMap((stretch) =>
    stretch.type === 'record' ? partsOf(stretch.record).map(({ header }) => header) : [],
  );
}

it('what is encoded is read back, in order, by scanning and by place', () => {
  fc.assert(
    fc.property(records, (list) => {
      const encoded = list.map(({ kind, header, body }) => encodeRecord(kind, header, body));
      write(Buffer.concat(encoded.flatMap(({ chunks }) => chunks)));
      const stretches = scan();
      expect(stretches).toHaveLength(list.length);
      for (const [index, { kind, header, body }] of list.entries()) {
        const stretch = stretches[index]!;
        const { offset, length } = stretch;
        const record = readRecord(directory, { segment: 1, offset, length });
        expect(stretch).toMatchObject({ type: 'record', offset, length, record });
        expect(record.kind).toBe(kind);
        expect(record.header).toEqual(JSON.parse(JSON.stringify(header)));
        expect(inflateBody(record).equals(body)).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});

it('a segment cut anywhere keeps every whole record before the cut', () => {
  const list = [1, 2, 3].map((n) => ({
    kind: 'episode' as const,
    header: { n },
    body: Buffer.from('x'.repeat(n * 9)),
  }));
  const bytes = fileOf(list);
  const ends = list.map((_, index) => fileOf(list.slice(0, index + 1)).byteLength);
  for (let cut = 0; cut < bytes.byteLength; cut++) {
    write(bytes.subarray(0, cut));
    const whole = ends.filter((end) => end <= cut).length;
    const stretches = scan();
    expect(headersOf(stretches)).toEqual(list.slice(0, whole).map(({ header }) => header));
    const start = ends[whole - 1] ?? 0;
    const rest = stretches.slice(whole);
    expect(rest).toEqual(
      cut === start ? [] : [{ type: 'damage', offset: start, length: cut - start, reachesEnd: true }],
    );
  }
});

it('any one changed byte loses one record and no other', () => {
  const list = [1, 2, 3].map((n) => ({
    kind: 'episode' as const,
    header: { n },
    body: Buffer.from('y'.repeat(n * 5)),
  }));
  const bytes = fileOf(list);
  for (let at = 0; at < bytes.byteLength; at++) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 0x41;
    write(changed);
    const stretches = scan();
    expect(headersOf(stretches), `byte ${at}`).toHaveLength(2);
    const covered = stretches.reduce((sum, { length }) => sum + length, 0);
    expect(covered).toBe(bytes.byteLength);
  }
});

it('any bytes at all are scanned to their end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      write(bytes);
      const covered = scan().reduce((sum, { length }) => sum + length, 0);
      expect(covered).toBe(bytes.byteLength);
    }),
  );
});

it('a record that is short, changed or missing is refused by name', () => {
  const { chunks, length } = encodeRecord('episode', { n: 1 }, Buffer.from('body'));
  const bytes = Buffer.concat(chunks);
  write(bytes.subarray(0, -1));
  const place = { segment: 1, offset: 0, length };
  const corrupt = { code: 'segment-corrupt', message: expect.stringContaining('000001.seg at byte 0') };
  expect(() => readRecord(directory, place)).toThrow(expect.objectContaining(corrupt));
  bytes[length - 1]! ^= 1;
  write(bytes);
  expect(() => readRecord(directory, place)).toThrow(expect.objectContaining(corrupt));
  rmSync(join(directory, '000001.seg'));
  expect(() => readRecord(directory, place)).toThrow(/ENOENT/u);
});

const episodes = fc.array(
  fc.record({ header: fc.dictionary(fc.string(), fc.string()), body: fc.uint8Array({ maxLength: 200 }) }),
  { minLength: 1, maxLength: 8 },
);

it('episodes of one record are read back, in order, each by itself', () => {
  fc.assert(
    fc.property(episodes, (list) => {
      const { chunks, length } = encodeEpisodes(list);
      const bytes = Buffer.concat(chunks);
      write(bytes);
      const parts = partsOf(readRecord(directory, { segment: 1, offset: 0, length }));
      expect(parts.map(({ kind, header }) => ({ kind, header }))).toEqual(
        list.map(({ header }) => ({ kind: 'episode', header: JSON.parse(JSON.stringify(header)) })),
      );
      expect(parts.map((part) => [...inflateBody(part)])).toEqual(list.map(({ body }) => [...body]));
      expect(partsIn(bytes)).toEqual(parts);
    }),
    { numRuns: 50 },
  );
});

it('a group of a run of format 2, which is deflated, is read as ever', () => {
  const list = [1, 2].map((n) => ({ header: { id: `e${n}` }, body: Buffer.from('y'.repeat(9 * n)) }));
  const { header, payload } = packGroup(list);
  const [head, body] = [Buffer.from(JSON.stringify(header)), deflateRawSync(payload)];
  const prefix = Buffer.from('ALRg............');
  prefix.writeUInt32LE(head.byteLength, 4);
  prefix.writeUInt32LE(body.byteLength, 8);
  prefix.writeUInt32LE(crc32(Buffer.concat([prefix.subarray(0, 12), head, body])), 12);
  const parts = partsIn(Buffer.concat([prefix, head, body]));
  expect(parts.map((part) => ({ header: part.header, body: inflateBody(part) }))).toEqual(list);
});

function group(first: number): EncodedRecord {
  return encodeEpisodes(
    [0, 1, 2].map((n) => ({ header: { id: `e${first + n}` }, body: Buffer.from('y'.repeat(9 + n)) })),
  );
}

it('any one changed byte, or the last ones cut off, lose the episodes of one record and no others', () => {
  const groups = [group(1), group(4), group(7)];
  const bytes = Buffer.concat(groups.flatMap(({ chunks }) => chunks));
  const lengths = groups.map(({ length }) => length);
  for (let at = 0; at < bytes.byteLength; at++) {
    const hit = at < lengths[0]! ? 0 : at < lengths[0]! + lengths[1]! ? 1 : 2;
    const left = [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((n) => Math.floor((n - 1) / 3) !== hit);
    const changed = Buffer.from(bytes);
    changed[at]! ^= 0x41;
    write(changed);
    expect(partHeaders(scan()), `byte ${at}`).toEqual(left.map((n) => ({ id: `e${n}` })));
    write(bytes.subarray(0, at));
    expect(partHeaders(scan()), `cut at ${at}`).toEqual(
      left.filter((n) => n <= hit * 3).map((n) => ({ id: `e${n}` })),
    );
  }
});

it.each([
  ['of fewer bytes than it says', [['e1', 2, 6]], '{}12345'],
  ['of more bytes', [['e1', 2, 4]], '{}12345'],
  ['with a header that is no JSON', [['e1', 2, 5]], '{x12345'],
  ['of nothing', [], ''],
  ['of no list', 'e1', '{}'],
])('a group %s is damage, though its checksum is right', (_, list, payload) => {
  const bytes = Buffer.concat(encodeRecord('group', { episodes: list }, Buffer.from(payload)).chunks);
  write(bytes);
  expect(scan()).toMatchObject([{ type: 'damage', reachesEnd: true }]);
  expect(() => partsIn(bytes)).toThrow(expect.objectContaining({ code: 'segment-corrupt' }));
});

it('a body that does not unpack is refused', () => {
  const record = { kind: 'episode' as const, header: {}, body: Buffer.from('not deflated') };
  expect(() => inflateBody(record)).toThrow(expect.objectContaining({ code: 'segment-corrupt' }));
});

it('what is truncated leaves no trace under the next record', () => {
  const appender = new SegmentAppender(directory, 1_000_000);
  const first = encodeRecord('event', { n: 1 });
  appender.append([first]);
  appender.append([encodeRecord('event', { long: 'x'.repeat(500) })]);
  appender.truncate(first.length);
  appender.append([encodeRecord('event', { n: 2 })]);
  appender.sync();
  appender.close();
  expect(headersOf(scan())).toEqual([{ n: 1 }, { n: 2 }]);
  expect(readFileSync(join(directory, '000001.seg')).byteLength).toBe(first.length * 2);
});
