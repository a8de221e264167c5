import { loadConfig } from '../src/config/load.ts';
import type { KnobValues } from '../src/domain/knob.ts';
import { actionLayout, observationTensors, type PolicySpec } from '../src/domain/policy-spec.ts';
import { createRandom } from '../src/domain/random.ts';
import { bytesOf } from '../src/protocol/frame.ts';
import type { TrainerSettings } from '../src/protocol/trainer.ts';
import { trainerSettings, workerSettings } from '../src/run/child-settings.ts';
import { initialWeights, parameterShapes, splitWeights } from '../trainer/policy/parameters.ts';
import { type Batch, joinEpisodes, readSamples } from '../trainer/ppo/batch.ts';
import { GradientStepper } from '../trainer/ppo/gradient-step.ts';
import { MinibatchSchedule } from '../trainer/ppo/minibatch-schedule.ts';
import { runUpdate } from '../trainer/ppo/update.ts';
import { type Benchmark, type BenchmarkResult, median, sleep } from './benchmark.ts';
import { startTorchPeers, type TorchPeer, type TorchWork } from './torch-peer.ts';
import { driveWorker } from './worker-driver.ts';

/** In each round every thread setting of PyTorch has its turn, and ours runs before each of them. */
const ROUNDS = 4;
/** A setting that was so many times slower than the best one when warming up has no further turns. */
const HOPELESS = 2;
/** Of the order of the samples: both see the same minibatches. */
const SEED = 0;
/** Largest difference between the losses of the first minibatch. */
const SAME_LOSS = 1e-3;

interface Timing {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** One thread setting of PyTorch. */
interface Rival {
  readonly peer: TorchPeer;
  readonly timings: Timing[];
}

/** What is updated. */
interface Work {
  readonly policy: PolicySpec;
  readonly settings: TrainerSettings;
  readonly knobs: KnobValues;
  readonly weights: Float32Array;
  readonly batch: Batch;
  /** The minibatches in their order. */
  readonly minibatches: readonly Int32Array[];
}

/** The trainer's own update phase, in this process, on episodes that a real worker sampled; and the same in PyTorch. */
export const update: Benchmark = {
  name: 'update',
  measures:
    'sample passes/s of the PPO update phase (forward, backward, clip, Adam), and how many times PyTorch that is',
  async run({ say }) {
    say('sampling a batch');
    const work = await prepare();
    const { policy, settings, knobs, weights, batch, minibatches } = work;
    const stepper = await GradientStepper.create(policy, settings, settings.threads);
    const start = { weights, optimiser: new Float32Array(weights.length * 2) };
    const firstRows = minibatches[0] ?? new Int32Array(0);
    const { metrics } = await stepper.run(stepper.load(start), batch, firstRows, { knobs, step: 1 });
    const torch = startTorchPeers(forTorch(work));
    if (torch.peers.length === 0) say('PyTorch is not installed here (python3-torch): ratioToTorch is null');
    say(`warming up on ${batch.count} samples`);
    await timeUpdate(stepper, work);
    const rivals = await warmUp(torch.peers, metrics.loss);
    const own: Timing[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      say(`round ${round} of ${ROUNDS}`);
      if (rivals.length === 0) own.push(await timeUpdate(stepper, work));
      for (const { peer, timings } of rivals) {
        own.push(await timeUpdate(stepper, work));
        timings.push(await peer.update());
      }
    }
    torch.close();
    await stepper.close();
    return summarise(work, own, rivals);
  },
};

/** The thread settings of PyTorch that are worth measuring. Throws when PyTorch's first loss is another than ours. */
async function warmUp(peers: readonly TorchPeer[], loss: number): Promise<readonly Rival[]> {
  const tried: (Rival & { readonly seconds: number })[] = [];
  for (const peer of peers) {
    const { firstLoss, seconds } = await peer.update();
    const difference = Math.abs(firstLoss - loss);
    if (!(difference <= SAME_LOSS))
      throw new Error(`first loss: ${loss} here, ${firstLoss} in PyTorch: it was not given the same work`);
    tried.push({ peer, timings: [], seconds });
  }
  const best = Math.min(...tried.map(({ seconds }) => seconds));
  return tried.filter(({ seconds }) => seconds <= HOPELESS * best);
}

async function prepare(): Promise<Work> {
  const { config } = loadConfig(null, { file: 'demo' });
  const settings = trainerSettings(config);
  const weights = initialWeights(config.policy, settings.seed);
  const batch = joinEpisodes(config.policy, await sampleBatch(config, weights), settings, 0);
  const knobs = { ...config.knobs, kl_limit: 0 };
  const schedule = new MinibatchSchedule(batch.count, createRandom(SEED));
  const minibatches: Int32Array[] = [];
  while (schedule.hasNext(knobs)) minibatches.push(schedule.next(knobs));
  return { policy: config.policy, settings, knobs, weights, batch, minibatches };
}

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

async function timeUpdate(stepper: GradientStepper, { weights, batch, knobs }: Work): Promise<Timing> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  const outcome = await runUpdate(
    stepper,
    batch,
    { weights, optimiser: new Float32Array(weights.length * 2), adamStep: 0, random: createRandom(SEED) },
    { knobs: () => knobs, before: async () => await Promise.resolve(true), after: () => undefined },
  );
  if (outcome.kind !== 'updated') throw new Error(`an update was ${outcome.kind}`);
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuSeconds: (user + system) / 1e6 };
}

