import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom, deriveSeed } from '../src/domain/random.ts';
import { type Benchmark, median, sleep } from './benchmark.ts';
import { type FaultShares, type SoakResult, SoakRun, type SoakSample } from './soak/soak-run.ts';

/** The budget's. */
const SLOTS = 7000;
/** A spin costs its worker, and all the episodes in it: at 1,500 episodes a second this is one in five minutes. */
const SHARES: FaultShares = { crash: 0.01, hang: 0.01, spin: 2e-6 };
/** A hung step holds its slot for so long: 2 s are a hundred thousand times what a step of the Workbench takes. */
const STEP_TIMEOUT_MS = 2000;
const MINUTE_MS = 60_000;
const KILL_EVERY_MS = MINUTE_MS;
const SAMPLE_EVERY_MS = 5000;
/** Stretches with faults, each between two without of a quarter of its length. */
const STRETCH_MS = 4 * MINUTE_MS;
/** Pools and queues fill, and code is compiled: not counted. */
const WARM_UP_MS = MINUTE_MS;
/** What was hung or killed comes back: not counted as undisturbed. */
const RECOVERY_MS = 5000;

/** A stretch of the run: steps a second, training and evaluation included, and its samples. */
interface Stretch {
  readonly stepsPerS: number;
  readonly samples: readonly SoakSample[];
}

