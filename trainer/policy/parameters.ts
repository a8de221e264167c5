import { LabError } from '../../src/domain/error.ts';
import {
  actionLayout,
  type FeaturesPolicySpec,
  type PolicySpec,
  type TextPolicySpec,
} from '../../src/domain/policy-spec.ts';
import { createRandom, deriveSeed, type RandomStream } from '../../src/domain/random.ts';
import { ACTION_TYPES, ARGUMENT_TYPES } from '../../src/domain/space.ts';
import type { TrainerOptions } from '../../src/domain/trainer-options.ts';
import { randomOrthogonal } from './orthogonal.ts';

export type Initialisation = TrainerOptions['initialisation'];

/** Width of the value head's hidden layer. */
const VALUE_HIDDEN = 64;

/** What is fixed of a parameter by the policy's shape. */
export interface ParameterKind {
  readonly shape: readonly number[];
  /** Standard deviation of uniform initial values; 0 for biases. */
  readonly deviation: number;
  /** Of a matrix that inputs are multiplied by: how it is made orthogonal. Without it, it is uniform always. */
  readonly orthogonal?: OrthogonalKind;
}

interface OrthogonalKind {
  readonly gain: number;
  /** Matrices of equal width that stand beside one another, each orthogonal by itself: the gates of a GRU. */
  readonly blocks: number;
}

function dense(inputs: number, outputs: number, gain = 1, blocks = 1): ParameterKind {
  return { shape: [inputs, outputs], deviation: gain / Math.sqrt(inputs), orthogonal: { gain, blocks } };
}

function bias(length: number): ParameterKind {
  return { shape: [length], deviation: 0 };
}

/** Both halves of a GRU; its gates stand in the order reset, update, new. */
function gru(inputs: number, hidden: number) {
  return {
    gruInput: dense(inputs, 3 * hidden, 1, 3),
    gruInputBias: bias(3 * hidden),
    gruHidden: dense(hidden, 3 * hidden, 1, 3),
    gruHiddenBias: bias(3 * hidden),
  } satisfies Record<string, ParameterKind>;
}

/** The text policy's parameters, in the order in which the flat vector of weights holds them. */
export function textParameters(spec: TextPolicySpec) {
  const { vocabulary, embedding, hidden } = spec;
  return {
    embedding: { shape: [vocabulary, embedding], deviation: 0.3 },
    ...gru(2 * embedding, hidden),
    type: dense(hidden, ACTION_TYPES.length, 0.1),
    typeBias: bias(ACTION_TYPES.length),
    candidate: dense(embedding, embedding),
    candidateBias: bias(embedding),
    query: dense(hidden, ARGUMENT_TYPES.length * embedding, 0.3),
    queryBias: bias(ARGUMENT_TYPES.length * embedding),
    valueHidden: dense(hidden, VALUE_HIDDEN),
    valueHiddenBias: bias(VALUE_HIDDEN),
    valueOutput: dense(VALUE_HIDDEN, 1),
    valueOutputBias: bias(1),
  } satisfies Record<string, ParameterKind>;
}

/**
 * Those of a policy that reads numbers with the network `mlp`. Gains are those usual for PPO: √2 before a tanh, 0.01 for
 * the logits, so that the first policy is nearly uniform, 1 for the value.
 */
function mlpParameters(spec: FeaturesPolicySpec) {
  const { hidden, window } = spec;
  const inputs = window * observedNumbers(spec);
  return {
    policyFirst: dense(inputs, hidden, Math.SQRT2),
    policyFirstBias: bias(hidden),
    policySecond: dense(hidden, hidden, Math.SQRT2),
    policySecondBias: bias(hidden),
    ...policyHead(spec),
    valueFirst: dense(inputs, hidden, Math.SQRT2),
    valueFirstBias: bias(hidden),
    valueSecond: dense(hidden, hidden, Math.SQRT2),
    valueSecondBias: bias(hidden),
    ...valueHead(spec),
  } satisfies Record<string, ParameterKind>;
}

/** Those of one with the network `gru`. */
function gruParameters(spec: FeaturesPolicySpec) {
  return { ...gru(spec.features, spec.hidden), ...policyHead(spec), ...valueHead(spec) };
}

