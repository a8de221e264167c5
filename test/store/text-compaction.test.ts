import { afterAll, expect, it } from 'vitest';
import { openRunStore } from '../../src/store/index-writer.ts';
import { firstUnreadSegment } from '../../src/store/text-index.ts';
import { TextIndexWriter } from '../../src/store/text-writer.ts';
import { bodyOf, finished, summaryOf, temporaryRuns } from './fixture.ts';

const runs = temporaryRuns();
afterAll(() => runs.remove());

it('segments that the text index still has to read are not compacted', async () => {
  const paths = runs.run('text');
  const store = openRunStore(paths, { segmentBytes: 20_000 });
  for (let first = 1; first <= 100; first += 10) {
    store.appendEpisodes(
      Array.from({ length: 10 }, (_, index) => finished(summaryOf(first + index), bodyOf(8, first + index))),
    );
  }
  expect(firstUnreadSegment(paths.text)).toBeNull();
  const writer = new TextIndexWriter(paths);
  const before = firstUnreadSegment(paths.text) ?? 0;
  const options = {
    keepSample: 0,
    pinned: () => new Set<string>(),
    thinFailures: true,
    breathe: async () => true,
  };
  // It has read nothing: nothing may be dropped.
  expect(await store.compactOldest({ ...options, before })).toBeNull();
  expect(await store.compactOldest({ ...options })).not.toBeNull();
  writer.close();
  store.close();
});
