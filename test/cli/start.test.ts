import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { readManifest, runPaths } from '../../src/store/run-directory.ts';
import { type CliResult, runCli } from '../support/cli.ts';

const root = mkdtempSync(join(tmpdir(), 'agentrl-start-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SMALL = [
  '--set',
  'sampling.slots=16',
  'sampling.batchSteps=600',
  'policy.hidden=16',
  'policy.vocabulary=256',
  'evaluation.episodes=5',
];

function lab(directory: string): (...args: readonly string[]) => Promise<CliResult> {
  return async (...args) => await runCli(...args, '--runs', directory);
}

it('a real run: followed to its end, resumed with a later end, looked into', async () => {
  const cli = lab(join(root, 'real'));
  const run = await cli('run', '--headless', '--json', '--name', 'tiny', '--iterations', '1', ...SMALL);
  expect(run.stderr).not.toContain('agentrl-lab:');
  expect(run.code).toBe(0);
  expect(
    run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ iteration: 1 }]);

  const [listed] = JSON.parse((await cli('ls', '--json')).stdout);
  expect(listed).toMatchObject({ live: false, manifest: { name: 'tiny', state: 'finished', attempt: 1 } });

  const resumed = await cli('resume', '--json', '--iterations', '2');
  expect(resumed.code).toBe(0);
  expect(
    resumed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ iteration: 2, attempt: 2 }]);
  const paths = runPaths(join(root, 'real'), listed.id);
  const { config } = loadConfig(readFileSync(paths.config, 'utf8'), { file: 'config.yaml' });
  expect(config.stop.iterations).toBe(2);

  const { episodes } = JSON.parse((await cli('episodes', '--json', '--limit', '1')).stdout);
  expect((await cli('show', episodes[0].id)).stdout).toContain(`episode ${episodes[0].id} `);
});

it('a detached run goes on by itself until it is stopped, also where paths are too long for a socket', async () => {
  const directory = join(root, 'long', 'x'.repeat(100));
  const cli = lab(directory);
  const { code, stdout } = await cli('run', '--detach', ...SMALL);
  expect(code).toBe(0);
  const paths = runPaths(directory, stdout.trim());
  const { pid, socket } = readManifest(paths);
  expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
  expect(() => process.kill(pid!, 0)).not.toThrow();
  expect((await cli('stop', '--json')).stdout).toBe(`{"run":"${stdout.trim()}","state":"stopped"}\n`);
  expect(() => process.kill(pid!, 0)).toThrow('ESRCH');
});

it('a run whose config has been damaged is not started again', async () => {
  const directory = join(root, 'broken-config');
  const cli = lab(directory);
  const id = (await cli('run', '--detach', ...SMALL)).stdout.trim();
  await cli('stop');
  writeFileSync(runPaths(directory, id).config, 'seed: 1\nslots: 1\n');
  const { code, stderr } = await cli('resume', '--detach');
  expect(code).toBe(2);
  expect(stderr).toContain('config.yaml:2: slots: unknown key; there is one at sampling.slots');
  expect((await cli('ls')).stdout).toMatch(/ stopped /u);
});

it('a run that cannot start says why, and is listed as failed', async () => {
  const directory = join(root, 'broken');
  const cli = lab(directory);
  const id = (await cli('run', '--detach', ...SMALL)).stdout.trim();
  await cli('stop');
  const paths = runPaths(directory, id);
  rmSync(paths.segments, { recursive: true });
  writeFileSync(paths.segments, '');
  const { code, stderr } = await cli('resume', '--detach');
  expect(code).toBe(1);
  expect(stderr).toContain(`agentrl-lab: run ${id} could not start: `);
  expect(stderr).toContain(`its whole log: ${join(paths.logs, 'run.log')}`);
  expect((await cli('ls')).stdout).toMatch(/ failed .*segments/u);
});

it('a runs directory that cannot be written is an error, and nothing is started', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  const { code, stderr } = await lab(join(file, 'runs'))('run', '--detach');
  expect(code).toBe(1);
  expect(stderr).toContain('could not make the run directory');
});

it('two runs of one name within a second get different ids', async () => {
  const directory = join(root, 'same');
  const cli = lab(directory);
  mkdirSync(directory);
  const started = [await cli('run', '--detach', ...SMALL), await cli('run', '--detach', ...SMALL)];
  const ids = started.map(({ stdout }) => stdout.trim());
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) await cli('stop', id);
});
