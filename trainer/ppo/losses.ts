import type { KnobName } from '../../src/domain/knob.ts';
import type { Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import {
  abs,
  add,
  cast,
  clamp,
  exp,
  greater,
  min,
  mul,
  neg,
  pick,
  reduceMax,
  reduceMean,
  reduceSum,
  sub,
} from '../graph/ops.ts';
import type { NetworkOutputs } from '../policy/network.ts';

/** Log-ratios are held within ± this before they are exponentiated. */
const LARGEST_LOG_RATIO = 10;

/** What the samples say; B samples, A flat actions. */
export interface LossInputs {
  /** i32 [B]: flat index of the action taken. */
  readonly actions: Node;
  /** f32 [B, A]: log-probabilities of the policy that took it. */
  readonly oldLogProbabilities: Node;
  /** f32 [B] */
  readonly advantages: Node;
  /** f32 [B] */
  readonly returns: Node;
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
  /** Share of samples whose ratio is outside 1 ± clip. */
  readonly clipFraction: Node;
  /** Largest |ratio − 1|. */
  readonly ratioDeviation: Node;
}

/**
 * The loss of PPO (Schulman et al. 2017): policyLoss + value · valueLoss + kl · KL − entropy · H, where
 * - policyLoss = −mean(min(r A, clamp(r, 1 − clip, 1 + clip) A)), r = π(a) / π_old(a) (equation 7);
 * - valueLoss = mean((V − R)²) / 2;
 * - KL = mean(Σ π_old (log π_old − log π)), exact, over all actions: an estimate from the action taken alone would have
 *   another gradient;
 * - H = mean(−Σ π log π). Illegal actions stand at log π = −50 on both sides and weigh nothing.
 */
export function buildLosses(
  g: Graph,
  { logProbabilities, value }: NetworkOutputs,
  inputs: LossInputs,
  knobs: LossKnobs,
): Losses {
  const { actions, oldLogProbabilities, advantages, returns } = inputs;
  const change = sub(g, pick(g, logProbabilities, actions), pick(g, oldLogProbabilities, actions));
  const ratio = exp(g, clamp(g, change, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO));
  const held = clamp(g, ratio, sub(g, 1, knobs.clip), add(g, 1, knobs.clip));
  const policyLoss = neg(g, reduceMean(g, min(g, mul(g, ratio, advantages), mul(g, held, advantages))));
  const error = sub(g, value, returns);
  const valueLoss = mul(g, reduceMean(g, mul(g, error, error)), 0.5);
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
    clipFraction: reduceMean(g, cast(g, greater(g, deviation, knobs.clip), 'f32')),
    ratioDeviation: reduceMax(g, deviation),
  };
}

/** Sums rows [B, A] and takes the mean over the batch. */
function meanOfSums(g: Graph, rows: Node): Node {
  return reduceMean(g, reduceSum(g, rows, [1]));
}
