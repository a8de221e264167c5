import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineIndex } from '../../src/sampling/line-index.ts';

test('numbers are those of first occurrences, however many lines, in every episode anew', () => {
  const index = new LineIndex();
  const lines = fc.array(fc.string({ maxLength: 3 }), { maxLength: 60 });
  fc.assert(
    fc.property(lines, (episode) => {
      index.clear();
      const distinct = [...new Set(episode)];
      expect(episode.map((line) => index.indexOf(line))).toEqual(
        episode.map((line) => distinct.indexOf(line)),
      );
      expect(Array.from({ length: index.count }, (_, i) => index.line(i))).toEqual(distinct);
    }),
  );
});
