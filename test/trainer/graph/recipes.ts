import fc from 'fast-check';
import type { Graph } from '../../../trainer/graph/graph.ts';
import type {
  ArithmeticName,
  ComparisonName,
  Dim,
  Dtype,
  Node,
  OpName,
  ReductionName,
  Shape,
  UnaryName,
} from '../../../trainer/graph/node.ts';

/** An input to make for an op: numbers of any sign, or as `range` has it (`below`: whole, from 0). */
export interface Leaf {
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly range?: 'positive' | 'nonzero' | { readonly below: number };
}

/** One op on inputs of random shapes that fit it. */
export interface Recipe {
  readonly leaves: readonly Leaf[];
  /** Builds the op by `g.node`, so that no function of ops.ts can leave it out. */
  readonly build: (g: Graph, nodes: readonly Node[]) => Node;
}

const dim = fc.integer({ min: 1, max: 3 });

/** A shape of `min` to `max` axes; one may be the batch, but none of the last `fixed`. */
export function shapes(min = 0, max = 3, fixed = 0): fc.Arbitrary<Shape> {
  return fc
    .tuple(fc.array(dim, { minLength: min, maxLength: max, size: 'max' }), fc.nat({ max: 7 }))
    .map(([lengths, at]) =>
      lengths.map((length, axis): Dim => (axis === at && axis < lengths.length - fixed ? 'B' : length)),
    );
}

/** So many shapes that stretch to one another: axes are left out at the front, and set to 1 anywhere. */
export function stretchable(count: number): fc.Arbitrary<Shape[]> {
  const cut = fc.tuple(fc.nat({ max: 3 }), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }));
  return fc
    .tuple(shapes(), fc.array(cut, { minLength: count, maxLength: count }))
    .map(([shape, cuts]) =>
      cuts.map(([dropped, ones]) =>
        shape.map((length, axis): Dim => (ones[axis] === true ? 1 : length)).slice(dropped),
      ),
    );
}

const fixedShape = fc.array(dim, { maxLength: 3, size: 'max' });
const number = fc.constantFrom<Dtype>('f32', 'i32', 'i64');
const anyType = fc.constantFrom<Dtype>('f32', 'i32', 'i64', 'bool');

