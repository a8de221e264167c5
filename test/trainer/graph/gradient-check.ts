import { createRandom } from '../../../src/domain/random.ts';
import { differentiate } from '../../../trainer/graph/differentiate.ts';
import { createGraph, type Graph } from '../../../trainer/graph/graph.ts';
import type { Node, Shape } from '../../../trainer/graph/node.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import { mul, reduceSum } from '../../../trainer/graph/ops.ts';
import { createSession, type SessionTensor, type Tensors } from '../../../trainer/session.ts';

const random = createRandom(20261130);

export function floats(
  shape: readonly number[],
  element: (index: number) => number = uniform,
): SessionTensor {
  const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, index) => element(index));
  return { dtype: 'f32', shape, data };
}

export function ints(shape: readonly number[], elements: readonly number[]): SessionTensor {
  return { dtype: 'i32', shape, data: Int32Array.from(elements) };
}

export function uniform(): number {
  return random.next() * 3 - 1.5;
}

/** Never nearer to 0 than 0.2. */
export function awayFromZero(): number {
  const value = random.next() + 0.2;
  return random.next() < 0.5 ? value : -value;
}

export function values(tensor: SessionTensor | undefined): number[] {
  return Array.from(tensor?.data ?? [], Number);
}

/** Runs the graph once, in a session of its own. */
export async function evaluate(
  outputs: Readonly<Record<string, Node>>,
  feeds: Tensors = {},
): Promise<Tensors> {
  const session = await createSession(toModel(outputs), { threads: 1 });
  try {
    return await session.run(feeds);
  } finally {
    await session.close();
  }
}

/** A line for each number that is off by more than tolerance · (1 + |wanted|); none when all is well. */
export function mismatches(
  got: readonly number[],
  wanted: readonly number[],
  tolerance: number,
  what = 'values',
): string[] {
  if (got.length !== wanted.length) return [`${what}: ${got.length} numbers, wanted ${wanted.length}`];
  return got.flatMap((value, index) => {
    const right = wanted[index] ?? Number.NaN;
    const isNear = Math.abs(value - right) <= tolerance * (1 + Math.abs(right));
    return isNear ? [] : [`${what}, element ${index}: ${value}, wanted ${right} ± ${tolerance}`];
  });
}

export interface Verdict {
  /** A line for each element of a gradient that is not the slope. */
  readonly mismatches: readonly string[];
  /** The result of each case. */
  readonly results: Readonly<Record<string, SessionTensor>>;
}

interface Case {
  readonly parameters: readonly string[];
  readonly gradients: readonly string[];
}

/**
 * Many small losses in one model, each with parameters of its own, so that one pair of runs perturbs an element of each.
 * The loss of a case is its result weighted by fixed random numbers.
 */
export class GradientCheck {
  readonly g: Graph = createGraph();
  readonly #outputs: Record<string, Node> = {};
  readonly #cases = new Map<string, Case>();
  readonly #feeds: Record<string, SessionTensor> = {};
  readonly #weights = new Map<string, Shape>();

  /** `build` gets a parameter for each tensor. */
  add(name: string, tensors: readonly SessionTensor[], build: (...parameters: Node[]) => Node): void {
    const parameters = tensors.map((tensor, index) => {
      this.#feeds[`${name}.${index}`] = tensor;
      return this.g.parameter(`${name}.${index}`, tensor.shape);
    });
    const result = build(...parameters);
    const weights = this.g.input(`${name}.weights`, 'f32', result.shape);
    this.#weights.set(`${name}.weights`, result.shape);
    const loss = reduceSum(this.g, mul(this.g, result, weights));
    const gradients = differentiate(this.g, loss, parameters);
    this.#outputs[`${name}.result`] = result;
    this.#outputs[`${name}.loss`] = loss;
    for (const [index, gradient] of gradients.entries())
      this.#outputs[`${name}.gradient.${index}`] = gradient;
    this.#cases.set(name, {
      parameters: parameters.map((_, index) => `${name}.${index}`),
      gradients: parameters.map((_, index) => `${name}.gradient.${index}`),
    });
  }

  /** Compares all gradients with central differences. `feeds` are those of g.input. */
  async verify(options: { batch: number; feeds?: Tensors; tolerance?: number }): Promise<Verdict> {
    const session = await createSession(toModel(this.#outputs), { threads: 1 });
    const feeds: Record<string, SessionTensor> = { ...this.#feeds, ...options.feeds };
    for (const [name, shape] of this.#weights) {
      feeds[name] = floats(shape.map((dim) => (typeof dim === 'string' ? options.batch : dim)));
    }
    try {
      const analytic = await session.run(feeds);
      const tolerance = options.tolerance ?? 4e-3;
      const run = (changed: Tensors): Promise<Tensors> => session.run({ ...feeds, ...changed });
      const found = await this.#compare(run, analytic, tolerance);
      const results: Record<string, SessionTensor> = {};
      for (const name of this.#cases.keys()) results[name] = analytic[`${name}.result`]!;
      return { mismatches: found, results };
    } finally {
      await session.close();
    }
  }

  async #compare(
    run: (changed: Tensors) => Promise<Tensors>,
    analytic: Tensors,
    tolerance: number,
  ): Promise<string[]> {
    const found: string[] = [];
    const step = 1e-2;
    const slots = Math.max(...[...this.#cases.values()].map((each) => each.parameters.length));
    for (let slot = 0; slot < slots; slot++) {
      const length = Math.max(
        ...[...this.#cases.keys()].map((name) => this.#feeds[`${name}.${slot}`]?.data.length ?? 0),
      );
      const differences = new Map<string, number[]>();
      for (let element = 0; element < length; element++) {
        const [above, below] = [
          await run(this.#moved(slot, element, step)),
          await run(this.#moved(slot, element, -step)),
        ];
        for (const name of this.#cases.keys()) {
          const slope = (values(above[`${name}.loss`])[0]! - values(below[`${name}.loss`])[0]!) / (2 * step);
          if (element >= (this.#feeds[`${name}.${slot}`]?.data.length ?? 0)) continue;
          differences.set(name, [...(differences.get(name) ?? []), slope]);
        }
      }
      for (const [name, wanted] of differences) {
        const gradient = values(analytic[`${name}.gradient.${slot}`]);
        found.push(...mismatches(gradient, wanted, tolerance, `gradient ${slot} of ${name}`));
      }
    }
    return found;
  }

  #moved(slot: number, element: number, by: number): Tensors {
    const changed: Record<string, SessionTensor> = {};
    for (const name of this.#cases.keys()) {
      const tensor = this.#feeds[`${name}.${slot}`];
      if (tensor === undefined || element >= tensor.data.length || tensor.dtype !== 'f32') continue;
      const data = tensor.data.slice();
      data[element]! += by;
      changed[`${name}.${slot}`] = { ...tensor, data };
    }
    return changed;
  }
}
