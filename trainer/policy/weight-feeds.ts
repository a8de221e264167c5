import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import type { SessionTensor, Tensors } from '../session.ts';
import { parameterShapes, splitWeights } from './parameters.ts';

/**
 * A flat vector as the policy's parameters, each name with a prefix: views, not copies. Throws `checkpoint-corrupt` for a
 * vector of another length.
 */
export function weightFeeds(spec: PolicySpec, flat: Float32Array, prefix = ''): Tensors {
  const views = splitWeights(spec, flat);
  return Object.fromEntries(
    parameterShapes(spec).map(({ name, shape }): [string, SessionTensor] => [
      `${prefix}${name}`,
      { dtype: 'f32', shape, data: views[name] ?? new Float32Array(0) },
    ]),
  );
}
