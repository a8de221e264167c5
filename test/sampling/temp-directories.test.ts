import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeAbandoned, TempDirectories, tempRoot } from '../../src/sampling/temp-directories.ts';

let root: string;
beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), 'agentrl-temp-')), 'worker');
});
afterEach(() => rmSync(join(root, '..'), { recursive: true, force: true }));

describe('the temporary directories of slots', () => {
  it('cost nothing until an environment asks', () => {
    const directories = new TempDirectories(root);
    for (let slot = 0; slot < 7000; slot++) directories.open(slot);
    directories.measure();
    expect(existsSync(root)).toBe(false);
    expect(directories.wasUsed).toBe(false);
    directories.close();
  });

  it('are one for each environment, of nobody else, and are removed with it', async () => {
    const directories = new TempDirectories(root);
    const [first, second] = [directories.open(1), directories.open(2)];
    const path = first.tempDirectory();
    expect(first.tempDirectory()).toBe(path);
    expect(second.tempDirectory()).not.toBe(path);
    mkdirSync(join(path, 'deep'));
    writeFileSync(join(path, 'deep', 'file'), 'left behind');
    // The slot is rebuilt: the next one begins empty, even while the broken one still writes.
    const next = directories.open(1).tempDirectory();
    expect(next).not.toBe(path);
    expect(readdirSync(next)).toEqual([]);
    await first.remove();
    expect(existsSync(path)).toBe(false);
    expect(() => first.tempDirectory()).toThrow(/closed environment/u);
    directories.close();
    expect(existsSync(root)).toBe(false);
  });

  it('are measured: bytes and open files by slot', () => {
    const directories = new TempDirectories(root);
    const path = directories.open(3).tempDirectory();
    directories.open(4).tempDirectory();
    mkdirSync(join(path, 'deep'));
    writeFileSync(join(path, 'a'), Buffer.alloc(1000));
    writeFileSync(join(path, 'deep', 'b'), Buffer.alloc(500));
    directories.measure();
    expect([directories.bytes(3), directories.bytes(4), directories.totalBytes]).toEqual([1500, 0, 1500]);
    const file = openSync(join(path, 'a'), 'r');
    const files = directories.openFiles();
    closeSync(file);
    // Null where the platform does not say.
    expect(files === null ? null : [...files.bySlot]).toEqual(process.platform === 'linux' ? [[3, 1]] : null);
    expect(directories.openFiles()?.bySlot.get(3) ?? 0).toBe(0);
  });

  it('look at a slot with very many files a part at a time, and at the others too', () => {
    const directories = new TempDirectories(root);
    const many = directories.open(0).tempDirectory();
    for (let i = 0; i < 2500; i++) writeFileSync(join(many, String(i)), 'x');
    writeFileSync(join(directories.open(1).tempDirectory(), 'one'), 'xxxxx');
    for (let look = 0; look < 3; look++) directories.measure();
    expect(directories.bytes(0)).toBeGreaterThanOrEqual(2000);
    expect(directories.bytes(1)).toBe(5);
  });
});

function pathOf(host: string, pid: number): string {
  return join(tmpdir(), `agentrl-lab-slots-${host}-${pid}`);
}

it('removes what dead processes of this host left, and nothing else', () => {
  // No pid is as great as that.
  const [dead, foreign, alive] = [
    pathOf(hostname(), 4_194_305),
    pathOf('elsewhere', 4_194_305),
    pathOf(hostname(), process.ppid),
  ];
  for (const path of [dead, foreign, alive, tempRoot()])
    mkdirSync(join(path, 'slot-1-1'), { recursive: true });
  try {
    const removed = removeAbandoned();
    expect(removed).toContain(`agentrl-lab-slots-${hostname()}-4194305`);
    expect([dead, tempRoot(), foreign, alive].map((path) => existsSync(path))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  } finally {
    for (const path of [dead, foreign, alive]) rmSync(path, { recursive: true, force: true });
  }
});
