import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import {
  type Checkpoint,
  loadCheckpoint,
  loadCheckpointOf,
  writeCheckpoint,
} from '../../src/run/checkpoint.ts';
import { openRunReader } from '../../src/store/queries.ts';
import { type RunPaths, readManifest, runPaths, writeManifest } from '../../src/store/run-directory.ts';
import { type CliResult, runCli } from '../support/cli.ts';

const runs = mkdtempSync(join(tmpdir(), 'agentrl-branch-'));
afterAll(() => rmSync(runs, { recursive: true, force: true }));

const SMALL = [
  '--set',
  'sampling.slots=16',
  'sampling.batchSteps=600',
  'policy.hidden=16',
  'policy.vocabulary=256',
  'evaluation.episodes=0',
  'checkpoint.every=1',
];

async function cli(...args: readonly string[]): Promise<CliResult> {
  return await runCli(...args, '--runs', runs);
}

function iterationsOf({ stdout }: CliResult): number[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).iteration);
}

let parent: string;
let paths: RunPaths;

/** The newest run: a branch, or the parent while there is none. */
function newest(): string {
  const ids = readdirSync(runs).map((id) => readManifest(runPaths(runs, id)));
  return ids.toSorted((left, right) => right.createdAt - left.createdAt)[0]!.id;
}

/** An ended copy of the parent with other checkpoints. */
function parentWith(id: string, change: (checkpoint: Checkpoint) => Checkpoint): RunPaths {
  const copy = runPaths(runs, id);
  cpSync(paths.root, copy.root, { recursive: true });
  writeManifest(copy, { ...readManifest(copy), id, createdAt: 1 });
  writeCheckpoint(copy.checkpoints, change(loadCheckpointOf(copy.checkpoints, 3)), 3);
  return copy;
}

/** Runs a command that must make no run. */
async function refusal(...args: readonly string[]): Promise<CliResult> {
  const before = readdirSync(runs);
  const result = await cli(...args, '--detach');
  expect(readdirSync(runs)).toEqual(before);
  return result;
}

beforeAll(async () => {
  const { code, stderr } = await cli('run', '--json', '--name', 'parent', '--iterations', '3', ...SMALL);
  if (code !== 0) throw new Error(`the parent did not come to its end: ${stderr}`);
  parent = newest();
  paths = runPaths(runs, parent);
});

describe('a branch', () => {
  it('goes on from the iteration named, with knobs set for it, and says whose child it is', async () => {
    const before = readFileSync(join(paths.checkpoints, 'it-00000002', 'state.json'));
    const branched = await cli(
      'branch',
      `${parent}@2`,
      '--set',
      'clip=0.1',
      '--iterations',
      '2',
      '--name',
      'child',
      '--json',
    );
    expect(branched.code).toBe(0);
    expect(iterationsOf(branched)).toEqual([3, 4]);
    const child = runPaths(runs, newest());
    expect(readManifest(child)).toMatchObject({
      name: 'child',
      attempt: 1,
      state: 'finished',
      parent: { run: parent, iteration: 2 },
    });
    const reader = openRunReader(child);
    const changes = reader.knobChanges();
    const [row] = reader.iterations();
    reader.close();
    expect(changes).toMatchObject([{ knob: 'clip', from: 0.2, to: 0.1, who: 'config', iteration: 3 }]);
    // A clock and steps of its own, though the policy is that of iteration 2.
    expect(row).toMatchObject({ iteration: 3, policyVersion: 3 });
    const parentReader = openRunReader(paths);
    const steps = parentReader.iterations().map(({ envSteps }) => envSteps);
    parentReader.close();
    expect(row!.envSteps).toBeLessThan(steps[1]!);
    const { config } = loadConfig(readFileSync(child.config, 'utf8'), { file: 'config.yaml' });
    expect(config).toMatchObject({ knobs: { clip: 0.1 }, stop: { iterations: 4 }, sampling: { slots: 16 } });
    expect(readFileSync(join(paths.checkpoints, 'it-00000002', 'state.json'))).toEqual(before);
    const [listed] = JSON.parse((await cli('ls', '--json')).stdout);
    expect(listed.manifest.parent).toEqual({ run: parent, iteration: 2 });
    expect((await cli('ls')).stdout).toContain(`${parent}@2`);
  });

  it('without an iteration begins at the newest checkpoint, with a clock of its own', async () => {
    const late = parentWith('late', (checkpoint) => ({ ...checkpoint, elapsedS: 3600 }));
    const { code, stdout } = await cli('branch', 'late', '--detach', '--set', 'stop.iterations=null');
    expect(code).toBe(0);
    const child = runPaths(runs, stdout.trim());
    const copy = loadCheckpointOf(child.checkpoints, 3);
    expect(copy.elapsedS).toBe(0);
    expect(copy.weights).toEqual(loadCheckpointOf(late.checkpoints, 3).weights);
    // An hour and more is past the ten minutes of the config.
    const [status] = JSON.parse((await cli('ls', '--json')).stdout);
    expect(status).toMatchObject({ id: stdout.trim(), live: true });
    expect((await cli('stop', stdout.trim())).code).toBe(0);
    expect(loadCheckpoint(child.checkpoints).checkpoint!.elapsedS).toBeLessThan(600);
  });

  it('sets a knob to the value of the config even where somebody has turned it since', async () => {
    parentWith('turned', (checkpoint) => ({
      ...checkpoint,
      trainer: { ...checkpoint.trainer, knobs: { ...checkpoint.trainer.knobs, clip: 0.35, lr: 0.002 } },
    }));
    const { code } = await cli('branch', 'turned', '--set', 'clip=0.2', '--iterations', '1', '--json');
    expect(code).toBe(0);
    const reader = openRunReader(runPaths(runs, newest()));
    const changes = reader.knobChanges();
    const [row] = reader.iterations();
    reader.close();
    expect(changes).toMatchObject([{ knob: 'clip', from: 0.35, to: 0.2, who: 'config' }]);
    // The other one stays as it had been turned.
    expect(row!.learningRate).toBeCloseTo(0.002, 9);
  });
});