function policyHead(spec: FeaturesPolicySpec) {
  const { size } = actionLayout(spec);
  return { policyOutput: dense(spec.hidden, size, 0.01), policyOutputBias: bias(size) };
}

function valueHead({ hidden }: FeaturesPolicySpec) {
  return { valueOutput: dense(hidden, 1), valueOutputBias: bias(1) };
}

/** Numbers of one observation in the window: beside its features, one that says that there was an observation. */
export function observedNumbers({ features, window }: FeaturesPolicySpec): number {
  return features + (window > 1 ? 1 : 0);
}

/** A policy's parameters in the order of the flat vector. */
function parameterKinds(spec: PolicySpec): Readonly<Record<string, ParameterKind>> {
  if (spec.kind === 'text') return textParameters(spec);
  return spec.network === 'mlp' ? mlpParameters(spec) : gruParameters(spec);
}

/** A parameter and its place in the flat vector of weights. */
export interface ParameterSlice {
  readonly name: string;
  readonly shape: readonly number[];
  readonly start: number;
  /** Number of elements. */
  readonly length: number;
}

/** Every parameter in the order of the flat vector, without gaps. */
export function parameterShapes(spec: PolicySpec): readonly ParameterSlice[] {
  const kinds = parameterKinds(spec);
  let next = 0;
  return Object.entries(kinds).map(([name, { shape }]) => {
    const length = shape.reduce((product, dim) => product * dim, 1);
    const start = next;
    next += length;
    return { name, shape, start, length };
  });
}

/** Length of the flat vector. */
export function parameterCount(spec: PolicySpec): number {
  return parameterShapes(spec).reduce((total, { length }) => total + length, 0);
}

/**
 * The weights that a run begins with, a function of its arguments. Biases are 0. `uniform`: each matrix uniform with
 * variance gain² / inputs. `orthogonal`: each matrix gain × one with orthonormal rows or columns, whichever are fewer; the
 * text policy's table of embeddings stays uniform, for nothing is multiplied by it. Gains are with the parameters above:
 * smaller for heads, so that the first policy is nearly uniform.
 */
export function initialWeights(
  spec: PolicySpec,
  seed: number,
  initialisation: Initialisation = 'uniform',
): Float32Array {
  const kinds = parameterKinds(spec);
  const weights = new Float32Array(parameterCount(spec));
  for (const { name, start, length } of parameterShapes(spec)) {
    const kind = kinds[name];
    if (kind === undefined || kind.deviation === 0) continue;
    const random = createRandom(deriveSeed(seed, 'weights', name));
    const view = weights.subarray(start, start + length);
    if (initialisation === 'orthogonal' && kind.orthogonal !== undefined)
      fillOrthogonal(view, kind, kind.orthogonal, random);
    else fillUniform(view, kind.deviation, random);
  }
  return weights;
}

function fillUniform(out: Float32Array, deviation: number, random: RandomStream): void {
  const bound = deviation * Math.sqrt(3);
  for (let i = 0; i < out.length; i++) out[i] = bound * (2 * random.next() - 1);
}

function fillOrthogonal(
  out: Float32Array,
  { shape: [rows = 0, columns = 0] }: ParameterKind,
  { gain, blocks }: OrthogonalKind,
  random: RandomStream,
): void {
  const width = columns / blocks;
  for (let block = 0; block < blocks; block++) {
    const matrix = randomOrthogonal(rows, width, random);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < width; column++) {
        out[row * columns + block * width + column] = gain * (matrix[row * width + column] ?? 0);
      }
    }
  }
}

/** Views of each parameter in a flat vector, not copies. Throws `checkpoint-corrupt` for a vector of another length. */
export function splitWeights(spec: PolicySpec, weights: Float32Array): Record<string, Float32Array> {
  const count = parameterCount(spec);
  if (weights.length !== count) {
    throw new LabError('checkpoint-corrupt', {
      message: `got ${weights.length} weights, and this policy has ${count}`,
      hint: 'the weights belong to a policy of another shape: check policy in the config',
    });
  }
  return Object.fromEntries(
    parameterShapes(spec).map(({ name, start, length }) => [name, weights.subarray(start, start + length)]),
  );
}
