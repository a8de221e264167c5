import { loadConfig } from '../src/config/load.ts';
import { policySpecSchema } from '../src/domain/policy-spec.ts';
import { workerSettings } from '../src/run/child-settings.ts';
import type { Benchmark } from './benchmark.ts';
import { type Sampled, sampleFor } from './sampling.ts';

const TOOL_MS = 300;
const SLOW_TOOL_MS = 500;
const TURNS = 20;
const MAX_STEPS = 120;
const WARM_UP_S = 6;
const WORKERS = 2;
/** Slots and width of the policy with which a call takes 7 ms and 0.3 ms for each row, about 50 ms, on a core of its own. */
const WIDE_SLOTS = 3000;
const WIDE_POLICY = policySpecSchema.parse({ hidden: 768, embedding: 128 });

/** Real workers with environments whose tools really wait: how near they come to what the tools alone would allow. */
export const latency: Benchmark = {
  name: 'latency',
  measures:
    'env steps/s with tools that take 300 ms against slots / latency; 20 turns of 500 ms, 50 ms inference',
  async run({ seconds, slots, say }) {
    const { config } = loadConfig(null, { file: 'demo' });
    const base = { ...workerSettings(config), maxSteps: MAX_STEPS };
    const total = slots ?? 7000;
    const plan = {
      settings: { ...base, env: { name: 'waiting', options: { latencyMs: TOOL_MS, jitter: 0.2 } } },
      policy: config.policy,
      workers: WORKERS,
      family: 'mixed',
      warmUpS: WARM_UP_S,
      seconds,
    };
    say(`${total} slots in ${WORKERS} workers, tools of ${TOOL_MS} ms, ${seconds} s`);
    const alone = await sampleFor({ ...plan, slots: total });
    say('half as many slots: what the loop takes when there is CPU time to spare');
    const half = await sampleFor({ ...plan, slots: Math.ceil(total / 2) });
    say(`${WIDE_SLOTS} slots, ${TURNS} turns with tools of ${SLOW_TOOL_MS} ms, a wide policy`);
    const wide = await sampleFor({
      settings: { ...base, env: { name: 'waiting', options: { latencyMs: SLOW_TOOL_MS, jitter: 0.2 } } },
      policy: WIDE_POLICY,
      slots: WIDE_SLOTS,
      workers: WORKERS,
      family: 'turns',
      warmUpS: WARM_UP_S,
      seconds,
    });
    return {
      figures: {
        slots: alone.slots,
        envStepsPerS: alone.stepsPerS,
        ratioToIdeal: ratioTo(TOOL_MS, alone),
        rows: alone.rows,
        waitMs: alone.waitMs,
        windowMs: alone.windowMs,
        inferenceMs: alone.inferenceMs,
        freeShare: alone.idleShare,
        workerCores: alone.cores,
        workerCpuUsPerStep: cpuUsPerStep(alone),
        halfRatioToIdeal: ratioTo(TOOL_MS, half),
        halfRows: half.rows,
        halfWaitMs: half.waitMs,
        halfWorkerCores: half.cores,
        wideEnvStepsPerS: wide.stepsPerS,
        wideRatioToIdeal: ratioTo(SLOW_TOOL_MS + wide.inferenceMs, wide),
        wideRows: wide.rows,
        wideWaitMs: wide.waitMs,
        wideWindowMs: wide.windowMs,
        wideInferenceMs: wide.inferenceMs,
        wideInWindow: wide.gatherShare,
        inferenceIdleWhileReady: wide.lateShare,
      },
      conditions: {
        workers: WORKERS,
        seconds,
        toolMs: TOOL_MS,
        slowToolMs: SLOW_TOOL_MS,
        wideSlots: WIDE_SLOTS,
      },
    };
  },
};

function cpuUsPerStep({ cores, stepsPerS }: Sampled): number | null {
  return cores === null ? null : (cores * 1e6) / stepsPerS;
}

/** Steps/s against those of slots that do nothing but wait for so long at each step. */
function ratioTo(stepMs: number, { stepsPerS, slots }: Sampled): number {
  return (stepsPerS * stepMs) / 1000 / slots;
}
