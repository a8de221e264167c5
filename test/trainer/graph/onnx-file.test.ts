import { expect, test } from 'vitest';
import { createGraph } from '../../../trainer/graph/graph.ts';
import type { TensorData } from '../../../trainer/graph/node.ts';
import { type ModelOptions, toModel } from '../../../trainer/graph/onnx-file.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { createSession } from '../../../trainer/session.ts';
import { evaluate, floats, ints, mismatches, values } from './gradient-check.ts';
import { decode } from './protobuf-reader.ts';

test('one session serves every batch size, with all element types and ops that have no gradient', async () => {
  const g = createGraph();
  const x = g.input('x', 'f32', ['B', 3]);
  const ids = g.input('ids', 'i32', ['B']);
  const wide = g.input('wide', 'i64', ['B']);
  const flags = g.input('flags', 'bool', ['B']);
  const outputs = {
    size: ops.batchSize(g, x),
    mean: ops.reduceMean(g, x),
    stretched: ops.broadcastLike(g, g.constant(Float32Array.of(1, 2, 3), [3]), x),
    oneHot: ops.oneHot(g, ids, 3),
    picked: ops.pick(g, x, ids),
    sum: ops.add(g, wide, ops.cast(g, ids, 'i64')),
    both: ops.and(g, flags, ops.not(g, ops.lessOrEqual(g, ids, 1))),
    between: ops.and(g, ops.greaterOrEqual(g, ids, 1), ops.less(g, ids, 2)),
    signs: ops.sign(g, x),
    smallest: ops.min(g, ids, 1),
    pinned: ops.stopGradient(g, x),
  };
  const session = await createSession(toModel(outputs), { threads: 2 });
  for (const batch of [1, 4, 2]) {
    const numbers = Array.from({ length: batch }, (_, i) => (i * 2) % 3);
    const feed = floats([batch, 3], (i) => i - 1);
    const result = await session.run({
      x: feed,
      ids: ints([batch], numbers),
      wide: { dtype: 'i64', shape: [batch], data: BigInt64Array.from(numbers, () => 2n ** 40n) },
      flags: { dtype: 'bool', shape: [batch], data: Uint8Array.from(numbers, () => 1) },
    });
    expect(values(result['size'])).toEqual([batch]);
    expect(result['size']?.shape).toEqual([]);
    expect(mismatches(values(result['mean']), [(batch * 3 - 3) / 2], 1e-6)).toEqual([]);
    expect(values(result['stretched'])).toEqual(numbers.flatMap(() => [1, 2, 3]));
    expect(values(result['oneHot'])).toEqual(numbers.flatMap((n) => [0, 1, 2].map((i) => (i === n ? 1 : 0))));
    expect(values(result['picked'])).toEqual(numbers.map((n, row) => row * 3 + n - 1));
    expect(result['sum']).toMatchObject({ dtype: 'i64', shape: [batch] });
    expect(values(result['sum'])).toEqual(numbers.map((n) => 2 ** 40 + n));
    expect(result['both']).toMatchObject({
      dtype: 'bool',
      data: Uint8Array.from(numbers, (n) => (n > 1 ? 1 : 0)),
    });
    expect(values(result['between'])).toEqual(numbers.map((n) => (n === 1 ? 1 : 0)));
    expect(values(result['signs'])).toEqual(values(feed).map(Math.sign));
    expect(values(result['smallest'])).toEqual(numbers.map((n) => Math.min(n, 1)));
    expect(values(result['pinned'])).toEqual(values(feed));
  }
  await session.close();
});

test('softmaxes stay finite for large and masked logits', async () => {
  const g = createGraph();
  const x = g.constant(Float32Array.of(1e4, 1e4, -1e9, 0, -1e9, -1e9), [2, 3]);
  const result = await evaluate({ p: ops.softmax(g, x), log: ops.logSoftmax(g, x) });
  expect(mismatches(values(result['p']), [0.5, 0.5, 0, 1, 0, 0], 1e-6)).toEqual([]);
  expect(mismatches(values(result['log']).slice(0, 2), [-Math.LN2, -Math.LN2], 1e-3)).toEqual([]);
  expect(values(result['log']).every(Number.isFinite)).toBe(true);
});

test('a pad between two transposes runs, though onnxruntime brings these together', async () => {
  const g = createGraph();
  const x = g.input('x', 'f32', [2, 3]);
  const padded = ops.transpose(g, ops.pad(g, ops.transpose(g, x), 0, 1, 0));
  const result = await evaluate({ padded }, { x: floats([2, 3], (i) => i + 1) });
  expect(values(result['padded'])).toEqual([0, 1, 2, 3, 0, 4, 5, 6]);
});

test('nodes and inputs that no output needs are left out', async () => {
  const g = createGraph();
  const [x, unused] = [g.input('x', 'f32', [2]), g.input('unused', 'f32', ['B'])];
  ops.exp(g, unused);
  const session = await createSession(toModel({ y: ops.exp(g, x), same: x }), { threads: 1 });
  expect(session.inputs).toEqual(['x']);
  expect(session.outputs).toEqual(['y', 'same']);
  await session.close();
});

