import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { alive, childrenOf, Lab, SIZES, untilGone } from './lab.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(async () => {
  try {
    await lab.closeTerminals();
  } finally {
    await lab.remove();
  }
});

describe.each(SIZES)('coming and going on $columns x $rows', (size) => {
  it('without a run, it offers to start one', async () => {
    const terminal = lab.open([], size);
    await terminal.shows('start the demo run  (Enter)');
    expect(terminal.text).toContain('0 runs');
    terminal.press('quit');
    expect(await terminal.exited).toMatchObject({ code: 0 });
  });

  it('run opens the screen; q leaves the run going, and one comes back; S asks, then stops it', async () => {
    const first = lab.open(['run', lab.writeConfig()], size, 'stty -a');
    await first.shows(/tiny-\S+ {2}RUNNING/u);
    await first.shows(/iteration [1-9]/u);
    expect(first.alternate).toBe(true);
    expect(first.cursorShown).toBe(false);
    expect(first.marksPastes).toBe(true);
    first.paste('S\ry');
    await first.shows('pasted 3 characters: nothing to paste into');

    first.press('quit');
    expect(await first.exited).toMatchObject({ code: 0 });
    const { id } = lab.run();
    expect(first.text.replaceAll('\n', '')).toContain(
      `run ${id} goes on; see it again with: agentrl-lab attach ${id}`,
    );
    expect(first.alternate).toBe(false);
    expect(first.cursorShown).toBe(true);
    expect(first.marksPastes).toBe(false);
    expect(first.wraps).toBe(true);
    // The line discipline echoes and edits lines again.
    expect(first.text).toMatch(/(?<!-)icanon/u);
    expect(first.text).toMatch(/(?<!-)echo /u);
    expect(lab.isLive()).toBe(true);
    const processes = await lab.processes();
    expect(alive(processes)).toEqual(processes);
    expect(processes.length).toBe(3);

    const second = lab.open([], size);
    await second.shows(`${id}  RUNNING`);
    second.press('stop');
    const question = await second.shows(`Stop run ${id}?`);
    expect(question).toContain('› [ Cancel ]');
    second.press('accept');
    await second.shows(`${id}  RUNNING`);
    expect(lab.isLive()).toBe(true);
    second.press('stop');
    await second.shows('› [ Cancel ]');
    second.press('focus');
    await second.shows('› [ Stop the run ]');
    second.press('accept');
    await second.shows(`${id}  STOPPED`);
    await second.shows(`the run has ended; resume with: agentrl-lab resume ${id}`);
    second.press('quit');
    expect(await second.exited).toMatchObject({ code: 0 });
    expect(second.text.replaceAll('\n', '')).toContain(`run ${id} is stopped`);
    await untilGone(processes);
  });

  it('a closed window leaves the run going', async () => {
    await lab.startRun();
    const terminal = lab.open(['attach'], size);
    await terminal.shows(/iteration [1-9]/u);
    const processes = await lab.processes();
    const app = childrenOf(terminal.pid);
    expect(app.length).toBe(1);
    terminal.hangUp();
    await terminal.exited;
    await untilGone(app);
    const { iteration } = await lab.status();
    expect(alive(processes)).toEqual(processes);
    const again = lab.open([], size);
    await again.until('it has gone on', (screen) => {
      return Number(/iteration (\d+)/u.exec(screen)?.[1]) > iteration;
    });
  });
});
