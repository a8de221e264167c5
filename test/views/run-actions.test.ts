import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRunStore } from '../../src/store/index-writer.ts';
import { createRunDirectory, type RunPaths, runPaths, writeManifest } from '../../src/store/run-directory.ts';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun, manifestOf, metricsOf, START } from './fake-run.ts';
import { BRAILLE, PLAIN } from './looks.ts';

let fake: FakeRun;
let session: Session;
let configs: Record<string, object>;

/** A run that has ended, beside the live one. */
function addRun(id: string, state: 'stopped' | 'running', iterations: number): RunPaths {
  const paths = runPaths(fake.runsDirectory, id);
  createRunDirectory(paths);
  writeManifest(paths, manifestOf({ id, state, createdAt: START - 1000 }));
  writeFileSync(paths.config, 'name: demo\nenv:\n  # comment\n  name: workbench\n');
  const store = openRunStore(paths);
  for (let iteration = 1; iteration <= iterations; iteration += 1)
    store.appendIteration(metricsOf(iteration));
  store.close();
  return paths;
}

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 10, episodes: 3 });
  addRun('older', 'stopped', 200);
  configs = {
    'demo-1': { config: { seed: 1, sampling: { slots: 32, lists: [1, 2] } } },
    older: { config: { seed: 1, sampling: { slots: 64, lists: [1] }, extra: null } },
  };
  session = new Session({
    ...fake.sessionOptions,
    verb: async (words) => {
      fake.verbs.push(words);
      const config = Object.entries(configs).find(([id]) => words[1]?.includes(`/${id}/`) === true);
      return await Promise.resolve(words[0] === 'config' ? [config?.[1]] : [...fake.verbAnswer]);
    },
  });
  session.resize({ columns: 120, rows: 30 });
  session.showRuns();
  await until(() => session.runsDesk.views.size === 2);
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

const { press, type, screen } = driverOf(() => session);

