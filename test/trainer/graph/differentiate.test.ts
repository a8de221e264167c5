import { expect, test } from 'vitest';
import { ancestorsOf, differentiate } from '../../../trainer/graph/differentiate.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { evaluate, floats, GradientCheck, ints, mismatches, values } from './gradient-check.ts';

test('the uses of one table are chained scatters, each adding to the one before', async () => {
  const check = new GradientCheck();
  const { g } = check;
  const first = g.input('first', 'i32', ['B', 2]);
  const second = g.input('second', 'i32', ['B']);
  check.add('two uses and a dense one', [floats([4, 2])], (table) => {
    const a = ops.reduceSum(g, ops.gatherRows(g, table, first), [1]);
    const b = ops.gatherRows(g, table, second);
    return ops.add(g, ops.mul(g, a, b), ops.reduceSum(g, table, [0]));
  });
  expect(
    (
      await check.verify({
        batch: 3,
        feeds: { first: ints([3, 2], [0, 1, 1, 1, 3, 0]), second: ints([3], [1, 1, 2]) },
      })
    ).mismatches,
  ).toEqual([]);

  const table = g.parameter('table', [4, 2]);
  const [left, right] = [ops.gatherRows(g, table, first), ops.gatherRows(g, table, second)];
  const loss = ops.add(g, ops.reduceSum(g, ops.exp(g, left)), ops.reduceSum(g, ops.exp(g, right)));
  const [gradient] = differentiate(g, loss, [table]);
  expect(gradient?.op).toBe('scatterAddRows');
  expect(gradient?.inputs[0]?.op).toBe('scatterAddRows');
  expect(gradient?.inputs[0]?.inputs[0]?.op).toBe('zeros');
});

test('two embeddings that feed one another get both gradients', async () => {
  const check = new GradientCheck();
  const { g } = check;
  const ids = g.input('ids', 'i32', ['B', 3]);
  check.add('chain', [floats([4, 2]), floats([4, 2])], (inner, outer) => {
    const sum = ops.reduceSum(
      g,
      ops.mul(g, ops.gatherRows(g, inner, ids), ops.gatherRows(g, outer, ids)),
      [1],
    );
    return ops.mul(g, ops.tanh(g, sum), ops.gatherRows(g, outer, ops.index(g, ids, 1, 2)));
  });
  expect(
    (await check.verify({ batch: 2, feeds: { ids: ints([2, 3], [0, 3, 3, 2, 1, 0]) } })).mismatches,
  ).toEqual([]);
});

test('the parts of a split come back together as one concatenation', () => {
  const g = createGraph();
  const x = g.parameter('x', [2, 6]);
  const [a, b, c] = ops.split(g, ops.exp(g, x), 1, [1, 2, 3]);
  const loss = [ops.tanh(g, a!), ops.sigmoid(g, b!), ops.relu(g, c!)].map((part) => ops.reduceSum(g, part));
  const [gradient] = differentiate(
    g,
    loss.reduce((left, right) => ops.add(g, left, right)),
    [x],
  );
  const names = ancestorsOf([gradient!]).map((node) => node.op);
  expect(names).toContain('concat');
  expect(names).not.toContain('pad');
});

test('parts that leave a gap or overlap are padded and added', async () => {
  const check = new GradientCheck();
  const { g } = check;
  check.add('gap', [floats([6])], (x) => ops.mul(g, ops.slice(g, x, 0, 0, 2), ops.slice(g, x, 0, 3, 5)));
  check.add('overlap', [floats([4])], (x) => ops.mul(g, ops.slice(g, x, 0, 0, 3), ops.slice(g, x, 0, 1, 4)));
  check.add('two axes', [floats([2, 2])], (x) => ops.mul(g, ops.index(g, x, 0, 0), ops.index(g, x, 1, 1)));
  expect((await check.verify({ batch: 1 })).mismatches).toEqual([]);
});

test('the gradient of a reduction stays small until something needs it stretched', () => {
  const g = createGraph();
  const x = g.parameter('x', [8, 9]);
  const scaled = ops.mul(g, ops.tanh(g, x), 3);
  const [gradient] = differentiate(g, ops.neg(g, ops.reduceMean(g, scaled)), [x]);
  const large = ancestorsOf([gradient!]).filter((node) => node.shape[0] === 8);
  expect(large.map((node) => node.op)).toEqual(['parameter', 'tanh', 'mul', 'sub', 'mul']);
});

test('stopGradient makes a constant of what it wraps', async () => {
  const g = createGraph();
  const x = g.parameter('x', [2]);
  const loss = ops.reduceSum(g, ops.mul(g, x, ops.stopGradient(g, ops.mul(g, x, x))));
  const [gradient] = differentiate(g, loss, [x]);
  const result = await evaluate({ gradient: gradient! }, { x: floats([2], (i) => i + 2) });
  expect(mismatches(values(result['gradient']), [4, 9], 1e-6)).toEqual([]);
});

test('a graph of many thousand nodes is walked without recursion', () => {
  const g = createGraph();
  const x = g.parameter('x', []);
  let y = ops.exp(g, x);
  for (let i = 0; i < 20_000; i++) y = ops.add(g, y, x);
  expect(differentiate(g, y, [x])).toHaveLength(1);
});

test('what cannot be differentiated is refused by name', () => {
  const g = createGraph();
  const x = g.parameter('weights', [2]);
  const total = ops.reduceSum(g, x);
  expect(() => differentiate(g, x, [x])).toThrow(
    'graph op "differentiate" on f32[2]: wanted a f32 scalar as the loss',
  );
  expect(() => differentiate(g, total, [x, g.parameter('other', [1])])).toThrow(
    'differentiate: the loss does not depend on parameter "other"',
  );
  expect(() => differentiate(g, ops.reduceSum(g, ops.sign(g, x)), [x])).toThrow(
    /^differentiate: op "sign" \(node \d+\) has no gradient, and a parameter is behind it \(called from differentiate\.test\.ts:\d+\)$/,
  );
  const detached = ops.add(g, ops.stopGradient(g, total), 1);
  expect(() => differentiate(g, detached, [x])).toThrow('the loss does not depend on parameter "weights"');
});
