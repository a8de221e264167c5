import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutgoingMemory } from '../../src/sampling/outgoing-memory.ts';

const takes = fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 400_000 }), isBefore: fc.boolean() }), {
  minLength: 1,
  maxLength: 20,
});

test('what was cut off stays as it was filled, whatever is taken after it', () => {
  fc.assert(
    fc.property(takes, (asked) => {
      const memory = new OutgoingMemory();
      const parts = asked.map(({ bytes, isBefore }, n) => {
        const at = isBefore ? memory.takeBefore(bytes) : memory.take(bytes);
        expect((isBefore ? at + bytes : at) % 4).toBe(0);
        expect(memory.words.buffer).toBe(memory.bytes.buffer);
        return new Uint8Array(memory.bytes.buffer, at, bytes).fill(n + 1);
      });
      for (const [n, part] of parts.entries()) expect(part.every((byte) => byte === n + 1)).toBe(true);
    }),
    { numRuns: 30 },
  );
});

test('what is taken after a part that ends with a whole word adjoins it', () => {
  const memory = new OutgoingMemory();
  for (const bytes of [1, 2, 3, 4, 777]) {
    const at = memory.takeBefore(bytes);
    expect(memory.take(12)).toBe(at + bytes);
  }
});
