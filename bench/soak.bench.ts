import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom, deriveSeed } from '../src/domain/random.ts';
import { type Benchmark, median, sleep } from './benchmark.ts';
import { type FaultShares, type SoakResult, SoakRun, type SoakSample } from './soak/soak-run.ts';

/** The budget's. */
const SLOTS = 7000;
/** One that dies takes the half of all slots with it; what it had is done again. */
const WORKERS = 2;
/** A spin costs its worker, and all the episodes in it: at 1,500 episodes a second this is one in five minutes. */
const SHARES: FaultShares = { crash: 0.01, hang: 0.01, spin: 2e-6 };
/** A hung step holds its slot for so long: 2 s are a hundred thousand times what a step of the Workbench takes. */
const STEP_TIMEOUT_MS = 2000;
const MINUTE_MS = 60_000;
const KILL_EVERY_MS = MINUTE_MS;
const SAMPLE_EVERY_MS = 5000;
/** Stretches with faults and without take turns, so that what else the machine does is in both. */
const FAULTY_MS = 2 * MINUTE_MS;
const CLEAN_MS = MINUTE_MS;
/** Pools and queues fill, and code is compiled: not counted. */
const WARM_UP_MS = MINUTE_MS;
/** What was hung or killed comes back, and the first steps hang: the beginning of each stretch is not counted. */
const SETTLE_MS = 6000;
/** Nobody is killed in so much of the end of a minute: what it costs must be in the stretch that it belongs to. */
const KILL_MARGIN_MS = 12_000;

/** A stretch of the run, and its samples. */
interface Stretch {
  /** Steps a second of training episodes that were stored, while trained on and evaluated as ever. */
  readonly stepsPerS: number;
  /** Updates a minute. */
  readonly updatesPerMin: number;
  readonly samples: readonly SoakSample[];
  /** How long the places of killed workers were empty, ms. */
  readonly restartsMs: readonly number[];
}

