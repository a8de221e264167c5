import type { KnobName } from '../../src/domain/knob.ts';
import type { TrainerOptions } from '../../src/domain/trainer-options.ts';
import type { Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import {
  abs,
  add,
  cast,
  clamp,
  exp,
  greater,
  less,
  max,
  min,
  mul,
  neg,
  pick,
  reduceMax,
  reduceMean,
  reduceSum,
  sub,
  where,
} from '../graph/ops.ts';
import type { NetworkOutputs } from '../policy/network-parts.ts';

/** Options that shape the graph: what is off is not in it. */
export type LossOptions = Pick<TrainerOptions, 'advantages' | 'valueClip' | 'dualClip' | 'logRatioClamp'>;

/** What the samples say; B samples, A flat actions. */
export interface LossInputs {
  /** i32 [B]: flat index of the action taken. */
  readonly actions: Node;
  /** f32 [B, A]: log-probabilities of the policy that took it. */
  readonly oldLogProbabilities: Node;
  /** f32 [B]: shifted and scaled already. */
  readonly advantages: Node;
  /** f32 [B] */
  readonly returns: Node;
  /** f32 [B]: the values that the policy that took the actions had; null unless values are clipped. */
  readonly oldValues: Node | null;
}

/** Knobs that are inputs of the loss, f32 scalars each. */
export const LOSS_KNOBS = ['clip', 'kl', 'entropy', 'value'] as const satisfies readonly KnobName[];
export type LossKnobs = Readonly<Record<(typeof LOSS_KNOBS)[number], Node>>;

/** Scalars: the loss to descend, and what it is made of. */
export interface Losses {
  readonly loss: Node;
  readonly policyLoss: Node;
  readonly valueLoss: Node;
  readonly entropy: Node;
  readonly kl: Node;
  /**
   * Estimates of it from the actions taken (Schulman 2020, k1 and k3): mean(−log r), and mean(r − 1 − log r) with log r
   * held as for the loss, so that no sample's part is below 0.
   */
  readonly klK1: Node;
  readonly klK3: Node;
  /** Share of samples whose ratio is outside 1 ± clip. */
  readonly clipFraction: Node;
  /** Largest |ratio − 1|. */
  readonly ratioDeviation: Node;
  /** f32 [B]: log π(a) − log π_old(a). */
  readonly logRatios: Node;
}

/**
 * The loss of PPO (Schulman et al. 2017): policyLoss + value · valueLoss + kl · KL − entropy · H, where
 * - policyLoss = −mean(min(r A, clamp(r, 1 − clip, 1 + clip) A)), r = π(a) / π_old(a) (equation 7), its logarithm held
 *   within ± logRatioClamp; with a dual clip c, no sample with A < 0 counts less than c A (Ye et al. 2020, equation 5);
 * - valueLoss = mean((V − R)²) / 2; with a value clip v, mean(max((V − R)², (V_old + clamp(V − V_old, ± v) − R)²)) / 2;
 * - KL = mean(Σ π_old (log π_old − log π)), exact, over all actions: an estimate from the action taken alone would have
 *   another gradient;
 * - H = mean(−Σ π log π). Illegal actions stand at log π = −50 on both sides and weigh nothing.
 */
export function buildLosses(
  g: Graph,
  { logProbabilities, value }: NetworkOutputs,
  inputs: LossInputs,
  knobs: LossKnobs,
  options: LossOptions,
): Losses {
  const { actions, oldLogProbabilities } = inputs;
  const change = sub(g, pick(g, logProbabilities, actions), pick(g, oldLogProbabilities, actions));
  const logRatio = clamp(g, change, -options.logRatioClamp, options.logRatioClamp);
  const ratio = exp(g, logRatio);
  const policyLoss = neg(
    g,
    reduceMean(g, objectives(g, ratio, inputs.advantages, knobs.clip, options.dualClip)),
  );
  const valueLoss = mul(g, reduceMean(g, squaredErrors(g, value, inputs, options.valueClip)), 0.5);
  const entropy = neg(g, meanOfSums(g, mul(g, exp(g, logProbabilities), logProbabilities)));
  const gap = sub(g, oldLogProbabilities, logProbabilities);
  const kl = meanOfSums(g, mul(g, exp(g, oldLogProbabilities), gap));
  const deviation = abs(g, sub(g, ratio, 1));
  const loss = sub(
    g,
    add(g, add(g, policyLoss, mul(g, valueLoss, knobs.value)), mul(g, kl, knobs.kl)),
    mul(g, entropy, knobs.entropy),
  );
  return {
    loss,
    policyLoss,
    valueLoss,
    entropy,
    kl,
    klK1: neg(g, reduceMean(g, change)),
    klK3: reduceMean(g, sub(g, sub(g, ratio, 1), logRatio)),
    clipFraction: reduceMean(g, cast(g, greater(g, deviation, knobs.clip), 'f32')),
    ratioDeviation: reduceMax(g, deviation),
    logRatios: change,
  };
}

/** What each sample adds to the objective to climb, [B]; a dual clip of 0 is none. */
function objectives(g: Graph, ratio: Node, advantages: Node, clip: Node, dualClip: number): Node {
  const held = clamp(g, ratio, sub(g, 1, clip), add(g, 1, clip));
  const clipped = min(g, mul(g, ratio, advantages), mul(g, held, advantages));
  if (dualClip === 0) return clipped;
  return where(g, less(g, advantages, 0), max(g, clipped, mul(g, advantages, dualClip)), clipped);
}

/** Of the values, [B]; with a clip the larger of that and the one within reach of the old value. */
function squaredErrors(g: Graph, value: Node, { returns, oldValues }: LossInputs, clip: number): Node {
  const square = (error: Node): Node => mul(g, error, error);
  const plain = square(sub(g, value, returns));
  if (oldValues === null) return plain;
  const near = add(g, oldValues, clamp(g, sub(g, value, oldValues), -clip, clip));
  return max(g, plain, square(sub(g, near, returns)));
}

/** Sums rows [B, A] and takes the mean over the batch. */
function meanOfSums(g: Graph, rows: Node): Node {
  return reduceMean(g, reduceSum(g, rows, [1]));
}
