import type { KnobValues } from '../../src/domain/knob.ts';
import type { RandomStream } from '../../src/domain/random.ts';
import type { UpdateMetrics } from '../../src/protocol/trainer.ts';
import type { Batch } from './batch.ts';
import type { FlatWeights, GradientStepper, StepMetrics } from './gradient-step.ts';
import { MinibatchSchedule } from './minibatch-schedule.ts';

/** Where an update begins. */
export interface UpdateStart extends FlatWeights {
  /** Adam's step count so far. */
  readonly adamStep: number;
  /** Shuffles; moved on by the update. */
  readonly random: RandomStream;
}

/** The outside world between two minibatches. */
export interface UpdateControl {
  /** The knobs as they are now. */
  knobs(): KnobValues;
  /** Minibatch number `minibatch` (from 0) is about to be computed; may wait, and change knobs. False gives the update up. */
  before(minibatch: number): Promise<boolean>;
  /** So many of so many minibatches are done. */
  after(done: number, total: number): void;
}

export type UpdateOutcome =
  | {
      readonly kind: 'updated';
      readonly end: FlatWeights & { readonly adamStep: number };
      readonly metrics: Omit<UpdateMetrics, 'updateS'>;
      /** Largest |ratio − 1| in the first minibatch: 0 but for rounding when the samples are of the current version. */
      readonly firstRatioDeviation: number;
    }
  /** It gave NaN or infinity: nothing of it may be used. */
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'abandoned' };

/**
 * One PPO update phase: `epochs` passes over a batch in shuffled minibatches. Knobs are read before every minibatch. Ends
 * early after a minibatch whose KL passed `kl_limit` (0: no limit). The start is left as it was, whatever happens.
 */
export async function runUpdate(
  stepper: GradientStepper,
  batch: Batch,
  start: UpdateStart,
  control: UpdateControl,
): Promise<UpdateOutcome> {
  const flaw = flawIn(batch);
  if (flaw !== null) return { kind: 'rejected', reason: flaw };
  const schedule = new MinibatchSchedule(batch.count, start.random);
  const seen: { epoch: number; metrics: StepMetrics }[] = [];
  let live = stepper.load(start);
  let stoppedEarly = false;
  while (!stoppedEarly && schedule.hasNext(control.knobs())) {
    if (!(await control.before(seen.length))) return { kind: 'abandoned' };
    const knobs = control.knobs();
    if (!schedule.hasNext(knobs)) break;
    const rows = schedule.next(knobs);
    const step = start.adamStep + seen.length + 1;
    const result = await stepper.run(live, batch, rows, { knobs, step });
    const odd = Object.entries(result.metrics).find(([, value]) => !Number.isFinite(value));
    if (odd !== undefined)
      return { kind: 'rejected', reason: `minibatch ${seen.length}: ${odd[0]} is ${odd[1]}` };
    live = result.live;
    seen.push({ epoch: schedule.epoch, metrics: result.metrics });
    stoppedEarly = knobs.kl_limit > 0 && result.metrics.kl > knobs.kl_limit;
    control.after(seen.length, schedule.total(knobs));
  }
  const end = stepper.unload(live);
  if (!isFinite(end.weights) || !isFinite(end.optimiser)) {
    return { kind: 'rejected', reason: 'the new weights or moments are not finite' };
  }
  return {
    kind: 'updated',
    end: { ...end, adamStep: start.adamStep + seen.length },
    metrics: {
      ...summarise(seen),
      klCoefficient: control.knobs().kl,
      explainedVariance: batch.explainedVariance,
      staleness: batch.staleness,
      minibatches: seen.length,
      stoppedEarly,
    },
    firstRatioDeviation: seen[0]?.metrics.ratioDeviation ?? 0,
  };
}

function flawIn(batch: Batch): string | null {
  if (batch.count === 0) return 'there were no samples';
  if (!isFinite(batch.advantages) || !isFinite(batch.returns)) return 'rewards or values are not finite';
  return null;
}

/**
 * Means over minibatches; the KL over those of the last pass only, since it grows from 0 during an update and the
 * controller wants to know where it ended.
 */
function summarise(seen: readonly { epoch: number; metrics: StepMetrics }[]) {
  const lastEpoch = seen.at(-1)?.epoch ?? 0;
  const last = seen.filter(({ epoch }) => epoch === lastEpoch);
  const mean = (of: typeof seen, name: keyof StepMetrics): number =>
    of.reduce((sum, { metrics }) => sum + metrics[name], 0) / Math.max(1, of.length);
  return {
    kl: mean(last, 'kl'),
    clipFraction: mean(seen, 'clipFraction'),
    entropy: mean(seen, 'entropy'),
    policyLoss: mean(seen, 'policyLoss'),
    valueLoss: mean(seen, 'valueLoss'),
    gradientNorm: mean(seen, 'gradientNorm'),
  };
}

function isFinite(values: Float32Array): boolean {
  return values.every((value) => Number.isFinite(value));
}
