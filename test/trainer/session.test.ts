import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGraph } from '../../trainer/graph/graph.ts';
import { toModel } from '../../trainer/graph/onnx-file.ts';
import * as ops from '../../trainer/graph/ops.ts';
import { createSession, type Session, type SessionTensor } from '../../trainer/session.ts';

function row(...numbers: number[]): FloatTensor {
  return { dtype: 'f32', shape: [1, numbers.length], data: Float32Array.from(numbers) };
}

type FloatTensor = Extract<SessionTensor, { dtype: 'f32' }>;

let session: Session;

beforeAll(async () => {
  const g = createGraph();
  const x = g.input('x', 'f32', ['B', 2]);
  const w = g.parameter('w', [2]);
  session = await createSession(toModel({ product: ops.mul(g, x, w), next: ops.add(g, w, 1) }), {
    threads: 2,
  });
});

afterAll(() => session.close());

const w: FloatTensor = { dtype: 'f32', shape: [2], data: Float32Array.of(2, 3) };

test('outputs are fed to the next run as they are', async () => {
  let weights: SessionTensor = w;
  for (let i = 0; i < 5; i++) weights = (await session.run({ x: row(1, 1), w: weights }))['next']!;
  expect(weights).toEqual({ dtype: 'f32', shape: [2], data: Float32Array.of(7, 8) });
  expect([...w.data]).toEqual([2, 3]);
});

test('a view of a larger buffer is read from where it begins', async () => {
  const buffer = Float32Array.of(9, 9, 4, 5, 9);
  const result = await session.run({ x: { dtype: 'f32', shape: [1, 2], data: buffer.subarray(2, 4) }, w });
  expect([...result['product']!.data]).toEqual([8, 15]);
});

test('an output can be received in an array of the caller', async () => {
  const product = row(0, 0);
  const result = await session.run({ x: row(1, 2), w }, { product });
  expect([...product.data]).toEqual([2, 6]);
  expect([...result['next']!.data]).toEqual([3, 4]);
});

test('runs at the same time on one session do not mix', async () => {
  const runs = Array.from({ length: 8 }, (_, i) => session.run({ x: row(i, -i), w }));
  const results = await Promise.all(runs);
  expect(results.map((result) => [...result['product']!.data])).toEqual(runs.map((_, i) => [i * 2, -i * 3]));
});

test('wrong feeds are refused, naming them', async () => {
  const x = row(1, 1);
  await expect(session.run({ x })).rejects.toThrow('missing inputs [w], unknown inputs []');
  await expect(session.run({ x, w, y: x })).rejects.toThrow('missing inputs [], unknown inputs [y]');
  await expect(session.run({ x: w, w })).rejects.toThrow(/the model could not be run: .*\bx\b/);
  await expect(
    session.run({ x: { dtype: 'i32', shape: [1, 2], data: Int32Array.of(1, 2) }, w }),
  ).rejects.toThrow('the model could not be run');
  await expect(
    session.run({ x: { dtype: 'f32', shape: [2, 2], data: Float32Array.of(1) }, w }),
  ).rejects.toThrow('tensor "x": f32[2,2] of 1 elements');
});

test('a file that is no model is refused', async () => {
  await expect(createSession(Uint8Array.of(1, 2, 3), { threads: 1 })).rejects.toMatchObject({
    code: 'graph-invalid',
    message: expect.stringContaining('a model of 3 bytes could not be loaded'),
  });
});

test('a model that scatters is refused on more than one thread, where onnxruntime loses updates', async () => {
  const g = createGraph();
  const ids = g.input('ids', 'i32', ['B']);
  const table = g.node('zeros', [], { shape: [2, 1] });
  const updates = g.input('updates', 'f32', ['B', 1]);
  const model = toModel({ sum: ops.scatterAddRows(g, table, ids, updates) });
  await expect(createSession(model, { threads: 2 })).rejects.toThrow(
    'a model that scatters cannot run on 2 threads: wanted 1',
  );
  const single = await createSession(model, { threads: 1 });
  const count = 50_000;
  const result = await single.run({
    ids: { dtype: 'i32', shape: [count], data: new Int32Array(count).fill(1) },
    updates: { dtype: 'f32', shape: [count, 1], data: new Float32Array(count).fill(1) },
  });
  expect([...result['sum']!.data]).toEqual([0, count]);
  await single.close();
  await expect(single.run(result)).rejects.toThrow('running a model: missing inputs [ids, updates]');
});

test('a loaded model does not keep the process alive nor block it while it runs', async () => {
  let ticks = 0;
  const timer = setImmediate(() => ticks++);
  await session.run({ x: row(1, 1), w });
  clearImmediate(timer);
  expect(ticks).toBe(1);
});

describe('providers', () => {
  const g = createGraph();
  const model = toModel({ double: ops.mul(g, g.input('x', 'f32', ['B', 2]), 2) });
  // DirectML is part of Windows alone, where the lab does not run.
  const reason = `onnxruntime-node has no such provider on ${process.platform}/${process.arch}`;

  test('without any the CPU is used, and nothing was passed over', () => {
    expect(session).toMatchObject({ provider: 'cpu', fellBackFrom: [] });
  });

  test('one that does not work is refused with the reason, and a next one is not tried unasked', async () => {
    for (const providers of [['dml'], ['dml', 'cpu']]) {
      await expect(createSession(model, { threads: 1, providers })).rejects.toMatchObject({
        code: 'graph-invalid',
        message: `provider dml cannot be used: ${reason}`,
        hint: expect.stringContaining('agentrl-lab devices'),
      });
    }
  });

  test('with leave to fall back the CPU takes its place, and says whose', async () => {
    const providers = ['dml', 'nonsense'];
    const fallen = await createSession(model, { threads: 1, providers, allowFallback: true });
    expect(fallen.provider).toBe('cpu');
    expect(fallen.fellBackFrom).toEqual(providers.map((provider) => ({ provider, reason })));
    expect([...(await fallen.run({ x: row(1, 2) }))['double']!.data]).toEqual([2, 4]);
    await fallen.close();
  });

  test('what comes after the first that works is not tried', async () => {
    const first = await createSession(model, {
      threads: 1,
      providers: ['cpu', 'dml'],
      allowFallback: true,
    });
    expect(first).toMatchObject({ provider: 'cpu', fellBackFrom: [] });
    await first.close();
  });

  test('a fallback to the CPU keeps to its rule: a model that scatters gets no second thread', async () => {
    const table = g.node('zeros', [], { shape: [2, 1] });
    const sum = ops.scatterAddRows(g, table, g.input('ids', 'i32', ['B']), g.input('u', 'f32', ['B', 1]));
    const options = { threads: 2, providers: ['dml'], allowFallback: true };
    await expect(createSession(toModel({ sum }), options)).rejects.toThrow('cannot run on 2 threads');
  });

  test('a model that is refused on the CPU is no matter of providers', async () => {
    const options = { threads: 1, providers: ['dml'], allowFallback: true };
    await expect(createSession(Uint8Array.of(1), options)).rejects.toThrow('could not be loaded');
  });
});
