import { expect, test } from 'vitest';
import { createGraph } from '../../../trainer/graph/graph.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { createSession } from '../../../trainer/session.ts';
import { evaluate, floats, ints, mismatches, values } from './gradient-check.ts';

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
