import { cpSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeBody, EpisodeSummary } from '../../src/domain/episode.ts';
import { systemErrorCode } from '../../src/domain/error.ts';
import type { CompactionOptions } from '../../src/store/compact.ts';
import { compactRun } from '../../src/store/ended-run.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { readPins, setPin } from '../../src/store/pins.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import { createRetention } from '../../src/store/retention.ts';
import { lockRun, type RunPaths, runPaths } from '../../src/store/run-directory.ts';
import { bodyOf, finished, metricsOf, summaryOf, temporaryRuns } from './fixture.ts';

const EPISODES = 240;
const runs = temporaryRuns();
afterAll(() => runs.remove());

/** A solved family, with every tenth task held out, every seventh episode failed, and a family at its edge. */
function tierSummary(sequence: number): EpisodeSummary {
  const family = sequence % 3 === 0 ? 'edgy' : 'solved';
  const success = family === 'edgy' ? sequence % 2 === 0 : sequence % 49 !== 0;
  return summaryOf(sequence, {
    task: { env: 'workbench', family, split: sequence % 10 === 0 ? 'held_out' : 'train', index: sequence },
    success,
    failure: success ? null : 'wrong_result',
  });
}

const options = (changes: Partial<CompactionOptions> = {}): CompactionOptions => ({
  keepSample: 0,
  pinned: () => new Set(),
  breathe: async () => await Promise.resolve(true),
  ...changes,
});

function fill(paths: RunPaths): void {
  const store = openRunStore(paths, { segmentBytes: 12_000 });
  for (let first = 1; first <= EPISODES; first += 20) {
    store.appendEpisodes(
      Array.from({ length: 20 }, (_, index) =>
        finished(tierSummary(first + index), bodyOf(8, first + index)),
      ),
    );
    store.appendIteration(metricsOf(first));
  }
  store.close();
}

const template = runs.run('template');
let paths: RunPaths;
let runNumber = 0;
beforeAll(() => fill(template));
beforeEach(() => {
  runNumber += 1;
  paths = runPaths(runs.directory, `run-${runNumber}`);
  cpSync(template.root, paths.root, { recursive: true });
});

/** Ids whose steps can be read, and those whose steps are gone; each must be one of the two. */
function readAll(at: RunPaths): { readonly kept: Set<string>; readonly dropped: Set<string> } {
  const reader = openRunReader(at);
  const { episodes } = reader.episodes(parseFilter('sort:id'), { limit: EPISODES * 2 });
  expect(episodes).toEqual(Array.from({ length: EPISODES }, (_, index) => tierSummary(index + 1)));
  const found = { kept: new Set<string>(), dropped: new Set<string>() };
  const bodies = episodes.map(({ id }) => readBody(reader, id));
  expect(bodies).toEqual(bodies.map((body, index) => (body === 'dropped' ? body : bodyOf(8, index + 1))));
  for (const [index, { id }] of episodes.entries()) {
    found[bodies[index] === 'dropped' ? 'dropped' : 'kept'].add(id);
  }
  expect(reader.iterations()).toHaveLength(EPISODES / 20);
  reader.close();
  return found;
}

function readBody(reader: RunReader, id: string): EpisodeBody | 'dropped' {
  try {
    return reader.episode(id).body;
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'episode-dropped') return 'dropped';
    throw thrown;
  }
}

function segmentBytes({ segments }: RunPaths): number {
  return readdirSync(segments).reduce((sum, name) => sum + statSync(join(segments, name)).size, 0);
}

const sound = { episodes: EPISODES, indexProblem: null, rebuilt: false };

