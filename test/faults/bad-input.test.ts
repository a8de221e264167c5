import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readManifest, writeManifest } from '../../src/store/run-directory.ts';
import { Lab, type LabRun, TINY } from '../support/lab-run.ts';

/** One run that has ended, with three checkpoints, for all that follows. */
let lab: Lab;
let run: LabRun;
beforeAll(async () => {
  lab = new Lab();
  run = await lab.run({ ...TINY, checkpoint: { every: 1, keep: 3 } }, '--iterations', '3');
  await run.untilEvent('run-finished');
  await lab.untilEmpty(10_000);
});
afterAll(() => lab.remove());

async function refused(...args: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const { code, stderr, stdout } = await lab.cli(...args);
  expect(stdout).toBe('');
  return { code, stderr };
}

describe('a config that is not right', () => {
  it('is refused at once, each problem with file, line, value and what would be right', async () => {
    const file = lab.write('bad.yaml', 'sampling:\n  slotz: 4\n  maxSteps: many\nknobs:\n  clip: 7\n');
    const { code, stderr } = await refused('run', file, '--headless');
    expect(code).toBe(2);
    expect(stderr).toContain(`${file}:2: sampling.slotz: unknown key; did you mean "slots"?`);
    expect(stderr).toContain(`${file}:3: sampling.maxSteps: got "many", wanted a number`);
    expect(stderr).toContain(`${file}:5: knobs.clip: got 7, wanted 1 or less`);
    expect(readdirSync(lab.runs)).toEqual([run.id]);
  });

  it('or not there', async () => {
    const { code, stderr } = await refused('run', join(lab.directory, 'none.yaml'));
    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot read the config .*none\.yaml: ENOENT/u);
  });
});

describe('a run directory that cannot be used', () => {
  it('is a file: says so', async () => {
    const file = lab.write('file', '');
    const { code, stderr } = await refused('--runs', file, 'run', '--detach');
    expect(code).toBe(1);
    expect(stderr).toMatch(/could not .*ENOTDIR|could not make the run directory/u);
    expect(stderr).toContain('→ check that the path is a directory');
  });

  it('is held by a process of another host: names it', async () => {
    writeFileSync(run.paths.lock, JSON.stringify({ pid: 4242, host: 'elsewhere', started: null }));
    const { code, stderr } = await refused('resume', run.id, '--detach');
    rmSync(run.paths.lock);
    expect(code).toBe(1);
    expect(stderr).toContain('the run is in use by process 4242 on elsewhere');
    expect(stderr).toContain('→ stop it on elsewhere');
  });

  it('was written by a newer version: says so and leaves it alone', async () => {
    const before = readManifest(run.paths);
    writeManifest(run.paths, { ...before, format: 99 });
    const { code, stderr } = await refused('resume', run.id, '--detach');
    expect(code).toBe(1);
    expect(stderr).toMatch(/has format 99; this version reads up to \d+\n/u);
    expect((await lab.cli('ls')).stdout).toContain('unreadable');
    writeManifest(run.paths, before);
  });
});

describe('what cannot be found', () => {
  it.each([
    ['episodes fail:wrong_resul', 2, /fail:wrong_resul\n\s+\^/u],
    ['episodes steps>', 2, /\^/u],
    ['show e99999', 1, /no episode "e99999": there are e1 to e\d+/u],
    ['attach', 1, /is live; the newest, tiny-.* is finished/u],
    ['stopp', 2, /"stopp" is not a command\n.*did you mean stop\?/u],
  ])('%s is refused with what there is', async (line, exitCode, message) => {
    const { code, stderr } = await refused(...line.split(' '));
    expect(stderr).toMatch(message);
    expect(code).toBe(exitCode);
  });

  it('a mistyped run is refused with the one that was meant', async () => {
    const { code, stderr } = await refused('show', 'e1', '--run', run.id.replace('tiny', 'tinny'));
    expect(code).toBe(1);
    expect(stderr).toContain(`similar: ${run.id}`);
    expect(stderr).toContain(`agentrl-lab runs --runs ${lab.runs}`);
  });

  it('attach without a terminal says what to do instead', async () => {
    const { code, stderr } = await refused('attach', run.id);
    expect(code).toBe(2);
    expect(stderr).toContain('attach needs a terminal');
  });
});

/** Without the directory of weights alone. */
function checkpointNames(): string[] {
  return readdirSync(run.paths.checkpoints).filter((name) => name.startsWith('it-'));
}

function damage(name: string): void {
  const file = join(run.paths.checkpoints, name, 'weights.f32');
  truncateSync(file, statSync(file).size - 4);
}

describe('checkpoints that are damaged', () => {
  it('the newest: resume says so, and goes on from the one before', async () => {
    const [newest, before] = checkpointNames().toSorted().toReversed();
    damage(newest!);
    const args = ['resume', run.id, '--headless', '--iterations', '5'];
    const { code, stdout, stderr } = await lab.cli(...args);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      new RegExp(`warning: run: checkpoint file .*${newest}.* is damaged.*older checkpoint`, 'u'),
    );
    expect(stdout).toMatch(new RegExp(`^iteration +${Number(before!.slice(3)) + 1} `, 'mu'));
    expect(run.iterations()).toEqual([1, 2, 3, 4, 5]);
    await lab.untilEmpty(5000);
  });

  it('all of them: resume is refused with the way out, which works', async () => {
    const episodes = run.episodes().length;
    for (const name of checkpointNames()) damage(name);
    const { code, stderr } = await refused('resume', run.id, '--detach');
    expect(code).toBe(1);
    expect(stderr).toMatch(/none of the 3 checkpoints can be used: .* is damaged/u);
    expect(stderr).toContain('remove the checkpoints directory of the run to begin again from iteration 0');
    rmSync(run.paths.checkpoints, { recursive: true });
    mkdirSync(run.paths.checkpoints);
    const again = await lab.cli('resume', run.id, '--headless', '--iterations', '1');
    expect(again.code).toBe(0);
    expect(run.iterations()).toEqual([1]);
    expect(run.episodes().length).toBeGreaterThan(episodes);
  });
});

describe('a stored run that is damaged', () => {
  it('a byte of a segment: fsck says what is lost; the episodes around it can be read', async () => {
    const segment = join(run.paths.segments, '000001.seg');
    copyFileSync(segment, `${segment}.copy`);
    const bytes = readFileSync(segment);
    const [first] = run.episodes('sort:id');
    const middle = Math.floor(bytes.byteLength / 2);
    bytes.fill(0xff, middle, middle + 8);
    writeFileSync(segment, bytes);
    const { code, stdout } = await lab.cli('fsck', run.id);
    copyFileSync(`${segment}.copy`, segment);
    rmSync(`${segment}.copy`);
    expect(code).toBe(1);
    expect(stdout).toMatch(/000001\.seg: [\d,]+ bytes at byte \d+ are lost/u);
    expect((await lab.cli('show', first!.id)).code).toBe(0);
  });

  it('the index is gone: fsck says so and builds it anew', async () => {
    const episodes = run.episodes().length;
    for (const suffix of ['', '-wal', '-shm']) rmSync(run.paths.database + suffix, { force: true });
    const found = await lab.cli('fsck', run.id);
    expect(found).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('index: it is missing; repair it with:'),
    });
    expect((await lab.cli('fsck', run.id, '--repair')).code).toBe(0);
    expect(run.episodes()).toHaveLength(episodes);
  });
});
