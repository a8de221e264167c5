import { loadConfig } from '../src/config/load.ts';
import { workerSettings } from '../src/run/child-settings.ts';
import type { Benchmark } from './benchmark.ts';
import { type Sampled, type SamplingPlan, sampleFor } from './sampling.ts';

const WORKERS = 2;
const SLOTS = 512;
const BUILD_MS = 500;
const TOOL_MS = 50;
const MAX_STEPS = 120;
const WARM_UP_S = 4;
/** Other work on the machine comes and goes: the best of so many counts. */
const ROUNDS = 2;

/** Slots that are reused against slots built anew for every episode, and how long slots are without an episode. */
export const pool: Benchmark = {
  name: 'pool',
  measures:
    'episodes/s with warm slots against slots built for each episode; idle slots with episodes of 3 to 120 steps',
  async run({ seconds, slots, say }) {
    const { config } = loadConfig(null, { file: 'demo' });
    const base = { ...workerSettings(config), maxSteps: MAX_STEPS };
    const plan = {
      policy: config.policy,
      slots: slots ?? SLOTS,
      workers: WORKERS,
      family: null,
      warmUpS: WARM_UP_S,
      seconds,
    };
    const workbench = { ...plan, settings: { ...base, env: { name: 'workbench', options: {} } } };
    const built = { latencyMs: TOOL_MS, buildMs: BUILD_MS };
    const costly = {
      ...plan,
      family: 'turns',
      settings: { ...base, env: { name: 'waiting', options: built } },
    };
    const mixed = {
      ...plan,
      family: 'mixed',
      settings: { ...base, env: { name: 'waiting', options: { latencyMs: TOOL_MS } } },
    };
    const pairs = [];
    for (const [what, each] of [
      ['workbench', workbench],
      [`an environment that takes ${BUILD_MS} ms to build`, costly],
    ] as const) {
      say(`${what}: built for each episode and reused, in turn`);
      const tries: { anew: Sampled[]; warm: Sampled[] } = { anew: [], warm: [] };
      for (let round = 0; round < ROUNDS; round++) {
        tries.anew.push(await sampleFor(withReuse(each, false)));
        tries.warm.push(await sampleFor(withReuse(each, true)));
      }
      pairs.push({ anew: fastest(tries.anew), warm: fastest(tries.warm) });
    }
    say('episodes of 3 to 120 steps');
    const { idleShare, stepsPerS } = await sampleFor(mixed);
    const [cheap, dear] = pairs;
    return {
      figures: {
        idleShare,
        mixedEnvStepsPerS: stepsPerS,
        ...compared('workbench', cheap),
        ...compared('costly', dear),
      },
      conditions: { workers: WORKERS, slots: plan.slots, seconds, buildMs: BUILD_MS, toolMs: TOOL_MS },
    };
  },
};

function fastest(tries: readonly Sampled[]): Sampled {
  return tries.reduce((best, each) => (each.stepsPerS > best.stepsPerS ? each : best));
}

function withReuse(plan: SamplingPlan, reuseSlots: boolean): SamplingPlan {
  return { ...plan, settings: { ...plan.settings, reuseSlots } };
}

function compared(name: string, pair: { readonly anew: Sampled; readonly warm: Sampled } | undefined) {
  if (pair === undefined) return {};
  const { anew, warm } = pair;
  return {
    [`${name}WarmStepsPerS`]: warm.stepsPerS,
    [`${name}AnewStepsPerS`]: anew.stepsPerS,
    [`${name}Gain`]: warm.stepsPerS / anew.stepsPerS,
    [`${name}CpuGain`]: cpuGain(warm, anew),
  };
}

/** CPU time of a step, built anew by reused. */
function cpuGain(warm: Sampled, anew: Sampled): number | null {
  if (warm.cores === null || anew.cores === null) return null;
  return anew.cores / anew.stepsPerS / (warm.cores / warm.stepsPerS);
}
