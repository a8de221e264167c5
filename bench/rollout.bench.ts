import { loadConfig } from '../src/config/load.ts';
import { actionLayout, CANDIDATE_TOKENS, type PolicySpec } from '../src/domain/policy-spec.ts';
import { bytesOf } from '../src/protocol/frame.ts';
import type { WorkerReport } from '../src/protocol/worker.ts';
import { workerSettings } from '../src/run/child-settings.ts';
import { createPolicy } from '../trainer/policy/inference.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { type Benchmark, sleep } from './benchmark.ts';
import { driveWorker } from './worker-driver.ts';

const WARM_UP_MS = 2000;
const ROWS = 128;

/** Real workers with the demo's policy and environment, and beside them the policy alone on the same cores. */
export const rollout: Benchmark = {
  name: 'rollout',
  measures: 'env steps/s with the policy in the loop, against this machine’s inference-only rate',
  async run({ seconds, slots, say }) {
    const { config } = loadConfig(null, { file: 'demo' });
    const workers = 1;
    const total = slots ?? config.sampling.slots;
    const weights = initialWeights(config.policy, 1);
    const base = workerSettings(config);
    say(`${total} slots in ${workers} worker, ${seconds} s`);
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
    const inferenceOnly = await inferenceRate(config.policy, seconds);
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

/** Observations a second through the policy alone, two batches at a time as a worker's two lanes have it. */
async function inferenceRate(spec: PolicySpec, seconds: number): Promise<number> {
  const policy = await createPolicy(spec, { threads: 1 });
  const layout = actionLayout(spec);
  const tokens = Int32Array.from({ length: ROWS * spec.sentences * spec.tokens }, (_, i) =>
    i % spec.tokens < spec.tokens / 2 ? 1 + ((i * 7919) % (spec.vocabulary - 1)) : 0,
  );
  const candidates = Int32Array.from(
    { length: ROWS * layout.slots * CANDIDATE_TOKENS },
    (_, i) => 1 + ((i * 104_729) % (spec.vocabulary - 1)),
  );
  const mask = new Float32Array(ROWS * layout.size).fill(1);
  const until = performance.now() + seconds * 1000;
  const lane = async (): Promise<number> => {
    let rows = 0;
    while (performance.now() < until) {
      await policy.run(ROWS, tokens, candidates, mask);
      rows += ROWS;
    }
    return rows;
  };
  const rows = await Promise.all([lane(), lane()]);
  return rows.reduce((all, count) => all + count, 0) / seconds;
}
