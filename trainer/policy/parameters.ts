import { LabError } from '../../src/domain/error.ts';
import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import { createRandom, deriveSeed } from '../../src/domain/random.ts';
import { ACTION_TYPES, ARGUMENT_TYPES } from '../../src/domain/space.ts';
import { keysOf } from '../../src/domain/table.ts';

/** Width of the value head's hidden layer. */
const VALUE_HIDDEN = 64;

interface ParameterKind {
  readonly shape: readonly number[];
  /** Standard deviation of the initial values; 0 for biases. */
  readonly deviation: number;
}

function dense(inputs: number, outputs: number, gain = 1): ParameterKind {
  return { shape: [inputs, outputs], deviation: gain / Math.sqrt(inputs) };
}

function bias(length: number): ParameterKind {
  return { shape: [length], deviation: 0 };
}

/** The parameters, in the order in which the flat vector of weights holds them. */
function parameterKinds(spec: PolicySpec) {
  const { vocabulary, embedding, hidden } = spec;
  return {
    embedding: { shape: [vocabulary, embedding], deviation: 0.3 },
    // Gates in the order reset, update, new.
    gruInput: dense(2 * embedding, 3 * hidden),
    gruInputBias: bias(3 * hidden),
    gruHidden: dense(hidden, 3 * hidden),
    gruHiddenBias: bias(3 * hidden),
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

/** Name of one of the policy's parameters. */
export type ParameterName = keyof ReturnType<typeof parameterKinds>;

/** A parameter and its place in the flat vector of weights. */
export interface ParameterSlice {
  readonly name: ParameterName;
  readonly shape: readonly number[];
  readonly start: number;
  /** Number of elements. */
  readonly length: number;
}

/** Every parameter in the order of the flat vector, without gaps. */
export function parameterShapes(spec: PolicySpec): readonly ParameterSlice[] {
  const kinds = parameterKinds(spec);
  let next = 0;
  return keysOf(kinds).map((name) => {
    const { shape } = kinds[name];
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
 * The weights that a run begins with: uniform with variance 1 / inputs; the heads smaller (types 0.1, queries 0.3), so that
 * the first policy is nearly uniform; biases 0. A function of spec and seed.
 */
export function initialWeights(spec: PolicySpec, seed: number): Float32Array {
  const kinds = parameterKinds(spec);
  const weights = new Float32Array(parameterCount(spec));
  for (const { name, start, length } of parameterShapes(spec)) {
    const random = createRandom(deriveSeed(seed, 'weights', name));
    const bound = kinds[name].deviation * Math.sqrt(3);
    if (bound === 0) continue;
    for (let i = start; i < start + length; i++) weights[i] = bound * (2 * random.next() - 1);
  }
  return weights;
}

/** Views of each parameter in a flat vector, not copies. Throws `checkpoint-corrupt` for a vector of another length. */
export function splitWeights(spec: PolicySpec, weights: Float32Array): Record<ParameterName, Float32Array> {
  const count = parameterCount(spec);
  if (weights.length !== count) {
    throw new LabError('checkpoint-corrupt', {
      message: `got ${weights.length} weights, and this policy has ${count}`,
      hint: 'the weights belong to a policy of another shape: check policy in the config',
    });
  }
  const views: Partial<Record<ParameterName, Float32Array>> = {};
  for (const { name, start, length } of parameterShapes(spec)) {
    views[name] = weights.subarray(start, start + length);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every name has been given its view
  return views as Record<ParameterName, Float32Array>;
}
