import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finished, mixedSummary } from '../store/fixture.ts';
import { type CliResult, runCli } from '../support/cli.ts';
import { type FakeRun, startFakeRun } from '../support/fake-run.ts';

let run: FakeRun;
beforeAll(async () => {
  run = await startFakeRun();
  run.store.appendEpisodes(Array.from({ length: 120 }, (_, index) => finished(mixedSummary(index + 1))));
});
afterAll(async () => await run.remove());

async function cli(...args: readonly string[]): Promise<CliResult> {
  return await runCli(...args, '--runs', run.directory);
}

describe('episodes', () => {
  it('--facets says how they are distributed', async () => {
    const { code, stdout, stderr } = await cli('episodes', 'is:failed', '--facets');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^OUTCOME +EPISODES\n(?:\w+ +10\n){11}\nFAMILY +EPISODES\nread_then_enter +110\n/u,
    );
    expect(stdout).toMatch(/\nITERATION +EPISODES\n1 to < 2 +10\n/u);
    expect(stdout).toMatch(/\nnone +50\n\n110 episodes of demo-1\n$/u);
    const facets = JSON.parse((await cli('episodes', 'fail:gave_up', '--facets', '--json')).stdout);
    expect(facets).toMatchObject({ run: 'demo-1', count: 10, failures: [{ value: 'gave_up', count: 10 }] });
  });

  it('--complete says how a filter can go on', async () => {
    const { code, stdout } = await cli('episodes', '--complete', 'is:eval fail:pre');
    expect(code).toBe(0);
    expect(stdout).toBe(
      'FILTER                         EPISODES  MEANING\nis:eval fail:premature_submit         2\n',
    );
    const completion = JSON.parse((await cli('episodes', '--complete', 'is:ev', '--json')).stdout);
    expect(completion).toMatchObject({ from: 3, to: 5, suggestions: [{ text: 'eval', count: 24 }] });
  });

  it('takes filters that were saved by name', async () => {
    expect((await cli('filter', 'save', 'long', 'steps>20', '-is:eval')).stdout).toBe(
      '@long stands for steps>20 -is:eval\n',
    );
    expect((await cli('filter', 'ls')).stdout).toBe('NAME   FILTER\n@long  steps>20 -is:eval\n');
    const { total } = JSON.parse((await cli('episodes', '@long', '--json')).stdout);
    expect(total).toBe(JSON.parse((await cli('episodes', 'steps>20', '-is:eval', '--json')).stdout).total);
    const unknown = await cli('episodes', '@lnog');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('no filter is saved as "lnog"; did you mean @long?');
    expect((await cli('filter', 'rm', 'long')).stdout).toBe('@long is forgotten\n');
    expect((await cli('filter', 'ls', '--json')).stdout).toBe('{}\n');
    expect(await cli('filter', 'save', 'x', 'fial:any')).toMatchObject({ code: 2, stdout: '' });
  });
});