/** Recipes of each op; the compiler asks for those of a new one. */
export const RECIPES: { readonly [K in OpName]: fc.Arbitrary<Recipe> } = {
  input: fc.tuple(anyType, shapes()).map(([dtype, shape]) => ({
    leaves: [{ dtype, shape }],
    build: (_, [x]) => x!,
  })),
  parameter: fixedShape.map((shape) => ({
    leaves: [],
    build: (g) => g.parameter(`parameter [${shape.join()}] ${parameters++}`, shape),
  })),
  constant: fixedShape.map((shape) => ({
    leaves: [],
    build: (g) =>
      g.constant(
        Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, index) => index - 3),
        shape,
      ),
  })),
  zeros: fixedShape.map((shape) => ({
    leaves: [],
    build: (g) => g.node('zeros', [], { shape }),
  })),
  add: arithmetic('add'),
  sub: arithmetic('sub'),
  mul: arithmetic('mul'),
  div: arithmetic('div'),
  min: arithmetic('min'),
  max: arithmetic('max'),
  less: arithmetic('less'),
  lessOrEqual: arithmetic('lessOrEqual'),
  greater: arithmetic('greater'),
  greaterOrEqual: arithmetic('greaterOrEqual'),
  equal: arithmetic('equal'),
  and: stretchable(2).map((both) => ({
    leaves: both.map((shape): Leaf => ({ dtype: 'bool', shape })),
    build: (g, [a, b]) => g.node('and', [a!, b!], {}),
  })),
  not: shapes().map((shape) => ({
    leaves: [{ dtype: 'bool', shape }],
    build: (g, [x]) => g.node('not', [x!], {}),
  })),
  neg: unary('neg'),
  exp: unary('exp'),
  log: unary('log'),
  sqrt: unary('sqrt'),
  abs: unary('abs'),
  sign: unary('sign'),
  tanh: unary('tanh'),
  sigmoid: unary('sigmoid'),
  relu: unary('relu'),
  stopGradient: fc.tuple(anyType, shapes()).map(([dtype, shape]) => ({
    leaves: [{ dtype, shape }],
    build: (g, [x]) => g.node('stopGradient', [x!], {}),
  })),
  softmax: shapes(1, 3, 1).map((shape) => ({
    leaves: [{ dtype: 'f32', shape }],
    build: (g, [x]) => g.node('softmax', [x!], {}),
  })),
  logSoftmax: shapes(1, 3, 1).map((shape) => ({
    leaves: [{ dtype: 'f32', shape }],
    build: (g, [x]) => g.node('logSoftmax', [x!], {}),
  })),
  clamp: shapes().map((shape) => ({
    leaves: [{ dtype: 'f32', shape }],
    build: (g, [x]) => g.node('clamp', [x!, g.scalar(-0.5), g.scalar(0.75)], {}),
  })),
  where: fc.tuple(number, stretchable(3)).map(([dtype, [condition, a, b]]) => ({
    leaves: [
      { dtype: 'bool', shape: condition! },
      { dtype, shape: a! },
      { dtype, shape: b! },
    ],
    build: (g, [test, left, right]) => g.node('where', [test!, left!, right!], {}),
  })),
  cast: fc.tuple(anyType, anyType, shapes()).map(([dtype, to, shape]) => ({
    leaves: [{ dtype, shape }],
    build: (g, [x]) => g.node('cast', [x!], { to }),
  })),
  matmul: fc.tuple(shapes(3, 4), fc.boolean(), fc.nat({ max: 3 })).map(([sizes, isFlat, dropped]) => {
    const [m, k, n, ...leading] = sizes.toReversed();
    const outer = leading.slice(dropped);
    const right: Shape = isFlat ? [k!, n!] : [...outer, k!, n!];
    return {
      leaves: [floats([...outer, m!, k!]), floats(right)],
      build: (g, [a, b]) => g.node('matmul', [a!, b!], {}),
    };
  }),
  outerSum: fc.tuple(shapes(1, 3), dim, dim).map(([rows, k, n]) => ({
    leaves: [floats([...rows, k]), floats([...rows, n])],
    build: (g, [a, b]) => g.node('outerSum', [a!, b!], {}),
  })),
  transpose: fc
    .tuple(anyType, shapes(), fc.shuffledSubarray([0, 1, 2], { minLength: 3 }))
    .map(([dtype, shape, order]) => ({
      leaves: [{ dtype, shape }],
      build: (g, [x]) =>
        g.node('transpose', [x!], { permutation: order.filter((axis) => axis < shape.length) }),
    })),
  reshape: fc.tuple(shapes(), fc.nat({ max: 3 }), fc.boolean()).map(([shape, at, isMerged]) => ({
    leaves: [floats(shape)],
    // The fixed lengths are multiplied together or not, and the batch goes somewhere else.
    build: (g, [x]) => {
      const fixed = shape.filter((length) => typeof length === 'number');
      const other: Dim[] = isMerged ? [fixed.reduce((a, b) => a * b, 1)] : [...fixed.toReversed(), 1];
      if (shape.includes('B')) other.splice(at % (other.length + 1), 0, 'B');
      return g.node('reshape', [x!], { shape: other });
    },
  })),
  broadcast: fc.tuple(anyType, stretchable(2)).map(([dtype, [small, other]]) => ({
    leaves: [
      { dtype, shape: small! },
      { dtype: 'f32', shape: other! },
    ],
    build: (g, [x, like]) => {
      const rank = Math.max(small!.length, other!.length);
      const shape = Array.from({ length: rank }, (_, axis): Dim => {
        const [mine, its] = [
          small![axis - rank + small!.length] ?? 1,
          other![axis - rank + other!.length] ?? 1,
        ];
        return mine === 1 ? its : mine;
      });
      const source = [like!, x!].find((node) => node.shape.includes('B'));
      return g.node('broadcast', source === undefined ? [x!] : [x!, source], { shape });
    },
  })),
  concat: fc
    .tuple(
      anyType,
      shapes(1, 3),
      fc.nat({ max: 2 }),
      fc.array(dim, { minLength: 1, maxLength: 3, size: 'max' }),
    )
    .filter(([, shape, at]) => shape[at % shape.length] !== 'B')
    .map(([dtype, shape, at, lengths]) => ({
      leaves: lengths.map((length): Leaf => ({ dtype, shape: shape.with(at % shape.length, length) })),
      build: (g, parts) => g.node('concat', parts, { axis: at % shape.length }),
    })),
  slice: fc
    .tuple(anyType, shapes(1, 3), fc.nat({ max: 2 }), fc.nat({ max: 2 }), fc.nat({ max: 2 }))
    .filter(([, shape, at]) => shape[at % shape.length] !== 'B')
    .map(([dtype, shape, at, from, left]) => {
      const axis = at % shape.length;
      const start = from % Number(shape[axis]);
      return {
        leaves: [{ dtype, shape }],
        build: (g, [x]) =>
          g.node('slice', [x!], { axis, start, end: start + 1 + (left % (Number(shape[axis]) - start)) }),
      };
    }),
  pad: fc
    .tuple(shapes(1, 3), fc.nat({ max: 2 }), fc.nat({ max: 2 }), fc.nat({ max: 2 }))
    .filter(([shape, at]) => shape[at % shape.length] !== 'B')
    .map(([shape, at, before, after]) => ({
      leaves: [floats(shape)],
      build: (g, [x]) => g.node('pad', [x!], { axis: at % shape.length, before, after }),
    })),
  reduceSum: reduction('reduceSum'),
  reduceMean: reduction('reduceMean'),
  reduceMax: reduction('reduceMax'),
  gatherRows: fc.tuple(shapes(), dim, dim).map(([shape, rows, width]) => ({
    leaves: [floats([rows, width]), { dtype: 'i32', shape, range: { below: rows } }],
    build: (g, [table, ids]) => g.node('gatherRows', [table!, ids!], {}),
  })),
  scatterAddRows: fc.tuple(shapes(), dim, dim).map(([shape, rows, width]) => ({
    leaves: [
      floats([rows, width]),
      { dtype: 'i32', shape, range: { below: rows } },
      floats([...shape, width]),
    ],
    build: (g, [base, ids, updates]) => g.node('scatterAddRows', [base!, ids!, updates!], {}),
  })),
  pick: fc.tuple(shapes(), dim).map(([shape, length]) => ({
    leaves: [floats([...shape, length]), { dtype: 'i32', shape, range: { below: length } }],
    build: (g, [x, indices]) => g.node('pick', [x!, indices!], {}),
  })),
  batchSize: shapes(1, 3)
    .filter((shape) => shape.includes('B'))
    .map((shape) => ({ leaves: [floats(shape)], build: (g, [x]) => g.node('batchSize', [x!], {}) })),
  biasCorrection: fc.constantFrom<Dtype>('f32', 'i32', 'i64').map((dtype) => ({
    leaves: [{ dtype, shape: [], range: { below: 9 } }],
    build: (g, [step]) => g.node('biasCorrection', [step!], { beta: 0.9 }),
  })),
};