describe('the list of runs', () => {
  it('shows state, age, iterations, the curve of success, environment and size', () => {
    const row = screen().find((line) => line.includes(' older ')) ?? '';
    expect(row).toMatch(/^ {2}older +stopped +\S+ +200 [▁-█]{20,} +80\.0% workbench +[\d.]+ [KM]iB$/u);
    expect(screen(PLAIN).find((line) => line.includes(' older '))).toMatch(/200 [_.=+*#@-]{20,} +80\.0%/u);
    expect(screen()[2]).toMatch(/run +state +age +iter success +env +on disk$/u);
    session.resize({ columns: 80, rows: 24 });
    expect(screen().find((line) => line.includes(' older '))).toMatch(/200 [▁-█]{8,} +80\.0%/u);
  });

  it.each([
    ['/home/me/my-env.mjs # lab.yaml:3', 'my-env.mjs'],
    ['"/home/me/all of them/tools.mjs"', 'tools.mjs'],
  ])('names an environment of ones own by its file: %s', async (name, shown) => {
    writeFileSync(addRun('mine', 'stopped', 3).config, `name: mine\nenv:\n  name: ${name}\n  options: {}\n`);
    session.showRuns();
    await until(() => session.runsDesk.views.size === 3);
    expect(screen().find((line) => line.includes(' mine '))).toContain(` ${shown} `);
  });

  it('says why the figures of a run cannot be read', async () => {
    const paths = runPaths(fake.runsDirectory, 'broken');
    createRunDirectory(paths);
    writeManifest(paths, manifestOf({ id: 'broken', state: 'stopped' }));
    session.showRuns();
    await until(() => session.runsDesk.views.size === 3);
    expect(screen().find((line) => line.includes(' broken '))).toMatch(/stopped .*! .*lab\.db/u);
  });

  it('keeps the pointer on its run while others come', async () => {
    press('G');
    const under = session.runs[session.selectedRun - 1]?.id;
    addRun('newest', 'stopped', 1);
    writeManifest(runPaths(fake.runsDirectory, 'newest'), manifestOf({ id: 'newest', createdAt: START + 9 }));
    await until(() => session.runs.length === 3);
    expect(session.runs[session.selectedRun - 1]?.id).toBe(under);
  });
});

describe('starting and branching', () => {
  it('starts a run from a config file with changes, and opens it', async () => {
    fake.verbAnswer = [{ run: 'demo-1' }];
    press('n');
    type('tiny.yaml clip=0.1 x');
    press('enter');
    expect(screen().at(-2)).toContain('"x" is no change of the config');
    press('backspace', 'backspace', 'enter');
    await until(() => session.toast?.text === 'run demo-1 has started');
    expect(fake.verbs.at(-1)).toEqual(['run', 'tiny.yaml', '--set', 'clip=0.1', '--detach']);
    expect(session.screen).toBe('overview');
  });

  it('branches from a checkpoint, and says why it cannot', async () => {
    press('G', 'b');
    expect(screen().at(-2)).toContain('older _');
    press('backspace');
    type('@120 kl=0.1');
    press('enter');
    // Nothing was answered that names a run.
    await until(() => session.toast?.tone === 'bad');
    expect(session.starting).toBe(false);
    expect(fake.verbs.at(-1)).toEqual(['branch', 'older@120', '--set', 'kl=0.1', '--detach']);
    press('b', 'ctrl-u', 'enter');
    expect(screen().at(-2)).toContain('a run is wanted first, as older@300');
    press('escape');
    expect(session.front).toBe('runs');
  });
});

describe('runs that have ended', () => {
  it('asks what to do with one whose process is gone', async () => {
    await fake.die();
    session.showRuns();
    press('g', 'j', 'enter');
    expect(screen()[0]).toBe('The process of demo-1 is gone');
    fake.verbAnswer = [{ run: 'demo-1' }];
    press('j', 'enter');
    await until(() => fake.verbs.length > 0);
    expect(fake.verbs[0]).toEqual(['resume', 'demo-1', '--detach']);
    await until(() => session.screen === 'overview');
    session.showRuns();
    press('enter', 'enter');
    expect(session.screen).toBe('overview');
  });

  it('resumes and archives one after asking, and not a live one', async () => {
    press('G', 'R');
    expect(session.question?.title).toBe('Resume run older?');
    press('escape', 'A');
    expect(screen().join('\n')).toMatch(/Archive run older\?[\s\S]*It takes [\d.]+ [KM]iB now/u);
    press('enter');
    expect(fake.verbs).toEqual([]);
    fake.verbAnswer = [{ run: 'older', episodes: 12, segmentBytesBefore: 2048, segmentBytesAfter: 1024 }];
    press('A', 'tab', 'enter');
    await until(() => session.toast?.tone === 'good');
    expect(session.toast?.text).toMatch(/^12 episodes of older archived: segments /u);
    expect(fake.verbs).toEqual([['archive', 'older']]);
    press('g', 'j', 'A');
    expect(session.toast?.text).toContain('demo-1 is live');
    press('R');
    expect(session.question).toBeNull();
  });
});

describe('the comparison', () => {
  it('wants two runs or more', () => {
    press('c');
    expect(session.toast?.text).toBe('mark 2 to 4 runs with m; 0 are marked');
    press('g', 'm');
    expect(session.toast?.text).toBe('the pointer is on no run');
  });

  it('shows curves beside each other, and the keys that differ', async () => {
    press('g', 'j', 'm', 'j', 'm');
    expect(screen().filter((line) => /^.\+/u.test(line))).toHaveLength(2);
    press('c');
    await until(() => session.screen === 'compare');
    const text = screen();
    expect(text[0]).toMatch(/^A ── demo-1 +iteration 10 /u);
    expect(text[1]).toMatch(/^B ┄┄ older +iteration 200 .*held-out 80\.0%$/u);
    expect(text.join('\n')).toMatch(/held-out ─ A [\d.]+% ┄ B 80\.0%/u);
    const table = text.slice(text.findIndex((line) => line.startsWith('3 keys differ')) + 1, -2);
    expect(table.filter((line) => line !== '')).toEqual([
      expect.stringMatching(/^› extra +-- +null$/u),
      expect.stringMatching(/^ {2}sampling\.lists +\[1,2\] +\[1\]$/u),
      expect.stringMatching(/^ {2}sampling\.slots +32 +64$/u),
    ]);
    press('j', 'escape');
    expect(session.screen).toBe('runs');
  });

  it.each([
    [40, 10],
    [61, 15],
    [80, 24],
    [200, 50],
  ])('fits %ix%i', async (columns, rows) => {
    press('g', 'j', 'm', 'j', 'm', 'c');
    await until(() => session.screen === 'compare');
    session.resize({ columns, rows });
    for (const look of [BRAILLE, PLAIN]) {
      const lines = screen(look);
      expect(lines).toHaveLength(rows);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    }
    // oxlint-disable-next-line no-control-regex -- that is the point
    expect(screen(PLAIN).join('\n')).toMatch(/^[\u0000-\u007F]*$/u);
  });

  it('says what cannot be read', async () => {
    configs = {};
    press('g', 'j', 'm', 'j', 'm', 'c');
    await until(() => session.toast?.tone === 'bad');
    expect(session.screen).toBe('runs');
  });
});
