import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SoakRun } from '../../bench/soak/soak-run.ts';
import { TINY } from '../support/lab-run.ts';

const KILLS = 4;
const BETWEEN_KILLS_MS = 5000;
/** A tiny run with its two workers takes about 600. */
const MOST_MIB = 1500;

let directory: string;
let run: SoakRun | null = null;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentrl-soak-'));
});
afterEach(() => {
  run?.kill();
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
});

/** The soak of `npm run bench -- soak` for half a minute, with faults far more often. */
it('under crashes, hangs and kills no episode is lost or counted twice, and every sum agrees', async () => {
  run = await SoakRun.start({
    directory,
    config: {
      ...TINY,
      // A hung step holds its slot for so long.
      sampling: { slots: 64, batchSteps: 512, stepTimeoutMs: 500, episodeTimeoutMs: 20_000 },
    },
    shares: { crash: 0.02, hang: 0.01, spin: 0.002 },
    seed: 1,
  });
  await run.untilCalm();
  run.setFaults(true);
  let peakMiB = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(BETWEEN_KILLS_MS);
    peakMiB = Math.max(peakMiB, (await run.sample()).rssMiB);
    await run.killWorker();
  }
  const result = await run.finish();
  expect(result).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, sumsAgree: true, orphans: 0 });
  expect(result.claimed).toMatchObject({ episodes: result.training, voidEpisodes: result.void });
  expect(result.stored).toBeGreaterThan(500);
  expect(result.kills).toBeGreaterThan(0);
  expect(result.deaths).toBeGreaterThanOrEqual(result.kills);
  expect(result.deathEvents).toBe(result.deaths);
  expect(result.sentBack).toBeGreaterThan(0);
  expect(result.again).toBeGreaterThanOrEqual(result.sentBack + result.retried);
  // Those that hung or spun, and those that crashed; nothing else is void.
  const { env_timeout: hung = 0, env_crash: crashed = 0 } = result.byOutcome;
  expect(hung).toBeGreaterThan(0);
  expect(crashed).toBeGreaterThan(0);
  expect(result.void).toBeLessThanOrEqual(hung + crashed);
  expect(peakMiB).toBeGreaterThan(100);
  expect(peakMiB).toBeLessThan(MOST_MIB);
});
