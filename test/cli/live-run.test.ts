import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finished, metricsOf, mixedSummary, summaryOf } from '../store/fixture.ts';
import { type CliResult, runCli, startCli } from '../support/cli.ts';
import { type FakeRun, startFakeRun } from '../support/fake-run.ts';

let run: FakeRun;
beforeEach(async () => {
  run = await startFakeRun();
});
afterEach(async () => await run.remove());

async function cli(...args: readonly string[]): Promise<CliResult> {
  return await runCli(...args, '--runs', run.directory);
}

describe('slots', () => {
  it('lists them, those that wait longest first, and says which worker is stuck in which', async () => {
    const { code, stdout } = await cli('slots');
    expect(code).toBe(0);
    expect(stdout).toBe(
      `worker 1@local does not answer: stuck in step, slot 7, 5.2 s
WORKER          SLOT  STAGE    WAIT  EPISODE     AGE  STEPS    CPU     TEMP  FILES
worker 0@local     1  step   41.0 s  e17      52.4 s      4  0.000  3.0 MiB      2
worker 0@local     0  ready          e17      120 ms      9  0.250    0 KiB      0
worker 0@local     2  free                                   0.000    0 KiB      0
3 of 3 slots
`,
    );
  });

  it('sorts and cuts, also as JSON, and refuses an order that there is not', async () => {
    const { slots, total, silent } = JSON.parse(
      (await cli('slots', '--sort', 'cpu', '--limit', '1', '--json')).stdout,
    );
    expect({ slots, total, silent }).toMatchObject({
      slots: [{ worker: 'worker 0@local', slot: 0, cpu: 0.25 }],
      total: 3,
      silent: [{ worker: 'worker 1@local', stuck: { slot: 7, ms: 5200 } }],
    });
    expect(await cli('slots', '--sort', 'charm')).toMatchObject({ code: 2 });
  });
});

describe('control', () => {
  it('pause asks for the soft form, --now for the hard one', async () => {
    const { code, stdout } = await cli('pause');
    expect(code).toBe(0);
    expect(stdout).toContain('run demo-1 is pausing: episodes in flight are finished first');
    expect((await cli('pause', 'demo-1', '--now', '--json')).stdout).toBe(
      '{"run":"demo-1","paused":true,"now":true}\n',
    );
    expect(run.requests).toMatchObject([
      { command: 'pause', now: false, quiesce: false },
      { command: 'pause', now: true, quiesce: false },
    ]);
  });

  it('set prints from which minibatch on the new values apply', async () => {
    const { code, stdout } = await cli('set', 'clip=0.1', 'kl=0.02', '--run', 'demo-1');
    expect(code).toBe(0);
    expect(stdout).toBe(
      'clip 0.2 → 0.1 from iteration 7, minibatch 3\nkl 0.2 → 0.02 from iteration 7, minibatch 3\n',
    );
    expect(run.requests).toMatchObject([{ command: 'set', knobs: { clip: 0.1, kl: 0.02 } }]);
  });

  it('set gives a knob back to its schedule, beside values for others', async () => {
    const { code, stdout } = await cli('set', 'lr=schedule', 'clip=0.1');
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'lr 0.2 → 0.3 from iteration 7, minibatch 3',
        'clip 0.2 → 0.1 from iteration 7, minibatch 3',
        'lr back on schedule',
        '',
      ].join('\n'),
    );
    expect(run.requests).toMatchObject([
      { command: 'schedule', knobs: ['lr'] },
      { command: 'set', knobs: { clip: 0.1 } },
    ]);
    const json = JSON.parse((await cli('set', 'lr=schedule', '--json')).stdout);
    expect(json).toMatchObject({ run: 'demo-1', changes: [{ knob: 'lr', to: 0.3 }], scheduled: ['lr'] });
    expect(run.requests).toHaveLength(3);
  });

  it('undo says what it has put back', async () => {
    expect(await cli('undo')).toMatchObject({
      code: 0,
      stdout: 'put back: clip 0.2 → 0.1 from iteration 7, minibatch 3\n',
    });
    const json = JSON.parse((await cli('undo', 'demo-1', '--json')).stdout);
    expect(json).toMatchObject({ run: 'demo-1', change: { knob: 'clip', to: 0.1, undo: true } });
    expect(run.requests).toMatchObject([{ command: 'undo' }, { command: 'undo' }]);
  });

  it('preview says what knobs would have done, and turns none', async () => {
    const { code, stdout } = await cli('preview', 'demo-1', 'clip=0.1', 'epochs=2');
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'with clip=0.1 epochs=2, iteration 7 computed again (1 minibatch, 512 samples):',
        '  clipped 10.0 % → 25.0 %',
        '  KL 0.01 → 0.0123',
        '',
      ].join('\n'),
    );
    const json = JSON.parse((await cli('preview', 'clip=0.1', '--json')).stdout);
    expect(json).toMatchObject({ knobs: { clip: 0.1 }, preview: { iteration: 7 } });
    expect(json.preview['wouldBe']).toEqual({ clipFraction: 0.25, kl: 0.0123 });
    expect(run.requests).toMatchObject([
      { command: 'preview', knobs: { clip: 0.1, epochs: 2 } },
      { command: 'preview', knobs: { clip: 0.1 } },
    ]);
    expect((await cli('preview', 'nobody', 'clip=0.1')).stderr).toContain('no run "nobody"');
  });

  it('stop returns when the run has ended, and again says that it has', async () => {
    expect(await cli('stop')).toMatchObject({
      code: 0,
      stdout: `run demo-1 is stopped; go on with: agentrl-lab resume demo-1 --runs ${run.directory}\n`,
    });
    expect(await cli('stop', 'demo-1')).toMatchObject({
      code: 0,
      stdout: 'run demo-1 was not live: it is stopped\n',
    });
    const { code, stderr } = await cli('pause');
    expect(code).toBe(1);
    expect(stderr).toContain('the newest, demo-1, is stopped');
    expect(stderr).toContain('agentrl-lab resume demo-1');
  });

  it('resume lets a live run go on, and refuses to change its config', async () => {
    expect(await cli('resume', '--detach')).toMatchObject({ code: 0, stdout: 'demo-1\n' });
    expect(run.requests).toMatchObject([{ command: 'resume' }]);
    const { code, stderr } = await cli('resume', '--minutes', '3');
    expect(code).toBe(2);
    expect(stderr).toContain('run demo-1 is live: its config cannot change now');
  });

  it('attach without a terminal says what to use instead', async () => {
    const { code, stderr } = await cli('attach');
    expect(code).toBe(2);
    expect(stderr).toContain('attach needs a terminal');
  });
});

