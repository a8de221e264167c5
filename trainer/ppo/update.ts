import type { GuardLimits, KlEstimator } from '../../src/domain/trainer-options.ts';
import type { Rejection, UpdateMetrics, UpdateSpot } from '../../src/protocol/trainer.ts';
import type { Batch } from './batch.ts';
import { type Descended, type DescentControl, descend, type UpdateStart } from './descent.ts';
import type { FlatWeights, GradientStepper, StepMetrics } from './gradient-step.ts';
import { klOf } from './kl-controller.ts';
import { spotOf } from './update-spot.ts';

/** The outside world between two minibatches. `before` gives the update up by saying false. */
export interface UpdateControl extends DescentControl {
  /** So many of so many minibatches are done. */
  after(done: number, total: number): void;
}

/** What an update is held against. */
export interface UpdateLimits {
  readonly guard: GuardLimits;
  /** Which KL is compared with `kl_limit` and the guard. */
  readonly klEstimator: KlEstimator;
}

export type UpdateOutcome =
  | {
      readonly kind: 'updated';
      readonly end: FlatWeights & { readonly adamStep: number };
      readonly metrics: Omit<UpdateMetrics, 'updateS'> & { readonly klK1: number; readonly klK3: number };
      /** Where the KL limit ended it, or null. */
      readonly stop: UpdateSpot | null;
      /** Largest |ratio − 1| in the first minibatch: 0 but for rounding when the samples are of the current version. */
      readonly firstRatioDeviation: number;
    }
  /** Nothing of it may be used: the weights to go on from are those before it. */
  | {
      readonly kind: 'rejected';
      readonly cause: Rejection;
      readonly reason: string;
      readonly spot: UpdateSpot | null;
    }
  | { readonly kind: 'abandoned' };

type Rejected = Extract<UpdateOutcome, { kind: 'rejected' }>;

/** In nats. A policy with less is settled: losing most of it again is no collapse. */
const SETTLED_ENTROPY = 0.1;

/** One that ends for nothing but a value that is not finite. */
const UNGUARDED: UpdateLimits = { guard: { kl: 0, entropy: 0 }, klEstimator: 'exact' };

/**
 * One PPO update phase: `epochs` passes over a batch in shuffled minibatches. Knobs are read before every minibatch. Ends
 * early after a minibatch whose KL passed `kl_limit` (0: no limit); rejects itself when something is not finite, the KL passes
 * the guard's in a minibatch or after the last step, or the entropy collapses. The start is left as it was, whatever happens.
 */
export async function runUpdate(
  stepper: GradientStepper,
  batch: Batch,
  start: UpdateStart,
  control: UpdateControl,
  limits: UpdateLimits = UNGUARDED,
): Promise<UpdateOutcome> {
  const flaw = flawIn(batch);
  if (flaw !== null) return { kind: 'rejected', cause: 'bad_batch', reason: flaw, spot: null };
  const seen: { epoch: number; metrics: StepMetrics }[] = [];
  let last: Descended | null = null;
  let stop: UpdateSpot | null = null;
  let abandoned = false;
  const before = async (minibatch: number): Promise<boolean> => {
    abandoned = !(await control.before(minibatch));
    return !abandoned;
  };
  for await (const one of descend(stepper, batch, start, { knobs: () => control.knobs(), before })) {
    const rejected = checkMinibatch(batch, one, limits);
    if (rejected !== null) return rejected;
    last = one;
    seen.push({ epoch: one.epoch, metrics: one.metrics });
    control.after(seen.length, one.total);
    const kl = klOf(one.metrics, limits.klEstimator);
    const isTooFar = one.knobs.kl_limit > 0 && kl > one.knobs.kl_limit;
    if (isTooFar) stop = spotOf(batch, one, kl);
    if (isTooFar) break;
  }
  if (abandoned || last === null) return { kind: 'abandoned' };
  const end = stepper.unload(last.live);
  const after = isGuarded(limits) ? await look(stepper, batch, last, start.adamStep + seen.length + 1) : null;
  const rejected = checkEnd(batch, { seen, last, end, after }, limits);
  if (rejected !== null) return rejected;
  return {
    kind: 'updated',
    end: { ...end, adamStep: start.adamStep + seen.length },
    metrics: {
      ...summarise(seen),
      klCoefficient: control.knobs().kl,
      learningRate: control.knobs().lr,
      entropyCoefficient: control.knobs().entropy,
      explainedVariance: batch.explainedVariance,
      staleness: batch.staleness,
      stalest: batch.stalest,
      staleCounts: [...batch.staleCounts],
      minibatches: seen.length,
      stoppedEarly: stop !== null,
    },
    stop,
    firstRatioDeviation: seen[0]?.metrics.ratioDeviation ?? 0,
  };
}

