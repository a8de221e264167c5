import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { loadConfig } from '../src/config/load.ts';
import { idleShares } from '../src/domain/idle.ts';
import { type IterationMetrics, iterationMetricsSchema, type RunStatus } from '../src/domain/run.ts';
import { describeWaste } from '../src/domain/waste.ts';
import { connectControl } from '../src/run/control-client.ts';
import { cpuSeconds } from '../src/run/process-figures.ts';
import { readManifest, runPaths } from '../src/store/run-directory.ts';
import type { Benchmark } from './benchmark.ts';

/** Iterations at the start that are left out: engines warm up, and the first batch is waited for. */
const WARM_UP = 3;
/** A few updates tell nothing: so many are measured at least. */
const LEAST_UPDATES = 8;
const LEAST_S = 40;
/** A run that is never stopped ends by itself. */
const MOST_MINUTES = 15;
/**
 * The config as it is, which is the budget's; other ways to share the cores; and updates that cost less, so that one can see whether
 * both can be busy at all when their work is alike.
 */
const VARIANTS: readonly (readonly string[])[] = [
  [],
  ['trainer.threads=2'],
  ['hosts.0.workers=2'],
  ['epochs=2'],
  ['epochs=1'],
];

/** What a run did in steady state. Shares are of wall clock without evaluations. */
interface Measured {
  readonly trainerIdle: number;
  readonly samplerIdle: number;
  readonly trainedStepsPerS: number;
  readonly updateS: number;
  readonly staleness: number;
  readonly workerCores: number | null;
  readonly trainerCores: number | null;
  readonly runCores: number | null;
  readonly waste: string;
}

/** The demo run itself, as a user starts it; its own rows say how long trainer and samplers could not work. */
export const pipeline: Benchmark = {
  name: 'pipeline',
  measures: 'shares of wall clock in which the trainer waits for data and samplers stand still, demo run',
  async run({ seconds, say }) {
    const { config } = loadConfig(null, { file: 'demo', cores: availableParallelism() });
    const workers = config.hosts.reduce((sum, host) => sum + host.workers, 0);
    const lines: string[] = [];
    const results: Measured[] = [];
    for (const set of VARIANTS) {
      const measured = await measure(set, Math.max(LEAST_S, seconds));
      results.push(measured);
      const line = `${(set[0] ?? 'as it is').padEnd(18)} ${describe(measured)}`;
      lines.push(line);
      say(line);
    }
    const [first] = results;
    if (first === undefined) throw new Error('nothing was measured');
    const { waste, ...figures } = first;
    return {
      figures,
      conditions: { seconds: Math.max(LEAST_S, seconds), workers, threads: config.trainer.threads },
      details: [...lines, waste],
    };
  },
};

function describe(measured: Measured): string {
  return [
    `trainer idle ${measured.trainerIdle.toFixed(3)}`,
    `sampler idle ${measured.samplerIdle.toFixed(3)}`,
    `${Math.round(measured.trainedStepsPerS)} steps/s trained`,
    `update ${measured.updateS.toFixed(2)} s`,
    `cores: workers ${twoDigits(measured.workerCores)}, trainer ${twoDigits(measured.trainerCores)}, run ${twoDigits(measured.runCores)}`,
    `staleness ${measured.staleness.toFixed(2)}`,
  ].join(' · ');
}

function twoDigits(value: number | null): string {
  return value === null ? '–' : value.toFixed(2);
}

/** What a run said until it had gone on for long enough. */
interface Followed {
  readonly rows: readonly IterationMetrics[];
  readonly marks: readonly { readonly time: number; readonly cpu: CpuSeconds }[];
  readonly status: RunStatus | null;
}

async function measure(set: readonly string[], seconds: number): Promise<Measured> {
  const runs = mkdtempSync(join(tmpdir(), 'agentrl-bench-'));
  try {
    return sumUp(await follow(runs, set, seconds));
  } finally {
    rmSync(runs, { recursive: true, force: true });
  }
}

/** Starts a run and ends it after at least so many `seconds` and updates in steady state. */
async function follow(runs: string, set: readonly string[], seconds: number): Promise<Followed> {
  const args = ['run', '--headless', '--json', '--minutes', String(MOST_MINUTES), '--runs', runs];
  const changes = set.length === 0 ? [] : ['--set', ...set];
  const child = spawn('node', ['dist/src/cli/main.js', ...args, ...changes], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const rows: IterationMetrics[] = [];
  const marks: Followed['marks'][number][] = [];
  let status: RunStatus | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    const row = iterationMetricsSchema.parse(JSON.parse(line));
    rows.push(row);
    if (row.iteration < WARM_UP) continue;
    const measuredS = row.elapsedS - (rows[WARM_UP - 1]?.elapsedS ?? 0);
    const enough = measuredS >= seconds && rows.length >= WARM_UP + LEAST_UPDATES;
    const asked = await ask(runs, enough);
    if (asked === null) continue;
    status = asked;
    marks.push({ time: Date.now(), cpu: cpuOfAll(asked) });
  }
  return { rows, marks, status };
}

function sumUp({ rows, marks, status }: Followed): Measured {
  const steady = rows.slice(WARM_UP - 1);
  const idle = idleShares(steady);
  if (idle === null) throw new Error(`only ${rows.length} updates came in ${MOST_MINUTES} min`);
  const after = steady.slice(1);
  const sum = (of: (row: IterationMetrics) => number): number => after.reduce((all, row) => all + of(row), 0);
  const wallS = (after.at(-1)?.elapsedS ?? 0) - (steady[0]?.elapsedS ?? 0) - sum(({ evalS }) => evalS);
  const [from, to] = [marks[0], marks.at(-1)];
  const cores = (of: keyof CpuSeconds): number | null =>
    from === undefined || to === undefined || to === from
      ? null
      : ((to.cpu[of] - from.cpu[of]) * 1000) / (to.time - from.time);
  return {
    trainerIdle: idle.trainer,
    samplerIdle: idle.samplers,
    trainedStepsPerS: sum(({ batchSteps }) => batchSteps) / wallS,
    updateS: sum(({ updateS }) => updateS) / after.length,
    staleness: sum(({ staleness }) => staleness) / after.length,
    workerCores: cores('workers'),
    trainerCores: cores('trainer'),
    runCores: cores('run'),
    waste: status === null || status.waste === null ? '' : describeWaste(status.waste),
  };
}

/** The status of the only run of a directory, null when it is not live; `stop` then ends it. */
async function ask(runs: string, stop: boolean): Promise<RunStatus | null> {
  const [id] = readdirSync(runs);
  if (id === undefined) return null;
  try {
    const client = await connectControl(readManifest(runPaths(runs, id)));
    const status = await client.status();
    if (stop) await client.stop();
    client.close();
    return status;
  } catch {
    return null;
  }
}

interface CpuSeconds {
  readonly run: number;
  readonly workers: number;
  readonly trainer: number;
}

/** CPU time of the run's processes so far; NaN where the platform does not say. */
function cpuOfAll({ pid, children }: RunStatus): CpuSeconds {
  const of = (role: 'worker' | 'trainer'): number =>
    children
      .filter((each) => each.role === role && each.pid !== null)
      .reduce((sum, child) => sum + (cpuSeconds(child.pid ?? 0) ?? Number.NaN), 0);
  return { run: cpuSeconds(pid) ?? Number.NaN, workers: of('worker'), trainer: of('trainer') };
}
