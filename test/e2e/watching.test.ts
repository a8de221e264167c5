import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Lab, SIZES } from './lab.ts';
import type { AppTerminal } from './terminal.ts';

const ITERATION = /iteration (\d+)/u;

function iterationOn(screen: string): number {
  return Number(ITERATION.exec(screen)?.[1] ?? Number.NaN);
}

describe.each(SIZES)('watching a run on $columns x $rows', (size) => {
  const lab = new Lab();
  let terminal: AppTerminal;

  beforeAll(async () => await lab.startRun());
  afterAll(async () => await lab.remove());

  beforeEach(async () => {
    terminal = lab.open([], size);
    await terminal.until('a few iterations are done', (screen) => iterationOn(screen) >= 3);
  });
  // No scene may leave a mark that the next one trips over, and no frame may be wide or cleared.
  afterEach(async () => {
    await lab.closeTerminals();
    lab.forgetViews();
  });

  it('the charts move, by small changes of the screen', async () => {
    const before = terminal.rows;
    const seen = iterationOn(before.join('\n'));
    const framesBefore = terminal.frames.length;
    const screen = await terminal.until('more iterations are done', (now) => iterationOn(now) > seen + 3);
    expect(screen).toMatch(/env steps\/s ─ [\d.]+k?.* KL ─ /u);
    expect(screen).toMatch(/mean reward ─ \S+ +iter 1\.\.\d+/u);
    expect(screen).toMatch(/success ─ train [\d.]+% ┄ held-out [\d.]+%/u);
    const changed = screen.split('\n').filter((row, index) => row !== before[index]);
    expect(changed.some((row) => /[\u2801-\u28FF]/u.test(row))).toBe(true);
    const [, ...later] = terminal.frames;
    expect(later.length).toBeGreaterThanOrEqual(framesBefore);
    const bytes = later.map((frame) => frame.bytes).toSorted((left, right) => left - right);
    expect(bytes[Math.floor(bytes.length / 2)]).toBeLessThan(size.columns * size.rows);
  });

  it('Space pauses, and the figures stand still; Space again resumes', async () => {
    terminal.press('pause');
    const paused = await terminal.shows(' PAUSED ');
    const [head = ''] = paused.split('\n');
    const frozen = /iteration \d+ · \S+/u.exec(head)?.[0];
    expect(frozen).toBeDefined();
    // The speed is that of the last few seconds: it reaches 0 only after those have passed.
    const later = await terminal.shows(/steps\/s 0 /u);
    expect(later).toContain(frozen);
    expect((await lab.status()).state).toBe('paused');
    terminal.press('pause');
    await terminal.shows(' RUNNING ');
    await terminal.until('it goes on', (screen) => iterationOn(screen) > iterationOn(paused) + 1);
  });

  it('the clip and KL keys show what they would do, turn the knobs, say from when, and mark the charts', async () => {
    const before = (await lab.status()).knobs;
    terminal.press('clipUp');
    await terminal.shows(
      /clip [\d.]+ → [\d.]+\? {2}clipped [\d.]+% → [\d.]+% {2}KL \S+ → \S+ {2}on update \d+/u,
    );
    expect((await lab.status()).knobs.clip).toBe(before.clip);
    // Left alone, it is set.
    const taken = await terminal.shows(/clip [\d.]+ → [\d.]+ from iteration \d+, minibatch \d+/u);
    const [, to] = /clip [\d.]+ → ([\d.]+) from/u.exec(taken) ?? [];
    expect(taken).toContain(`[ ] clip ${to} `);
    terminal.press('klUp');
    await terminal.shows(/KL coefficient [\d.e-]+ → [\d.e-]+\?/u);
    terminal.press('commit');
    await terminal.shows(/KL coefficient [\d.e-]+ → [\d.e-]+ from iteration \d+, minibatch \d+/u);
    const { clip } = (await lab.status()).knobs;
    expect(clip).toBeGreaterThan(before.clip);
    await terminal.shows(`[ ] clip ${Number(clip.toPrecision(3))} `);
    const screen = await terminal.shows('┊');
    expect(screen.split('\n').filter((row) => row.includes('┊')).length).toBeGreaterThanOrEqual(4);
    terminal.press('undo');
    await terminal.shows(/undone: KL coefficient/u);
  });

  it('Esc leaves a knob as it is, and u takes back what an earlier screen has turned', async () => {
    const { knobs, undoable } = await lab.status();
    terminal.press('clipUp');
    await terminal.shows(/clip [\d.]+ → [\d.]+\?/u);
    terminal.press('drop');
    await terminal.until('the knobs are shown again', (screen) => /clip [\d.]+ {3}\{ \}/u.test(screen));
    expect(undoable).toMatchObject({ knob: 'clip', to: knobs.clip, undo: false });
    terminal.press('undo');
    await terminal.shows(/undone: clip [\d.]+ → [\d.]+ from/u);
    const after = await lab.status();
    expect(after.knobs.clip).toBe(undoable?.from);
    expect(after.undoable).toBeNull();
  });

  it('a mistake in a filter is shown with a caret under it, and stays to be mended', async () => {
    terminal.press('filter');
    terminal.type('steps>2 fail:max_step');
    await terminal.shows('/ steps>2 fail:max_step_');
    terminal.press('accept');
    const rows = (await terminal.shows(/did you mean max_steps/u)).split('\n');
    const caret = rows.findIndex((row) => row.trim() === '^');
    expect(caret).toBeGreaterThan(0);
    expect(rows[caret - 1]?.slice(rows[caret]?.indexOf('^'))).toBe('max_step');
    terminal.type('s');
    terminal.press('accept');
    await terminal.shows('filter steps>2 fail:max_steps');
  });

  it('/ finds episodes by the way they failed; Enter replays one step by step, and back', async () => {
    terminal.press('filter');
    terminal.type('fail:max_steps');
    terminal.press('accept');
    const found = await terminal.shows(/episodes [1-9][\d,]* .*filter fail:max_steps/u);
    const listed = found.split('\n').filter((row) => /^[› ] e\d+ /u.test(row));
    expect(listed.length).toBeGreaterThan(1);
    for (const row of listed) expect(row).toMatch(/^[› ] e\d+ +max_steps /u);
    terminal.press('open');
    await terminal.shows(/episode e\d+ .*max_steps/u);
    await terminal.shows('step 1/12');
    terminal.press('down');
    const step = await terminal.shows('step 2/12');
    expect(step).toMatch(/probability [\d.]+%/u);
    expect(step).toContain('observation before the action');
    terminal.press('last');
    const [first] = (await terminal.shows('end after 12 steps')).split('\n');
    terminal.press('nextEpisode');
    const next = await terminal.until('another episode is shown', (now) => now.split('\n')[0] !== first);
    expect(next).toMatch(/^episode e\d+ .*max_steps/u);
    terminal.press('back');
    await terminal.shows('filter fail:max_steps');
    terminal.press('clear');
    await terminal.until('the filter is gone', (screen) => !screen.includes('filter fail:'));
  });

  it('a killed worker is called out while it is gone, and the run goes on with it', async () => {
    const worker = (await lab.status()).children.find(({ role }) => role === 'worker');
    process.kill(worker!.pid!, 'SIGKILL');
    await terminal.shows(/workers 0\/1 .*worker 0@local restarting/u);
    const screen = await terminal.shows(/workers 1\/1 {2}trainer ok/u);
    await terminal.until('it goes on', (now) => iterationOn(now) > iterationOn(screen));
    expect((await lab.status()).children.find(({ role }) => role === 'worker')?.pid).not.toBe(worker!.pid);
  });

  it('a window too small says so, and is drawn again when it has grown', async () => {
    terminal.resize({ columns: 20, rows: 5 });
    const small = await terminal.shows('Terminal too small');
    expect(small.split('\n').length).toBe(5);
    terminal.resize(size);
    const screen = await terminal.shows(/tiny-\S+ {2}RUNNING/u);
    expect(screen).not.toContain('too small');
    await terminal.shows('Space pause/resume');
  });
});
