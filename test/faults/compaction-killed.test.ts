import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { systemErrorCode } from '../../src/domain/error.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { bodyOf, finished, summaryOf, temporaryRuns } from '../store/fixture.ts';

const EPISODES = 600;
const KILLS = 4;
const runs = temporaryRuns();
afterAll(() => runs.remove());

function start(id: string): ChildProcess {
  const script = join(import.meta.dirname, '../store/compactor.ts');
  return spawn(process.execPath, ['--import', 'tsx', script, runs.directory, id], { stdio: 'ignore' });
}

/** What a compaction leaves half-way, or has done. */
function progress({ segments }: RunPaths): string {
  return readdirSync(segments).join(' ');
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) {
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
}

function hasBody(reader: RunReader, id: string): boolean {
  try {
    reader.episode(id);
    return true;
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'episode-dropped') return false;
    throw thrown;
  }
}

it('a compaction that is killed again and again loses nothing that was to be kept', {
  timeout: 240_000,
}, async () => {
  const paths = runs.run();
  const store = openRunStore(paths, { segmentBytes: 20_000 });
  for (let sequence = 1; sequence <= EPISODES; sequence += 20) {
    store.appendEpisodes(
      Array.from({ length: 20 }, (_, index) => {
        const success = (sequence + index) % 10 !== 0;
        const ending = { success, failure: success ? null : ('gave_up' as const) };
        return finished(summaryOf(sequence + index, ending), bodyOf(6, sequence + index));
      }),
    );
  }
  store.close();
  const whole = progress(paths);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = start('run');
    const ended = once(child, 'exit');
    // In the midst of it, each time somewhere else: when a file has come or gone so many times.
    let [seen, changes] = [whole, 0];
    await until(() => {
      const now = progress(paths);
      if (now !== seen) changes += 1;
      seen = now;
      return changes > 2 + kill * 3 || child.exitCode !== null;
    });
    child.kill('SIGKILL');
    await ended;
    const report = checkRun(paths, { repair: false });
    expect(report).toMatchObject({ episodes: EPISODES, indexProblem: null });
    expect(report.segments.flatMap(({ damage }) => damage)).toEqual([]);
    expect(progress(paths)).toBe(whole);
    const reader = openRunReader(paths);
    const { episodes } = reader.episodes(parseFilter('sort:id'), { limit: EPISODES + 1 });
    expect(episodes).toHaveLength(EPISODES);
    const bodies = new Map(episodes.map(({ id }) => [id, hasBody(reader, id)]));
    expect(episodes.filter(({ id, success }) => !success && bodies.get(id) !== true)).toEqual([]);
    reader.close();
  }
  const last = start('run');
  await once(last, 'exit');
  expect(existsSync(paths.lock)).toBe(false);
  const reader = openRunReader(paths);
  const { episodes } = reader.episodes(parseFilter('sort:id'), { limit: EPISODES });
  expect(episodes.filter(({ id, success }) => hasBody(reader, id) === success)).toEqual([]);
  reader.close();
});
