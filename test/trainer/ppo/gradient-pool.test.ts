import { afterEach, expect, test } from 'vitest';
import { initialKnobs } from '../../../src/domain/knob.ts';
import { createRandom } from '../../../src/domain/random.ts';
import { initialWeights } from '../../../trainer/policy/parameters.ts';
import type { Batch } from '../../../trainer/ppo/batch.ts';
import { GradientPool } from '../../../trainer/ppo/gradient-pool.ts';
import { batchOf, randomRows, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

const COUNT = 12;
let pool: GradientPool;
afterEach(async () => await pool.close());

function batch(): Batch {
  const old = new Float32Array(COUNT * SMALL_LAYOUT.size).fill(-2);
  const actions = new Int32Array(COUNT).fill(SMALL_LAYOUT.bare.noop);
  const advantages = Float32Array.from({ length: COUNT }, (_, i) => i - 5);
  return batchOf(randomRows(SMALL, COUNT, createRandom(1)), actions, old, advantages, advantages);
}
const rows = (from: number, to: number): Int32Array =>
  Int32Array.from({ length: to - from }, (_, i) => from + i);

async function start(threads: number): Promise<void> {
  pool = await GradientPool.create(SMALL, threads);
  pool.weights.set(initialWeights(SMALL, 1));
}

test('the gradients of the parts add up to that of the whole', async () => {
  await start(2);
  pool.setBatch(batch());
  const knobs = initialKnobs();
  const [whole] = await pool.run([{ rows: rows(0, COUNT), share: 1 }], knobs);
  const expected = whole!.gradient.slice();
  const parts = await pool.run(
    [
      { rows: rows(0, 8), share: 8 / COUNT },
      { rows: rows(8, COUNT), share: 4 / COUNT },
    ],
    knobs,
  );
  expect(expected.some((value) => Math.abs(value) > 0.01)).toBe(true);
  for (const [i, value] of expected.entries()) {
    expect((parts[0]!.gradient[i] ?? 0) + (parts[1]!.gradient[i] ?? 0)).toBeCloseTo(value, 4);
  }
  const loss = (parts[0]!.losses.loss * 8 + parts[1]!.losses.loss * 4) / COUNT;
  expect(loss).toBeCloseTo(whole!.losses.loss, 4);
});

test('a batch that the model cannot take fails its part, and the thread goes on', async () => {
  await start(1);
  const knobs = initialKnobs();
  const bad = batch();
  bad.tokens[0] = SMALL.vocabulary;
  pool.setBatch(bad);
  const part = { rows: rows(0, COUNT), share: 1 };
  await expect(pool.run([part], knobs)).rejects.toThrow(
    /a gradient thread of the trainer failed: .*indices/u,
  );
  pool.setBatch(batch());
  const [result] = await pool.run([part], knobs);
  expect(Number.isFinite(result?.losses.loss)).toBe(true);
});

test('a part without a batch is an error', async () => {
  await start(1);
  await expect(pool.run([{ rows: rows(0, 1), share: 1 }], initialKnobs())).rejects.toThrow(
    'a part came before the batch it is of',
  );
});

test('a thread that ends in the middle of a part is an error, not a wait without end', async () => {
  await start(1);
  pool.setBatch(batch());
  const running = pool.run([{ rows: rows(0, COUNT), share: 1 }], initialKnobs());
  await Promise.all([expect(running).rejects.toThrow('it ended with code 1'), pool.close()]);
});
