import { expect, test } from 'vitest';
import { LabError } from '../../../src/domain/error.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import type { Dim } from '../../../trainer/graph/node.ts';
import * as ops from '../../../trainer/graph/ops.ts';

test('equal nodes are built once; equal bits, not equal numbers, make equal constants', () => {
  const g = createGraph();
  const x = g.input('x', 'f32', ['B', 4]);
  expect(ops.exp(g, x)).toBe(ops.exp(g, x));
  expect(ops.reduceSum(g, x, [0])).not.toBe(ops.reduceSum(g, x, [1]));
  expect(g.scalar(0.5)).toBe(g.scalar(0.5));
  expect(g.scalar(0)).not.toBe(g.scalar(-0));
  expect(g.scalar(1)).not.toBe(g.scalar(1, 'i32'));
  expect(g.constant(new Float32Array(2), [2])).not.toBe(g.constant(new Float32Array(2), [1, 2]));
});

test('nodes keep their own copy of the arrays that they were built with', () => {
  const g = createGraph();
  const shape: Dim[] = ['B', 2, 3];
  const permutation = [0, 2, 1];
  const x = g.input('x', 'f32', shape);
  const turned = g.node('transpose', [x], { permutation });
  shape.pop();
  permutation.reverse();
  expect(x.shape).toEqual(['B', 2, 3]);
  expect(turned.attributes.permutation).toEqual([0, 2, 1]);
  expect(Object.isFrozen(turned.attributes) && Object.isFrozen(turned.attributes.permutation)).toBe(true);
});

test('nodes are frozen, and constants keep their own copy of the data', () => {
  const g = createGraph();
  const data = Float32Array.of(1, 2);
  const node = g.constant(data, [2]);
  data[0] = 9;
  expect(node.attributes.data[0]).toBe(1);
  expect(Object.isFrozen(node) && Object.isFrozen(node.shape) && Object.isFrozen(node.inputs)).toBe(true);
});

test('a name can be taken once, and % is kept for tensors inside', () => {
  const g = createGraph();
  g.input('x', 'f32', []);
  for (const name of ['x', '', '%1']) {
    expect(() => g.parameter(name, [1])).toThrow(`graph input "${name}": wanted a name that is not empty`);
  }
});

test('nodes of two graphs do not mix', () => {
  const [a, b] = [createGraph(), createGraph()];
  const foreign = b.scalar(1);
  a.scalar(2);
  expect(() => ops.exp(a, foreign)).toThrow('graph op "exp" was given node 0 ("constant") of another graph');
});

test('numbers take the element type of the other operand', () => {
  const g = createGraph();
  const ids = g.input('ids', 'i32', ['B']);
  expect(ops.equal(g, ids, 0)).toMatchObject({ dtype: 'bool', shape: ['B'] });
  expect(ops.add(g, 1, ids).dtype).toBe('i32');
});

