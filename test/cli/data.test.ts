import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bodyOf, finished, metricsOf, mixedSummary, summaryOf } from '../store/fixture.ts';
import { runCli } from '../support/cli.ts';
import { type FakeRun, startFakeRun } from '../support/fake-run.ts';

let run: FakeRun;
beforeAll(async () => {
  run = await startFakeRun();
  run.store.appendEpisodes(Array.from({ length: 12 }, (_, index) => finished(mixedSummary(index + 1))));
  for (let iteration = 1; iteration <= 4; iteration++) {
    run.store.appendIteration(metricsOf(iteration, { success: iteration / 4 }));
  }
  run.store.appendEvent({ time: 1, level: 'info', kind: 'one', subject: 's', message: 'a,b', episodes: [] });
});
afterAll(async () => await run.remove());

it('sql asks the newest run or the one named, live as it is, and prints a table or CSV', async () => {
  const query = 'SELECT kind, message FROM events';
  expect(await runCli('sql', '--runs', run.directory, query)).toEqual({
    code: 0,
    stdout: 'kind  message\none   a,b\n',
    stderr: '',
  });
  const csv = await runCli('sql', '--runs', run.directory, run.id, query, '--csv');
  expect(csv.stdout).toBe('kind,message\none,"a,b"\n');
});

it('sql shows control characters of a column’s name as escapes', async () => {
  const query = 'SELECT kind AS "a\u001b[2Jb\nc" FROM events';
  const { stdout } = await runCli('sql', '--runs', run.directory, query);
  expect(stdout).toBe('a\\e[2Jb\\nc\none\n');
});

it('sql refuses what writes with exit code 2, and ends a query that takes too long', async () => {
  const refused = await runCli('sql', '--runs', run.directory, 'DELETE FROM events');
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('is not a query') });
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
  const ended = await runCli('sql', '--runs', run.directory, endless, '--timeout', '1');
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('did not answer within 1 s') });
});

it('export episodes and metrics write files or stdout, beside the export of the policy', async () => {
  const to = join(run.directory, 'failures.csv');
  const filter = ['-fail:none', 'id:..10'];
  const written = await runCli('export', 'episodes', run.id, ...filter, '--to', to, '--runs', run.directory);
  expect(written).toEqual({ code: 0, stdout: `wrote 10 episodes of run ${run.id} to ${to}\n`, stderr: '' });
  expect(readFileSync(to, 'utf8').match(/^demo-1,/gmu)).toHaveLength(10);
  const piped = await runCli(
    'export',
    'metrics',
    run.id,
    '--to',
    '-',
    '--format',
    'csv',
    '--runs',
    run.directory,
  );
  expect(piped.stdout).toMatch(/^run,iteration,/u);
  const again = await runCli('export', 'episodes', run.id, '--to', to, '--runs', run.directory);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') });
});

it('compare prints means side by side, and names a metric that was meant', async () => {
  const { stdout } = await runCli('compare', run.id, run.id, '--rows', '2', '--runs', run.directory);
  expect(stdout).toBe('ITERATION  demo-1\n      1..   0.375\n      3..   0.875\n');
  const unknown = await runCli('compare', run.id, '--metric', 'sucess', '--runs', run.directory);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean success?') });
});

it('pin asks the run while it is live; compact and archive take the lock and name who has it', async () => {
  const pinned = await runCli('pin', run.id, '3', '--runs', run.directory);
  expect(pinned).toMatchObject({ code: 0, stdout: `e3 of run ${run.id} is pinned\n` });
  expect(run.requests).toEqual([expect.objectContaining({ command: 'pin', episode: 'e3', pinned: true })]);
  const missing = await runCli('pin', run.id, 'e99', '--runs', run.directory);
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('no episode "e99"') });
  const archived = await runCli('archive', run.id, '--runs', run.directory);
  expect(archived).toMatchObject({ code: 1, stderr: expect.stringContaining('in use by process') });
});

it('of a run that has ended: pin, compact, archive, and its episodes can still be shown', async () => {
  const ended = await startFakeRun();
  writeFileSync(ended.paths.config, 'store: { keepSample: 0 }\n');
  ended.store.appendEpisodes(
    Array.from({ length: 40 }, (_, index) => finished(summaryOf(index + 1), bodyOf(5, index + 1))),
  );
  await ended.end('finished');
  const at = ['--runs', ended.directory];
  const { stdout } = await runCli('pin', ended.id, 'e7', '9', ...at);
  expect(stdout).toBe(`e7 of run ${ended.id} is pinned\ne9 of run ${ended.id} is pinned\n`);
  const compacted = await runCli('compact', ended.id, ...at);
  expect(compacted.stdout).toContain('the steps of 38 episodes were dropped; kept were pinned 2, held-out 0');
  expect((await runCli('archive', ended.id, ...at)).stdout).toContain('2 episodes moved to 1 file');
  expect((await runCli('show', 'e7', ...at)).stdout).toContain('step 5 of 5');
  const dropped = await runCli('show', 'e8', ...at);
  expect(dropped).toMatchObject({ code: 1, stderr: expect.stringContaining('the steps of e8 were dropped') });
  await ended.remove();
});

it('alert lists those of a run, and says how often others would have begun', async () => {
  const runs = ['--runs', run.directory];
  const alerts = join(run.directory, 'alerts.yaml');
  const listed = "alerts:\n  - { name: failing, filter: 'fail:any', last: 4, above: 75% }\n";
  writeFileSync(run.paths.config, listed);
  writeFileSync(alerts, `${listed}  - { name: good, metric: success, above: 0.6, cooldownS: 0 }\n`);
  const filter = 'fail:any id:e1..e4';
  run.store.appendEvent({
    time: 1,
    level: 'warning',
    kind: 'alert',
    subject: 'failing',
    message: 'm',
    episodes: [],
    filter,
  });
  const ls = await runCli('alert', 'ls', ...runs);
  expect(ls.stdout).toMatch(
    /^NAME +BEGAN +LAST +CONDITION\nfailing +1 +\S+ \S+ +fail:any of the newest 4 episodes above 75%\n$/u,
  );
  const tested = await runCli('alert', 'test', '--config', alerts, ...runs);
  expect(tested.stdout).toMatch(/^failing +1 +\d+ +\S+ \S+ +100\.0 %, 4 of 4 episodes among the newest 4 /mu);
  expect(tested.stdout).toMatch(/^good +1 +\d+ +\S+ \S+ +success is 0\.75; above 0\.6$/mu);
  expect(tested.stderr).toContain('over 12 episodes and 4 iterations of demo-1\n');
  expect(tested.stderr).toContain(`episodes --run demo-1 '${filter}'`);
  expect(JSON.parse((await runCli('alert', 'test', '--json', ...runs)).stdout)).toMatchObject({
    name: 'failing',
    began: 1,
    filter,
  });
  writeFileSync(run.paths.config, '');
  expect(await runCli('alert', 'test', ...runs)).toMatchObject({ code: 2, stdout: '' });
  expect((await runCli('alert', 'ls', ...runs)).stdout).toContain('demo-1 has no alerts');
});