function forTorch({ policy, settings, knobs, weights, batch, minibatches }: Work): TorchWork {
  const { size } = actionLayout(policy);
  const n = batch.count;
  const views = splitWeights(policy, weights);
  const none = new Float32Array(0);
  return {
    settings: {
      policy,
      knobs,
      gradientNorm: settings.gradientNorm,
      adamEpsilon: settings.adamEpsilon,
    },
    arrays: {
      ...Object.fromEntries(
        parameterShapes(policy).map(({ name, shape }) => [
          `weights.${name}`,
          { data: views[name] ?? none, shape },
        ]),
      ),
      ...Object.fromEntries(
        observationTensors(policy).map(({ name, shape }) => [
          name,
          { data: batch.observations[name] ?? none, shape: [n, ...shape] },
        ]),
      ),
      actions: { data: batch.actions, shape: [n] },
      oldLogProbabilities: { data: batch.oldLogProbabilities, shape: [n, size] },
      advantages: { data: batch.advantages, shape: [n] },
      returns: { data: batch.returns, shape: [n] },
      minibatches: {
        data: Int32Array.from(minibatches.flatMap((rows) => [...rows])),
        shape: [minibatches.length, minibatches[0]?.length ?? 0],
      },
    },
  };
}

function summarise(
  { settings, knobs, weights, batch, minibatches }: Work,
  own: readonly Timing[],
  rivals: readonly Rival[],
): BenchmarkResult {
  const steps = minibatches.length;
  const passes = steps * (minibatches[0]?.length ?? 0);
  const seconds = middle(own, 'seconds');
  const cpuSeconds = middle(own, 'cpuSeconds');
  const [best] = rivals.toSorted((a, b) => middle(a.timings, 'seconds') - middle(b.timings, 'seconds'));
  return {
    figures: {
      samplePassesPerS: passes / seconds,
      updateS: seconds,
      msPerGradientStep: (seconds * 1000) / steps,
      cpuMsPerGradientStep: (cpuSeconds * 1000) / steps,
      torchSamplePassesPerS: best === undefined ? null : passes / middle(best.timings, 'seconds'),
      ratioToTorch: best === undefined ? null : middle(best.timings, 'seconds') / seconds,
      cpuRatioToTorch: best === undefined ? null : middle(best.timings, 'cpuSeconds') / cpuSeconds,
    },
    conditions: {
      samples: batch.count,
      epochs: knobs.epochs,
      minibatch: knobs.minibatch,
      threads: settings.threads,
      parameters: weights.length,
    },
    details: [{ peer: { label: `ours, threads ${settings.threads}` }, timings: own }, ...rivals].map(
      ({ peer: { label }, timings }) =>
        `${label.padEnd(22)} ${(passes / middle(timings, 'seconds')).toFixed(0).padStart(7)} passes/s, ` +
        `per step ${((middle(timings, 'seconds') * 1000) / steps).toFixed(1).padStart(6)} ms, ` +
        `${((middle(timings, 'cpuSeconds') * 1000) / steps).toFixed(1).padStart(6)} ms of CPU`,
    ),
  };
}

function middle(timings: readonly Timing[], of: keyof Timing): number {
  return median(timings.map((timing) => timing[of])) ?? Number.NaN;
}
