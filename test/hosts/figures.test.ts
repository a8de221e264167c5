import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostFiguresReader, parseNvidia } from '../../src/protocol/host-figures.ts';
import { ProcessLooker } from '../../src/run/process-figures.ts';

let directory: string;
const path = process.env['PATH'] ?? '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lab-figures-'));
  mkdirSync(join(directory, 'drm'));
});
afterEach(() => {
  process.env['PATH'] = path;
  rmSync(directory, { recursive: true });
});

/** Reads until there are graphics processors; the test's own limit ends it. */
async function untilGpus(reader: HostFiguresReader): Promise<unknown> {
  for (;;) {
    const { gpus } = reader.read();
    if (gpus.length > 0) return gpus;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('figures of a host', () => {
  it('has cores, load and memory, and no graphics processor where none is there', async () => {
    process.env['PATH'] = directory;
    const reader = new HostFiguresReader(join(directory, 'nothing'));
    reader.read(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const figures = reader.read(1);
    expect(figures.gpus).toEqual([]);
    expect(figures.cores).toBeGreaterThanOrEqual(1);
    expect(figures.usedMiB).toBeGreaterThan(0);
    expect(figures.totalMiB).toBeGreaterThan(figures.usedMiB);
  });

  it('asks nvidia-smi where it is there', async () => {
    const program = join(directory, 'nvidia-smi');
    writeFileSync(program, '#!/bin/sh\necho "Tensor 9, 45, 12288, 81920"\n');
    chmodSync(program, 0o755);
    process.env['PATH'] = `${directory}${delimiter}${path}`;
    expect(await untilGpus(new HostFiguresReader(join(directory, 'drm')))).toEqual([
      { name: 'Tensor 9', utilisation: 0.45, usedMiB: 12_288, totalMiB: 81_920 },
    ]);
  });

  it('reads what the kernel says of AMD cards', async () => {
    process.env['PATH'] = directory;
    const device = join(directory, 'drm', 'card0', 'device');
    mkdirSync(device, { recursive: true });
    mkdirSync(join(directory, 'drm', 'card0-DP-1'));
    writeFileSync(join(device, 'gpu_busy_percent'), '87\n');
    writeFileSync(join(device, 'mem_info_vram_used'), `${2 ** 31}\n`);
    writeFileSync(join(device, 'mem_info_vram_total'), `${2 ** 34}\n`);
    expect(await untilGpus(new HostFiguresReader(join(directory, 'drm')))).toEqual([
      { name: 'card0', utilisation: 0.87, usedMiB: 2048, totalMiB: 16_384 },
    ]);
  });

  it('takes what the driver does not say for unknown', () => {
    expect(parseNvidia('A, [N/A], [Insufficient Permissions], 81559\nB, 100, 1, 2\n\n')).toEqual([
      { name: 'A', utilisation: null, usedMiB: null, totalMiB: 81_559 },
      { name: 'B', utilisation: 1, usedMiB: 1, totalMiB: 2 },
    ]);
    expect(parseNvidia('No devices were found\n')).toEqual([]);
  });
});

describe('figures of a process', () => {
  it('are those of the system: this one uses memory and files, and a core while it computes', () => {
    const looker = new ProcessLooker();
    const first = looker.look(process.pid, 0);
    expect(first.cpu).toBeNull();
    if (first.rssMiB === null) return; // Not on this platform.
    expect(first.rssMiB).toBeGreaterThan(10);
    expect(first.openFiles).toBeGreaterThan(3);
    const until = process.cpuUsage().user + 200_000;
    while (process.cpuUsage().user < until);
    // As if a second had passed.
    expect(looker.look(process.pid, 1000).cpu).toBeGreaterThan(0.1);
    expect(looker.look(2 ** 22 + 1, 0)).toEqual({ cpu: null, rssMiB: null, openFiles: null });
    expect(looker.look(null, 0)).toEqual({ cpu: null, rssMiB: null, openFiles: null });
  });
});
