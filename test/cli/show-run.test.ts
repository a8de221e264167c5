import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { metricsOf } from '../store/fixture.ts';
import { runCli } from '../support/cli.ts';
import { type FakeRun, startFakeRun } from '../support/fake-run.ts';

let run: FakeRun;
beforeEach(async () => {
  run = await startFakeRun();
});
afterEach(async () => {
  await run.remove();
});

async function show(...args: readonly string[]): ReturnType<typeof runCli> {
  return await runCli('show', run.id, '--runs', run.directory, ...args);
}

/** The first row is where the time of the others begins. */
function addRows(): void {
  run.store.appendIteration(metricsOf(1, { elapsedS: 10, sampleS: 10, heldS: 0, evalS: 0 }));
  run.store.appendIteration(metricsOf(2, { elapsedS: 20, sampleS: 1, heldS: 4, evalS: 0 }));
  run.store.appendIteration(metricsOf(3, { elapsedS: 40, sampleS: 1, heldS: 4, evalS: 10 }));
}

describe('show RUN', () => {
  it('of a live run says what it is at, who waits, and what was wasted', async () => {
    addRows();
    const { code, stdout } = await show();
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'run demo-1: running',
      'iteration 1 · 1:00 · 100 episodes · 2,000 steps',
      'the trainer waited for samples 10.0 % of the time, samplers stood still 40.0 % (last 2 iterations)',
      'samplers are slowed down: 1.0 MiB of samples wait for an update, they slow down at 1.0 MiB and stop at 2.0 MiB',
      '90.0 % of the sampling time was of use; most of the rest, 6.0 %: left out of batches as too old or too many',
      '',
    ]);
  });

  it('of one that has ended says what its rows say', async () => {
    addRows();
    await run.end('stopped', 'asked to');
    const { stdout } = await show();
    expect(stdout).toMatch(/^run demo-1: stopped \(asked to\)\niteration 3 · 0:40 · /u);
    expect(stdout).toContain('the trainer waited');
    expect(stdout).not.toContain('sampling time');
  });

  it('of one that died at once says so', async () => {
    await run.end(null);
    expect((await show()).stdout).toBe('run demo-1: died, before its first iteration\n');
  });

  it('gives it as one object', async () => {
    addRows();
    const shown = JSON.parse((await show('--json')).stdout);
    expect(shown).toMatchObject({
      run: 'demo-1',
      state: 'running',
      idle: { trainer: 0.1, samplers: 0.4 },
      iteration: { iteration: 3 },
      status: { pressure: { level: 'soft' }, waste: { stale: 6 } },
    });
  });

  it('of a run that is not there exits with 1 and the way to find one', async () => {
    const { code, stderr } = await runCli('show', 'nothere', '--runs', run.directory);
    expect(code).not.toBe(0);
    expect(stderr).toContain('nothere');
  });
});