/** The demo run with faults for so many minutes, and beside them, in turn, without. */
export const soak: Benchmark = {
  name: 'soak',
  measures:
    'a run for --minutes, in turn with and without 1 % hanging steps, 1 % crashing resets and a killed worker a minute: throughput, memory, counts',
  async run({ minutes, seeds, slots, say }) {
    execFileSync('node', ['scripts/build.mjs'], { stdio: 'inherit' });
    const directory = mkdtempSync(join(tmpdir(), 'agentrl-soak-'));
    const [seed = 1] = seeds;
    const total = slots ?? SLOTS;
    const sampling = { slots: total, stepTimeoutMs: STEP_TIMEOUT_MS };
    const hosts = [{ name: 'local', workers: WORKERS }];
    const config = { name: 'soak', seed, hosts, sampling, stop: { minutes: null } };
    const run = await SoakRun.start({ directory, config, shares: SHARES, seed });
    // Whatever ends the bench must not leave a run behind.
    process.once('exit', () => run.kill());
    try {
      await run.untilCalm();
      say(`${total} slots, warming up`);
      const rounds = Math.max(1, Math.round((minutes * MINUTE_MS) / (FAULTY_MS + CLEAN_MS)));
      const shrink = Math.min(1, (minutes * MINUTE_MS) / (FAULTY_MS + CLEAN_MS));
      await watch(run, WARM_UP_MS * shrink, null);
      const clean = [await watch(run, CLEAN_MS * shrink, null)];
      const faulty: Stretch[] = [];
      const random = createRandom(deriveSeed('kills', seed));
      for (let round = 0; round < rounds; round++) {
        run.setFaults(true);
        faulty.push(await watch(run, FAULTY_MS * shrink, () => random.next()));
        run.setFaults(false);
        clean.push(await watch(run, CLEAN_MS * shrink, null));
        say(describe(faulty.at(-1), clean.at(-1)));
      }
      const result = await run.finish();
      for (const line of describeCounts(result)) say(line);
      return {
        figures: { slots: total, ...figuresOf(total, clean, faulty), ...countsOf(result) },
        conditions: {
          minutes,
          seed,
          stepTimeoutMs: STEP_TIMEOUT_MS,
          workers: WORKERS,
          crashShare: SHARES.crash,
          hangShareOfSteps: SHARES.hang,
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

/** Lets it run for so long, without its beginning; with `draw`, a worker is killed at a random moment of each minute. */
async function watch(run: SoakRun, ms: number, draw: (() => number) | null): Promise<Stretch> {
  await sleep(SETTLE_MS);
  const restartsMs: number[] = [];
  const samples = [await run.sample()];
  const started = performance.now();
  const kills = draw === null ? [] : killTimes(ms, draw);
  for (let next = SAMPLE_EVERY_MS; performance.now() - started < ms; ) {
    const [kill = Number.POSITIVE_INFINITY] = kills;
    await sleep(Math.max(0, Math.min(kill, next, ms) - (performance.now() - started)));
    const now = performance.now() - started;
    if (now >= kill) {
      kills.shift();
      const restartMs = await run.killWorker();
      if (restartMs !== null) restartsMs.push(restartMs);
    }
    if (now >= next || now >= ms) {
      samples.push(await run.sample());
      next += SAMPLE_EVERY_MS;
    }
  }
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error('nothing was measured');
  return {
    stepsPerS: perSecond(first, last, ({ envSteps }) => envSteps),
    updatesPerMin: 60 * perSecond(first, last, ({ iteration }) => iteration),
    samples,
    restartsMs,
  };
}

/** One in each minute, but for the end of it, in ms from the start. */
function killTimes(ms: number, draw: () => number): number[] {
  const minutes = Math.max(1, Math.round(ms / KILL_EVERY_MS));
  const each = ms / minutes;
  return Array.from(
    { length: minutes },
    (_, minute) => minute * each + draw() * Math.max(0, each - KILL_MARGIN_MS),
  );
}

function perSecond(first: SoakSample, last: SoakSample, of: (sample: SoakSample) => number): number {
  return ((of(last) - of(first)) * 1000) / (last.time - first.time);
}

function figuresOf(
  slots: number,
  clean: readonly Stretch[],
  faulty: readonly Stretch[],
): Record<string, number | null> {
  // Each against its neighbours, so that what changes over the hour, as episodes get shorter, is in neither.
  const against = (rate: (stretch: Stretch) => number): number[] =>
    faulty.map((stretch, at) => rate(stretch) / mean(clean.slice(at, at + 2).map(rate)));
  const ratios = against(({ stepsPerS }) => stepsPerS);
  const samples = [...clean, ...faulty]
    .flatMap((stretch) => stretch.samples)
    .toSorted((a, b) => a.time - b.time);
  const [first, last] = [samples[0]?.time ?? 0, samples.at(-1)?.time ?? 0];
  const secondHalf = samples.filter(({ time }) => time >= (first + last) / 2);
  const restarts = faulty.flatMap(({ restartsMs }) => restartsMs);
  return {
    throughputRatio: mean(ratios),
    lowestRatio: Math.min(...ratios),
    medianRatio: median(ratios),
    updateRatio: mean(against(({ updatesPerMin }) => updatesPerMin)),
    undisturbedStepsPerS: mean(clean.map(({ stepsPerS }) => stepsPerS)),
    disturbedStepsPerS: mean(faulty.map(({ stepsPerS }) => stepsPerS)),
    // What faults took of the time of all slots, and for how long a killed worker was not there.
    voidTimeShare: slotShare(faulty, slots, ({ voidS }) => voidS),
    retriedTimeShare: slotShare(faulty, slots, ({ retriedS }) => retriedS),
    restartS: restarts.length === 0 ? null : mean(restarts) / 1000,
    iterations: samples.reduce((most, { iteration }) => Math.max(most, iteration), 0),
    peakRssMiB: samples.reduce((most, { rssMiB }) => Math.max(most, rssMiB), 0),
    rssSlopeMiBPerMin: slope(secondHalf),
  };
}

/** Share of the time of all slots in these stretches, of what is counted in slot-seconds. */
function slotShare(stretches: readonly Stretch[], slots: number, of: (sample: SoakSample) => number): number {
  return mean(
    stretches.map(({ samples }) => {
      const [first, last] = [samples[0], samples.at(-1)];
      return first === undefined || last === undefined ? 0 : perSecond(first, last, of) / slots;
    }),
  );
}

/** Least squares over samples, MiB a minute. */
function slope(samples: readonly SoakSample[]): number {
  const [time, rss] = [mean(samples.map((each) => each.time)), mean(samples.map(({ rssMiB }) => rssMiB))];
  const together = mean(samples.map((each) => (each.time - time) * (each.rssMiB - rss)));
  return (together / mean(samples.map((each) => (each.time - time) ** 2))) * MINUTE_MS;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function countsOf(result: SoakResult): Record<string, number> {
  const { stored, lost, duplicated, damaged, again, kills, deaths, orphans, claimed, training } = result;
  const { deathEvents, sentBack, retried } = result;
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
    // Segments, index and status have the same of each outcome; events and status the same deaths, with what they cost.
    failureSumMatches: Number(result.sumsAgree && isCounted),
    eventsMatch: Number(deathEvents === deaths && again >= sentBack + retried),
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