/** The demo run with faults for so many minutes, and beside them, in turn, without. */
export const soak: Benchmark = {
  name: 'soak',
  measures:
    'a run for --minutes with 1 % hanging and 1 % crashing episodes and a killed worker a minute: throughput, memory, counts',
  async run({ minutes, seeds, slots, say }) {
    execFileSync('node', ['scripts/build.mjs'], { stdio: 'inherit' });
    const directory = mkdtempSync(join(tmpdir(), 'agentrl-soak-'));
    const [seed = 1] = seeds;
    const total = slots ?? SLOTS;
    const sampling = { slots: total, stepTimeoutMs: STEP_TIMEOUT_MS };
    const config = { name: 'soak', seed, sampling, stop: { minutes: null } };
    const run = await SoakRun.start({ directory, config, shares: SHARES, seed });
    // Whatever ends the bench must not leave a run behind.
    process.once('exit', () => run.kill());
    try {
      await run.untilCalm();
      say(`${total} slots, warming up`);
      const disturbedMs = minutes * MINUTE_MS;
      const shrink = Math.min(1, disturbedMs / STRETCH_MS);
      await watch(run, WARM_UP_MS * shrink, null);
      const clean = [await undisturbed(run, (STRETCH_MS / 4) * shrink)];
      const faulty: Stretch[] = [];
      const random = createRandom(deriveSeed('kills', seed));
      for (let left = disturbedMs; left > 0; left -= STRETCH_MS) {
        const ms = Math.min(left, STRETCH_MS);
        run.setFaults(true);
        faulty.push(await watch(run, ms, () => random.next()));
        run.setFaults(false);
        clean.push(await undisturbed(run, (STRETCH_MS / 4) * shrink));
        say(describe(faulty.at(-1), clean.at(-1)));
      }
      const result = await run.finish();
      for (const line of describeCounts(result)) say(line);
      return {
        figures: { slots: total, ...figuresOf(clean, faulty), ...countsOf(result) },
        conditions: {
          minutes,
          seed,
          stepTimeoutMs: STEP_TIMEOUT_MS,
          crashShare: SHARES.crash,
          hangShare: SHARES.hang,
          spinShare: SHARES.spin,
          killEveryS: KILL_EVERY_MS / 1000,
        },
      };
    } finally {
      run.kill();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  },
};

async function undisturbed(run: SoakRun, ms: number): Promise<Stretch> {
  await sleep(RECOVERY_MS);
  return await watch(run, ms, null);
}

/** Lets it run for so long; with `draw`, a worker is killed at a random moment of each minute. */
async function watch(run: SoakRun, ms: number, draw: (() => number) | null): Promise<Stretch> {
  const samples = [await run.sample()];
  const started = performance.now();
  const kills = draw === null ? [] : killTimes(ms, draw);
  for (let next = SAMPLE_EVERY_MS; performance.now() - started < ms; ) {
    const [kill = Number.POSITIVE_INFINITY] = kills;
    await sleep(Math.max(0, Math.min(kill, next, ms) - (performance.now() - started)));
    const now = performance.now() - started;
    if (now >= kill) {
      kills.shift();
      await run.killWorker();
    }
    if (now >= next || now >= ms) {
      samples.push(await run.sample());
      next += SAMPLE_EVERY_MS;
    }
  }
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error('nothing was measured');
  return { stepsPerS: rate(first, last), samples };
}

/** One in each full minute, and one in what is left over, in ms from the start. */
function killTimes(ms: number, draw: () => number): number[] {
  const times: number[] = [];
  for (let from = 0; from < ms; from += KILL_EVERY_MS) {
    times.push(from + draw() * Math.min(KILL_EVERY_MS, ms - from));
  }
  return times;
}

function rate(first: SoakSample, last: SoakSample): number {
  return ((last.envSteps - first.envSteps) * 1000) / (last.time - first.time);
}

function figuresOf(clean: readonly Stretch[], faulty: readonly Stretch[]): Record<string, number | null> {
  const mean = (stretches: readonly Stretch[]): number =>
    stretches.reduce((sum, { stepsPerS }) => sum + stepsPerS, 0) / stretches.length;
  // Each against its neighbours, so that what changes over the hour, as episodes get shorter, is in neither.
  const ratios = faulty.map(({ stepsPerS }, at) => stepsPerS / mean(clean.slice(at, at + 2)));
  const samples = [...clean, ...faulty].flatMap((stretch) => stretch.samples);
  return {
    throughputRatio: ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length,
    lowestRatio: Math.min(...ratios),
    medianRatio: median(ratios),
    undisturbedStepsPerS: mean(clean),
    disturbedStepsPerS: mean(faulty),
    iterations: samples.reduce((most, { iteration }) => Math.max(most, iteration), 0),
    peakRssMiB: samples.reduce((most, { rssMiB }) => Math.max(most, rssMiB), 0),
    rssSlopeMiBPerMin: slope(samples),
  };
}

/** Least squares over all samples, MiB a minute. */
function slope(samples: readonly SoakSample[]): number {
  const mean = (of: (sample: SoakSample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [time, rss] = [mean((sample) => sample.time), mean(({ rssMiB }) => rssMiB)];
  const together = mean((sample) => (sample.time - time) * (sample.rssMiB - rss));
  return (together / mean((sample) => (sample.time - time) ** 2)) * MINUTE_MS;
}

function countsOf(result: SoakResult): Record<string, number> {
  const { stored, lost, duplicated, damaged, again, kills, deaths, orphans, claimed, training } = result;
  const isCounted = claimed.episodes === training && claimed.voidEpisodes === result.void;
  return {
    episodes: stored,
    lost,
    duplicated,
    damaged,
    dispatchedAgain: again,
    voidShare: result.void / Math.max(1, training),
    kills,
    workerDeaths: deaths,
    orphans,
    failureSumMatches: Number(result.sumsAgree && isCounted),
  };
}

function describe(faulty: Stretch | undefined, clean: Stretch | undefined): string {
  const [disturbed, without] = [faulty?.stepsPerS ?? 0, clean?.stepsPerS ?? 0];
  const last = clean?.samples.at(-1);
  return `  iteration ${last?.iteration ?? 0}: ${Math.round(disturbed)} steps/s with faults, ${Math.round(without)} after them without; ${Math.round(last?.rssMiB ?? 0)} MiB`;
}

function describeCounts({ byOutcome, stored }: SoakResult): string[] {
  const outcomes = Object.entries(byOutcome).toSorted((a, b) => b[1] - a[1]);
  return [`${stored} episodes: ${outcomes.map(([name, count]) => `${name} ${count}`).join(', ')}`];
}
