import { afterEach, beforeEach, expect, it } from 'vitest';
import { kill, Lab, TINY, until } from '../support/lab-run.ts';

const WORKBENCH = new URL('../support/workbench-module.mjs', import.meta.url).href;
const FAMILY = 'move_rename';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/** The Workbench; in one family the line of an earlier episode of the instance stays on the screen. */
const LEAKY = `
import { environment as base } from ${JSON.stringify(WORKBENCH)};
export const environment = {
  ...base,
  create(options) {
    const env = base.create(options);
    const reset = env.reset.bind(env);
    let before = null;
    env.reset = (task, seed) => {
      const observation = reset(task, seed);
      const trace = task.family === '${FAMILY}' && before !== null ? ['left over from ' + before] : [];
      before = task.family;
      return { ...observation, lines: [...observation.lines, ...trace] };
    };
    return env;
  },
};`;

it('an environment that leaks is found, its family is rebuilt for each episode, by restarted workers and after a resume too', async () => {
  const run = await lab.run({ ...TINY, env: { name: lab.write('leaky.mjs', LEAKY) } });
  const event = await run.untilEvent('reset-leak');
  expect(event).toMatchObject({ level: 'error', subject: FAMILY });
  const [summary, ...texts] = event.message.split('\n');
  expect(summary).toMatch(
    /^resets of family move_rename leave traces of earlier episodes: in e\d+ \(worker [01]@local, slot \d+\) the first observation differs in line \d+: `"left over from \w+"` in the used slot, `legal .*` in a new one; \d+ of its episodes were sampled in used slots, from now on each gets a new one$/u,
  );
  expect(texts[0]).toMatch(/^used slot, sha256 [0-9a-f]{64}:$/u);
  expect(texts.filter((line) => line.includes('left over from'))).toHaveLength(1);
  expect(texts.findIndex((line) => line.startsWith('new slot, sha256 '))).toBeGreaterThan(1);
  const [leak] = (await run.until('the leak in the status', ({ leaks }) => leaks.length > 0)).leaks;
  expect(leak).toMatchObject({ family: FAMILY, episode: event.episodes[0], message: summary });

  // What is dispatched from here on, in later iterations than the present one, has no trace.
  const { iteration } = await run.until('an answer', () => true);
  kill(lab.pids('worker')[0]!);
  await run.untilEvent('worker-died');
  const { iteration: later } = await run.until('it is back', ({ children }) =>
    children.every(({ state, role, restarts }) => state === 'ready' && (role === 'trainer' || restarts >= 0)),
  );
  await run.untilIteration(Math.max(iteration, later) + 3);
  kill(lab.pid('run'));
  await lab.untilEmpty(5000);
  expect((await lab.cli('resume', run.id, '--detach')).code).toBe(0);
  const resumed = await run.until('running again', ({ state }) => state === 'running');
  expect(resumed.leaks).toMatchObject([{ family: FAMILY, message: summary }]);
  await run.untilIteration(resumed.iteration + 2);
  await run.stop();

  const traces = run.read((reader) =>
    run
      .episodes(`family:${FAMILY} iter:>=${iteration + 2}`)
      .filter(({ id }) => reader.episode(id).body.lines.some((line) => line.startsWith('left over'))),
  );
  expect(run.episodes(`family:${FAMILY} iter:>=${iteration + 2}`).length).toBeGreaterThan(20);
  expect(traces).toEqual([]);
  // Nothing else is marked, and it is told once.
  expect(run.events().filter(({ kind }) => kind === 'reset-leak')).toHaveLength(1);
  // The episode was under way when it was found.
  expect(run.read((reader) => reader.episode(leak!.episode)).summary.task.family).toBe(FAMILY);
  const shown = await lab.cli('show', leak!.episode, '--run', run.id);
  expect(shown.stdout).toContain('left over from');
  expect(shown.stderr.replaceAll('\n', ' ')).toMatch(/resets of family move_rename leave traces/u);
});

it('an environment that forgets is audited without a word', async () => {
  const run = await lab.run({ ...TINY, sampling: { ...TINY.sampling, audit: { share: 0.05 } } });
  const { audits } = await until('audits', async () => {
    const status = await run.tryStatus();
    return status !== null && status.audits >= 20 ? status : null;
  });
  expect(audits).toBeGreaterThanOrEqual(20);
  await run.stop();
  expect(run.events().filter(({ kind }) => kind.startsWith('reset-'))).toEqual([]);
});
