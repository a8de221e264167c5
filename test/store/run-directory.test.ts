import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createRunDirectory,
  directoryBytes,
  isRunLive,
  listRuns,
  lockRun,
  readManifest,
  runPaths,
  writeManifest,
} from '../../src/store/run-directory.ts';
import { manifestOf, type TemporaryRuns, temporaryRuns } from './fixture.ts';

let runs: TemporaryRuns;
beforeEach(() => {
  runs = temporaryRuns();
});
afterEach(() => runs.remove());

describe('manifest', () => {
  it('reads what was written, and leaves no other file', () => {
    const paths = runs.run('first');
    writeManifest(paths, manifestOf('first'));
    writeManifest(paths, manifestOf('first', { state: 'paused' }));
    expect(readManifest(paths).state).toBe('paused');
    expect(readdirSync(paths.root).toSorted()).toEqual(['checkpoints', 'logs', 'run.json', 'segments']);
  });

  it('names runs of a similar id when there is none of that id', () => {
    writeManifest(runs.run('maze-3'), manifestOf('maze-3'));
    writeManifest(runs.run('other'), manifestOf('other'));
    expect(() => readManifest(runPaths(runs.directory, 'maze-4'))).toThrow(
      /no run "maze-4".*similar: maze-3$/u,
    );
  });

  it('refuses a newer format as such, whatever its shape', () => {
    const paths = runs.run();
    writeFileSync(paths.manifest, JSON.stringify({ format: 99, anything: true }));
    expect(() => readManifest(paths)).toThrow(
      expect.objectContaining({ code: 'run-too-new', message: expect.stringContaining('format 99') }),
    );
  });

  it.each([
    ['{"format": 1, "id": "ru', 'damaged: '],
    ['{"format": 1}', 'damaged: id: '],
    ['[]', 'damaged: '],
  ])('calls %s damaged', (content, message) => {
    const paths = runs.run();
    writeFileSync(paths.manifest, content);
    expect(() => readManifest(paths)).toThrow(
      expect.objectContaining({ code: 'config-invalid', message: expect.stringContaining(message) }),
    );
  });

  it('keeps ids inside the runs directory', () => {
    for (const id of ['..', '../other', 'a/b', '', '.hidden', 'x'.repeat(65)]) {
      expect(() => runPaths('runs', id), `id ${id}`).toThrow(expect.objectContaining({ code: 'usage' }));
    }
  });
});

describe('list', () => {
  it('shows the newest first, and unreadable ones with the reason', () => {
    writeManifest(runs.run('old'), manifestOf('old', { createdAt: 1000 }));
    writeManifest(runs.run('new'), manifestOf('new', { createdAt: 2000 }));
    writeFileSync(runs.run('broken').manifest, '{');
    writeFileSync(join(runs.directory, 'README.md'), 'not a run');
    mkdirSync(join(runs.directory, '.cache'));
    const listed = listRuns(runs.directory);
    expect(listed.map(({ id }) => id)).toEqual(['broken', 'new', 'old']);
    expect(listed.map(({ error }) => error === null)).toEqual([false, true, true]);
    expect(listed[0]?.error).toContain('is damaged');
  });

  it('goes on when a lock cannot be read', () => {
    const paths = runs.run('odd');
    writeManifest(paths, manifestOf('odd'));
    mkdirSync(paths.lock);
    expect(listRuns(runs.directory)).toEqual([
      expect.objectContaining({ id: 'odd', live: false, manifest: null }),
    ]);
  });

  it('is empty without a directory', () => {
    expect(listRuns(join(runs.directory, 'none'))).toEqual([]);
  });
});

describe('directory', () => {
  it('says why it cannot be made', () => {
    writeFileSync(join(runs.directory, 'file'), '');
    expect(() => createRunDirectory(runPaths(join(runs.directory, 'file'), 'run'))).toThrow(
      expect.objectContaining({ code: 'run-unwritable', message: expect.stringMatching(/ENOTDIR|EEXIST/u) }),
    );
  });

  it('keeps what is there', () => {
    const paths = runs.run();
    writeFileSync(join(paths.logs, 'run.log'), 'kept');
    createRunDirectory(paths);
    expect(readFileSync(join(paths.logs, 'run.log'), 'utf8')).toBe('kept');
  });
});

describe('lock', () => {
  it('is refused to a second holder, naming the first, and free again after release', () => {
    const paths = runs.run();
    const lock = lockRun(paths);
    expect(isRunLive(paths)).toBe(true);
    expect(() => lockRun(paths)).toThrow(
      expect.objectContaining({
        code: 'run-locked',
        message: expect.stringContaining(`process ${process.pid} on ${hostname()}`),
      }),
    );
    lock.release();
    lock.release();
    expect(isRunLive(paths)).toBe(false);
    lockRun(paths).release();
    expect(readdirSync(paths.root)).not.toContain('lock');
  });

  it('of a killed process is taken over', async () => {
    const paths = runs.run();
    const child = spawn('node', ['--import', 'tsx', 'test/store/lock-holder.ts', runs.directory, 'run'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(isRunLive(paths)).toBe(true);
    expect(() => lockRun(paths)).toThrow(expect.objectContaining({ code: 'run-locked' }));
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isRunLive(paths)).toBe(false);
    const lock = lockRun(paths);
    expect(readFileSync(paths.lock, 'utf8')).toContain(`"pid":${process.pid},`);
    lock.release();
  });

  it.runIf(process.platform === 'linux')('is not held by another process that got the same pid', () => {
    const paths = runs.run();
    const stale = { pid: process.pid, host: hostname(), started: 'another-boot:1' };
    writeFileSync(paths.lock, JSON.stringify(stale));
    expect(isRunLive(paths)).toBe(false);
    lockRun(paths).release();
  });

  it('of another host is respected', () => {
    const paths = runs.run();
    writeFileSync(paths.lock, JSON.stringify({ pid: 1, host: 'elsewhere.example', started: null }));
    expect(isRunLive(paths)).toBe(true);
    expect(() => lockRun(paths)).toThrow(/process 1 on elsewhere\.example/u);
  });

  it.each(['', 'nonsense', '{"pid": -1}'])('that holds %j is nobody’s', (content) => {
    const paths = runs.run();
    writeFileSync(paths.lock, content);
    const lock = lockRun(paths);
    expect(statSync(paths.lock).size).toBeGreaterThan(20);
    lock.release();
  });

  it('taken over by another is not removed by the first holder', () => {
    const paths = runs.run();
    const lock = lockRun(paths);
    writeFileSync(paths.lock, 'of another');
    lock.release();
    expect(readFileSync(paths.lock, 'utf8')).toBe('of another');
  });
});

it('counts what is below a directory, and nothing for one that cannot be read', () => {
  const { root, checkpoints } = runs.run('first');
  mkdirSync(join(checkpoints, 'it-1'), { recursive: true });
  writeFileSync(join(checkpoints, 'it-1', 'state'), 'x'.repeat(70));
  writeFileSync(join(root, 'notes'), 'x'.repeat(7));
  expect(directoryBytes(root)).toBe(77);
  expect(directoryBytes(join(root, 'gone'))).toBe(0);
});
