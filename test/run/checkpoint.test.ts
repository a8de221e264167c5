import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { initialKnobs } from '../../src/domain/knob.ts';
import {
  type Checkpoint,
  listCheckpoints,
  loadCheckpoint,
  writeCheckpoint,
} from '../../src/run/checkpoint.ts';
import { keepPolicy, listPolicies } from '../../src/run/policy-shelf.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentrl-checkpoint-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function checkpoint(iteration: number): Checkpoint {
  return {
    iteration,
    elapsedS: iteration * 2,
    trainer: {
      policyVersion: iteration,
      adamStep: iteration * 48,
      knobs: initialKnobs(),
      random: [1, 2, 3, 4],
      rewardWindow: [],
    },
    configKnobs: initialKnobs(),
    steering: {
      run: 'demo-1',
      knobChanges: 3,
      scheduleOff: ['lr'],
      scheduleTime: { minutes: 3, steps: 900 },
      scheduleBase: { minutes: 0, steps: 0 },
    },
    curriculum: { success: { reference: 0.5 }, random: [5, 6, 7, 8] },
    evaluations: [],
    weights: new Uint8Array([iteration, 1, 2, 3]),
    optimiser: new Uint8Array([9, 9, 9, 9, 9, 9, 9, iteration]),
  };
}

function write(iteration: number, keep = 3): void {
  writeCheckpoint(directory, checkpoint(iteration), keep);
}

describe('checkpoints', () => {
  it('come back as they were written', () => {
    write(20);
    const { checkpoint: loaded, skipped } = loadCheckpoint(directory);
    expect(skipped).toEqual([]);
    expect({ ...loaded, weights: [...loaded!.weights], optimiser: [...loaded!.optimiser] }).toEqual({
      ...checkpoint(20),
      weights: [20, 1, 2, 3],
      optimiser: [9, 9, 9, 9, 9, 9, 9, 20],
    });
  });

  it('have a policy whose weights can be taken alone', () => {
    write(20);
    write(40);
    keepPolicy(directory, 30, new Uint8Array([7]), 5);
    const kept = listPolicies(directory).map(({ version, load }) => [version, [...load()]]);
    expect(kept).toEqual([
      [40, [40, 1, 2, 3]],
      [30, [7]],
      [20, [20, 1, 2, 3]],
    ]);
  });

  it('only the newest are kept', () => {
    for (const iteration of [0, 20, 40, 60]) write(iteration, 2);
    expect(listCheckpoints(directory)).toEqual(['it-00000060', 'it-00000040']);
    expect(readdirSync(directory).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('one of the same iteration takes the place of the one before, and leaves nothing else', () => {
    write(20);
    writeCheckpoint(directory, { ...checkpoint(20), elapsedS: 99 }, 3);
    expect(loadCheckpoint(directory).checkpoint?.elapsedS).toBe(99);
    expect(readdirSync(directory)).toEqual(['it-00000020']);
  });

  it('a damaged newest one is passed over, and said', () => {
    write(20);
    write(40);
    writeFileSync(join(directory, 'it-00000040', 'weights.f32'), Buffer.from([40, 1, 2, 4]));
    const { checkpoint: loaded, skipped } = loadCheckpoint(directory);
    expect(loaded?.iteration).toBe(20);
    expect(skipped.map(({ message }) => message)).toEqual([
      expect.stringMatching(/it-00000040\/weights\.f32 is damaged: its checksum does not match/u),
    ]);
  });

  it('when none is whole, that is an error with a way out', () => {
    write(20);
    truncateSync(join(directory, 'it-00000020', 'optimiser.f32'), 3);
    expect(() => loadCheckpoint(directory)).toThrow(
      expect.objectContaining({
        code: 'checkpoint-corrupt',
        message: expect.stringMatching(/optimiser\.f32 is damaged: 3 bytes, 8 were written/u),
        hint: expect.stringMatching(/remove the checkpoints directory/u),
      }),
    );
  });

  it('a state that is not JSON is damaged, not a crash', () => {
    write(20);
    writeFileSync(join(directory, 'it-00000020', 'state.json'), '{"format":');
    expect(() => loadCheckpoint(directory)).toThrow(/state\.json is damaged/u);
  });

  it('one of a lab whose policies read in another way is refused, and the reason said', () => {
    write(20);
    const state = join(directory, 'it-00000020', 'state.json');
    writeFileSync(state, readFileSync(state, 'utf8').replace('"format":2', '"format":1'));
    expect(() => loadCheckpoint(directory)).toThrow(
      /it-00000020 has format 1, and this lab reads 2: its policy reads observations in another way/u,
    );
  });

  it('a run without any begins anew', () => {
    expect(loadCheckpoint(directory)).toEqual({ checkpoint: null, skipped: [] });
  });
});
