import { actionLayout, CANDIDATE_TOKENS, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { ACTION_TYPES, ARGUMENT_TYPES } from '../../src/domain/space.ts';
import { recordOf } from '../../src/domain/table.ts';
import { createGraph, type Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { toModel } from '../graph/onnx-file.ts';
import {
  add,
  cast,
  concat,
  div,
  gatherRows,
  greater,
  index,
  logSoftmax,
  matmul,
  max,
  mul,
  reduceMax,
  reduceSum,
  reshape,
  sigmoid,
  slice,
  sqrt,
  sub,
  tanh,
  unsqueeze,
} from '../graph/ops.ts';
import { type ParameterName, parameterShapes } from './parameters.ts';

/** Subtracted from the logits of what is not legal. */
const ILLEGAL = 1e9;
/** Log-probabilities are held above this, so that their exponentials and products stay finite. */
const LOWEST_LOG_PROBABILITY = -50;

/** What the network reads. */
export interface NetworkInputs {
  /** i32 [B, sentences, tokens]; 0 is padding. */
  readonly tokens: Node;
  /** i32 [B, slots, CANDIDATE_TOKENS] */
  readonly candidates: Node;
  /** f32 [B, A]: 1 where the flat action is legal, else 0. */
  readonly mask: Node;
  readonly parameters: Readonly<Record<ParameterName, Node>>;
}

export interface NetworkOutputs {
  /** f32 [B, A]: log p(type) + log p(argument | type), not below -50; what is not legal is at -50. */
  readonly logProbabilities: Node;
  /** f32 [B] */
  readonly value: Node;
}

/** The network's inputs under their usual names: `tokens`, `candidates`, `mask`, and each parameter's. */
export function networkInputs(g: Graph, spec: PolicySpec): NetworkInputs {
  const layout = actionLayout(spec);
  const shapes = parameterShapes(spec);
  const parameters = new Map(shapes.map(({ name, shape }) => [name, g.parameter(name, shape)]));
  return {
    tokens: g.input('tokens', 'i32', ['B', spec.sentences, spec.tokens]),
    candidates: g.input('candidates', 'i32', ['B', layout.slots, CANDIDATE_TOKENS]),
    mask: g.input('mask', 'f32', ['B', layout.size]),
    parameters: recordOf(
      shapes.map(({ name }) => name),
      (name) => parameters.get(name) ?? g.scalar(0),
    ),
  };
}

/** The policy: pooled sentences → GRU → heads for the type, for the argument given the type, and for the value. */
export function buildNetwork(g: Graph, spec: PolicySpec, inputs: NetworkInputs): NetworkOutputs {
  const { parameters: p } = inputs;
  const state = readSentences(g, spec, inputs);
  const type = add(g, matmul(g, state, p.type), p.typeBias);
  const logProbabilities = jointLogProbabilities(g, spec, inputs, { state, type });
  const hidden = tanh(g, add(g, matmul(g, state, p.valueHidden), p.valueHiddenBias));
  const value = add(g, matmul(g, hidden, p.valueOutput), p.valueOutputBias);
  return { logProbabilities, value: reshape(g, value, ['B']) };
}

/** The policy alone, weights as inputs; outputs `logProbabilities` and `value`. */
export function inferenceModel(spec: PolicySpec): Uint8Array {
  const g = createGraph();
  const { logProbabilities, value } = buildNetwork(g, spec, networkInputs(g, spec));
  return toModel({ logProbabilities, value });
}

/**
 * The GRU's last state, [B, hidden]. A sentence is the sum of its words' embeddings / sqrt(number of words), and beside it
 * the same sum weighted by position, from -1 to 1: without it "A before B" and "B before A" would read the same.
 */
function readSentences(g: Graph, spec: PolicySpec, { tokens, parameters: p }: NetworkInputs): Node {
  const { sentences, tokens: length, embedding } = spec;
  const isWord = cast(g, greater(g, tokens, 0), 'f32');
  const count = max(g, reduceSum(g, isWord, [-1], true), 1);
  const share = div(g, isWord, sqrt(g, count));
  const ramp = Float32Array.from({ length }, (_, position) => (2 * position) / (length - 1) - 1);
  const shares = concat(
    g,
    [unsqueeze(g, share, 2), unsqueeze(g, mul(g, share, g.constant(ramp, [length])), 2)],
    2,
  );
  const pooled = matmul(g, shares, gatherRows(g, p.embedding, tokens));
  const read = reshape(g, pooled, ['B', sentences, 2 * embedding]);
  const projected = add(g, matmul(g, read, p.gruInput), p.gruInputBias);
  let state: Node | null = null;
  for (let sentence = 0; sentence < sentences; sentence++) {
    state = gruStep(g, p, index(g, projected, 1, sentence), state);
  }
  return state ?? projected;
}

/** One step of a GRU as PyTorch defines it; `input` [B, 3 hidden] is projected already; no state is a state of zeros. */
function gruStep(g: Graph, p: NetworkInputs['parameters'], input: Node, state: Node | null): Node {
  const hidden = p.gruHidden.shape[0] === 'B' ? 0 : (p.gruHidden.shape[0] ?? 0);
  const recurrent = state === null ? p.gruHiddenBias : add(g, matmul(g, state, p.gruHidden), p.gruHiddenBias);
  const gates = add(g, slice(g, input, -1, 0, 2 * hidden), slice(g, recurrent, -1, 0, 2 * hidden));
  const open = sigmoid(g, gates);
  const reset = slice(g, open, -1, 0, hidden);
  const update = slice(g, open, -1, hidden, 2 * hidden);
  const old = slice(g, recurrent, -1, 2 * hidden, 3 * hidden);
  const fresh = tanh(g, add(g, slice(g, input, -1, 2 * hidden, 3 * hidden), mul(g, reset, old)));
  return sub(g, fresh, mul(g, update, state === null ? fresh : sub(g, fresh, state)));
}

/**
 * log p(type) + log p(argument | type), flat. A candidate is the sum of its features' embeddings through a tanh layer; its
 * logit is its product with the query that the state makes for the type. A type is legal when any of its entries is.
 */
function jointLogProbabilities(
  g: Graph,
  spec: PolicySpec,
  { candidates, mask, parameters: p }: NetworkInputs,
  { state, type }: { state: Node; type: Node },
): Node {
  const { blocks, slots, size } = actionLayout(spec);
  const features = sumOfFeatures(g, p.embedding, candidates);
  const keys = tanh(g, add(g, matmul(g, features, p.candidate), p.candidateBias));
  const queries = add(g, matmul(g, state, p.query), p.queryBias);
  const bareMask = slice(g, mask, 1, slots, size);
  const typeMasks = ARGUMENT_TYPES.map((name) => {
    const { start, length } = blocks[name];
    return reduceMax(g, slice(g, mask, 1, start, start + length), [1], true);
  });
  const types = logSoftmax(g, masked(g, type, concat(g, [...typeMasks, bareMask], 1)));
  const parts = ARGUMENT_TYPES.map((name, place) => {
    const { start, length } = blocks[name];
    const query = slice(g, queries, 1, place * spec.embedding, (place + 1) * spec.embedding);
    const block = slice(g, keys, 1, start, start + length);
    const logits = reduceSum(g, mul(g, block, unsqueeze(g, query, 1)), [2]);
    const legal = slice(g, mask, 1, start, start + length);
    return add(g, logSoftmax(g, masked(g, logits, legal)), slice(g, types, 1, place));
  });
  const bare = slice(g, types, 1, ARGUMENT_TYPES.length, ACTION_TYPES.length);
  return max(g, concat(g, [...parts, bare], 1), LOWEST_LOG_PROBABILITY);
}

/**
 * The sum of the embeddings of a candidate's features, [B, slots, embedding]. Gathered one feature at a time: gathering all
 * and reducing moves seven times the memory, and as much again in the gradient.
 */
function sumOfFeatures(g: Graph, table: Node, candidates: Node): Node {
  let sum = gatherRows(g, table, index(g, candidates, 2, 0));
  for (let feature = 1; feature < CANDIDATE_TOKENS; feature++) {
    sum = add(g, sum, gatherRows(g, table, index(g, candidates, 2, feature)));
  }
  return sum;
}

function masked(g: Graph, logits: Node, mask: Node): Node {
  return add(g, logits, mul(g, sub(g, mask, 1), ILLEGAL));
}