describe('following without a terminal', () => {
  it('prints exactly one JSON object an iteration, and exits with 0 when the run finishes', async () => {
    run.store.appendIteration(metricsOf(1));
    const following = startCli(['resume', '--json', '--runs', run.directory]);
    following.process.stdout?.once('data', () => {
      run.store.appendIteration(metricsOf(2, { heldOutSuccess: 0.5, heldOutByFamily: { ordered: 0.5 } }));
      run.store.appendIteration(metricsOf(3));
      void run.end('finished');
    });
    const { code, stdout } = await following.result;
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.iteration)).toEqual([1, 2, 3]);
    expect(lines[1]).toMatchObject({ heldOutSuccess: 0.5, heldOutByFamily: { ordered: 0.5 }, updateS: 1 });
    expect(code).toBe(0);
  });

  it('prints a line an iteration and a summary for people', async () => {
    run.store.appendIteration(metricsOf(1));
    run.store.appendEvaluation({
      iteration: 1,
      policyVersion: 1,
      mode: 'greedy',
      episodes: 200,
      success: 0.95,
      byFamily: { 'a\u001B[2J': 1 },
    });
    const following = startCli(['resume', '--headless', '--runs', run.directory]);
    following.process.stdout?.once('data', () => void run.end('finished', 'time is up'));
    const { code, stdout, stderr } = await following.result;
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'iteration    1     0:02    100 episodes  2.00k steps  5.00k/s  reward  0.500  success  25.0 %  held-out       –  KL 0.0100  clipped 10.0 %  entropy 1.20  update 1.0 s',
        'run demo-1 finished (time is up): 1 iteration, 2,000 steps, 100 episodes in 0:02',
        'held-out success, greedy policy: 95.0 % (200 episodes, iteration 1)',
        '  a\\e[2J 100.0 %',
        'reward 0.5, success 25.0 % in the last batch',
        `look at its episodes: agentrl-lab episodes --run demo-1 --runs ${run.directory}`,
        '',
      ].join('\n'),
    );
    expect(stderr).toContain('Ctrl-C stops it');
  });

  it('Ctrl-C stops the run and exits with 130', async () => {
    run.store.appendIteration(metricsOf(1));
    const following = startCli(['resume', '--json', '--runs', run.directory]);
    following.process.stdout?.once('data', () => following.process.kill('SIGINT'));
    const { code, stderr } = await following.result;
    expect(code).toBe(130);
    expect(stderr).toContain('stopping the run after SIGINT');
    expect(run.requests.at(-1)?.command).toBe('stop');
  });

  it('a lost terminal leaves the run to itself', async () => {
    run.store.appendIteration(metricsOf(1));
    const following = startCli(['resume', '--json', '--runs', run.directory]);
    following.process.stdout?.once('data', () => following.process.kill('SIGHUP'));
    await following.result;
    expect(run.requests.map(({ command }) => command)).toEqual(['resume']);
  });

  it('says why a run is not running, and fails when somebody else stops it', async () => {
    run.store.appendIteration(metricsOf(1));
    run.setState('stalled', 'disk full');
    const following = startCli(['resume', '--json', '--runs', run.directory]);
    following.process.stderr?.once('data', () => void run.end('stopped', 'asked to'));
    const { code, stderr } = await following.result;
    expect(stderr).toContain('demo-1 is stalled: disk full');
    expect(code).toBe(1);
  });

  it.each([
    ['failed', 'no trainer', 'run demo-1 failed: no trainer'],
    [null, null, 'run demo-1 died: its process is gone'],
  ] as const)('a run that ends as %j is an error that says how to go on', async (state, reason, message) => {
    run.store.appendIteration(metricsOf(1));
    const following = startCli(['resume', '--json', '--runs', run.directory]);
    following.process.stdout?.once('data', () => void run.end(state, reason));
    const { code, stderr } = await following.result;
    expect(code).toBe(1);
    expect(JSON.parse(stderr).error).toMatchObject({
      message,
      hint: `start it again from its last checkpoint with: agentrl-lab resume demo-1 --runs ${run.directory}`,
    });
  });
});

