import type { Graph } from './graph.ts';
import { misfit } from './graph-error.ts';
import type { Node } from './node.ts';
import { add, clamp, div, mul, reduceSum, sqrt, sub } from './ops.ts';
import { sameShape } from './shape.ts';

/** One step of Adam. Lists run in parallel; `m` and `v` (the moments) have the parameters' shapes. */
export interface AdamOptions {
  readonly parameters: readonly Node[];
  readonly gradients: readonly Node[];
  readonly m: readonly Node[];
  readonly v: readonly Node[];
  /** Scalar f32. */
  readonly learningRate: Node;
  /** Scalar: number of this step, from 1. */
  readonly step: Node;
  readonly epsilon: number;
  readonly beta1: number;
  readonly beta2: number;
  /** Largest global norm of the gradients, or a scalar node of it. */
  readonly maxNorm: number | Node;
}

/** Outputs of a step: what is fed as `parameters`, `m` and `v` in the next, and the norm before clipping (scalar). */
export interface AdamStep {
  readonly parameters: readonly Node[];
  readonly m: readonly Node[];
  readonly v: readonly Node[];
  readonly gradientNorm: Node;
}

/**
 * Adam (Kingma & Ba 2015, algorithm 1) as torch.optim.Adam computes it, after clipping as
 * torch.nn.utils.clip_grad_norm_ does: gradients · min(1, maxNorm ÷ (norm + 1e-6)). Scalars are gathered so that each
 * parameter is passed over as few times as possible:
 * p − lr·√c2/c1 · m ÷ (√v + ε·√c2) is p − lr·(m/c1) ÷ (√(v/c2) + ε), with cᵢ = 1 − βᵢ^step.
 */
export function adamStep(g: Graph, options: AdamOptions): AdamStep {
  const { parameters, gradients, beta1, beta2 } = options;
  checkLists(options);
  const gradientNorm = globalNorm(g, gradients);
  const clip = clamp(g, div(g, options.maxNorm, add(g, gradientNorm, 1e-6)), 0, 1);
  const c1 = g.node('biasCorrection', [options.step], { beta: beta1 });
  const rootC2 = sqrt(g, g.node('biasCorrection', [options.step], { beta: beta2 }));
  const rate = div(g, mul(g, options.learningRate, rootC2), c1);
  const epsilon = mul(g, rootC2, options.epsilon);
  const share1 = mul(g, clip, 1 - beta1);
  const share2 = mul(g, mul(g, clip, clip), 1 - beta2);
  const steps = parameters.map((parameter, position) => {
    const [gradient = parameter, oldM = parameter, oldV = parameter] = LISTS.map(
      (list) => options[list][position],
    );
    const m = add(g, mul(g, oldM, beta1), mul(g, gradient, share1));
    const v = add(g, mul(g, oldV, beta2), mul(g, mul(g, gradient, gradient), share2));
    const direction = div(g, m, add(g, sqrt(g, v), epsilon));
    return { parameter: sub(g, parameter, mul(g, direction, rate)), m, v };
  });
  return {
    parameters: steps.map((each) => each.parameter),
    m: steps.map((each) => each.m),
    v: steps.map((each) => each.v),
    gradientNorm,
  };
}

const LISTS = ['gradients', 'm', 'v'] as const;

function checkLists({ parameters, ...lists }: AdamOptions): void {
  if (parameters.length === 0) throw misfit('adamStep', [], 'at least one parameter');
  for (const list of LISTS) {
    for (const [position, { shape }] of parameters.entries()) {
      const node = lists[list][position];
      if (node !== undefined && node.dtype === 'f32' && sameShape(node.shape, shape)) continue;
      const wanted = `f32[${shape.join(',')}] as number ${position} of "${list}"`;
      throw misfit('adamStep', node === undefined ? [] : [node], wanted);
    }
  }
}

/** √ of the sum of all squares. */
function globalNorm(g: Graph, gradients: readonly Node[]): Node {
  const sums = gradients.map((gradient) => reduceSum(g, mul(g, gradient, gradient)));
  return sqrt(
    g,
    sums.reduce((left, right) => add(g, left, right)),
  );
}
