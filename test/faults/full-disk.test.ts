import { appendFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Lab, TINY } from '../support/lab-run.ts';
import { mountMissing, mountSmall, unmount } from '../support/mount.ts';

const missing = mountMissing();

// Needs root on Linux: only a real small file system gets really full.
describe.skipIf(missing !== null)(`a disk that is full${missing === null ? '' : ` (${missing})`}`, () => {
  let lab: Lab;
  beforeEach(() => {
    lab = new Lab();
    mountSmall(lab.runs, 24);
  });
  afterEach(() => {
    unmount(lab.runs);
    lab.remove();
  });

  /** Takes what is free, but for so many bytes. */
  function fill(rest: number): void {
    const filler = join(lab.runs, 'filler');
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(2 ** 20));
    } catch {
      // The run writes too: the last of it is whatever was left.
      truncateSync(filler, Math.max(0, statSync(filler).size - rest));
    }
  }

  it('stalls the run with the reason; nothing is damaged; with room again, resume goes on', async () => {
    const run = await lab.run(TINY);
    await run.untilIteration(1);
    fill(400_000);
    const stalled = await run.until('stalled', ({ state }) => state === 'stalled');
    expect(stalled.reason).toMatch(/^could not write .*(?:ENOSPC|disk is full)/u);
    expect(stalled.activity).toBe('resting');
    // What was under way may still have found room; then the count and the store agree.
    const { episodes } = await run.until('settled', (status) => status.episodes === run.account().training);
    // Still full: resume says so again, rather than losing anything.
    await lab.cli('resume', run.id, '--detach');
    await run.until('stalled again', ({ state }) => state === 'stalled');
    rmSync(join(lab.runs, 'filler'));
    await lab.cli('resume', run.id, '--detach');
    await run.until('on', (status) => status.state === 'running' && status.episodes > episodes);
    await run.untilIteration(stalled.iteration + 1);
    await run.stop();
    const { total, distinct, byOutcome } = run.account();
    expect([distinct, byOutcome]).toEqual([total, total]);
    expect(await lab.cli('fsck', run.id)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing wrong'),
    });
  });

  it('stopped while it is full: what was acknowledged is there, and resume works', async () => {
    const run = await lab.run(TINY);
    await run.untilIteration(2);
    fill(0);
    const { episodes } = await run.until('stalled', ({ state }) => state === 'stalled');
    expect(run.manifest()).toMatchObject({
      state: 'stalled',
      reason: expect.stringContaining('could not write'),
    });
    await run.stop();
    await lab.untilEmpty(3000);
    expect(run.manifest()).toMatchObject({ state: 'stopped', pid: null });
    rmSync(join(lab.runs, 'filler'));
    expect(run.account().training).toBe(episodes);
    expect((await lab.cli('fsck', run.id)).code).toBe(0);
    expect(await lab.cli('resume', run.id, '--detach')).toMatchObject({ code: 0, stderr: '' });
    await run.until('on', (status) => status.episodes > episodes);
  });
});
