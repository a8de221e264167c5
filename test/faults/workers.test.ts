import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChildStatus, RunStatus } from '../../src/domain/run.ts';
import { kill, Lab, type LabRun, TINY, until } from '../support/lab-run.ts';

const lab = new Lab();
let run: LabRun;

beforeAll(async () => {
  run = await lab.run({ ...TINY, evaluation: { every: 1000, episodes: 10 } });
  await run.untilIteration(1);
});
afterAll(() => lab.remove());

function worker({ children }: RunStatus, index: number): ChildStatus | undefined {
  return children.find((child) => child.role === 'worker' && child.index === index);
}

async function workers(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await lab.cli('workers', '--run', run.id, ...args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

it('a drained worker finishes what it has, rests through a pause and its own death, and works again', async () => {
  expect(await workers('drain', '0', '--wait')).toBe('worker 0@local has nothing in flight\n');
  const drained = await run.until('drained', (status) => worker(status, 0)?.drain?.left === 0);
  const last = run.episodes('worker:0').length;
  await run.untilIteration(drained.iteration + 3);
  expect(run.episodes('worker:0')).toHaveLength(last);
  expect(drained.stall).toBeNull();

  kill(worker(drained, 0)?.pid ?? 0);
  const anew = await run.until('it is up again', (status) => worker(status, 0)?.restarts === 1);
  await run.untilIteration(anew.iteration + 2);
  expect(run.episodes('worker:0')).toHaveLength(last);

  await workers('undrain', 'worker 0@local');
  await until('it samples again', () => run.episodes('worker:0').length > last || null);
});

it('when every worker is drained, the run says so', async () => {
  await workers('drain', 'local');
  const { stall } = await run.until('a stall', (status) => status.stall !== null);
  expect(stall?.message).toMatch(/^update \d+ waits for samples: every worker is drained$/u);
  await workers('undrain', 'local');
  await run.untilEvent('stall-over');
});

it('a restart loses nothing, and one at once loses nothing but time', async () => {
  const before = new Set((await run.until('ready', () => true)).children.map(({ pid }) => pid));
  await workers('restart', '0');
  await workers('restart', '1', '--now');
  const after = await run.until(
    'both are new',
    (status) => worker(status, 0)?.restarts === 2 && worker(status, 1)?.restarts === 1,
  );
  expect(after.children.filter(({ pid }) => before.has(pid)).map(({ role }) => role)).toEqual(['trainer']);
  const restarted = await run.untilEvent('worker-restarted', ({ subject }) => subject === 'worker 0@local');
  expect(restarted.message).toMatch(/^was restarted by \S+@\S+; 0 episodes/u);
  await run.untilIteration(after.iteration + 2);
});

it('an added worker samples; what leaves is gone; a quiesced run killed and resumed has the same', async () => {
  expect(await workers('add', 'local', '--slots', '8')).toBe('worker 2@local is being started\n');
  await until('its episodes', () => run.episodes('worker:2').length > 0 || null);
  await workers('remove', '0');
  const removed = await run.until('it is gone', (status) => worker(status, 0) === undefined);
  expect(worker(removed, 2)).toMatchObject({ slots: 8, drain: null });
  await workers('drain', '1');

  const { stdout } = await lab.cli('pause', run.id, '--quiesce');
  // What workers say of themselves is half a second old.
  const { iteration, state } = await run.until(
    'quiesced, and so say the workers',
    (status) => status.state === 'quiesced' && status.children.every(({ busySlots }) => busySlots === 0),
  );
  const reason = `nothing in flight, checkpoint it-${String(iteration).padStart(8, '0')} on disk`;
  expect(stdout).toContain(reason);
  expect(run.manifest()).toMatchObject({ state, reason: expect.stringContaining(reason) });
  const stored = run.account().total;

  kill(lab.pid('run'));
  await lab.untilEmpty(20_000);
  expect((await lab.cli('resume', run.id, '--detach')).code).toBe(0);
  const resumed = await run.until('it runs', (status) => status.state === 'running' && status.attempt === 2);
  expect(resumed.iteration).toBeGreaterThanOrEqual(iteration);
  expect(worker(resumed, 0)).toBeUndefined();
  expect(worker(resumed, 1)?.drain).toEqual({ end: 'rest', left: 0 });
  await until('it samples', () =>
    run.episodes('worker:2').length > 0 && run.account().total > stored ? true : null,
  );
});

it('the events name who did it', () => {
  const commands = run.events().filter(({ who }) => who !== undefined);
  expect(new Set(commands.map(({ kind }) => kind))).toEqual(
    new Set(['drain', 'undrain', 'restart', 'worker-added', 'remove', 'pause']),
  );
  expect(commands.every(({ who, message }) => message.endsWith(`, by ${who ?? ''}`))).toBe(true);
});

it('nothing was lost or stored twice on the way', async () => {
  await run.stop();
  const { total, distinct, byOutcome } = run.account();
  expect([distinct, byOutcome]).toEqual([total, total]);
});
