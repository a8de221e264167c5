import { expect, test } from 'vitest';
import { createGraph } from '../../../trainer/graph/graph.ts';
import type { Node } from '../../../trainer/graph/node.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { evaluate, mismatches, values } from './gradient-check.ts';

const g = createGraph();

function floats(shape: readonly number[], ...numbers: number[]): Node {
  return g.constant(Float32Array.from(numbers), shape);
}

function ids(...numbers: number[]): Node {
  return g.constant(Int32Array.from(numbers), [numbers.length]);
}

const six = floats([2, 3], 1, 2, 3, 4, 5, 6);
const cube = floats([2, 2, 2], 1, 2, 3, 4, 5, 6, 7, 8);

/** Op → what it is given, the shape and the numbers that come out. */
const EXAMPLES: Readonly<
  Record<string, readonly [node: Node, shape: readonly number[], numbers: readonly number[]]>
> = {
  matmul: [ops.matmul(g, six, floats([3, 1], 1, 0, 2)), [2, 1], [7, 16]],
  'matmul with leading axes': [ops.matmul(g, cube, floats([2, 1], 1, 10)), [2, 2, 1], [21, 43, 65, 87]],
  'batched matmul': [ops.matmul(g, cube, cube), [2, 2, 2], [7, 10, 15, 22, 67, 78, 91, 106]],
  outerSum: [ops.outerSum(g, floats([2, 1, 2], 1, 2, 3, 4), floats([2, 1, 1], 10, 100)), [2, 1], [310, 420]],
  transpose: [ops.transpose(g, six), [3, 2], [1, 4, 2, 5, 3, 6]],
  'transpose in an order': [ops.transpose(g, cube, [1, 2, 0]), [2, 2, 2], [1, 5, 2, 6, 3, 7, 4, 8]],
  'default transpose of three': [ops.transpose(g, cube), [2, 2, 2], [1, 3, 2, 4, 5, 7, 6, 8]],
  reshape: [ops.reshape(g, six, [3, 2]), [3, 2], [1, 2, 3, 4, 5, 6]],
  unsqueeze: [ops.unsqueeze(g, six, -1), [2, 3, 1], [1, 2, 3, 4, 5, 6]],
  broadcast: [ops.broadcastLike(g, floats([2, 1], 7, 8), six), [2, 3], [7, 7, 7, 8, 8, 8]],
  concat: [ops.concat(g, [six, floats([2, 1], 9, 8)], -1), [2, 4], [1, 2, 3, 9, 4, 5, 6, 8]],
  slice: [ops.slice(g, six, 1, 1, 3), [2, 2], [2, 3, 5, 6]],
  pad: [ops.pad(g, six, 1, 1, 0), [2, 4], [0, 1, 2, 3, 0, 4, 5, 6]],
  index: [ops.index(g, six, 0, 1), [3], [4, 5, 6]],
  split: [ops.split(g, six, -1, [1, 2])[1] ?? six, [2, 2], [2, 3, 5, 6]],
  reduceSum: [ops.reduceSum(g, cube, [0, 2]), [2], [14, 22]],
  'reduceSum of all': [ops.reduceSum(g, cube), [], [36]],
  'reduceMean keeping': [ops.reduceMean(g, six, [1], true), [2, 1], [2, 5]],
  reduceMax: [ops.reduceMax(g, six, [0]), [3], [4, 5, 6]],
  gatherRows: [ops.gatherRows(g, six, ids(1, 1, 0)), [3, 3], [4, 5, 6, 4, 5, 6, 1, 2, 3]],
  scatterAddRows: [
    ops.scatterAddRows(g, six, ids(1, 1), floats([2, 3], 1, 1, 1, 2, 2, 2)),
    [2, 3],
    [1, 2, 3, 7, 8, 9],
  ],
  pick: [ops.pick(g, six, ids(2, 0)), [2], [3, 4]],
  oneHot: [ops.oneHot(g, ids(2, 0), 3), [2, 3], [0, 0, 1, 1, 0, 0]],
  clamp: [ops.clamp(g, six, 2, floats([], 4)), [2, 3], [2, 2, 3, 4, 4, 4]],
  where: [ops.where(g, ops.greater(g, six, 3), six, -1), [2, 3], [-1, -1, -1, 4, 5, 6]],
  equal: [ops.equal(g, ids(1, 2), 2), [2], [0, 1]],
  cast: [ops.cast(g, floats([2], 1.9, -1.9), 'i32'), [2], [1, -1]],
  softmax: [ops.softmax(g, floats([1, 2], 0, Math.log(3))), [1, 2], [0.25, 0.75]],
  logSoftmax: [ops.logSoftmax(g, floats([1, 2], 0, Math.log(3))), [1, 2], [Math.log(0.25), Math.log(0.75)]],
  'zeros of a shape': [g.node('zeros', [], { shape: [2, 1] }), [2, 1], [0, 0]],
  'a stretched operand of an elementwise op': [
    ops.exp(g, ops.mul(g, ops.broadcastLike(g, floats([2, 1], 0, 1), six), 0)),
    [2, 3],
    [1, 1, 1, 1, 1, 1],
  ],
};

test('every op gives the shape inferred for it and the numbers worked out by hand', async () => {
  const outputs = Object.fromEntries(Object.entries(EXAMPLES).map(([name, [node]]) => [name, node]));
  const results = await evaluate(outputs);
  for (const [name, [node, shape, numbers]] of Object.entries(EXAMPLES)) {
    expect([name, node.shape, results[name]?.shape]).toEqual([name, shape, shape]);
    expect(mismatches(values(results[name]), numbers, 1e-6, name)).toEqual([]);
  }
});

test('an op that changes nothing is left out', () => {
  expect(ops.reshape(g, six, [2, 3])).toBe(six);
  expect(ops.slice(g, six, 1, 0, 3)).toBe(six);
  expect(ops.concat(g, [six], 0)).toBe(six);
  expect(ops.cast(g, six, 'f32')).toBe(six);
  expect(ops.reduceSum(g, six, [])).toBe(six);
  expect(ops.broadcastLike(g, six, six)).toBe(six);
});
