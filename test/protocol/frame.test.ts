import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf, encodeFrame, FrameReader, joinBytes, PREAMBLE } from '../../src/protocol/frame.ts';

function frameBytes(message: object, attachments = {}): Buffer {
  return Buffer.concat(encodeFrame(message, attachments));
}

describe('frames', () => {
  it('come out as they went in, however the stream is cut', () => {
    const attachment = fc.uint8Array({ maxLength: 300 });
    const frame = fc.record({
      message: fc.record({ type: fc.string(), n: fc.integer() }),
      attachments: fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), attachment, { maxKeys: 4 }),
    });
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }),
        (frames, cuts) => {
          const stream = Buffer.concat([
            PREAMBLE,
            ...frames.map(({ message, attachments }) => frameBytes(message, attachments)),
          ]);
          const reader = new FrameReader();
          const received = [];
          let offset = 0;
          for (let turn = 0; offset < stream.length; turn++) {
            const length = cuts[turn % cuts.length]!;
            received.push(...reader.push(stream.subarray(offset, offset + length)));
            offset += length;
          }
          expect(received.map(({ message }) => message)).toEqual(frames.map(({ message }) => message));
          for (const [index, { attachments }] of received.entries()) {
            const sent = frames[index]!.attachments;
            expect(Object.keys(attachments).toSorted()).toEqual(Object.keys(sent).toSorted());
            for (const [name, bytes] of Object.entries(attachments)) {
              expect(Buffer.from(bytes).equals(Buffer.from(sent[name]!))).toBe(true);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are few chunks where attachments adjoin in memory, and the same bytes', () => {
    const memory = Buffer.from('abcdefgh');
    const adjoining = { a: memory.subarray(0, 3), b: memory.subarray(3, 3), c: memory.subarray(3, 8) };
    expect(encodeFrame({ type: 'x' }, adjoining)).toHaveLength(2);
    const apart = { a: memory.subarray(0, 3), b: new Uint8Array(0), c: Buffer.from('defgh') };
    expect(frameBytes({ type: 'x' }, adjoining)).toEqual(frameBytes({ type: 'x' }, apart));
    const overlapping = { a: memory.subarray(0, 3), b: memory.subarray(2, 5) };
    const [frame] = new FrameReader().push(Buffer.concat([PREAMBLE, frameBytes({ type: 'x' }, overlapping)]));
    expect(String(frame?.attachments['b'])).toBe('cde');
  });

  it('are found behind what a login shell prints', () => {
    const reader = new FrameReader();
    expect(reader.push(Buffer.from('Welcome to host7!\n'))).toEqual([]);
    const [frame] = reader.push(Buffer.concat([PREAMBLE, frameBytes({ type: 'hello' })]));
    expect(frame?.message).toEqual({ type: 'hello' });
  });

  it('a stream that never becomes ours is refused with its first words', () => {
    const reader = new FrameReader();
    expect(() => reader.push(Buffer.alloc(70_000, 'x'))).toThrow(/expected a protocol frame, got .*"xxxx/u);
  });

  it('an absurd length is refused instead of waited for', () => {
    const reader = new FrameReader();
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32LE(0xff_ff_ff_ff, 0);
    expect(() => reader.push(Buffer.concat([PREAMBLE, lengths]))).toThrow(/a frame of 4294967295 bytes/u);
  });

  it('a header that is not JSON is refused', () => {
    const bytes = frameBytes({ type: 'x' });
    bytes.write('!!', 8);
    expect(() => new FrameReader().push(Buffer.concat([PREAMBLE, bytes]))).toThrow(
      /a header that is not JSON/u,
    );
  });

  it('typed arrays are seen as bytes without a copy', () => {
    const floats = new Float32Array([1, 2, 3]).subarray(1);
    const bytes = bytesOf(floats);
    floats[0] = 5;
    expect(new Float32Array(Uint8Array.from(bytes).buffer)).toEqual(new Float32Array([5, 3]));
  });
});

it('bytes are joined in their order, and copied only where they do not adjoin', () => {
  const memory = Uint8Array.from({ length: 10 }, (_, i) => i);
  const joined = joinBytes([memory.subarray(2, 4), memory.subarray(4, 4), memory.subarray(4, 9)]);
  expect(joined).toEqual(memory.subarray(2, 9));
  expect(joined.buffer).toBe(memory.buffer);
  expect([...joinBytes([memory.subarray(4, 6), memory.subarray(2, 4)])]).toEqual([4, 5, 2, 3]);
  expect(joinBytes([]).byteLength).toBe(0);
});
