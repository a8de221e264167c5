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

type Parameters = Readonly<Record<keyof ReturnType<typeof textParameters>, Node>>;

/**
 * What it reads: `tokens` i32 [.., tokens], 0 is padding, `candidates` i32 [.., CANDIDATE_TOKENS], mask. The leading axes are
 * B and the number of sentences or slots, or one axis for the distinct rows: see `NetworkInputs`.
 */
interface Inputs {
  readonly given: NetworkInputs;
  readonly tokens: Node;
  readonly candidates: Node;
  readonly mask: Node;
  readonly p: Parameters;
}

/** The text policy: pooled sentences → GRU → heads for the type, for the argument given the type, and for the value. */
export function buildTextNetwork(g: Graph, spec: TextPolicySpec, given: NetworkInputs): NetworkOutputs {
  const inputs: Inputs = {
    given,
    tokens: given.observation('tokens'),
    candidates: given.observation('candidates'),
    mask: given.observation('mask'),
    p: recordOf(keysOf(textParameters(spec)), (name) => given.parameter(name)),
  };
  const { p } = inputs;
  const state = readSentences(g, spec, inputs);
  const type = add(g, matmul(g, state, p.type), p.typeBias);
  const logProbabilities = jointLogProbabilities(g, spec, inputs, { state, type });
  const hidden = tanh(g, add(g, matmul(g, state, p.valueHidden), p.valueHiddenBias));
  const value = add(g, matmul(g, hidden, p.valueOutput), p.valueOutputBias);
  return { logProbabilities, value: reshape(g, value, ['B']) };
}

/**
 * The GRU's last state, [B, hidden]. A sentence is the sum of its words' embeddings / sqrt(number of words), and beside it
 * the same sum weighted by position, from -1 to 1: without it "A before B" and "B before A" would read the same.
 */
function readSentences(g: Graph, spec: TextPolicySpec, { given, tokens, p }: Inputs): Node {
  const { sentences, tokens: length, embedding } = spec;
  const leading = tokens.shape.slice(0, -1);
  const isWord = cast(g, greater(g, tokens, 0), 'f32');
  const count = max(g, reduceSum(g, isWord, [-1], true), 1);
  const share = div(g, isWord, sqrt(g, count));
  const ramp = Float32Array.from({ length }, (_, position) => (2 * position) / (length - 1) - 1);
  const shares = concat(
    g,
    [unsqueeze(g, share, -2), unsqueeze(g, mul(g, share, g.constant(ramp, [length])), -2)],
    -2,
  );
  const pooled = matmul(g, shares, gatherRows(g, p.embedding, tokens));
  const read = reshape(g, pooled, [...leading, 2 * embedding]);
  const projected = given.spread('tokens', add(g, matmul(g, read, p.gruInput), p.gruInputBias));
  let state: Node | null = null;
  for (let sentence = 0; sentence < sentences; sentence++) {
    state = gruStep(g, p, index(g, projected, 1, sentence), state);
  }
  return state ?? projected;
}

/**
 * log p(type) + log p(argument | type), flat. A candidate is the sum of its features' embeddings through a tanh layer; its
 * logit is its product with the query that the state makes for the type. A type is legal when any of its entries is.
 */
function jointLogProbabilities(
  g: Graph,
  spec: TextPolicySpec,
  { given, candidates, mask, p }: Inputs,
  { state, type }: { state: Node; type: Node },
): Node {
  const { blocks, slots, size } = actionLayout(spec);
  const features = sumOfFeatures(g, p.embedding, candidates);
  const keys = given.spread('candidates', tanh(g, add(g, matmul(g, features, p.candidate), p.candidateBias)));
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