describe('looking', () => {
  beforeEach(() => {
    run.store.appendEpisodes(Array.from({ length: 40 }, (_, index) => finished(mixedSummary(index + 1))));
    run.store.appendEpisodes([
      finished(
        summaryOf(41, {
          failure: 'wrong_result',
          success: false,
          failureDetail: 'bad\u001B[31m',
          reward: -0.1,
        }),
      ),
    ]);
  });

  it('ls lists runs with their state, and one that died as such', async () => {
    expect((await cli('ls')).stdout).toMatch(/^RUN +STATE +STARTED .*\ndemo-1 +running +\d{4}-/u);
    await run.end(null);
    expect((await cli('runs')).stdout).toMatch(/\ndemo-1 +died /u);
    expect(JSON.parse((await cli('ls', '--json')).stdout)).toMatchObject([{ id: 'demo-1', live: false }]);
  });

  it('episodes lists what the filter matches, and counts the outcomes', async () => {
    const { code, stdout } = await cli('episodes', 'fail:wrong_result', '--limit', '2');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^EPISODE +ITER +POLICY +PHASE +TASK +STEPS +REWARD +OUTCOME/u);
    expect(lines[1]).toMatch(/^e41 .*read_then_enter\/train\/41 .* -0\.1 +wrong_result/u);
    expect(lines[3]).toMatch(/^2 of \d+ episodes of demo-1 · wrong_result \d+$/u);
  });

  it('a term that begins with "-" negates, and JSON has everything', async () => {
    const { stdout } = await cli('episodes', '-fail:any', '--json');
    const { episodes, total, outcomes } = JSON.parse(stdout);
    expect(total).toBeGreaterThan(0);
    expect(outcomes).toEqual({ success: total });
    expect(episodes[0]).toMatchObject({ success: true, failure: null });
  });

  it('show prints an episode step by step, with escapes made visible', async () => {
    const { code, stdout } = await cli('show', '41');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^episode e41 {2}workbench\/read_then_enter\/train\/41 {2}difficulty 1\.5\n/u);
    expect(stdout).toContain('wrong_result: submitted, and the result is not what was asked (bad\\e[31m)');
    expect(stdout).toContain(
      [
        'step 2 of 3  p 0.0617  value 0.49  entropy 1.25  policy 4',
        '  | line 1.4: the file notes_4.txt is open',
        '  > input "notes_1.txt"',
        '  reward -0.01  step -0.01',
      ].join('\n'),
    );
    expect(JSON.parse((await cli('show', 'e41', '--json')).stdout).body.steps).toHaveLength(3);
  });

  it('an episode that is not there names those that are', async () => {
    const { code, stderr } = await cli('show', 'e99');
    expect(code).toBe(1);
    expect(stderr).toContain('e41');
  });
});
