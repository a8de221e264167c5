import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readLines } from '../../src/hosts/lines.ts';

async function linesOf(chunks: readonly Uint8Array[], limit: number): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  readLines(stream, limit, (line) => lines.push(line));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await new Promise((resolve) => {
    stream.once('close', resolve);
  });
  return lines;
}

it('cuts a stream into lines wherever its chunks end, inside characters too', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'binary' }).map((line) => line.replaceAll(/[\r\n]/gu, ''))),
      fc.array(fc.nat(200)),
      async (lines, cuts) => {
        const bytes = Buffer.from(lines.join('\n'));
        const ends = [...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
        const chunks = ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
        const expected = lines.map((line) => Buffer.from(line).toString()).filter((line) => line !== '');
        expect(await linesOf(chunks, 100_000)).toEqual(expected);
      },
    ),
    { numRuns: 50 },
  );
});

it('cuts a line that is too long and drops the rest of it', async () => {
  expect(await linesOf([Buffer.from('abcdef'), Buffer.from('ghi\r\nnext\r\n')], 4)).toEqual(['abcd', 'next']);
});
