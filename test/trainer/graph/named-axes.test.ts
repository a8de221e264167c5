import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differentiate } from '../../../trainer/graph/differentiate.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import { gatherRows, matmul, mul, reduceMean, reduceSum, tanh } from '../../../trainer/graph/ops.ts';
import { createSession, type SessionTensor } from '../../../trainer/session.ts';

const [IN, OUT] = [3, 2];

function floats(data: readonly number[], ...shape: number[]): SessionTensor {
  return { dtype: 'f32', shape, data: Float32Array.from(data) };
}

/** y = tanh(rows · w) of the distinct rows, of which each of B samples has two; and the gradients of a loss over all. */
async function model(): Promise<Awaited<ReturnType<typeof createSession>>> {
  const g = createGraph();
  const rows = g.input('rows', 'f32', ['distinct', IN]);
  const ids = g.input('ids', 'i32', ['B', 2]);
  const weight = g.input('weight', 'f32', ['B', 2, OUT]);
  const w = g.parameter('w', [IN, OUT]);
  const computed = tanh(g, matmul(g, rows, w));
  const spread = gatherRows(g, computed, ids);
  const loss = reduceMean(g, reduceSum(g, mul(g, spread, weight), [1, 2]));
  const [dw, dComputed] = differentiate(g, loss, [w, computed]);
  return await createSession(
    toModel({ spread, dw: dw!, dComputed: dComputed!, mean: reduceMean(g, computed) }),
    {
      threads: 1,
    },
  );
}

test('what is computed of distinct rows and spread is what is computed of each row, and so are gradients', async () => {
  const session = await model();
  const number = fc.integer({ min: -8, max: 8 }).map((eighths) => eighths / 8);
  const cases = fc
    .record({ distinct: fc.integer({ min: 1, max: 6 }), batch: fc.integer({ min: 1, max: 5 }) })
    .chain(({ distinct, batch }) =>
      fc.record({
        rows: fc.array(fc.tuple(number, number, number), { minLength: distinct, maxLength: distinct }),
        ids: fc.array(fc.nat({ max: distinct - 1 }), { minLength: 2 * batch, maxLength: 2 * batch }),
        w: fc.array(number, { minLength: IN * OUT, maxLength: IN * OUT }),
        weight: fc.array(number, { minLength: 2 * batch * OUT, maxLength: 2 * batch * OUT }),
      }),
    );
  await fc.assert(
    fc.asyncProperty(cases, async ({ rows, ids, w, weight }) => {
      const batch = ids.length / 2;
      const outputs = await session.run({
        rows: floats(rows.flat(), rows.length, IN),
        ids: { dtype: 'i32', shape: [batch, 2], data: Int32Array.from(ids) },
        w: floats(w, IN, OUT),
        weight: floats(weight, batch, 2, OUT),
      });
      const y = rows.map((row) =>
        Array.from({ length: OUT }, (_, o) =>
          Math.tanh(row.reduce((sum, x, i) => sum + x * w[i * OUT + o]!, 0)),
        ),
      );
      const expected = ids.flatMap((id) => y[id]!);
      const gradient = rows.map(() => Array.from({ length: OUT }, () => 0));
      for (const [place, id] of ids.entries()) {
        for (let o = 0; o < OUT; o++) gradient[id]![o]! += weight[place * OUT + o]! / batch;
      }
      const dw = Array.from({ length: IN * OUT }, (_, at) => {
        const [i, o] = [Math.floor(at / OUT), at % OUT];
        return rows.reduce((sum, row, r) => sum + row[i]! * gradient[r]![o]! * (1 - y[r]![o]! ** 2), 0);
      });
      expectClose(outputs['spread'], expected);
      expectClose(outputs['dComputed'], gradient.flat());
      expectClose(outputs['dw'], dw);
      expectClose(outputs['mean'], [y.flat().reduce((a, b) => a + b, 0) / (rows.length * OUT)]);
    }),
    { numRuns: 60 },
  );
  await session.close();
  expect.hasAssertions();
});

function expectClose(tensor: SessionTensor | undefined, expected: readonly number[]): void {
  expect(tensor?.data).toHaveLength(expected.length);
  for (const [i, value] of expected.entries()) expect(tensor?.data[i]).toBeCloseTo(value, 5);
}
