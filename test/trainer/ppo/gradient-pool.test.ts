import { afterEach, expect, test } from 'vitest';
import { initialKnobs } from '../../../src/domain/knob.ts';
import { createRandom } from '../../../src/domain/random.ts';
import { initialWeights } from '../../../trainer/policy/parameters.ts';
import type { Batch } from '../../../trainer/ppo/batch.ts';
import { GradientPool } from '../../../trainer/ppo/gradient-pool.ts';
import { batchOf, OPTIONS, randomRows, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

const COUNT = 12;
const UNSCALED = { shift: 0, scale: 1 };
const weights = initialWeights(SMALL, 1);
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
  pool = await GradientPool.create(SMALL, threads, OPTIONS);
}

test('the gradients of the parts add up to that of the whole', async () => {
  await start(2);
  pool.setBatch(batch());
  const knobs = initialKnobs();
  const [whole] = await pool.run(weights, [{ rows: rows(0, COUNT), share: 1, scaling: UNSCALED }], knobs);
  const expected = whole!.gradient.slice();
  const parts = await pool.run(
    weights,
    [
      { rows: rows(0, 8), share: 8 / COUNT, scaling: UNSCALED },
      { rows: rows(8, COUNT), share: 4 / COUNT, scaling: UNSCALED },
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

test.each([1, 2])(
  'a batch that the model cannot take fails the run, and the next one is right (%i parts)',
  async (threads) => {
    await start(threads);
    const knobs = initialKnobs();
    const parts = Array.from({ length: threads }, () => ({
      rows: rows(0, COUNT),
      share: 1 / threads,
      scaling: UNSCALED,
    }));
    pool.setBatch(batch());
    const before = await pool.run(weights, parts, knobs);
    const expected = before.map(({ losses, gradient }) => ({ losses, gradient: gradient.slice() }));
    const bad = batch();
    bad.observations.tokens?.fill(SMALL.vocabulary, 0, 1);
    pool.setBatch(bad);
    await expect(pool.run(weights, parts, knobs)).rejects.toThrow(
      /a gradient thread of the trainer failed: .*indices/u,
    );
    pool.setBatch(batch());
    const after = await pool.run(weights, parts, knobs);
    expect(after.map(({ losses, gradient }) => ({ losses, gradient }))).toEqual(expected);
  },
);

test('more parts than threads are refused', async () => {
  await start(1);
  pool.setBatch(batch());
  const part = { rows: rows(0, 2), share: 0.5, scaling: UNSCALED };
  await expect(pool.run(weights, [part, part], initialKnobs())).rejects.toThrow('asked for 2 parts');
});

test('a part without a batch is an error', async () => {
  await start(1);
  await expect(
    pool.run(weights, [{ rows: rows(0, 1), share: 1, scaling: UNSCALED }], initialKnobs()),
  ).rejects.toThrow('a part came before the batch it is of');
});

test('a thread that ends in the middle of a part is an error, not a wait without end', async () => {
  await start(2);
  pool.setBatch(batch());
  const part = { rows: rows(0, COUNT), share: 0.5, scaling: UNSCALED };
  const running = pool.run(weights, [part, part], initialKnobs());
  await Promise.all([expect(running).rejects.toThrow('it ended with code 1'), pool.close()]);
});
