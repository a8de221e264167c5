import { actionLayout, CANDIDATE_TOKENS, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { createSession, type SessionTensor } from '../session.ts';
import { inferenceModel } from './network.ts';
import { initialWeights, parameterShapes, splitWeights } from './parameters.ts';

export interface InferenceResult {
  /** [rows, A] */
  readonly logProbabilities: Float32Array;
  /** [rows] */
  readonly values: Float32Array;
}

/** The policy in use: give it weights, then ask it what it would do. */
export interface Policy {
  /** Takes a flat vector of weights, without copying it: it must not change afterwards. */
  load(weights: Float32Array): void;
  /**
   * Runs the first `rows` rows of encoded observations: tokens [rows, sentences, tokens], candidates
   * [rows, slots, CANDIDATE_TOKENS], mask [rows, A]. The arrays may be longer, and must stay as they are until the promise
   * settles.
   */
  run(rows: number, tokens: Int32Array, candidates: Int32Array, mask: Float32Array): Promise<InferenceResult>;
  close(): Promise<void>;
}

/** Builds the policy with the weights of seed 0. Best with one thread and 32 to 512 rows a call. */
export async function createPolicy(spec: PolicySpec, options: { readonly threads: number }): Promise<Policy> {
  const session = await createSession(inferenceModel(spec), options);
  const layout = actionLayout(spec);
  const shapes = parameterShapes(spec);
  let parameters = feedsOf(initialWeights(spec, 0));

  function feedsOf(weights: Float32Array): Record<string, SessionTensor> {
    const views = splitWeights(spec, weights);
    return Object.fromEntries(
      shapes.map(({ name, shape }): [string, SessionTensor] => [
        name,
        { dtype: 'f32', shape, data: views[name] },
      ]),
    );
  }

  return {
    load(weights) {
      parameters = feedsOf(weights);
    },
    async run(rows, tokens, candidates, mask) {
      const { sentences, tokens: length } = spec;
      const outputs = await session.run({
        ...parameters,
        tokens: {
          dtype: 'i32',
          shape: [rows, sentences, length],
          data: tokens.subarray(0, rows * sentences * length),
        },
        candidates: {
          dtype: 'i32',
          shape: [rows, layout.slots, CANDIDATE_TOKENS],
          data: candidates.subarray(0, rows * layout.slots * CANDIDATE_TOKENS),
        },
        mask: { dtype: 'f32', shape: [rows, layout.size], data: mask.subarray(0, rows * layout.size) },
      });
      return {
        logProbabilities: floats(outputs['logProbabilities']),
        values: floats(outputs['value']),
      };
    },
    close: () => session.close(),
  };
}

function floats(tensor: SessionTensor | undefined): Float32Array {
  return tensor?.dtype === 'f32' ? tensor.data : new Float32Array(0);
}