describe('compaction', () => {
  it('drops what no tier keeps; index rows, metrics and all the rest stay', async () => {
    const before = segmentBytes(paths);
    const reports = await compactRun(paths, options({ pinned: () => new Set(['e1']) }));
    expect(reports.length).toBeGreaterThan(5);
    const { kept, dropped } = readAll(paths);
    expect(kept.has('e1')).toBe(true);
    expect(dropped.has('e2')).toBe(true);
    // Held-out, failed, and the family at its edge; a solved one that is none of these is gone.
    for (const sequence of [10, 49, 98, 3, 6]) expect(kept.has(`e${sequence}`)).toBe(true);
    for (const id of dropped) {
      const { task, success } = tierSummary(Number(id.slice(1)));
      expect([task.family, task.split, success]).toEqual(['solved', 'train', true]);
    }
    expect(reports.reduce((sum, report) => sum + report.dropped, 0)).toBe(dropped.size);
    expect(segmentBytes(paths)).toBeLessThan(before * 0.75);
    expect(checkRun(paths, { repair: false })).toMatchObject(sound);
  });

  it('the index can be made anew from what is left', async () => {
    await compactRun(paths, options());
    const before = readAll(paths);
    for (const suffix of ['', '-wal', '-shm']) rmSync(paths.database + suffix, { force: true });
    openRunStore(paths).close();
    expect(readAll(paths)).toEqual(before);
  });

  it('done again it changes nothing, and the run goes on in the newest segment', async () => {
    await compactRun(paths, options());
    const before = readAll(paths);
    expect(await compactRun(paths, options())).toEqual([]);
    const store = openRunStore(paths, { segmentBytes: 30_000 });
    expect(store.repair).toMatchObject({ reindexed: 0, dropped: 0, damaged: 0 });
    store.close();
    expect(readAll(paths)).toEqual(before);
  });

  it('a store that is open compacts its closed segments only, one by one, until none gives anything', async () => {
    const store = openRunStore(paths, { segmentBytes: 30_000 });
    const newest = readdirSync(paths.segments).length;
    const segments: number[] = [];
    for (;;) {
      const report = await store.compactOldest(options());
      if (report === null) break;
      segments.push(report.segment);
    }
    expect(segments).toEqual(Array.from({ length: newest - 1 }, (_, index) => index + 1));
    store.close();
    readAll(paths);
  });

  it('is given up when asked, and leaves everything as it was', async () => {
    const before = segmentBytes(paths);
    const large = runs.run(`large-${runNumber}`);
    const store = openRunStore(large);
    store.appendEpisodes(
      Array.from({ length: EPISODES }, (_, index) => finished(tierSummary(index + 1), bodyOf(8, index + 1))),
    );
    store.close();
    expect(await compactRun(large, options({ breathe: async () => await Promise.resolve(false) }))).toEqual(
      [],
    );
    expect(readAllKept(large)).toBe(EPISODES);
    expect(segmentBytes(paths)).toBe(before);
  });

  it('a pin that comes at any moment of it is kept, or the steps were dropped before', async () => {
    // Each breath is a moment at which a client may pin: one run for each of them.
    for (let moment = 1; ; moment += 3) {
      const at = runPaths(runs.directory, `pinned-${runNumber}-${moment}`);
      cpSync(template.root, at.root, { recursive: true });
      const reader = openRunReader(at);
      let breaths = 0;
      let wasThere: boolean | null = null;
      const breathe = async (): Promise<boolean> => {
        breaths += 1;
        if (breaths === moment) {
          wasThere = readBody(reader, 'e2') !== 'dropped';
          setPin(at, { episode: 'e2', who: 'me', pinned: true });
        }
        return await Promise.resolve(true);
      };
      await compactRun(at, options({ pinned: () => readPins(at), breathe }));
      if (wasThere === null) break;
      expect(readBody(reader, 'e2') !== 'dropped').toBe(wasThere);
      reader.close();
      expect(checkRun(at, { repair: false })).toMatchObject(sound);
    }
  });

  it('leaves a damaged segment to fsck', async () => {
    const path = join(paths.segments, '000001.seg');
    writeFileSync(path, 'x'.repeat(100), { flag: 'r+' });
    const reports = await compactRun(paths, options());
    expect(reports.map(({ segment }) => segment)).not.toContain(1);
  });

  it('is refused while the run is live', async () => {
    const lock = lockRun(paths);
    await expect(compactRun(paths, options())).rejects.toMatchObject({ code: 'run-locked' });
    lock.release();
  });
});

function readAllKept(at: RunPaths): number {
  const reader = openRunReader(at);
  const { episodes } = reader.episodes(parseFilter(''), { limit: EPISODES * 2 });
  const bodies = episodes.map(({ id }) => reader.episode(id).body);
  reader.close();
  return bodies.length;
}

/** The run before compaction, with some files of the run after it. */
async function crashed(parts: { readonly index: boolean; readonly ending: string }): Promise<RunPaths> {
  const after = runPaths(runs.directory, `after-${runNumber}`);
  cpSync(paths.root, after.root, { recursive: true });
  await compactRun(after, options());
  const name = '000002.seg';
  cpSync(join(after.segments, name), join(paths.segments, name + parts.ending));
  if (parts.index) {
    // All but the second segment were swapped already.
    for (const other of readdirSync(after.segments)) {
      if (other !== name) cpSync(join(after.segments, other), join(paths.segments, other));
    }
    cpSync(after.database, paths.database);
  }
  return paths;
}

