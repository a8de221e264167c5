import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ProtoWriter } from '../../../trainer/graph/protobuf.ts';
import { decode, packed } from './protobuf-reader.ts';

test('a varint field is what the protobuf documentation shows', () => {
  expect([...new ProtoWriter().integer(1, 150).finish()]).toEqual([0x08, 0x96, 0x01]);
  expect([...new ProtoWriter().text(2, 'testing').finish()]).toEqual([0x12, 0x07, ...Buffer.from('testing')]);
  expect([...new ProtoWriter().integer(1, -2).finish()]).toEqual([0x08, 0xfe, ...Array(8).fill(0xff), 0x01]);
});

const field = fc.integer({ min: 1, max: 1000 });
const integer = fc.record({ field, value: fc.maxSafeInteger() });
const bytes = fc.record({ field, value: fc.uint8Array({ maxLength: 300 }) });
const integers = fc.record({ field, value: fc.array(fc.maxSafeInteger()) });

test('any sequence of fields reads back as it was written', () => {
  fc.assert(
    fc.property(fc.array(integer), fc.array(bytes), fc.array(integers), (numbers, strings, lists) => {
      const inner = new ProtoWriter();
      for (const each of numbers) inner.integer(each.field, each.value);
      for (const each of strings) inner.bytes(each.field, each.value);
      for (const each of lists) inner.integers(each.field, each.value);
      const outer = decode(new ProtoWriter().message(7, inner).finish());
      expect(outer.map((each) => each.field)).toEqual([7]);
      const fields = decode(outer[0]!.bytes);
      expect(fields.map((each) => each.field)).toEqual(
        [...numbers, ...strings, ...lists].map((each) => each.field),
      );
      const rest = fields.splice(numbers.length);
      expect(fields.map((each) => each.integer)).toEqual(numbers.map((each) => BigInt(each.value)));
      const packedFields = rest.splice(strings.length);
      expect(rest.map((each) => [...each.bytes])).toEqual(strings.map((each) => [...each.value]));
      expect(packedFields.map((each) => packed(each.bytes))).toEqual(
        lists.map((each) => each.value.map(BigInt)),
      );
    }),
    { seed: 11, numRuns: 60 },
  );
});
