import { LabError } from '../../src/domain/error.ts';
import { observationTensors, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { createGraph, type Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { toModel } from '../graph/onnx-file.ts';
import { gatherRows } from '../graph/ops.ts';
import { isRowTensor, rowsInput } from './compact-observations.ts';
import { buildFeaturesNetwork } from './features-network.ts';
import type { NetworkInputs, NetworkOutputs } from './network-parts.ts';
import { parameterShapes } from './parameters.ts';
import { buildTextNetwork } from './text-network.ts';

/**
 * How a network is given observations. `whole`: as they are, [B, …]. `compact`: of a tensor of rows only the distinct ones,
 * [D, width], and beside it `NAME.rows` i32 [B, n], which of them stands where; see compact-observations.ts.
 */
export type ObservationForm = 'whole' | 'compact';

/** The network's inputs under their usual names: each observation tensor's, and each parameter's. */
export function networkInputs(g: Graph, spec: PolicySpec, form: ObservationForm = 'whole'): NetworkInputs {
  const observations = new Map<string, Node>();
  const places = new Map<string, Node>();
  for (const { name, element, shape } of observationTensors(spec)) {
    const dtype = element === 'u16' ? 'i32' : 'f32';
    const isCompact = form === 'compact' && isRowTensor(name);
    // The distinct rows are an axis of their own, named as the tensor is.
    observations.set(name, g.input(name, dtype, isCompact ? [name, ...shape.slice(1)] : ['B', ...shape]));
    if (isCompact) places.set(name, g.input(rowsInput(name), 'i32', ['B', ...shape.slice(0, 1)]));
  }
  const parameters = new Map(
    parameterShapes(spec).map(({ name, shape }) => [name, g.parameter(name, shape)]),
  );
  return {
    observation: (name) => found(observations, name),
    parameter: (name) => found(parameters, name),
    spread: (name, computed) => {
      const ids = places.get(name);
      return ids === undefined ? computed : gatherRows(g, computed, ids);
    },
  };
}

/** The policy's network. */
export function buildNetwork(g: Graph, spec: PolicySpec, inputs: NetworkInputs): NetworkOutputs {
  return spec.kind === 'text' ? buildTextNetwork(g, spec, inputs) : buildFeaturesNetwork(g, spec, inputs);
}

/** The policy alone, observations compact and weights as inputs; outputs `logProbabilities` and `value`. */
export function inferenceModel(spec: PolicySpec): Uint8Array {
  const g = createGraph();
  const { logProbabilities, value } = buildNetwork(g, spec, networkInputs(g, spec, 'compact'));
  return toModel({ logProbabilities, value });
}

function found(nodes: ReadonlyMap<string, Node>, name: string): Node {
  const node = nodes.get(name);
  if (node === undefined)
    throw new LabError('internal', { message: `the policy has no input or parameter "${name}"` });
  return node;
}
