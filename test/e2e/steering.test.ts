import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Lab } from './lab.ts';

const STEERED = `
guard: {kl: 0.2}
checkpoint: {every: 3}
schedule: {lr: {points: [[0, 0.01], [100000, 0.005]]}}
`;
const SIZE = { columns: 120, rows: 40 };

const lab = new Lab();

beforeAll(async () => await lab.startRun(STEERED));
afterAll(async () => await lab.remove());
afterEach(async () => await lab.closeTerminals());

it('a scheduled knob has an arrow, and its changes make no marks', async () => {
  const terminal = lab.open([], SIZE);
  const screen = await terminal.shows(/learning rate 0\.0\d+ ↘/u);
  const after = await terminal.until('it has moved it more often', (now) => {
    return Number(/iteration (\d+)/u.exec(now)?.[1]) > Number(/iteration (\d+)/u.exec(screen)?.[1]) + 2;
  });
  expect(after).not.toContain('┊');
});

it('a branch shows the curve of its parent under its own, and the list of runs says whose it is', async () => {
  const parent = lab.run().id;
  const branch = await lab.cli('branch', parent, '--detach', '--name', 'other');
  const terminal = lab.open(['attach', branch], SIZE);
  const screen = await terminal.shows(/mean reward ─ \S+ {2}· (?:parent|tiny-\S+@\d+) -?[\d.]+/u);
  expect(screen.split('\n')[0]).toContain(`branch of ${parent}@`);
  terminal.press('runs');
  await terminal.shows(new RegExp(`${branch} .* branch of ${parent}@\\d+`, 'u'));
  await lab.cli('stop', branch);
});

it('an update that is rolled back is loud and marked, and o shows its episodes', async () => {
  const terminal = lab.open([], SIZE);
  await terminal.shows(/iteration [1-9]/u);
  await lab.cli('set', 'lr=0.1', 'epochs=30', 'kl_limit=0');
  const screen = await terminal.shows(/! o: episodes; update \d+ rolled back/u);
  expect(screen.split('\n').filter((row) => row.includes('┇')).length).toBeGreaterThanOrEqual(4);
  terminal.press('eventEpisodes');
  const shown = await terminal.shows(/episodes [1-5] .* filter id:e\d+(?:,e\d+)*/u);
  const ids = /filter id:([e\d,]+)/u.exec(shown)?.[1]?.split(',') ?? [];
  const listed = shown.split('\n').flatMap((row) => /^[› ] (e\d+) /u.exec(row)?.[1] ?? []);
  expect(new Set(listed)).toEqual(new Set(ids));
  expect(shown).toMatch(/\nupdate \d+ rolled back.*minibatch \d+/u);
});
