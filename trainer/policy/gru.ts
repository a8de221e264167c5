import type { Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { add, matmul, mul, sigmoid, slice, sub, tanh } from '../graph/ops.ts';
import { staticSize } from '../graph/shape.ts';

/** Weights of the recurrent half of a GRU; gates in the order reset, update, new. */
export interface GruParameters {
  /** f32 [hidden, 3 hidden] */
  readonly gruHidden: Node;
  /** f32 [3 hidden] */
  readonly gruHiddenBias: Node;
}

/** One step of a GRU as PyTorch defines it; `input` [B, 3 hidden] is projected already; no state is a state of zeros. */
export function gruStep(g: Graph, p: GruParameters, input: Node, state: Node | null): Node {
  const hidden = staticSize(p.gruHidden.shape.slice(0, 1)) ?? 0;
  const recurrent = state === null ? p.gruHiddenBias : add(g, matmul(g, state, p.gruHidden), p.gruHiddenBias);
  const gates = add(g, slice(g, input, -1, 0, 2 * hidden), slice(g, recurrent, -1, 0, 2 * hidden));
  const open = sigmoid(g, gates);
  const reset = slice(g, open, -1, 0, hidden);
  const update = slice(g, open, -1, hidden, 2 * hidden);
  const old = slice(g, recurrent, -1, 2 * hidden, 3 * hidden);
  const fresh = tanh(g, add(g, slice(g, input, -1, 2 * hidden, 3 * hidden), mul(g, reset, old)));
  return sub(g, fresh, mul(g, update, state === null ? fresh : sub(g, fresh, state)));
}
