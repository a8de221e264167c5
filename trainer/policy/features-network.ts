import type { FeaturesPolicySpec } from '../../src/domain/policy-spec.ts';
import type { Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { add, index, logSoftmax, matmul, max, mul, reshape, slice, tanh } from '../graph/ops.ts';
import { gruStep } from './gru.ts';
import { LOWEST_LOG_PROBABILITY, masked, type NetworkInputs, type NetworkOutputs } from './network-parts.ts';
import { observedNumbers } from './parameters.ts';

/** What the heads read, [B, hidden] each. */
interface Read {
  readonly policy: Node;
  readonly value: Node;
}

/** The policy that reads numbers: log-softmax over the flat actions that are legal, and a value. */
export function buildFeaturesNetwork(
  g: Graph,
  spec: FeaturesPolicySpec,
  given: NetworkInputs,
): NetworkOutputs {
  const read = spec.network === 'mlp' ? readAtOnce(g, spec, given) : readInTurn(g, spec, given);
  const head = (input: Node, name: string): Node => dense(g, given, input, name);
  const logits = masked(g, head(read.policy, 'policyOutput'), given.observation('mask'));
  return {
    logProbabilities: max(g, logSoftmax(g, logits), LOWEST_LOG_PROBABILITY),
    value: reshape(g, head(read.value, 'valueOutput'), ['B']),
  };
}

/** Two tanh layers over the whole window, networks of their own for action and value. */
function readAtOnce(g: Graph, spec: FeaturesPolicySpec, given: NetworkInputs): Read {
  const width = spec.window * observedNumbers(spec);
  const input = reshape(g, given.observation('features'), ['B', width]);
  const layers = (first: string, second: string): Node =>
    tanh(g, dense(g, given, tanh(g, dense(g, given, input, first)), second));
  return { policy: layers('policyFirst', 'policySecond'), value: layers('valueFirst', 'valueSecond') };
}

/**
 * A GRU from the oldest observation of the window to the newest; both heads read its last state. Over padding, which stands
 * before the first observation, the state stays 0, so that an episode reads the same in any window that holds it.
 */
function readInTurn(g: Graph, spec: FeaturesPolicySpec, given: NetworkInputs): Read {
  const { features, window, hidden } = spec;
  const p = { gruHidden: given.parameter('gruHidden'), gruHiddenBias: given.parameter('gruHiddenBias') };
  const input = given.observation('features');
  const projected = dense(g, given, slice(g, input, 2, 0, features), 'gruInput');
  // A window of one would never use the recurrent weights, and no model has an input that it does not use.
  const zeros = mul(g, slice(g, index(g, projected, 1, 0), 1, 0, hidden), 0);
  let state: Node | null = window === 1 ? zeros : null;
  for (let at = 0; at < window; at++) {
    const next = gruStep(g, p, index(g, projected, 1, at), state);
    // The last number is 1 where there was an observation, else 0. The newest is always there.
    const isNewest = at === window - 1;
    state = isNewest ? next : mul(g, next, slice(g, index(g, input, 1, at), 1, features));
  }
  const last = state ?? projected;
  return { policy: last, value: last };
}

function dense(g: Graph, given: NetworkInputs, input: Node, name: string): Node {
  return add(g, matmul(g, input, given.parameter(name)), given.parameter(`${name}Bias`));
}
