import type { ObservationTensorName } from '../../src/domain/policy-spec.ts';
import type { Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { add, mul, sub } from '../graph/ops.ts';
import type { RowTensorName } from './compact-observations.ts';

/** Subtracted from the logits of what is not legal. */
const ILLEGAL = 1e9;
/** Log-probabilities are held above this, so that their exponentials and products stay finite. */
export const LOWEST_LOG_PROBABILITY = -50;

/** What a network reads; all throw `internal` for a name that the policy does not have. */
export interface NetworkInputs {
  /**
   * i32 or f32 [B, …], as `observationTensors` says. A tensor of rows, [B, n, width], may also come as the distinct ones
   * among its rows, [D, width]: a network computes of them what it can of a row alone, and then spreads that.
   */
  observation(name: ObservationTensorName): Node;
  /** What was computed of a tensor's rows, [B, n, m] or [D, m], as [B, n, m]. */
  spread(name: RowTensorName, computed: Node): Node;
  parameter(name: string): Node;
}

export interface NetworkOutputs {
  /** f32 [B, A]: log-probabilities of the flat actions, not below -50; what is not legal is at -50. */
  readonly logProbabilities: Node;
  /** f32 [B] */
  readonly value: Node;
}

/** Logits with those of what the mask has 0 for put out of reach. */
export function masked(g: Graph, logits: Node, mask: Node): Node {
  return add(g, logits, mul(g, sub(g, mask, 1), ILLEGAL));
}
