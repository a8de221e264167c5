import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemErrorCode } from '../../src/domain/error.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import { openRunReader } from '../../src/store/queries.ts';
import {
  createRunDirectory,
  lockRun,
  type RunPaths,
  readManifest,
  runPaths,
  writeManifest,
} from '../../src/store/run-directory.ts';
import { bodyOf, finished, manifestOf, mixedSummary } from './fixture.ts';

const MIB = 1024 * 1024;
const mountable = canMount();

function canMount(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'agentrl-lab-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', directory], { stdio: 'ignore' });
    execFileSync('umount', [directory]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

it.runIf(process.env['CI'])('a file system can be mounted here: the tests below need it', () => {
  expect(mountable).toBe(true);
});

/** Appends until it fails; the ids that were acknowledged, and the error. */
function appendUntilFull(store: RunStore, first: number): { last: number; error: unknown } {
  for (let last = first - 1; ; last += 10) {
    const batch = Array.from({ length: 10 }, (_, index) => last + 1 + index);
    try {
      store.appendEpisodes(batch.map((sequence) => finished(mixedSummary(sequence), bodyOf(30, sequence))));
    } catch (error) {
      return { last, error };
    }
  }
}

// Needs root on Linux: only a real small file system gets really full.
describe.skipIf(!mountable)('on a file system of 6 MiB', () => {
  let mount: string;
  let paths: RunPaths;
  beforeEach(() => {
    mount = mkdtempSync(join(tmpdir(), 'agentrl-lab-full-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', mount]);
    paths = runPaths(mount, 'run');
    createRunDirectory(paths);
  });
  afterEach(() => {
    execFileSync('umount', [mount]);
    rmSync(mount, { recursive: true });
  });

  function ids(): string[] {
    const reader = openRunReader(paths);
    const { episodes } = reader.episodes(parseFilter('sort:id'), { limit: 100_000 });
    for (const { id } of episodes) reader.episode(id);
    reader.close();
    return episodes.map(({ id }) => id);
  }

  /** Takes what is free, but for so many bytes. */
  function fill(rest: number): void {
    const { bavail, bsize } = statfsSync(mount);
    writeFileSync(join(mount, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - rest)));
  }

  it.each([0, 40_000, 300_000])(
    'full but for %i bytes: says so, keeps what was acknowledged, goes on when there is room',
    (rest) => {
      const store = openRunStore(paths);
      store.appendEpisodes([finished(mixedSummary(1))]);
      fill(rest);
      const { last, error } = appendUntilFull(store, 2);
      expect(error).toMatchObject({ code: 'disk-full', hint: expect.stringContaining('free space') });
      expect(store.totals().lastSequence).toBe(Math.max(1, last));
      const stored = Array.from({ length: Math.max(1, last) }, (_, index) => `e${index + 1}`);
      expect(ids()).toEqual(stored);
      rmSync(join(mount, 'filler'));
      store.appendEpisodes([finished(mixedSummary(900_000))]);
      expect(ids()).toEqual([...stored, 'e900000']);
      store.close();
      const again = openRunStore(paths);
      expect(again.repair).toEqual({ reindexed: 0, dropped: 0, torn: 0, tornBytes: 0, damaged: 0 });
      again.close();
      expect(ids()).toEqual([...stored, 'e900000']);
    },
  );

  it('a manifest that does not fit leaves the old one', () => {
    writeManifest(paths, manifestOf('run'));
    fill(0);
    const long = manifestOf('run', { reason: 'x'.repeat(MIB) });
    expect(() => writeManifest(paths, long)).toThrow(expect.objectContaining({ code: 'disk-full' }));
    expect(readManifest(paths)).toEqual(manifestOf('run'));
  });

  it('mounted read-only: reads go on, each write is refused with the reason', () => {
    writeManifest(paths, manifestOf('run'));
    const store = openRunStore(paths);
    store.appendEpisodes([finished(mixedSummary(1)), finished(mixedSummary(2))]);
    store.close();
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    expect(ids()).toEqual(['e1', 'e2']);
    const unwritable = expect.objectContaining({
      code: 'run-unwritable',
      message: expect.stringMatching(/read-only/iu),
    });
    expect(() => openRunStore(paths)).toThrow(unwritable);
    expect(() => lockRun(paths)).toThrow(unwritable);
    expect(checkRun(paths, { repair: false, text: false })).toMatchObject({
      episodes: 2,
      indexProblem: null,
    });
    expect(() => checkRun(paths, { repair: true })).toThrow(unwritable);
    expect(() => writeManifest(paths, manifestOf('run'))).toThrow(unwritable);
    expect(() => createRunDirectory(runPaths(mount, 'other'))).toThrow(unwritable);
  });
});

it('a file in the place of the segments directory is named', () => {
  const directory = mkdtempSync(join(tmpdir(), 'agentrl-lab-file-'));
  const paths = runPaths(directory, 'run');
  mkdirSync(paths.root);
  writeFileSync(paths.segments, '');
  let error: unknown;
  try {
    openRunStore(paths);
  } catch (thrown) {
    error = thrown;
  }
  expect(systemErrorCode(error)).toBe('run-unwritable');
  expect(error).toMatchObject({ message: expect.stringContaining('ENOTDIR') });
  rmSync(directory, { recursive: true });
});
