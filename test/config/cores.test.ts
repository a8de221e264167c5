import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareCores } from '../../src/config/cores.ts';
import { loadConfig } from '../../src/config/load.ts';
import { parseOverride } from '../../src/config/overrides.ts';

function shares(text: string, cores: number, ...overrides: string[]): { workers: number[]; threads: number } {
  const { config } = loadConfig(text, {
    file: 'lab.yaml',
    cores,
    overrides: overrides.map(parseOverride),
  });
  return { workers: config.hosts.map(({ workers }) => workers), threads: config.trainer.threads };
}

describe('cores that a config leaves open', () => {
  it('are never shared out twice where sampling and updating overlap, and none is left idle', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 256 }), (cores) => {
        const { workers, threads } = shareCores(cores, true);
        expect(workers).toBeGreaterThan(0);
        expect(threads).toBeGreaterThan(0);
        expect(workers + threads).toBe(Math.max(2, cores));
      }),
    );
  });

  it('are all given to both where they take turns, but for threads that would only wait', () => {
    expect(shareCores(2, false)).toEqual({ workers: 2, threads: 2 });
    expect(shareCores(64, false)).toEqual({ workers: 64, threads: 4 });
  });

  it('go by whether sampling and updating overlap', () => {
    expect(shares('sampling: {overlap: true}', 8)).toEqual({ workers: [4], threads: 4 });
    expect(shares('sampling: {overlap: false}', 8)).toEqual({ workers: [8], threads: 4 });
  });

  it('are what the workers asked for leave over', () => {
    const text = 'sampling: {overlap: true}\nhosts: [{name: here, workers: 6}]';
    expect(shares(text, 8)).toEqual({ workers: [6], threads: 2 });
    expect(shares(text, 4)).toEqual({ workers: [6], threads: 1 });
    expect(shares('sampling: {overlap: true}', 8, 'hosts.0.workers=7')).toEqual({ workers: [7], threads: 1 });
  });

  it('are left alone where the config says, and where the trainer is on another machine', () => {
    expect(shares('trainer: {threads: 3}', 2)).toMatchObject({ threads: 3 });
    const remote =
      'hosts: [{name: here, roles: [worker], workers: 2}, {name: gpu, ssh: me@gpu, roles: [trainer]}]';
    expect(shares(remote, 64)).toEqual({ workers: [2, 0], threads: 2 });
  });

  it('give no more workers than there are slots and memory for', () => {
    expect(shares('sampling: {slots: 3}', 64)).toEqual({ workers: [3], threads: 4 });
    const { config } = loadConfig('', { file: 'lab.yaml', cores: 64, memoryMiB: 2048 });
    expect(config.hosts[0]?.workers).toBe(5);
  });

  it.each(['cartpole', 'acrobot', 'corridor'])('the example %s can be run on a large machine', (name) => {
    const text = readFileSync(join(import.meta.dirname, `../../docs/examples/${name}.yaml`), 'utf8');
    for (const cores of [1, 2, 64, 256]) {
      expect(() => loadConfig(text, { file: name, cores, memoryMiB: 4096 })).not.toThrow();
    }
  });

  it('do not hide what is wrong with the config', () => {
    expect(() => shares('trainer: 5', 8)).toThrow('trainer');
    expect(() => shares('hosts: local', 8)).toThrow('hosts');
  });
});
