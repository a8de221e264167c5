import { actionLayout, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { recordOf } from '../../src/domain/table.ts';
import { differentiate } from '../graph/differentiate.ts';
import { createGraph, type Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { toModel } from '../graph/onnx-file.ts';
import { add, mul, sub } from '../graph/ops.ts';
import { adamStep } from '../graph/optimiser.ts';
import { buildNetwork, networkInputs, type ObservationForm } from '../policy/network.ts';
import type { NetworkInputs } from '../policy/network-parts.ts';
import { parameterShapes } from '../policy/parameters.ts';
import { buildLosses, LOSS_KNOBS, type Losses, type LossOptions } from './losses.ts';

/** The losses that the gradient model puts out beside the gradients and `logRatios`, scalars. */
export const LOSS_OUTPUTS = [
  'loss',
  'policyLoss',
  'valueLoss',
  'entropy',
  'kl',
  'klK1',
  'klK3',
  'clipFraction',
  'ratioDeviation',
] as const satisfies readonly (keyof Losses)[];
export type LossOutput = (typeof LOSS_OUTPUTS)[number];

export interface OptimiserSettings {
  /** Largest global norm of the gradients. */
  readonly gradientNorm: number;
  readonly adamEpsilon: number;
}

/**
 * The gradients of a part of a minibatch. Inputs: B samples (the policy's observation tensors in the form asked for,
 * `actions`, `oldLogProbabilities`, `advantages`, `returns`), `share` (the part's share of the minibatch), `knob.…` and the
 * parameters;
 * `oldValues` [B] if values are clipped; scalars `advantageShift` and `advantageScale`, of the whole minibatch, if advantages
 * are normalised by minibatch: (A − shift) · scale.
 * Outputs: `gradient.PARAMETER`, multiplied by the share so that the parts' gradients add up, and the losses of the part,
 * and `logRatios` [B].
 */
export function gradientModel(
  spec: PolicySpec,
  options: LossOptions,
  form: ObservationForm = 'whole',
): Uint8Array {
  const g = createGraph();
  const names = parameterShapes(spec).map(({ name }) => name);
  const inputs = networkInputs(g, spec, form);
  const losses = buildTrainingLosses(g, spec, inputs, options);
  const gradients = differentiate(
    g,
    mul(g, losses.loss, g.input('share', 'f32', [])),
    names.map((name) => inputs.parameter(name)),
  );
  const outputs: Record<string, Node> = { ...losses };
  for (const [place, gradient] of gradients.entries()) outputs[`gradient.${names[place]}`] = gradient;
  return toModel(outputs);
}

/**
 * Clipping by the global norm and one step of Adam (β 0.9, 0.999), on flat vectors of `length` weights: a few passes over
 * long vectors, whatever the number of parameters. Inputs: `gradient.PART` for each part, which are added up, `knob.lr`,
 * `step` (from 1), `weights`, and the moments `m`, `v`. Outputs: `next.weights`, `next.m`, `next.v`, and the `gradientNorm`
 * before clipping.
 */
export function optimiserModel(length: number, settings: OptimiserSettings, parts: number): Uint8Array {
  const g = createGraph();
  const vector = (name: string): Node => g.parameter(name, [length]);
  const partial = Array.from({ length: parts }, (_, part) => vector(`gradient.${part}`));
  const step = adamStep(g, {
    parameters: [vector('weights')],
    gradients: [partial.reduce((left, right) => add(g, left, right))],
    m: [vector('m')],
    v: [vector('v')],
    learningRate: g.input('knob.lr', 'f32', []),
    step: g.input('step', 'f32', []),
    epsilon: settings.adamEpsilon,
    beta1: 0.9,
    beta2: 0.999,
    maxNorm: settings.gradientNorm,
  });
  const outputs: Record<string, Node> = { gradientNorm: step.gradientNorm };
  const next = { weights: step.parameters, m: step.m, v: step.v };
  for (const [name, [node]] of Object.entries(next)) if (node !== undefined) outputs[`next.${name}`] = node;
  return toModel(outputs);
}

/** The losses over the network, their inputs under their usual names. */
function buildTrainingLosses(
  g: Graph,
  spec: PolicySpec,
  inputs: NetworkInputs,
  options: LossOptions,
): Losses {
  const { size } = actionLayout(spec);
  const samples = {
    actions: g.input('actions', 'i32', ['B']),
    oldLogProbabilities: g.input('oldLogProbabilities', 'f32', ['B', size]),
    advantages: advantagesOf(g, options),
    returns: g.input('returns', 'f32', ['B']),
    oldValues: options.valueClip > 0 ? g.input('oldValues', 'f32', ['B']) : null,
  };
  const knobs = recordOf(LOSS_KNOBS, (name) => g.input(`knob.${name}`, 'f32', []));
  return buildLosses(g, buildNetwork(g, spec, inputs), samples, knobs, options);
}

function advantagesOf(g: Graph, options: LossOptions): Node {
  const advantages = g.input('advantages', 'f32', ['B']);
  if (options.advantages !== 'minibatch') return advantages;
  const shifted = sub(g, advantages, g.input('advantageShift', 'f32', []));
  return mul(g, shifted, g.input('advantageScale', 'f32', []));
}