/** Parameters have names of their own. */
let parameters = 0;

function floats(shape: Shape): Leaf {
  return { dtype: 'f32', shape };
}

function arithmetic(op: ArithmeticName | ComparisonName): fc.Arbitrary<Recipe> {
  return fc.tuple(number, stretchable(2)).map(([dtype, [left, right]]) => ({
    leaves: [
      { dtype, shape: left! },
      { dtype, shape: right!, range: 'nonzero' },
    ],
    build: (g, [a, b]) => g.node(op, [a!, b!], {}),
  }));
}

function unary(op: UnaryName): fc.Arbitrary<Recipe> {
  const range = op === 'log' || op === 'sqrt' ? { range: 'positive' as const } : {};
  return shapes().map((shape) => ({
    leaves: [{ dtype: 'f32', shape, ...range }],
    build: (g, [x]) => g.node(op, [x!], {}),
  }));
}

function reduction(op: ReductionName): fc.Arbitrary<Recipe> {
  return fc
    .tuple(shapes(1, 3), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), fc.boolean())
    .map(([shape, chosen, keep]) => {
      const axes = [...shape.keys()].filter((axis) => chosen[axis] === true);
      return {
        leaves: [floats(shape)],
        build: (g, [x]) => g.node(op, [x!], { axes: axes.length === 0 ? [0] : axes, keep }),
      };
    });
}