test('a model needs outputs, and they cannot have the name of an input', () => {
  const g = createGraph();
  const x = g.input('x', 'f32', [2]);
  expect(() => toModel({})).toThrow('a model without outputs: wanted one at least');
  expect(() => toModel({ x })).toThrow('model output "x": wanted a name that no input has');
  expect(() => toModel({ '%y': x })).toThrow('model output "%y"');
});

test('initialisers of some megabytes take the place of inputs, and the model computes the same', async () => {
  const g = createGraph();
  const [x, ids] = [g.input('x', 'f32', ['B', 512]), g.input('ids', 'i32', [2])];
  const [w, bias] = [g.parameter('w', [512, 2048]), g.parameter('bias', [])];
  const y = ops.add(g, ops.matmul(g, x, w), bias);
  const outputs = { y, rows: ops.gatherRows(g, w, ids) };
  const fed = {
    w: floats([512, 2048]),
    bias: floats([], () => 0.5),
    ids: ints([2], [511, 3]),
    x: floats([3, 512]),
  };
  const whole = toModel(outputs, {
    initialisers: { w: fed.w.data, bias: fed.bias.data, ids: fed.ids.data },
  });
  expect(whole.byteLength).toBeGreaterThan(4 * 2 ** 20);
  const [session, wanted] = [await createSession(whole, { threads: 1 }), await evaluate(outputs, fed)];
  expect(session.inputs).toEqual(['x']);
  const result = await session.run({ x: fed.x });
  expect(result['y']?.shape).toEqual([3, 2048]);
  // onnxruntime packs constant weights, and then adds up the products in another order.
  expect(mismatches(values(result['y']), values(wanted['y']), 1e-4)).toEqual([]);
  expect(values(result['rows'])).toEqual(values(wanted['rows']));
  expect(values(result['rows']).slice(2048)).toEqual(values(fed.w).slice(3 * 2048, 4 * 2048));
  await session.close();
});

test('initialisers that do not fit are refused by name', () => {
  const g = createGraph();
  const [x, w] = [g.input('x', 'f32', ['B', 2]), g.parameter('w', [2, 3])];
  const huge = g.parameter('huge', [2 ** 29]);
  g.input('unused', 'f32', []);
  const y = ops.matmul(g, x, w);
  const refusals: readonly (readonly [Record<string, TensorData>, string])[] = [
    [
      { weights: new Float32Array(6) },
      'initialiser "weights": wanted the name of an input that an output needs, one of: x, w (called from',
    ],
    [{ unused: new Float32Array(1) }, 'initialiser "unused": wanted the name of an input'],
    [
      { w: new Float32Array(5) },
      'graph op "initialiser "w"" on f32[2,3]: wanted data to fit, all of fixed length, not 5 of f32',
    ],
    [{ w: new Int32Array(6) }, 'wanted data to fit, all of fixed length, not 6 of i32'],
    [
      { x: new Float32Array(2) },
      'graph op "initialiser "x"" on f32[B,2]: wanted data to fit, all of fixed length',
    ],
  ];
  for (const [initialisers, message] of refusals) {
    expect(() => toModel({ y }, { initialisers })).toThrow(message);
  }
  expect(() => toModel({ w: y }, { initialisers: { w: new Float32Array(6) } })).toThrow(
    'model output "w": wanted a name that no input has',
  );
  expect(() =>
    toModel({ y: ops.neg(g, huge) }, { initialisers: { huge: new Float32Array(2 ** 29) } }),
  ).toThrow('a model with 2147483648 bytes of constants: wanted at most 2080374783');
});

test('the file says who made it, and holds the notes given', () => {
  const g = createGraph();
  const text = (options?: ModelOptions): Record<number, string[]> => {
    const found: Record<number, string[]> = { 2: [], 14: [] };
    for (const { field, bytes } of decode(toModel({ y: g.scalar(1) }, options))) {
      if (field === 2) found[2]!.push(Buffer.from(bytes).toString());
      if (field === 14) found[14]!.push(...decode(bytes).map((each) => Buffer.from(each.bytes).toString()));
    }
    return found;
  };
  expect(text()).toEqual({ 2: ['agentrl-lab'], 14: [] });
  const metadata = { words: '["größe","a"]', version: '3' };
  expect(text({ producer: 'lab 2', metadata })).toEqual({
    2: ['lab 2'],
    14: ['words', '["größe","a"]', 'version', '3'],
  });
});

test('notes do not keep onnxruntime from loading the file', async () => {
  const g = createGraph();
  const model = toModel({ y: g.scalar(7) }, { producer: '', metadata: { a: '', b: 'x'.repeat(70_000) } });
  const session = await createSession(model, { threads: 1 });
  expect(values((await session.run({}))['y'])).toEqual([7]);
  await session.close();
});
