import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { loadConfig } from '../src/config/load.ts';
import { bytesOf } from '../src/protocol/frame.ts';
import type { WorkerReport } from '../src/protocol/worker.ts';
import { workerSettings } from '../src/run/child-settings.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { type Benchmark, sleep } from './benchmark.ts';
import { driveWorker } from './worker-driver.ts';

const WARM_UP_MS = 2000;

/** Real workers with the demo's policy and environment, and beside them the policy alone on the same cores. */
export const rollout: Benchmark = {
  name: 'rollout',
  measures: 'env steps/s with the policy in the loop, against this machine’s inference-only rate',
  async run({ seconds, slots, say }) {
    const { config } = loadConfig(null, { file: 'demo' });
    const workers = config.hosts.reduce((sum, host) => sum + host.workers, 0);
    const total = slots ?? config.sampling.slots;
    const weights = initialWeights(config.policy, 1);
    const base = workerSettings(config);
    say(`${total} slots in ${workers} workers, ${seconds} s`);
    const driven = await Promise.all(
      Array.from({ length: workers }, async (_, worker) => {
        const share = Math.floor(total / workers);
        return await driveWorker({ ...base, worker, host: 'local', slots: share }, bytesOf(weights));
      }),
    );
    await sleep(WARM_UP_MS);
    for (const worker of driven) worker.resetTotals();
    const started = performance.now();
    await sleep(seconds * 1000);
    const elapsed = (performance.now() - started) / 1000;
    const totals = driven.map((worker) => worker.totals());
    const episodes = driven.reduce((sum, worker) => sum + worker.episodes(), 0);
    await Promise.all(driven.map(async (worker) => await worker.stop()));
    const sum = (field: keyof WorkerReport): number => totals.reduce((all, report) => all + report[field], 0);
    say('the policy alone');
    const inferenceOnly = await inferenceRate(workers, seconds);
    const rate = sum('steps') / elapsed;
    const perStep = (field: keyof WorkerReport): number => (sum(field) * 1000) / sum('steps');
    return {
      figures: {
        slots: total,
        envStepsPerS: rate,
        inferenceOnlyPerS: inferenceOnly,
        ratioToInference: rate / inferenceOnly,
        episodesPerS: episodes / elapsed,
        encodeUsPerStep: perStep('encodeMs'),
        inferenceUsPerStep: perStep('inferenceMs'),
        stepUsPerStep: perStep('stepMs'),
        recordUsPerStep: perStep('recordMs'),
        rssMiB: sum('rssMiB'),
      },
      conditions: { workers, seconds, policy: 'untrained', env: config.env.name },
    };
  },
};

/** Observations a second through the policy alone, in as many processes as there are workers, all at once. */
async function inferenceRate(processes: number, seconds: number): Promise<number> {
  const run = promisify(execFile);
  const outputs = await Promise.all(
    Array.from({ length: processes }, async () => {
      return await run('node', ['--import', 'tsx', 'bench/inference-only.ts', String(seconds)]);
    }),
  );
  return outputs.reduce((sum, { stdout }) => sum + Number(stdout), 0);
}
