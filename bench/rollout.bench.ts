import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '../src/config/load.ts';
import { LabError } from '../src/domain/error.ts';
import type { PolicySpec } from '../src/domain/policy-spec.ts';
import { bytesOf } from '../src/protocol/frame.ts';
import { loadCheckpoint } from '../src/run/checkpoint.ts';
import { workerSettings } from '../src/run/child-settings.ts';
import { bytesByWorker, EpisodeIntake } from '../src/run/episode-intake.ts';
import { openRunStore } from '../src/store/index-writer.ts';
import { createRunDirectory, runPaths } from '../src/store/run-directory.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { type Benchmark, sleep } from './benchmark.ts';
import { type DrivenWorker, driveWorker, type ReportSum } from './worker-driver.ts';

const WARM_UP_MS = 8000;

/**
 * Real workers with the demo's policy and environment; this process stores every episode, and acknowledges it, as the run
 * process does. Beside them the policy alone on the same cores.
 */
export const rollout: Benchmark = {
  name: 'rollout',
  measures:
    'env steps/s with the policy in the loop and every episode stored, against the inference-only rate',
  async run({ seconds, slots, run, say }) {
    const { config } = loadConfig(null, { file: 'demo' });
    const workers = config.hosts.reduce((sum, host) => sum + host.workers, 0);
    const total = slots ?? config.sampling.slots;
    const { weights, policy } = run === null ? untrained(config.policy) : trained(run);
    const base = workerSettings(config);
    const directory = mkdtempSync(join(tmpdir(), 'rollout-'));
    try {
      const paths = runPaths(directory, 'bench');
      createRunDirectory(paths);
      const store = openRunStore(paths);
      const driven: DrivenWorker[] = [];
      let failure: Error | null = null;
      const intake = new EpisodeIntake(store, {
        onStored: (episodes) => {
          for (const [worker, bytes] of bytesByWorker(episodes)) driven[worker]?.ack(bytes);
        },
        onFailed: (error) => {
          failure = error;
        },
      });
      say(`${total} slots in ${workers} workers, ${seconds} s`);
      const started = Array.from({ length: workers }, async (_, worker) => {
        const settings = { ...base, worker, host: 'local', slots: Math.floor(total / workers) };
        driven[worker] = await driveWorker(
          settings,
          weights,
          ({ summary, bytes, bootstrapValue }, attachments) =>
            intake.add({ worker, summary, bytes, bootstrapValue, attachments }),
          'by caller',
        );
      });
      await Promise.all(started);
      await sleep(WARM_UP_MS);
      const figures = await measure(driven, total, seconds);
      const stored = store.totals().episodes;
      await Promise.all(driven.map(async (worker) => await worker.stop()));
      intake.flush();
      store.close();
      if (failure !== null) throw failure;
      if (stored === 0) throw new Error('no episode was stored');
      say('the policy alone');
      const inferenceOnlyPerS = await inferenceRate(workers, seconds, Math.floor(total / workers));
      return {
        figures: {
          slots: total,
          inferenceOnlyPerS,
          ratioToInference: (figures['envStepsPerS'] ?? 0) / inferenceOnlyPerS,
          ...figures,
        },
        conditions: { workers, seconds, policy, env: config.env.name },
      };
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** What the workers are given, and what to call it. */
interface Weights {
  readonly weights: Uint8Array;
  readonly policy: string;
}

/** Its episodes are short: a step costs more with it than with one that has learned something. */
function untrained(spec: PolicySpec): Weights {
  return { weights: bytesOf(initialWeights(spec, 1)), policy: 'untrained' };
}

/** The newest checkpoint of a run, which must have the demo's policy and environment. */
function trained(run: string): Weights {
  const { checkpoint } = loadCheckpoint(join(run, 'checkpoints'));
  if (checkpoint === null)
    throw new LabError('checkpoint-missing', { message: `there is no checkpoint in ${run}` });
  return { weights: checkpoint.weights, policy: `iteration ${checkpoint.iteration} of ${basename(run)}` };
}

/** What the workers, and this process for them, do in so many seconds. CPU times are those of whole processes. */
async function measure(
  workers: readonly DrivenWorker[],
  slots: number,
  seconds: number,
): Promise<Record<string, number | null>> {
  for (const worker of workers) worker.resetTotals();
  const cpuBefore = workers.map((worker) => worker.cpuSeconds());
  const storeBefore = process.cpuUsage();
  const started = performance.now();
  await sleep(seconds * 1000);
  const elapsed = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(storeBefore);
  const totals = workers.map((worker) => worker.totals());
  const sum = (field: ReportSum): number => totals.reduce((all, report) => all + report[field], 0);
  const perStep = (field: ReportSum): number => (sum(field) * 1000) / sum('steps');
  const cpu = workers.reduce<number | null>((all, worker, index) => {
    const [before, after] = [cpuBefore[index] ?? null, worker.cpuSeconds()];
    return all === null || before === null || after === null ? null : all + after - before;
  }, 0);
  const steps = sum('steps');
  const storeUs = (user + system) / steps;
  const workerUs = cpu === null ? null : (cpu * 1e6) / steps;
  return {
    envStepsPerS: steps / elapsed,
    episodesPerS: workers.reduce((all, worker) => all + worker.episodes(), 0) / elapsed,
    // In the mean, not at the end.
    busySlots: totals.reduce((all, { freeMs, wallMs }) => all - freeMs / wallMs, slots),
    encodeUsPerStep: perStep('encodeMs'),
    inferenceUsPerStep: perStep('inferenceMs'),
    stepUsPerStep: perStep('stepMs'),
    recordUsPerStep: perStep('recordMs'),
    workerCpuUsPerStep: workerUs,
    storeCpuUsPerStep: storeUs,
    cpuUsPerStep: workerUs === null ? null : workerUs + storeUs,
    workersRssMiB: sum('rssMiB'),
  };
}

/** Observations a second through the policy alone, in as many processes as there are workers, all at once. */
async function inferenceRate(processes: number, seconds: number, slots: number): Promise<number> {
  const run = promisify(execFile);
  const outputs = await Promise.all(
    Array.from({ length: processes }, async () => {
      const settings = [String(seconds), String(slots)];
      return await run('node', ['--import', 'tsx', 'bench/inference-only.ts', ...settings]);
    }),
  );
  return outputs.reduce((sum, { stdout }) => sum + Number(stdout), 0);
}
