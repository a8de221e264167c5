import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Lab, type LabRun, TINY, until } from '../support/lab-run.ts';

const WORKBENCH = new URL('../support/workbench-module.mjs', import.meta.url).href;

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/**
 * The Workbench with a fault in the episodes of every so many tasks: `fault` is the code of a method `reset` or `step` that
 * takes the place of the real one there; `real()` does what that would have done.
 */
function faulty(fault: string, every = 40): string {
  return `
import { environment as base } from ${JSON.stringify(WORKBENCH)};
export const environment = {
  ...base,
  create(options) {
    const env = base.create(options);
    const fault = { ${fault} };
    let isFaulty = false;
    let current = 0;
    const reset = env.reset.bind(env);
    const step = env.step.bind(env);
    env.reset = (task, seed) => {
      isFaulty = Math.floor(seed / 8) % ${every} === 0;
      current = seed;
      const real = () => reset(task, seed);
      return isFaulty && fault.reset ? fault.reset(real, seed) : real();
    };
    env.step = (action) => (isFaulty && fault.step ? fault.step(() => step(action), current) : step(action));
    return env;
  },
};`;
}

async function runFaulty(fault: string, changes: object = {}, every = 40): Promise<LabRun> {
  lab.write('faulty.mjs', faulty(fault, every));
  return await lab.run({ ...TINY, env: { name: './faulty.mjs' }, ...changes });
}

const QUICK = { sampling: { ...TINY.sampling, stepTimeoutMs: 300, episodeTimeoutMs: 5000 } };

describe('an environment that misbehaves in some episodes', () => {
  it('spins in a step: that episode is env_timeout, its neighbours are dispatched again', async () => {
    const run = await runFaulty('step() { for (;;); }', QUICK, 150);
    const [stuck] = await until('an env_timeout', () => nonEmpty(run, 'fail:env_timeout'));
    expect(stuck).toMatchObject({ trust: 'void', reward: null, steps: 0 });
    expect(stuck!.failureDetail).toMatch(
      /^the environment's step did not end within \d+ ms; its worker was killed$/u,
    );
    await until(
      'neighbours at another attempt',
      () => run.episodes('-fail:env_timeout').some(({ attempt }) => attempt > 1) || null,
    );
    await run.untilIteration(1);
    await run.stop();
    expect(run.episodes('fail:env_crash')).toEqual([]);
  });

  it('spins for longer than the heartbeat, but within its limit: nothing is killed', async () => {
    const slow = 'step(real) { const end = Date.now() + 1500; while (Date.now() < end); return real(); }';
    const run = await runFaulty(slow, { supervision: { heartbeatMs: 1200 } }, 400);
    await run.untilIteration(1);
    expect(run.events().filter(({ kind }) => kind === 'worker-died')).toEqual([]);
  });

  it('hangs in reset: the slot is rebuilt, the worker goes on', async () => {
    const run = await runFaulty('reset() { return new Promise(() => {}); }', QUICK);
    const [hung] = await until('an env_timeout', () => nonEmpty(run, 'fail:env_timeout'));
    expect(hung).toMatchObject({
      trust: 'void',
      failureDetail: 'no answer from the environment within 300 ms',
    });
    await run.untilIteration(2);
    expect(run.events().filter(({ kind }) => kind === 'worker-died')).toEqual([]);
  });

  it('throws, rejects, answers with garbage: such an episode is env_crash with the reason, all else goes on', async () => {
    const faults = [
      ['step() { throw new Error("the disk of the sandbox is gone"); }', 'the disk of the sandbox is gone'],
      ['reset() { return Promise.reject(new Error("no sandbox left")); }', 'no sandbox left'],
      ['step() {}', 'the environment gave undefined as a step'],
      ['step(real) { return { ...real(), observation: { lines: 7 } }; }', 'the environment gave 7 as lines'],
      ['step(real) { return { ...real(), components: { success: NaN } }; }', 'NaN'],
      ['reset(real) { return { ...real(), legal: [], candidates: [] }; }', 'offers no action'],
      [
        'reset(real) { console.log("a line of an environment"); throw new Error("and says so"); }',
        'and says so',
      ],
    ] as const;
    // Each fault in the tasks of one remainder of the seed.
    const methods = (name: string): string =>
      `${name}(real, seed) { const fault = [${faults.map(([code]) => `{ ${code} }`).join(', ')}][seed % ${faults.length}];
         return fault.${name} ? fault.${name}(real) : real(); }`;
    const run = await runFaulty(`${methods('reset')}, ${methods('step')}`, {}, 6);
    await until('every reason', () => {
      const details = run.episodes('fail:env_crash').map(({ failureDetail }) => failureDetail ?? '');
      return faults.every(([, reason]) => details.some((detail) => detail.includes(reason))) || null;
    });
    await run.untilIteration(1);
    expect(
      run.episodes('fail:env_crash').every(({ trust, reward }) => trust === 'void' && reward === null),
    ).toBe(true);
    expect(run.events().filter(({ level }) => level !== 'info')).toEqual([]);
    expect(run.log()).toMatch(/worker [01]@local: a line of an environment/u);
  });

  it('ends its process: the episode is env_crash, the worker is started again', async () => {
    const run = await runFaulty('step() { process.exit(0); }', {}, 150);
    const [crashed] = await until('an env_crash', () => nonEmpty(run, 'fail:env_crash'));
    expect(crashed).toMatchObject({
      trust: 'void',
      failureDetail: 'the environment ended its process in step',
    });
    await run.untilIteration(1);
  });

  it('kills its process: after three workers the episode is given up, the run goes on', async () => {
    const run = await runFaulty('step() { process.kill(process.pid, "SIGKILL"); }', {}, 300);
    const [crashed] = await until('an env_crash', () => nonEmpty(run, 'fail:env_crash'));
    expect(crashed!.failureDetail).toMatch(/^3 workers died with it; the last one .*SIGKILL/u);
    await run.untilIteration(1);
  });

  it('allocates without end, on the heap: V8 ends the worker, and that episode alone is env_crash', async () => {
    lab.remove();
    lab = new Lab({ NODE_OPTIONS: '--max-old-space-size=160' });
    const hoard = 'step() { const all = []; for (;;) all.push(new Array(1e5).fill({})); }';
    expect(await untilHoarder(await runFaulty(hoard, {}, 300))).toMatch(/its worker ended: /u);
  });

  it('allocates without end, off the heap: its worker is killed at the limit', async () => {
    const hoard = 'step() { const all = []; for (;;) all.push(Buffer.alloc(4 << 20, 1)); }';
    const run = await runFaulty(hoard, { supervision: { workerMemoryMiB: 500 } }, 300);
    expect(await untilHoarder(run)).toMatch(
      /memory climbed to \d{3} MiB during the environment's step; its worker was killed/u,
    );
  });
});

