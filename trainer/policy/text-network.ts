import { actionLayout, CANDIDATE_TOKENS, type TextPolicySpec } from '../../src/domain/policy-spec.ts';
import { ACTION_TYPES, ARGUMENT_TYPES } from '../../src/domain/space.ts';
import { keysOf, recordOf } from '../../src/domain/table.ts';
import type { Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import {
  add,
  cast,
  concat,
  div,
  equal,
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
  slice,
  sqrt,
  tanh,
  unsqueeze,
} from '../graph/ops.ts';
import { gruStep } from './gru.ts';
import { LOWEST_LOG_PROBABILITY, masked, type NetworkInputs, type NetworkOutputs } from './network-parts.ts';
import { textParameters } from './parameters.ts';

/** The text policy's parameters, by name. */
export type TextParameters = Readonly<Record<keyof ReturnType<typeof textParameters>, Node>>;

/** Added to the update gate of an empty line: float32 makes exactly 1 of its sigmoid, or misses it by rounding. */
const HOLD = 1e4;

/** What the heads say of a state. */
export interface TextHeads {
  /** Logits of the types, in the order of ACTION_TYPES: [B, 6]. */
  readonly type: Node;
  /** What a candidate's key is multiplied by, for each type that takes an argument: [B, 3 embedding]. */
  readonly queries: Node;
  /** [B] */
  readonly value: Node;
}

/** The text policy: pooled sentences → GRU → heads for the type, for the argument given the type, and for the value. */
export function buildTextNetwork(g: Graph, spec: TextPolicySpec, given: NetworkInputs): NetworkOutputs {
  const p = textParametersOf(spec, (name) => given.parameter(name));
  const lines = given.spread('tokens', projectLines(g, spec, p, given.observation('tokens')));
  const keys = given.spread('candidates', candidateKeys(g, p, given.observation('candidates')));
  let state: Node | null = null;
  for (let sentence = 0; sentence < spec.sentences; sentence++) {
    state = gruStep(g, p, index(g, lines, 1, sentence), state);
  }
  const heads = buildHeads(g, p, state ?? lines);
  return {
    logProbabilities: jointLogProbabilities(g, spec, { heads, keys, mask: given.observation('mask') }),
    value: heads.value,
  };
}

/** The parameters by name; those that no output needs do not become inputs of a model. */
export function textParametersOf(spec: TextPolicySpec, parameter: (name: string) => Node): TextParameters {
  return recordOf(keysOf(textParameters(spec)), (name) => parameter(name));
}

/**
 * The lines `tokens` i32 [.., tokens], 0 is padding, as the GRU takes them: [.., 3 hidden]. A line is the sum of its words'
 * embeddings / sqrt(number of words), and beside it the same sum weighted by position, from -1 to 1: without it "A before B"
 * and "B before A" would read the same. A line without words leaves the GRU's state as it is, so that an episode reads the
 * same wherever its lines stand, and a sampler need not read them.
 */
export function projectLines(g: Graph, spec: TextPolicySpec, p: TextParameters, tokens: Node): Node {
  const { tokens: length, embedding, hidden } = spec;
  const leading = tokens.shape.slice(0, -1);
  const isWord = cast(g, greater(g, tokens, 0), 'f32');
  const words = reduceSum(g, isWord, [-1], true);
  const share = div(g, isWord, sqrt(g, max(g, words, 1)));
  const ramp = Float32Array.from({ length }, (_, position) => (2 * position) / (length - 1) - 1);
  const shares = concat(
    g,
    [unsqueeze(g, share, -2), unsqueeze(g, mul(g, share, g.constant(ramp, [length])), -2)],
    -2,
  );
  const pooled = matmul(g, shares, gatherRows(g, p.embedding, tokens));
  const read = reshape(g, pooled, [...leading, 2 * embedding]);
  const gates = Float32Array.from({ length: 3 * hidden }, (_, place) =>
    place >= hidden && place < 2 * hidden ? HOLD : 0,
  );
  const held = mul(g, cast(g, equal(g, words, 0), 'f32'), g.constant(gates, [3 * hidden]));
  return add(g, add(g, matmul(g, read, p.gruInput), p.gruInputBias), held);
}

/** Candidates i32 [.., CANDIDATE_TOKENS] as keys: the sum of their features' embeddings through a tanh layer, [.., embedding]. */
export function candidateKeys(g: Graph, p: TextParameters, candidates: Node): Node {
  const features = sumOfFeatures(g, p.embedding, candidates);
  return tanh(g, add(g, matmul(g, features, p.candidate), p.candidateBias));
}

/** What the heads say of the GRU's state after the last line, [B, hidden]. */
export function buildHeads(g: Graph, p: TextParameters, state: Node): TextHeads {
  const hidden = tanh(g, add(g, matmul(g, state, p.valueHidden), p.valueHiddenBias));
  const value = add(g, matmul(g, hidden, p.valueOutput), p.valueOutputBias);
  return {
    type: add(g, matmul(g, state, p.type), p.typeBias),
    queries: add(g, matmul(g, state, p.query), p.queryBias),
    value: reshape(g, value, ['B']),
  };
}

/**
 * log p(type) + log p(argument | type), flat. A candidate's logit is the product of its key with the query that the state
 * makes for the type. A type is legal when any of its entries is. Samplers compute the same in joint-distribution.ts.
 */
function jointLogProbabilities(
  g: Graph,
  spec: TextPolicySpec,
  { heads, keys, mask }: { heads: TextHeads; keys: Node; mask: Node },
): Node {
  const { blocks, slots, size } = actionLayout(spec);
  const { type, queries } = heads;
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
 * The sum of the embeddings of a candidate's features, [.., embedding]. Gathered one feature at a time: gathering all
 * and reducing moves seven times the memory, and as much again in the gradient.
 */
function sumOfFeatures(g: Graph, table: Node, candidates: Node): Node {
  let sum = gatherRows(g, table, index(g, candidates, -1, 0));
  for (let feature = 1; feature < CANDIDATE_TOKENS; feature++) {
    sum = add(g, sum, gatherRows(g, table, index(g, candidates, -1, feature)));
  }
  return sum;
}
