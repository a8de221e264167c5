import type { FeaturesPolicySpec, PolicySpec } from '../../src/domain/policy-spec.ts';
import { createSession, floats, type PassedOver, type SessionOptions } from '../session.ts';
import { compactFeeds, compactObservations } from './compact-observations.ts';
import { inferenceModel } from './network.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import { initialWeights } from './parameters.ts';
import { TextPolicy } from './text-policy.ts';
import { weightFeeds } from './weight-feeds.ts';

export interface InferenceResult {
  /** [rows, A] */
  readonly logProbabilities: Float32Array;
  /** [rows] */
  readonly values: Float32Array;
}

/** The policy in use: give it weights, then ask it what it would do. */
export interface Policy {
  /** What it runs on, and providers asked for that do not work. */
  readonly provider: string;
  readonly fellBackFrom: readonly PassedOver[];
  /** Takes a flat vector of weights, without copying it: it must not change afterwards. */
  load(weights: Float32Array): void;
  /**
   * Runs the first `rows` rows. The arrays may be longer, and must stay as they are until the promise settles. `readers`:
   * whose observation each row is, a small number for each of those who ask again and again; all of one call are different, and
   * rows beyond them are not answered. It saves work and changes no answer. One call at a time.
   */
  run(rows: number, observations: ObservationArrays, readers?: Int32Array): Promise<InferenceResult>;
  close(): Promise<void>;
}

/** Builds the policy with the weights of seed 0. Throws as `createSession` does. Best with one thread and 32 to 512 rows a call. */
export async function createPolicy(spec: PolicySpec, options: SessionOptions): Promise<Policy> {
  return spec.kind === 'text'
    ? await TextPolicy.create(spec, options)
    : await createFeaturesPolicy(spec, options);
}

/** The whole network at once. */
async function createFeaturesPolicy(spec: FeaturesPolicySpec, options: SessionOptions): Promise<Policy> {
  const session = await createSession(inferenceModel(spec), options);
  let parameters = weightFeeds(spec, initialWeights(spec, 0));

  return {
    provider: session.provider,
    fellBackFrom: session.fellBackFrom,
    load(weights) {
      parameters = weightFeeds(spec, weights);
    },
    async run(rows, observations) {
      const compact = compactObservations(spec, observations, rows);
      const outputs = await session.run({ ...parameters, ...compactFeeds(spec, compact, rows) });
      return {
        logProbabilities: floats(outputs['logProbabilities']),
        values: floats(outputs['value']),
      };
    },
    close: () => session.close(),
  };
}
