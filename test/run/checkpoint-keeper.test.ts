import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { initialKnobs } from '../../src/domain/knob.ts';
import { CheckpointKeeper, type CheckpointSources } from '../../src/run/checkpoint-keeper.ts';

let directory: string;
let checkpoints: string;
let events: string[];
let told: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentrl-keeper-'));
  checkpoints = join(directory, 'checkpoints');
  events = [];
  told = [];
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const SNAPSHOT = {
  state: { policyVersion: 8, adamStep: 96, knobs: initialKnobs(), random: [1, 2, 3, 4], rewardWindow: [] },
  weights: new Uint8Array([1, 2, 3, 4]),
  optimiser: new Uint8Array([5, 6, 7, 8]),
};

function keeperOf(
  snapshot: CheckpointSources['trainer']['snapshot'],
  config: { readonly every: number; readonly policies: number; readonly evaluations: number },
): CheckpointKeeper {
  const { every, policies, evaluations } = config;
  return new CheckpointKeeper(
    checkpoints,
    {
      checkpoint: { every, keep: 3, policies },
      knobs: initialKnobs(),
      evaluation: { every: evaluations, episodes: 20 },
    },
    {
      trainer: { snapshot },
      dispatcher: { curriculumState: () => ({ success: {}, random: [1, 2, 3, 4] }) },
      progress: { iteration: 8, elapsedS: 16, evaluations: [] },
      knobs: {
        steering: {
          run: 'demo-1',
          knobChanges: 0,
          scheduleOff: [],
          scheduleTime: { minutes: 0, steps: 0 },
          scheduleBase: { minutes: 0, steps: 0 },
        },
      },
      store: { sync: () => undefined },
      journal: { event: (level, kind) => void events.push(`${level} ${kind}`) },
    },
  );
}

const life = {
  quiesced: (name: string, left: number) => void told.push(`quiesced ${name} ${left}`),
  quiesceFailed: (reason: string) => void told.push(`failed: ${reason}`),
};

it('writes checkpoints and keeps policies as often as the config says', () => {
  const keeper = keeperOf(SNAPSHOT, { every: 4, policies: 2, evaluations: 3 });
  for (const iteration of [1, 2, 3]) keeper.afterIteration(iteration);
  expect(events).toEqual([]);
  expect(readdirSync(checkpoints)).toEqual(['policies']);
  keeper.afterIteration(4);
  expect(events).toEqual(['info checkpoint']);
  keeperOf(SNAPSHOT, { every: 99, policies: 0, evaluations: 1 }).afterIteration(1);
  expect(readdirSync(join(checkpoints, 'policies'))).toHaveLength(1);
});

it('a policy or a checkpoint that cannot be kept is told, and the run goes on', () => {
  // Where the directory would be there is a file.
  writeFileSync(checkpoints, '');
  keeperOf(SNAPSHOT, { every: 1, policies: 2, evaluations: 1 }).afterIteration(1);
  expect(events).toEqual(['warning policy-not-kept', 'error checkpoint-failed']);
});

it('before the trainer is ready there is nothing to keep, and nobody is told', () => {
  const keeper = keeperOf(null, { every: 1, policies: 2, evaluations: 1 });
  keeper.afterIteration(1);
  expect(events).toEqual([]);
  expect(existsSync(checkpoints)).toBe(false);
  expect(() => keeper.write()).toThrow(/nothing to keep yet/u);
});

it('a run is quiesced once all of it is in a checkpoint, and told when that fails', () => {
  const keeper = keeperOf(SNAPSHOT, { every: 1, policies: 0, evaluations: 1 });
  keeper.settle(life, 518);
  expect(told).toEqual(['quiesced it-00000008 518']);
  rmSync(checkpoints, { recursive: true });
  writeFileSync(checkpoints, '');
  keeper.settle(life, 518);
  expect(told[1]).toMatch(/^failed: .+/u);
});