describe('what cannot be branched is refused, and leaves nothing behind', () => {
  it('an iteration without a checkpoint: those that are kept are named', async () => {
    const { code, stderr } = await refusal('branch', `${parent}@9`);
    expect(stderr).toContain('there is no checkpoint of iteration 9; kept: 3, 2, 1');
    expect(code).toBe(1);
  });

  it('a run without any checkpoint', async () => {
    const empty = runPaths(runs, 'empty');
    cpSync(paths.root, empty.root, { recursive: true });
    rmSync(empty.checkpoints, { recursive: true });
    const { code, stderr } = await refusal('branch', 'empty');
    expect(stderr).toContain('run empty has no checkpoint yet');
    expect(code).toBe(1);
    expect((await refusal('branch', 'empty@1')).stderr).toContain('kept: none');
    rmSync(empty.root, { recursive: true });
  });

  it('a damaged checkpoint; without an iteration the one before it is taken, and that is said', async () => {
    const damaged = parentWith('damaged', (checkpoint) => checkpoint);
    appendFileSync(join(damaged.checkpoints, 'it-00000003', 'weights.f32'), 'x');
    const { code, stderr } = await refusal('branch', 'damaged@3');
    expect(stderr).toMatch(/checkpoint file .*weights\.f32 is damaged: \d+ bytes, \d+ were written/u);
    expect(code).toBe(1);
    const branched = await cli('branch', 'damaged', '--iterations', '1', '--json');
    expect(branched.stderr).toMatch(/weights\.f32 is damaged: .*; iteration 2 is used/u);
    expect(iterationsOf(branched)).toEqual([3]);
  });

  it.each([
    ['another policy', ['PARENT', '--set', 'policy.hidden=32'], 'policy cannot change in a branch'],
    ['its end already reached', ['PARENT'], 'the branch would end at once: it begins at iteration 3'],
    ['a knob out of range', ['PARENT', '--set', 'clip=9'], 'knobs.clip: got 9, wanted 1 or less'],
    ['no iteration', ['PARENT@x'], '@x" names no checkpoint; wanted RUN, or RUN@ITERATION'],
    ['no run', ['@3'], '"@3" names no checkpoint'],
  ])('%s', async (_name, args, message) => {
    const { code, stderr } = await refusal('branch', ...args.map((arg) => arg.replace('PARENT', parent)));
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('a run that is not there', async () => {
    const { code, stderr } = await refusal('branch', 'nobody@1');
    expect(stderr).toContain('no run "nobody"');
    expect(code).toBe(1);
  });
});

describe('export', () => {
  it('writes the policy of a checkpoint, and says where', async () => {
    const to = join(runs, '..', `${parent}-export`);
    const { code, stdout, stderr } = await cli('export', `${parent}@2`, '--to', to, '--json');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const files = ['policy.onnx', 'tokenizer.json', 'README.md'];
    expect(JSON.parse(stdout)).toEqual({ run: parent, iteration: 2, directory: to, files });
    for (const name of files) expect(existsSync(join(to, name))).toBe(true);
    const { origin } = JSON.parse(readFileSync(join(to, 'tokenizer.json'), 'utf8'));
    expect(origin).toMatchObject({ run: parent, iteration: 2, policyVersion: 2, env: 'workbench' });
    const again = await cli('export', parent, '--to', to);
    expect(again.stderr).toContain('holds something already; an export wants a directory of its own');
    expect(again.code).toBe(2);
    rmSync(to, { recursive: true });
  });

  it('refuses what is not there, and a place that cannot be written', async () => {
    expect((await cli('export', `${parent}@8`, '--to', join(runs, 'x', 'y'))).stderr).toContain(
      'kept: 3, 2, 1',
    );
    const { code, stderr } = await cli('export', parent, '--to', join(paths.manifest, 'inside'));
    expect(stderr).toContain('the export cannot be written to');
    expect(code).toBe(1);
    expect((await cli('export', parent)).stderr).toContain("required option '--to <path>' not specified");
  });

  it('weights that are not those of the config are told as such, and nothing is written', async () => {
    const other = parentWith('other-weights', (checkpoint) => ({
      ...checkpoint,
      weights: checkpoint.weights.slice(8),
    }));
    const to = join(other.root, 'out');
    const { code, stderr } = await cli('export', 'other-weights', '--to', to);
    expect(stderr).toMatch(/got \d+ weights, and this policy has \d+/u);
    expect(code).toBe(1);
    expect(existsSync(to)).toBe(false);
  });
});