/** What is said of the episode that its worker died of: each such worker costs one, and its task is tried again. */
async function untilHoarder(run: LabRun): Promise<string | null> {
  const [crashed] = await until('an env_crash', () => nonEmpty(run, 'fail:env_crash'));
  expect(crashed!.trust).toBe('void');
  const died = run.events().filter(({ kind }) => kind === 'worker-died');
  expect(died).toHaveLength(run.episodes('fail:env_crash').length);
  await until('its task at another attempt', () => {
    const { family, index } = crashed!.task;
    const again = run.episodes(`family:${family}`).filter(({ task }) => task.index === index);
    return again.some(({ attempt, seed }) => attempt > 1 && seed !== crashed!.seed) || null;
  });
  await run.untilIteration(1);
  return crashed!.failureDetail;
}

describe('an environment that is always broken', () => {
  it.each([
    ['throws in every reset', 'reset() { throw new Error("no licence"); }', /void; the newest: no licence/u],
    ['hangs in every reset', 'reset() { return new Promise(() => {}); }', /void; the newest: no answer/u],
  ])('%s: the run stalls and says why', async (_what, fault, reason) => {
    const run = await runFaulty(fault, QUICK, 1);
    const status = await run.until('stalled', ({ state }) => state === 'stalled');
    expect(status.reason).toMatch(reason);
  });

  it.each([
    ['a name that does not exist', () => 'workbensh', /no environment "workbensh".*did you mean workbench/u],
    [
      'options that it refuses',
      () =>
        lab.write(
          'options.mjs',
          `import { environment as base } from ${JSON.stringify(WORKBENCH)};
           export const environment = { ...base, create() { throw new Error('options.size is missing'); } };`,
        ),
      /options\.size is missing/u,
    ],
  ])('%s fails the run at once with the reason', async (_what, name, reason) => {
    const { code, stderr } = await lab.cli(
      'run',
      lab.write('lab.yaml', { ...TINY, env: { name: name() } }),
      '--headless',
    );
    expect(code).toBe(1);
    expect(stderr.replaceAll('\n', ' ')).toMatch(reason);
    const listed: unknown = JSON.parse((await lab.cli('ls', '--json')).stdout);
    const manifest = { state: 'failed', reason: expect.stringMatching(reason) };
    expect(listed).toMatchObject([{ live: false, manifest }]);
    await lab.untilEmpty(5000);
  });
});

function nonEmpty(run: LabRun, filter: string): ReturnType<LabRun['episodes']> | null {
  const found = run.episodes(filter);
  return found.length > 0 ? found : null;
}