function isGuarded({ guard }: UpdateLimits): boolean {
  return guard.kl > 0 || guard.entropy > 0;
}

/** The last minibatch once more, after its step: what a step did shows only in the next one, and there is none. */
async function look(
  stepper: GradientStepper,
  batch: Batch,
  last: Descended,
  step: number,
): Promise<Descended> {
  const { live, rows, knobs } = last;
  const { metrics, logRatios } = await stepper.run(live, batch, rows, { knobs, step });
  return { ...last, metrics, logRatios };
}

function flawIn(batch: Batch): string | null {
  if (batch.count === 0) return 'there were no samples';
  if (!isFinite(batch.advantages) || !isFinite(batch.returns)) return 'rewards or values are not finite';
  return null;
}

/** Whether one minibatch is reason enough to drop the update. */
function checkMinibatch(batch: Batch, one: Descended, limits: UpdateLimits): Rejected | null {
  const kl = klOf(one.metrics, limits.klEstimator);
  const odd = Object.entries(one.metrics).find(([, value]) => !Number.isFinite(value));
  if (odd !== undefined) {
    const reason = `minibatch ${one.minibatch}: ${odd[0]} is ${odd[1]}`;
    return { kind: 'rejected', cause: 'not_finite', reason, spot: spotOf(batch, one, kl) };
  }
  const { kl: limit } = limits.guard;
  if (limit === 0 || kl <= limit) return null;
  const reason = `minibatch ${one.minibatch}: KL ${short(kl)}, the guard allows ${limit}`;
  return { kind: 'rejected', cause: 'kl_spike', reason, spot: spotOf(batch, one, kl) };
}

/** Whether what an update came to must be dropped. */
function checkEnd(
  batch: Batch,
  update: {
    readonly seen: readonly { epoch: number; metrics: StepMetrics }[];
    readonly last: Descended;
    readonly end: FlatWeights;
    /** The last minibatch after its step; null where nothing is held against it. */
    readonly after: Descended | null;
  },
  limits: UpdateLimits,
): Rejected | null {
  const { seen, last, end, after } = update;
  const spot = (): UpdateSpot => spotOf(batch, last, klOf(last.metrics, limits.klEstimator));
  if (!isFinite(end.weights) || !isFinite(end.optimiser)) {
    const reason = 'the new weights or moments are not finite';
    return { kind: 'rejected', cause: 'not_finite', reason, spot: spot() };
  }
  if (after === null) return null;
  const gone = checkMinibatch(batch, after, limits);
  if (gone !== null) return { ...gone, reason: `after ${gone.reason}` };
  const { entropy: least } = limits.guard;
  const first = seen[0]?.metrics.entropy ?? 0;
  const entropy = Math.min(meanOf(lastPass(seen), 'entropy'), after.metrics.entropy);
  if (first < SETTLED_ENTROPY || entropy >= least * first) return null;
  const reason = `the entropy fell from ${short(first)} to ${short(entropy)}, to less than ${least} of it`;
  return { kind: 'rejected', cause: 'entropy_collapse', reason, spot: spot() };
}

/**
 * Means over minibatches; the KL over those of the last pass only, since it grows from 0 during an update and the
 * controller wants to know where it ended.
 */
function summarise(seen: readonly { epoch: number; metrics: StepMetrics }[]) {
  const last = lastPass(seen);
  return {
    kl: meanOf(last, 'kl'),
    klK1: meanOf(last, 'klK1'),
    klK3: meanOf(last, 'klK3'),
    clipFraction: meanOf(seen, 'clipFraction'),
    entropy: meanOf(seen, 'entropy'),
    policyLoss: meanOf(seen, 'policyLoss'),
    valueLoss: meanOf(seen, 'valueLoss'),
    gradientNorm: meanOf(seen, 'gradientNorm'),
  };
}

function lastPass<Seen extends { readonly epoch: number }>(seen: readonly Seen[]): readonly Seen[] {
  const epoch = seen.at(-1)?.epoch ?? 0;
  return seen.filter((one) => one.epoch === epoch);
}

function meanOf(of: readonly { readonly metrics: StepMetrics }[], name: keyof StepMetrics): number {
  return of.reduce((sum, { metrics }) => sum + metrics[name], 0) / Math.max(1, of.length);
}

function isFinite(values: Float32Array): boolean {
  return values.every((value) => Number.isFinite(value));
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