describe('a crash in between', () => {
  it('before the index was changed: the old segment stands', async () => {
    for (const ending of ['.writing', '.ready']) {
      await crashed({ index: false, ending });
      openRunStore(paths).close();
      expect(readAll(paths).dropped.size).toBe(0);
      expect(readdirSync(paths.segments).filter((name) => !name.endsWith('.seg'))).toEqual([]);
      rmSync(runPaths(runs.directory, `after-${runNumber}`).root, { recursive: true });
    }
  });

  it('after the index was changed: the new segment takes its place', async () => {
    await crashed({ index: true, ending: '.ready' });
    const store = openRunStore(paths);
    expect(store.repair).toEqual({ reindexed: 0, dropped: 0, torn: 0, tornBytes: 0, damaged: 0 });
    store.close();
    expect(readAll(paths).dropped.size).toBeGreaterThan(60);
    expect(existsSync(join(paths.segments, '000002.seg.ready'))).toBe(false);
  });

  it('fsck finishes it first and finds nothing wrong', async () => {
    await crashed({ index: true, ending: '.ready' });
    expect(checkRun(paths, { repair: false })).toMatchObject(sound);
  });

  it('a reader that comes between the index and the file waits for the file', async () => {
    await crashed({ index: true, ending: '.ready' });
    const reader = openRunReader(paths);
    const ids = reader
      .episodes(parseFilter('fail:any sort:id'), { limit: EPISODES })
      .episodes.map(({ id }) => id);
    const inSecond = ids.find((id) => !canRead(reader, id));
    expect(inSecond).toBeDefined();
    renameSync(join(paths.segments, '000002.seg.ready'), join(paths.segments, '000002.seg'));
    expect(canRead(reader, inSecond ?? '')).toBe(true);
    reader.close();
  });
});

function canRead(reader: RunReader, id: string): boolean {
  try {
    reader.episode(id);
    return true;
  } catch {
    return false;
  }
}

describe('tiers', () => {
  it('the sample is uniform, of the share asked for, and the same each time', () => {
    const episodes = Array.from({ length: 1000 }, (_, index) => summaryOf(index + 1));
    const sample = (share: number): string[] => {
      const keep = createRetention(episodes, { keepSample: share, pinned: new Set() });
      return episodes.filter((episode) => keep(episode) === 'sample').map(({ id }) => id);
    };
    expect(sample(0.1).length).toBeGreaterThan(65);
    expect(sample(0.1).length).toBeLessThan(140);
    expect(sample(0.1)).toEqual(sample(0.1));
    expect(sample(0)).toEqual([]);
    expect(sample(1)).toHaveLength(1000);
  });

  it('thinned, failures are kept as others are, but for the first of each type', () => {
    const episodes = Array.from({ length: 100 }, (_, index) => {
      const failure = index % 10 === 0 ? 'env_crash' : 'gave_up';
      const isVoid = failure === 'env_crash';
      const ending = {
        success: false,
        failure,
        trust: isVoid ? 'void' : 'valid',
        reward: isVoid ? null : 0,
      } as const;
      return summaryOf(index + 1, ending);
    });
    const kept = (thinFailures: boolean): number[] => {
      const keep = createRetention(episodes, { keepSample: 0, pinned: new Set(), thinFailures });
      const found = episodes.filter((episode) => keep(episode) !== null);
      return ['env_crash', 'gave_up'].map((type) => found.filter(({ failure }) => failure === type).length);
    };
    expect(kept(false)).toEqual([10, 90]);
    expect(kept(true)).toEqual([10, 20]);
  });

  it('the edge is where a family stood at that time, not where it stands in the end', () => {
    const episodes = Array.from({ length: 400 }, (_, index) => {
      const iteration = 1 + Math.floor(index / 10);
      const success = iteration > 20 || index % 2 === 0;
      return summaryOf(index + 1, { iteration, success, failure: success ? null : 'gave_up' });
    });
    const keep = createRetention(episodes, { keepSample: 0, pinned: new Set() });
    const edge = episodes.filter((episode) => keep(episode) === 'edge').map(({ iteration }) => iteration);
    expect(Math.max(...edge)).toBeLessThan(25);
    expect(edge).toContain(1);
    expect(edge).toContain(20);
  });
});

describe('pins', () => {
  it('are kept until they are let go', () => {
    expect(readPins(paths)).toEqual(new Set());
    expect(setPin(paths, { episode: 'e5', who: 'me', pinned: true })).toBe(true);
    expect(setPin(paths, { episode: 'e5', who: 'you', pinned: true })).toBe(false);
    setPin(paths, { episode: 'e6', who: 'me', pinned: true });
    expect(readPins(paths)).toEqual(new Set(['e5', 'e6']));
    setPin(paths, { episode: 'e5', who: 'me', pinned: false });
    expect(readPins(paths)).toEqual(new Set(['e6']));
  });

  it('a damaged file is told', () => {
    writeFileSync(join(paths.root, 'pins.json'), '{}');
    expect(() => readPins(paths)).toThrow(expect.objectContaining({ code: 'store-failed' }));
  });
});
