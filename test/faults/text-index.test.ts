import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTextIndex } from '../../src/store/text-index.ts';
import { kill, Lab, type LabRun, TINY, until } from '../support/lab-run.ts';
import { mountMissing, mountSmall, unmount } from '../support/mount.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/** Episodes that are indexed, without those that are searched for being new. */
function indexed(run: LabRun): number {
  const text = openTextIndex(run.paths.text);
  const episodes = text?.indexedEpisodes ?? 0;
  text?.close();
  return episodes;
}

/** Every episode has the line, and is found by it once. */
function expectAllFound(run: LabRun): void {
  const text = openTextIndex(run.paths.text);
  const found = text?.match('screen no tool ') ?? [];
  text?.close();
  expect([...found]).toEqual(run.episodes('sort:id steps>0').map(({ id }) => Number(id.slice(1))));
}

describe('the text indexer', () => {
  it('that is killed is started again and misses nothing; the run ends with all indexed and nothing left', async () => {
    const run = await lab.run(TINY);
    await until('some are indexed', () => indexed(run) > 0 || null);
    const victim = lab.pid('text');
    kill(victim);
    const event = await run.untilEvent('text-index-stopped');
    expect(event).toMatchObject({ level: 'warning', subject: 'text index' });
    expect(event.message).toMatch(/ended with SIGKILL; the run goes on/u);
    await run.untilEvent('text-index-goes-on');
    expect(lab.pid('text')).not.toBe(victim);
    const before = indexed(run);
    await until('more are indexed', () => indexed(run) > before || null);
    await run.stop();
    await lab.untilEmpty(10_000);
    expect(indexed(run)).toBe(run.account().total);
    expectAllFound(run);
  });

  it('ends with a run that is killed, and goes on with it', async () => {
    const run = await lab.run(TINY);
    await until('some are indexed', () => indexed(run) > 0 || null);
    kill(lab.pid('run'));
    await lab.untilEmpty(10_000);
    const before = indexed(run);
    expect((await lab.cli('resume', run.id, '--detach')).code).toBe(0);
    await until('more are indexed', () => indexed(run) > before || null);
    await run.stop();
    await lab.untilEmpty(10_000);
    expect(indexed(run)).toBe(run.account().total);
    expectAllFound(run);
  });

  it('is not there when the config says so', async () => {
    const run = await lab.run({ ...TINY, store: { textIndex: false } });
    await run.untilIteration(1);
    expect(lab.pids('text')).toEqual([]);
    await run.stop();
    expect(openTextIndex(run.paths.text)).toBeNull();
    expect(await lab.cli('fsck', run.id)).toMatchObject({ code: 0 });
  });
});

const missing = mountMissing();

// Needs root on Linux: only a real small file system gets really full.
describe.skipIf(missing !== null)(`a disk that is full${missing === null ? '' : ` (${missing})`}`, () => {
  let mount: string;
  beforeEach(() => {
    mount = join(lab.directory, 'small');
    mkdirSync(mount);
    mountSmall(mount, 1);
  });
  afterEach(() => unmount(mount));

  it('stops indexing with one event, and the run goes on', async () => {
    const run = await lab.run({ ...TINY, store: { textIndex: false } });
    await run.untilIteration(1);
    await run.stop();
    // Only the index is on the full disk: SQLite keeps its log beside the file that the link points to.
    symlinkSync(join(mount, 'text.db'), run.paths.text);
    const resumed = await lab.cli('resume', run.id, '--detach', '--set', 'store.textIndex=true');
    expect(resumed).toMatchObject({ code: 0 });
    const { message } = await run.untilEvent('text-index-stopped');
    expect(message).toMatch(/full; the run goes on/u);
    const { iteration, state } = await run.until('running', (status) => status.state === 'running');
    expect(state).toBe('running');
    await run.untilIteration(iteration + 3);
    expect(run.events().filter(({ kind }) => kind === 'text-index-stopped')).toHaveLength(1);
    await run.stop();
    const { total, distinct } = run.account();
    expect(distinct).toBe(total);
  });
});
