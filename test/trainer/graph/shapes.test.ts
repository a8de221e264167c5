import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LabError } from '../../../src/domain/error.ts';
import { createRandom, type RandomStream } from '../../../src/domain/random.ts';
import { ancestorsOf } from '../../../trainer/graph/differentiate.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import type { Dtype, Node, OpName } from '../../../trainer/graph/node.ts';
import { OP_NAMES } from '../../../trainer/graph/shape-rules.ts';
import { mismatches, values } from './gradient-check.ts';
import { fill, runOnce } from './plain-session.ts';
import { type Leaf, RECIPES, type Recipe, shapes } from './recipes.ts';
import { evaluatePlainly, type Plain } from './reference.ts';

interface Named {
  readonly op: OpName;
  readonly recipe: Recipe;
}

const recipe: fc.Arbitrary<Named> = fc
  .constantFrom(...OP_NAMES)
  .chain((op) => RECIPES[op].map((each) => ({ op, recipe: each })));
const batch = fc.integer({ min: 1, max: 3 });

test('every op gives the element type and shape inferred for it, and the numbers of its definition', async () => {
  const seen = new Map<OpName, number>();
  const property = fc.asyncProperty(
    fc.array(recipe, { minLength: 1, maxLength: 40, size: 'max' }),
    batch,
    fc.nat(),
    async (recipes, length, seed) => {
      const model = new Model(length, seed);
      for (const [number, each] of recipes.entries()) {
        model.add(number, each);
        seen.set(each.op, (seen.get(each.op) ?? 0) + 1);
      }
      expect(await model.differences()).toEqual([]);
    },
  );
  await fc.assert(property, { seed: 20_261_130, numRuns: 200 });
  // The draw must not have missed an op: a few cases of an op are no test of its shapes.
  expect(OP_NAMES.filter((op) => (seen.get(op) ?? 0) < 30)).toEqual([]);
});

const swap = fc.option(
  fc.record({ dtype: fc.constantFrom<Dtype>('f32', 'f32', 'f32', 'i32', 'i64', 'bool'), shape: shapes() }),
  // Half of the inputs stay, or hardly anything would fit.
  { freq: 2 },
);
/** Recipes with some inputs exchanged for others, which mostly do not fit. */
const spoiled = fc.tuple(recipe, swap, swap, swap).map(
  ([
    {
      op,
      recipe: { leaves, build },
    },
    ...swaps
  ]): Named => ({
    op,
    recipe: { leaves: leaves.map((leaf, position) => exchange(leaf, swaps[position])), build },
  }),
);

function exchange(leaf: Leaf, other: Leaf | null | undefined): Leaf {
  const { dtype, shape } = other ?? leaf;
  if (leaf.range === undefined) return { dtype, shape };
  // The only index that is within a table of any length is 0.
  return { dtype, shape, range: typeof leaf.range === 'object' ? { below: 1 } : leaf.range };
}

test('an op on any inputs is right, or refused by its name, its inputs and the line that called it', async () => {
  let [accepted, refused] = [0, 0];
  const property = fc.asyncProperty(
    fc.array(spoiled, { minLength: 1, maxLength: 40, size: 'max' }),
    batch,
    fc.nat(),
    async (recipes, length, seed) => {
      const model = new Model(length, seed);
      const thrown = recipes.map((each, number) => caught(() => model.add(number, each)));
      accepted += thrown.filter((each) => each === undefined).length;
      refused += thrown.filter((each) => each !== undefined).length;
      expect(recipes.filter((each, number) => !isGoodRefusal(thrown[number], each))).toEqual([]);
      expect(await model.differences()).toEqual([]);
    },
  );
  await fc.assert(property, { seed: 20_261_130, numRuns: 200 });
  expect(Math.min(accepted, refused)).toBeGreaterThan(500);
});

function caught(work: () => void): unknown {
  try {
    work();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** Whether nothing was thrown, or an error that says what went wrong and where. */
function isGoodRefusal(thrown: unknown, { op, recipe: { leaves } }: Named): boolean {
  if (thrown === undefined) return true;
  const [first] = leaves.map(({ dtype, shape }) => `${dtype}[${shape.join()}]`);
  return (
    thrown instanceof LabError &&
    thrown.message.startsWith(`graph op "${op}" on ${first}`) &&
    /: wanted .+ \(called from recipes\.ts:\d+\)$/u.test(thrown.message)
  );
}

/** Recipes as one model, each an output of it. */
class Model {
  readonly #g = createGraph();
  readonly #outputs: Record<string, Node> = {};
  readonly #tensors: Record<string, Plain> = {};
  readonly #random: RandomStream;
  readonly #batch: number;

  constructor(length: number, seed: number) {
    this.#batch = length;
    this.#random = createRandom(seed);
  }

  add(number: number, { op, recipe: { leaves, build } }: Named): void {
    const inputs = leaves.map((leaf, position) => {
      const name = `${number}.${position}`;
      this.#tensors[name] = fill(leaf, this.#batch, this.#random);
      return this.#g.input(name, leaf.dtype, leaf.shape);
    });
    this.#outputs[`${number} ${op}`] = build(this.#g, inputs);
  }

  /** Runs the model; a line for each recipe that is not what inference and definition say. */
  async differences(): Promise<string[]> {
    const [outputs, tensors, length] = [this.#outputs, this.#tensors, this.#batch];
    const nodes = Object.values(outputs);
    for (const node of ancestorsOf(nodes)) {
      if (node.op === 'parameter') tensors[node.attributes.name] = fill(node, length, this.#random);
    }
    if (nodes.length === 0) return [];
    const results = await runOnce(outputs, tensors);
    const plain = evaluatePlainly(nodes, { batch: length, tensors });
    return Object.entries(outputs).flatMap(([name, node]) => {
      const [got, wanted] = [results[name]!, plain.get(node)!];
      const types = [
        `${node.dtype}[${node.shape.map((dim) => (dim === 'B' ? length : dim)).join()}]`,
        `${got.dtype}[${got.shape.join()}]`,
        `${wanted.dtype}[${wanted.shape.join()}]`,
      ];
      if (new Set(types).size > 1) return [`${name}: inferred, got and defined as ${types.join(', ')}`];
      return mismatches(values(got), wanted.data, node.dtype === 'f32' ? 1e-5 : 0, name);
    });
  }
}
