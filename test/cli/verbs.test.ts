import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { LAB_VERSION } from '../../src/domain/lab-version.ts';
import { runCli, startCli } from '../support/cli.ts';

const directory = mkdtempSync(join(tmpdir(), 'agentrl-verbs-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const runs = ['--runs', join(directory, 'none')];

describe('help', () => {
  it('lists the verbs in groups, with examples and exit codes, and exits with 0', async () => {
    const { code, stdout, stderr } = await runCli('--help');
    expect(code).toBe(0);
    expect(stderr).toBe('');
    for (const part of ['Run:', 'Control a live run:', 'Look:', 'Examples:', 'Exit codes:']) {
      expect(stdout).toContain(`\n${part}\n`);
    }
    const verbs = [
      'run',
      'resume',
      'branch',
      'attach',
      'pause',
      'stop',
      'set',
      'undo',
      'preview',
      'ls|runs',
      'episodes',
      'show',
      'replay',
      'export',
      'devices',
      'config',
      'sql',
    ];
    for (const verb of verbs) expect(stdout).toContain(`\n  ${verb} `);
    expect(stdout).not.toContain('worker-process');
  });

  it('of a verb names the default of RUN', async () => {
    expect((await runCli('pause', '--help')).stdout).toContain('default: the newest live run');
  });

  it('the version is that of the package', async () => {
    expect(await runCli('--version')).toEqual({ code: 0, stdout: `${LAB_VERSION}\n`, stderr: '' });
  });
});

describe('what is not right is said on stderr, with exit code 2', () => {
  it.each([
    [
      ['episods'],
      'agentrl-lab: "episods" is not a command\n  → did you mean episodes? See: agentrl-lab --help\n',
    ],
    [['set', 'clipp=1'], 'agentrl-lab: "clipp" is not a knob\n  → did you mean clip?\n'],
    [['set', 'clip'], 'agentrl-lab: "clip" is not an assignment; wanted clip=number\n'],
    [['set', 'clipp=schedule'], 'agentrl-lab: "clipp" is not a knob\n  → did you mean clip?\n'],
    [['preview', 'clip=9'], 'agentrl-lab: clip=9 is out of range: clip takes a number from 0.01 to 1\n'],
    [['preview', 'lr=schedule'], 'agentrl-lab: "lr=schedule" is not an assignment; wanted lr=number\n'],
    [['set', 'clip=9'], 'agentrl-lab: clip=9 is out of range: clip takes a number from 0.01 to 1\n'],
    [
      ['run', '--minutes', '0'],
      "error: option '--minutes <m>' argument '0' is invalid. Wanted a number above 0.\n",
    ],
    [
      ['run', '--set', 'clip'],
      'agentrl-lab: "clip" is not an assignment; wanted key=value, as in clip=0.1\n',
    ],
    [
      ['run', '--set', 'sampling.slots=0'],
      'agentrl-lab: command line: sampling.slots: got 0, wanted 1 or more\n',
    ],
    [['run', 'no-such.yaml'], 'agentrl-lab: cannot read the config no-such.yaml: ENOENT'],
    [['episodes', '-fail:x'], 'agentrl-lab: filter, column 7: unknown value "x"\n  -fail:x\n        ^\n'],
    [['show', '--run', '../x', 'e1'], 'agentrl-lab: "../x" is no run id'],
    [['ls', '--nope'], "error: unknown option '--nope'\n"],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await runCli(...args, ...runs);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

it('a run that is not there is an error with code 1, as JSON where that was asked for', async () => {
  const plain = await runCli('stop', ...runs);
  expect(plain).toMatchObject({ code: 1, stdout: '' });
  expect(plain.stderr).toContain('agentrl-lab: there are no runs in');
  const json = await runCli('stop', '--json', ...runs);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'run-not-found' } });
});

it('no verb and no terminal: what there is, and how to go on', async () => {
  const { code, stdout, stderr } = await runCli(...runs);
  expect(code).toBe(0);
  expect(stdout).toContain('start one with: agentrl-lab run');
  expect(stderr).toBe('not a terminal: start a run with "agentrl-lab run", see "agentrl-lab --help"\n');
});

it('config prints a whole config that loads again, with the origin of each value', async () => {
  const file = join(directory, 'lab.yaml');
  writeFileSync(file, 'seed: 5\n');
  const { code, stdout } = await runCli('config', file, '--set', 'clip=0.1', '--minutes', '3');
  expect(code).toBe(0);
  expect(stdout).toContain(`seed: 5 # ${file}:1\n`);
  expect(stdout).toContain('  clip: 0.1 # command line\n');
  expect(stdout).toContain('  minutes: 3 # command line\n');
  expect(loadConfig(stdout, { file: 'x' }).config.stop.minutes).toBe(3);
  const json = JSON.parse((await runCli('config', '--json')).stdout);
  expect(json.config.sampling.slots).toBe(256);
  expect(json.origins['sampling.slots']).toBe('default');
});

it('a reader that goes away ends the command quietly', async () => {
  const cli = startCli(['config']);
  cli.process.stdout?.destroy();
  const { code, stderr } = await cli.result;
  expect(stderr).toBe('');
  expect([0, 141]).toContain(code);
});
