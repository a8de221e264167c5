import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonBytes } from '../../src/sampling/json-bytes.ts';

/** What is written in one go. */
function written(write: (out: JsonBytes) => void): string {
  const out = new JsonBytes();
  write(out);
  return Buffer.from(out.view()).toString('utf8');
}

test('texts and numbers are the bytes that JSON.stringify makes of them', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '~', '\u007f', 'é', '"', '\\', '\n', '漢', '😀', '\ud800'),
  });
  const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-0, 2 ** 31, 2 ** 53, 1e21, 5e-324));
  fc.assert(
    fc.property(fc.array(fc.oneof(text, number), { minLength: 1, maxLength: 40 }), (values) => {
      const json = written((out) => {
        for (const value of values) {
          out.ascii('[');
          if (typeof value === 'string') out.string(value);
          else out.number(value);
        }
      });
      expect(json).toBe(values.map((value) => `[${JSON.stringify(value)}`).join(''));
    }),
  );
});

test('numbers of six decimals are what JSON.stringify makes of the rounded number', () => {
  const scaled = fc.tuple(
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.integer({ min: -12, max: 12 }),
  );
  const number = fc.oneof(
    fc.double(),
    fc.double({ min: -10, max: 10, noNaN: true }),
    fc.integer({ min: -2_000_000, max: 2_000_000 }).map((n) => n / 1e6),
    scaled.map(([value, power]) => Math.sign(value) * 10 ** power),
  );
  fc.assert(
    fc.property(number, (value) => {
      expect(written((out) => out.rounded(value))).toBe(JSON.stringify(Math.round(value * 1e6) / 1e6));
    }),
    { numRuns: 3000 },
  );
});

test('what is repeated is copied, also when there was no room for it', () => {
  const long = 'x'.repeat(3000);
  const out = new JsonBytes();
  out.ascii('ab');
  out.ascii(long);
  out.repeat(1, 3001);
  expect(String(Buffer.from(out.view()))).toBe(`ab${long}b${long}`);
  out.clear(100);
  out.integer(7);
  expect(String(Buffer.from(out.view()))).toBe('7');
  expect(out).toHaveLength(1);
});
