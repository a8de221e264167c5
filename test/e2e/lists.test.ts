import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { listRuns } from '../../src/store/run-directory.ts';
import { Lab } from './lab.ts';

const SIZE = { columns: 120, rows: 40 };
describe('runs, episodes and replay as lists to work on', () => {
  const lab = new Lab();
  let config: string;

  beforeAll(async () => {
    config = lab.writeConfig();
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace('stop: {minutes: 5}', 'stop: {iterations: 3}'),
    );
    await lab.cli('run', config, '--headless');
  });
  afterEach(async () => await lab.closeTerminals());
  afterAll(async () => await lab.remove());

  it('sorts, notes, exports and plays episodes, and comes back to the same view', async () => {
    const terminal = lab.open([], SIZE);
    await terminal.shows(/tiny-\S+ +finished .* 3 .*workbench/u);
    terminal.press('down');
    terminal.press('open');
    await terminal.shows(/› e\d+/u);
    terminal.press('episodes');
    await terminal.shows(/outcome +│|│ outcome/u);
    terminal.press('sort');
    await terminal.shows(/filter sort:-reward[\s\S]*› e\d+/u);
    terminal.press('select');
    terminal.press('select');
    terminal.press('bulk');
    await terminal.shows('2 selected episodes');
    for (let item = 0; item < 4; item += 1) terminal.press('down');
    terminal.press('choose');
    await terminal.shows('export 2 selected episodes to the file:');
    const file = join(lab.runsDirectory, 'two.jsonl');
    terminal.key('ctrl-u');
    terminal.type(file);
    terminal.press('answer');
    await terminal.shows('2 selected episodes written to');
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
    terminal.press('note');
    await terminal.shows(/note on e\d+: _/u);
    terminal.type('odd end');
    terminal.press('answer');
    await terminal.shows(/^›" *e\d+|› ?"e\d+/mu);
    terminal.press('open');
    const replay = await terminal.shows(/note odd end/u);
    expect(replay).toMatch(/^value +\S+ -?[\d.e-]+\.\.-?[\d.e-]+$/mu);
    terminal.press('play');
    await terminal.shows('playing 1/s');
    await terminal.shows(/step 2\/\d+|end after/u);
    terminal.press('back');
    await terminal.shows('filter sort:-reward');
    // Ctrl-C.
    terminal.type('\u0003');
    expect(await terminal.exited).toMatchObject({ code: 0 });
    const again = lab.open([], SIZE);
    await again.shows(/tiny-\S+ +finished/u);
    again.press('down');
    again.press('open');
    await again.shows(/filter sort:-reward[\s\S]*› ?["+]?e\d+/u);
  });

  it('starts a run from a config file, and compares two', async () => {
    const terminal = lab.open([], SIZE);
    await terminal.shows(/tiny-\S+ +finished/u);
    terminal.press('newRun');
    await terminal.shows('(empty: the demo):');
    terminal.type(`${config} knobs.clip=0.1`);
    terminal.press('answer');
    await terminal.shows(/run tiny-\S+ has started/u);
    expect(listRuns(lab.runsDirectory)).toHaveLength(2);
    await terminal.shows('FINISHED');
    terminal.press('runs');
    await terminal.shows('2 runs');
    terminal.press('first');
    for (let run = 0; run < 2; run += 1) {
      terminal.press('down');
      terminal.press('markRun');
    }
    terminal.press('compareRuns');
    const screen = await terminal.shows(/^A ── tiny-\S+ +iteration/mu);
    expect(screen).toMatch(/^B ┄┄ tiny-\S+ +iteration/mu);
    expect(screen).toMatch(/knobs\.clip +0\.1 +0\.2/u);
    terminal.press('back');
    await terminal.shows('2 runs');
  });
});