test('every misuse is refused, naming the op, the shapes and what was wanted', () => {
  const g = createGraph();
  const x = g.input('x', 'f32', ['B', 4]);
  const ids = g.input('ids', 'i32', ['B']);
  const flags = g.input('flags', 'bool', ['B']);
  const table = g.parameter('table', [5, 3]);
  const rows = g.input('rows', 'f32', ['rows', 4]);
  const misuses: Record<string, () => unknown> = {
    'graph op "add" on f32[B,4] and f32[5,3]: wanted f32 or i32 or i64, the same on all sides, with shapes that broadcast together':
      () => ops.add(g, x, table),
    'graph op "add" on f32[B,4] and i32[B]: wanted f32 or i32 or i64, the same on all sides': () =>
      ops.add(g, x, ids),
    'graph op "exp" on i32[B]: wanted f32': () => ops.exp(g, ids),
    'graph op "not" on f32[B,4]: wanted bool': () => ops.not(g, x),
    'graph op "matmul" on f32[B,4] and f32[5,3]: wanted f32 [..., k] and [k,n]': () =>
      ops.matmul(g, x, table),
    'graph op "outerSum" on f32[B,4] and f32[5,3]: wanted': () => ops.outerSum(g, x, table),
    'graph op "reshape" on f32[B,4]: wanted as many elements as [B,5] has, and the same named axis': () =>
      ops.reshape(g, x, ['B', 5]),
    'graph op "reshape" on f32[B,4]: wanted as many elements as [8,4] has': () => ops.reshape(g, x, [8, 4]),
    'graph op "transpose" on f32[B,4]: wanted a permutation of its axes, not 0,0': () =>
      ops.transpose(g, x, [0, 0]),
    'graph op "slice" on f32[B,4]: wanted a fixed axis 0': () => ops.slice(g, x, 0, 0, 1),
    'graph op "slice" on f32[B,4]: wanted a fixed axis 1 that holds 2 to before 5': () =>
      ops.slice(g, x, 1, 2, 5),
    'graph op "slice" on f32[B,4]: wanted an axis within the input, not 2': () => ops.slice(g, x, 2, 0, 1),
    'graph op "split" on f32[B,4]: wanted length 5 at axis 1': () => ops.split(g, x, 1, [2, 3]),
    'graph op "squeeze" on f32[B,4]: wanted length 1 at 1': () => ops.squeeze(g, x, [1]),
    'graph op "unsqueeze" on f32[B,4]: wanted an axis within the result, not 5': () => ops.unsqueeze(g, x, 5),
    'graph op "pad" on f32[B,4]: wanted f32 with a fixed axis 0': () => ops.pad(g, x, 0, 1, 1),
    'graph op "concat" on f32[B,4] and f32[5,3]: wanted the same type and shape but for axis 1': () =>
      ops.concat(g, [x, table], 1),
    'graph op "concat" on nothing: wanted at least one part': () => ops.concat(g, [], 1),
    'graph op "gatherRows" on f32[5,3] and f32[B,4]: wanted f32 [V,D] with D fixed, and i32 ids': () =>
      ops.gatherRows(g, table, x),
    'graph op "scatterAddRows" on f32[5,3] and i32[B] and f32[B,4]: wanted': () =>
      ops.scatterAddRows(g, table, ids, x),
    'graph op "pick" on f32[5,3] and i32[B]: wanted f32 [..., A] and i32 [...]': () =>
      ops.pick(g, table, ids),
    'graph op "clamp" on f32[B,4] and f32[5,3] and f32[]: wanted f32, and bounds of shape []': () =>
      ops.clamp(g, x, table, 1),
    'graph op "where" on f32[B,4] and f32[] and f32[]: wanted a bool': () => ops.where(g, x, 1, 0),
    'graph op "broadcast" on f32[B,4]: wanted a shape that stretches to [5,3]': () =>
      ops.broadcastLike(g, x, table),
    'graph op "reduceSum" on bool[B]: wanted f32': () => ops.reduceSum(g, flags),
    'graph op "reduceMax" on f32[B,4]: wanted axes of the input, each once, not 1,1': () =>
      ops.reduceMax(g, x, [1, -1]),
    'graph op "softmax" on i32[B]: wanted f32 with a fixed last axis': () => ops.softmax(g, ids),
    'graph op "batchSize" on f32[5,3]: wanted a shape with a named axis': () => ops.batchSize(g, table),
    'graph op "parameter "p"" on f32[B]: wanted a shape of fixed lengths': () =>
      g.node('parameter', [], { name: 'p', shape: ['B'] }),
    'graph op "input "q"" on f32[B,B]: wanted positive whole lengths and at most one named axis': () =>
      g.input('q', 'f32', ['B', 'B']),
    'graph op "constant" on f32[3]: wanted as many elements as data: 2': () =>
      g.constant(new Float32Array(2), [3]),
    'graph op "slice" on f32[5,3]: wanted a fixed axis 1 that holds 0.5 to before 1.5': () =>
      ops.slice(g, table, 1, 0.5, 1.5),
    'graph op "slice" on f32[5,3]: wanted a fixed axis 1 that holds 0.5 to before 2': () =>
      ops.slice(g, table, 1, 0.5, 2),
    'graph op "pad" on f32[5,3]: wanted f32 with a fixed axis 1, and whole numbers of zeros, not 0.5 and 0.5':
      () => ops.pad(g, table, 1, 0.5, 0.5),
    'graph op "pick" on f32[B] and i32[]: wanted f32 [..., A] and i32 [...], with A fixed': () =>
      ops.pick(g, ops.reduceSum(g, x, [1]), g.scalar(0, 'i32')),
    'graph op "matmul" on f32[B,4] and f32[4,B]: wanted at most one named axis in the result, not [B,B]':
      () => ops.matmul(g, x, ops.transpose(g, x)),
    'graph op "mul" on f32[B,1] and f32[B]: wanted at most one named axis in the result, not [B,B]': () =>
      ops.mul(g, ops.slice(g, x, 1, 0), ops.reduceSum(g, x, [1])),
    'graph op "broadcast" on f32[5,3]: wanted a second input with the named axis of the shape': () =>
      g.node('broadcast', [table], { shape: ['B', 5, 3] }),
    'graph op "add" on f32[B,4] and f32[rows,4]: wanted f32 or i32 or i64, the same on all sides': () =>
      ops.add(g, x, rows),
    'graph op "reshape" on f32[B,4]: wanted as many elements as [rows,4] has, and the same named axis': () =>
      ops.reshape(g, x, ['rows', 4]),
    'graph op "input "unnamed"" on f32[]: wanted positive whole lengths and at most one named axis': () =>
      g.input('unnamed', 'f32', ['']),
    'graph op "reduceSum" on f32[5,3]: wanted axes of the input, each once, not 2': () =>
      g.node('reduceSum', [table], { axes: [2], keep: false }),
    'graph op "reduceSum" on f32[5,3]: wanted axes of the input, each once, not none': () =>
      g.node('reduceSum', [table], { axes: [], keep: false }),
    'graph input "table": wanted a name that is not empty, not taken': () =>
      g.node('parameter', [], { name: 'table', shape: [5, 3] }),
    'graph op "biasCorrection" on f32[5,3]: wanted a step number of shape []': () =>
      g.node('biasCorrection', [table], { beta: 0.9 }),
  };
  for (const [message, misuse] of Object.entries(misuses)) {
    expect(misuse).toThrow(LabError);
    expect(misuse).toThrow(message);
    expect(misuse).toThrow(/ \(called from graph\.test\.ts:\d+\)$/);
  }
});
