import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LabError } from '../src/domain/error.ts';
import { runPaths } from '../src/store/run-directory.ts';
import { type Benchmark, median } from './benchmark.ts';
import { writeGeneratedRun } from './generate-episodes.ts';
import { TmuxScreen } from './tmux-screen.ts';

const CLI = 'dist/src/cli/main.js';
const SIZE = { columns: 200, rows: 50 } as const;
const RUN = 'generated';
const TRIES = 7;
const PATIENCE_MS = 60_000;

/** From the command to the first page of episodes of a run with a million of them. */
export const startup: Benchmark = {
  name: 'startup',
  measures: 'from the command to the first episodes on the screen, with a run of 1,000,000 of them',
  async run({ episodes: wanted, directory: kept, say }) {
    if (!existsSync(CLI))
      throw new LabError('usage', { message: 'there is no built program', hint: 'npm run build' });
    const episodes = wanted ?? 1_000_000;
    const directory = kept ?? mkdtempSync(join(tmpdir(), 'startup-'));
    try {
      const paths = runPaths(directory, RUN);
      if (!existsSync(paths.database)) writeGeneratedRun(paths, episodes, say);
      const drawn: number[] = [];
      const ready: number[] = [];
      // The first one reads the program and the index from the disk.
      for (let attempt = 0; attempt <= TRIES; attempt++) {
        const [first, listed] = await openRun(directory);
        if (attempt > 0) {
          drawn.push(first);
          ready.push(listed);
        }
      }
      return {
        figures: {
          firstFrameMs: median(drawn),
          readyMs: median(ready),
          slowestMs: Math.max(...ready),
        },
        conditions: { ...SIZE, episodes, tries: TRIES },
      };
    } finally {
      if (kept === null) rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** ms from the command to the list of runs; and until the run, opened by a key as soon as that is there, shows episodes. */
async function openRun(directory: string): Promise<readonly [firstMs: number, readyMs: number]> {
  const started = performance.now();
  const screen = new TmuxScreen([process.execPath, CLI, '--runs', directory], SIZE);
  try {
    const first = await screen.until((rows) => rows.some((row) => row.includes(RUN)), PATIENCE_MS);
    screen.type('j\r');
    const ready = await screen.until(
      (rows) => rows.filter((row) => /^[› ] e\d+ /u.test(row)).length > 5,
      PATIENCE_MS,
    );
    return [first - started, ready - started];
  } finally {
    screen.close();
  }
}
