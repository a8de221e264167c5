import { rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { archiveRun } from '../../src/interop/archive.ts';
import { compactRun } from '../../src/store/ended-run.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { segmentName, segmentNumbers } from '../../src/store/segment.ts';
import { openTextIndex } from '../../src/store/text-index.ts';
import { TextIndexWriter } from '../../src/store/text-writer.ts';
import { bodyOf, finished, summaryOf, temporaryRuns } from '../store/fixture.ts';

const runs = temporaryRuns();
afterAll(() => runs.remove());

let paths: RunPaths;
let runNumber = 0;
beforeEach(() => {
  runNumber += 1;
  paths = runs.run(`run-${runNumber}`);
});

/** Those of odd number fail, in a family that always fails: they keep their steps, the others do not. */
function ending(sequence: number): Partial<EpisodeSummary> {
  const success = sequence % 2 === 0;
  const family = success ? 'solved' : 'hopeless';
  const task = { env: 'workbench', family, split: 'train', index: 1 } as const;
  return { task, success, failure: success ? null : 'gave_up' };
}

/** An attempt of the run: stores episodes. `segmentBytes` as large as all: in one segment. */
function attempt(first: number, last: number, { segmentBytes = 20_000, startedAt = 1000 } = {}): void {
  const store = openRunStore(paths, { segmentBytes });
  for (let sequence = first; sequence <= last; sequence += 1) {
    store.appendEpisodes([
      finished(
        summaryOf(sequence, { ...ending(sequence), startedAt: startedAt + sequence }),
        bodyOf(8, sequence),
      ),
    ]);
  }
  store.close();
}

/** A text indexer that starts with an attempt and takes in what there is. Returns the documents that it has. */
function index(): number {
  const writer = new TextIndexWriter(paths);
  const { documents, behindBytes } = writer.add(Number.POSITIVE_INFINITY);
  writer.commit();
  writer.close();
  expect(behindBytes).toBe(0);
  return documents;
}

/** Sequences found by a line that every episode has, and by one that only a single one has. */
function found(only: number): { readonly all: number[]; readonly one: number[] } {
  const text = openTextIndex(paths.text);
  const all = [...(text?.match('the file notes ') ?? [])];
  const one = [...(text?.match(`line ${only} 3 `) ?? [])];
  text?.close();
  return { all, one };
}

const upTo = (last: number, step = 1): number[] =>
  Array.from({ length: Math.floor((last - 1) / step) + 1 }, (_, at) => 1 + at * step);

async function compact(): Promise<void> {
  const reports = await compactRun(paths, {
    keepSample: 0,
    pinned: () => new Set(),
    breathe: async () => await Promise.resolve(true),
  });
  expect(reports.length).toBeGreaterThan(0);
}

async function archive(): Promise<void> {
  await archiveRun(paths, { run: 'one', to: join(paths.root, 'archive'), onProgress: () => undefined });
}

describe.each([
  ['many segments', 20_000],
  ['one segment, which the run goes on in', 2 ** 24],
])('text search over %s', (_, segmentBytes) => {
  it.each([
    ['compacted', compact],
    ['archived', archive],
    [
      'compacted and archived',
      async () => {
        await compact();
        await archive();
      },
    ],
  ])('after it was %s and resumed finds old and new', async (_deed, deed) => {
    attempt(1, 100, { segmentBytes });
    expect(index()).toBe(100);
    await deed();
    expect(found(2)).toEqual({ all: upTo(100), one: [2] });
    attempt(101, 140, { segmentBytes });
    expect(index()).toBe(140);
    expect(found(2)).toEqual({ all: upTo(140), one: [2] });
    attempt(141, 150, { segmentBytes });
    expect(index()).toBe(150);
    expect(found(150)).toEqual({ all: upTo(150), one: [150] });
    expect(checkRun(paths, { repair: true }).text).toEqual({ problem: null, episodes: 150, repaired: false });
  });

  it('that was behind when it was compacted has all; archived, it is taken in from the files', async () => {
    attempt(1, 60, { segmentBytes });
    index();
    attempt(61, 100, { segmentBytes });
    await compact();
    expect(found(100)).toEqual({ all: upTo(100), one: [100] });
    attempt(101, 120, { segmentBytes });
    await archive();
    attempt(121, 130, { segmentBytes });
    expect(index()).toBe(130);
    expect(found(111)).toEqual({ all: upTo(130), one: [111] });
  });
});

it('a text index that was deleted is made anew from archive files too', async () => {
  attempt(1, 100);
  index();
  await archive();
  attempt(101, 110);
  rmSync(paths.text);
  expect(checkRun(paths, { repair: true }).text).toMatchObject({ problem: 'it is missing', episodes: 110 });
  expect(found(7)).toEqual({ all: upTo(110), one: [7] });
  expect(index()).toBe(110);
});

it('made anew after a compaction it lacks what was dropped, and nothing else', async () => {
  attempt(1, 100);
  index();
  await compact();
  rmSync(paths.text);
  expect(index()).toBe(50);
  expect(found(7)).toEqual({ all: upTo(100, 2), one: [7] });
});

it('whose newest episode was lost and its number given out again is made anew', () => {
  attempt(1, 100);
  index();
  const newest = join(paths.segments, segmentName(segmentNumbers(paths.segments).at(-1) ?? 0));
  truncateSync(newest, statSync(newest).size - 10);
  openRunStore(paths).close();
  attempt(100, 100, { startedAt: 5000 });
  expect(index()).toBe(100);
  expect(found(100)).toEqual({ all: upTo(100), one: [100] });
});

it('of a live run goes on in a segment that is written anew while it is read', async () => {
  const store = openRunStore(paths, { segmentBytes: 60_000 });
  const append = (from: number, to: number): void => {
    for (let sequence = from; sequence <= to; sequence += 1) {
      store.appendEpisodes([finished(summaryOf(sequence, ending(sequence)), bodyOf(8, sequence))]);
    }
  };
  append(1, 10);
  const writer = new TextIndexWriter(paths);
  expect(writer.add(Number.POSITIVE_INFINITY).documents).toBe(10);
  // More in the segment that it is in, and in others; the former is written anew.
  append(11, 200);
  const compacted = await store.compactOldest({
    keepSample: 0,
    pinned: () => new Set(),
    breathe: async () => await Promise.resolve(true),
  });
  expect(compacted).toMatchObject({ segment: 1 });
  writer.add(Number.POSITIVE_INFINITY);
  writer.commit();
  writer.close();
  const { all } = found(1);
  // Of those that it had not read in there the dropped ones are gone, and no other.
  const reader = new Set(all);
  expect(upTo(200, 2).filter((sequence) => !reader.has(sequence))).toEqual([]);
  expect(upTo(10).filter((sequence) => !reader.has(sequence))).toEqual([]);
  expect(all.length).toBe(200 - (compacted?.dropped ?? 0) + 5);
  store.close();
});
