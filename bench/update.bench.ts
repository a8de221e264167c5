import { loadConfig } from '../src/config/load.ts';
import { createRandom } from '../src/domain/random.ts';
import { bytesOf } from '../src/protocol/frame.ts';
import { trainerSettings, workerSettings } from '../src/run/child-settings.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { joinEpisodes, readSamples } from '../trainer/ppo/batch.ts';
import { GradientStepper } from '../trainer/ppo/gradient-step.ts';
import { runUpdate } from '../trainer/ppo/update.ts';
import { type Benchmark, median, sleep } from './benchmark.ts';
import { driveWorker } from './worker-driver.ts';

const UPDATES = 3;

/** The trainer's own update phase, in this process, on episodes that a real worker sampled. */
export const update: Benchmark = {
  name: 'update',
  measures: 'sample passes/s of the PPO update phase (forward, backward, clip, Adam)',
  async run({ say }) {
    const { config } = loadConfig(null, { file: 'demo' });
    const settings = trainerSettings(config);
    const weights = initialWeights(config.policy, settings.seed);
    say('sampling a batch');
    const episodes = await sampleBatch(config, weights);
    const batch = joinEpisodes(config.policy, episodes, settings, 0);
    const stepper = await GradientStepper.create(config.policy, settings, settings.threads);
    const knobs = { ...config.knobs, kl_limit: 0 };
    const seconds: number[] = [];
    const cpuSeconds: number[] = [];
    let minibatches = 0;
    say(`${UPDATES} updates on ${batch.count} samples`);
    for (let i = 0; i <= UPDATES; i++) {
      const started = performance.now();
      const cpu = process.cpuUsage();
      const outcome = await runUpdate(
        stepper,
        batch,
        {
          weights,
          optimiser: new Float32Array(weights.length * 2),
          adamStep: 0,
          random: createRandom(i),
        },
        { knobs: () => knobs, before: async () => await Promise.resolve(true), after: () => undefined },
      );
      if (outcome.kind !== 'updated') throw new Error(`update ${i} was ${outcome.kind}`);
      minibatches = outcome.metrics.minibatches;
      // The first one warms up.
      if (i === 0) continue;
      const { user, system } = process.cpuUsage(cpu);
      seconds.push((performance.now() - started) / 1000);
      cpuSeconds.push((user + system) / 1e6);
    }
    await stepper.close();
    const middle = median(seconds) ?? Number.NaN;
    const passes = minibatches * knobs.minibatch;
    return {
      figures: {
        samplePassesPerS: passes / middle,
        updateS: middle,
        msPerGradientStep: (middle * 1000) / minibatches,
        cpuMsPerGradientStep: ((median(cpuSeconds) ?? Number.NaN) * 1000) / minibatches,
      },
      conditions: {
        samples: batch.count,
        epochs: knobs.epochs,
        minibatch: knobs.minibatch,
        threads: settings.threads,
        parameters: weights.length,
      },
    };
  },
};

async function sampleBatch(
  config: ReturnType<typeof loadConfig>['config'],
  weights: Float32Array,
): Promise<ReturnType<typeof readSamples>[]> {
  const episodes: ReturnType<typeof readSamples>[] = [];
  let steps = 0;
  const worker = await driveWorker(
    { ...workerSettings(config), worker: 0, host: 'local', slots: config.sampling.slots },
    bytesOf(weights),
    ({ summary, bootstrapValue }, attachments) => {
      if (steps >= config.sampling.batchSteps) return;
      const { id, terminated } = summary;
      const header = { id, terminated, bootstrapValue, steps: summary.steps };
      episodes.push(readSamples(config.policy, header, attachments));
      steps += summary.steps;
    },
  );
  while (steps < config.sampling.batchSteps) await sleep(50);
  await worker.stop();
  return episodes;
}
