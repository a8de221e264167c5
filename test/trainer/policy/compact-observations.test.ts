import fc from 'fast-check';
import { expect, test } from 'vitest';
import { initialKnobs } from '../../../src/domain/knob.ts';
import { CANDIDATE_TOKENS, policySpecSchema } from '../../../src/domain/policy-spec.ts';
import { createRandom } from '../../../src/domain/random.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import {
  compactFeeds,
  compactObservations,
  selectSamples,
} from '../../../trainer/policy/compact-observations.ts';
import { distinctRows, selectDistinct } from '../../../trainer/policy/distinct-rows.ts';
import { createPolicy } from '../../../trainer/policy/inference.ts';
import { buildNetwork, networkInputs } from '../../../trainer/policy/network.ts';
import { observationFeeds } from '../../../trainer/policy/observation-arrays.ts';
import { initialWeights } from '../../../trainer/policy/parameters.ts';
import { weightFeeds } from '../../../trainer/policy/weight-feeds.ts';
import { compactBatch, PartGradients } from '../../../trainer/ppo/gradient-part.ts';
import { createSession, type SessionTensor } from '../../../trainer/session.ts';
import { LossModel } from '../loss-model.ts';
import { batchOf, OPTIONS, type Rows, randomRows, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

const COUNT = 24;
const { size, slots } = SMALL_LAYOUT;

function copy(array: Int32Array, width: number, to: number, from: number): void {
  array.copyWithin(to * width, from * width, (from + 1) * width);
}

/** Random samples; every third is the one before it once more, and half of the lines of the others are those of the first. */
function repetitiveRows(): Rows {
  const rows = randomRows(SMALL, COUNT, createRandom(3));
  const random = createRandom(4);
  for (let sample = 1; sample < COUNT; sample++) {
    if (sample % 3 === 0) {
      copy(rows.tokens, SMALL.sentences * SMALL.tokens, sample, sample - 1);
      copy(rows.candidates, slots * CANDIDATE_TOKENS, sample, sample - 1);
      continue;
    }
    for (let line = 0; line < SMALL.sentences; line++) {
      if (random.next() < 0.5) copy(rows.tokens, SMALL.tokens, sample * SMALL.sentences + line, line);
    }
  }
  return rows;
}

function expectClose(got: Float32Array, wanted: Float32Array): void {
  expect(got).toHaveLength(wanted.length);
  let largest = 0;
  for (const [i, value] of wanted.entries())
    largest = Math.max(largest, Math.abs((got[i] ?? Number.NaN) - value));
  expect(largest).toBeLessThan(1e-6);
}

function floats(tensor: SessionTensor | undefined): Float32Array {
  return tensor?.dtype === 'f32' ? tensor.data : new Float32Array(0);
}

test('distinct rows put back in their places are the rows, and no two are equal', () => {
  const rows = fc.array(fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 2 }), fc.constantFrom(0, 65535)), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(rows, (given) => {
      const width = 3;
      const { table, ids } = distinctRows(Int32Array.from([...given.flat(), 9, 9, 9]), width, given.length);
      const back = [...ids].map((id) => [...table.subarray(id * width, (id + 1) * width)]);
      expect(back).toEqual(given);
      expect(table).toHaveLength(width * new Set(given.map((row) => row.join())).size);
      // In the order in which they first occur.
      expect([...new Set(ids)]).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    }),
  );
});

test('rows whose hashes fall together are told apart', () => {
  // More rows than slots that their hashes could be spread over without meeting.
  const rows = Int32Array.from({ length: 3000 }, (_, i) => i % 1500);
  const { table, ids } = distinctRows(rows, 1, rows.length);
  expect([...table]).toEqual([...rows.subarray(0, 1500)]);
  expect([...ids]).toEqual([...rows]);
});

test('a selection of samples has their rows and no others', () => {
  const [width, each, samples] = [2, 3, 8];
  const cases = fc.record({
    rows: fc.array(fc.nat({ max: 2 }), {
      minLength: width * each * samples,
      maxLength: width * each * samples,
    }),
    chosen: fc.array(fc.nat({ max: samples - 1 }), { maxLength: 12 }),
  });
  fc.assert(
    fc.property(cases, ({ rows, chosen }) => {
      const all = distinctRows(Int32Array.from(rows), width, each * samples);
      const { table, ids } = selectDistinct(all, { width, each, samples: Int32Array.from(chosen) });
      const back = [...ids].flatMap((id) => [...table.subarray(id * width, (id + 1) * width)]);
      expect(back).toEqual(
        chosen.flatMap((sample) => rows.slice(sample * each * width, (sample + 1) * each * width)),
      );
      expect(new Set(ids).size).toBe(table.length / width);
    }),
  );
});

test('a policy says of compact observations what it says of whole ones', async () => {
  const rows = repetitiveRows();
  const weights = initialWeights(SMALL, 7);
  const g = createGraph();
  const { logProbabilities, value } = buildNetwork(g, SMALL, networkInputs(g, SMALL, 'whole'));
  const whole = await createSession(toModel({ logProbabilities, value }), { threads: 1 });
  const expected = await whole.run({
    ...weightFeeds(SMALL, weights),
    ...observationFeeds(SMALL, rows, COUNT),
  });
  const policy = await createPolicy(SMALL, { threads: 1 });
  policy.load(weights);
  const got = await policy.run(COUNT, rows);
  expectClose(got.logProbabilities, floats(expected['logProbabilities']));
  expectClose(got.values, floats(expected['value']));
  expect(await policy.run(COUNT, rows)).toEqual(got);
  await Promise.all([whole.close(), policy.close()]);
});

test('gradients and losses of compact observations are those of whole ones, and the same bits again', async () => {
  const rows = repetitiveRows();
  const weights = initialWeights(SMALL, 7);
  const old = new Float32Array(COUNT * size).fill(-2);
  const advantages = Float32Array.from({ length: COUNT }, (_, i) => Math.sin(i));
  const actions = new Int32Array(COUNT).fill(SMALL_LAYOUT.bare.noop);
  const batch = batchOf(rows, actions, old, advantages, advantages);
  const whole = await LossModel.create(SMALL, OPTIONS);
  const expected = await whole.run(weights, batch, initialKnobs());
  const compact = await PartGradients.create(SMALL, OPTIONS);
  const part = {
    rows: Int32Array.from(rows.mask.subarray(0, COUNT).keys()),
    share: 1,
    scaling: { shift: 0, scale: 1 },
  };
  const run = async () => {
    const said = await compact.run(weights, compactBatch(SMALL, batch), part, initialKnobs());
    return { ...said, gradient: compact.gradient.slice() };
  };
  const got = await run();
  expect(expected.gradient.some((value) => Math.abs(value) > 0.01)).toBe(true);
  expectClose(got.gradient, expected.gradient);
  expectClose(got.logRatios, expected.logRatios);
  expect(got.losses.loss).toBeCloseTo(expected.losses.loss, 6);
  expect(await run()).toEqual(got);
  await compact.close();
});

test('observations without rows of words stay as they are', () => {
  const spec = policySpecSchema.parse({ kind: 'features', features: 2 });
  const features = Float32Array.of(1, 2, 3, 4, 5, 6);
  const mask = new Float32Array(3 * 7).fill(1);
  const all = compactObservations(spec, { features, mask }, 3);
  const feeds = compactFeeds(spec, selectSamples(spec, all, Int32Array.of(2, 0)), 2);
  expect(Object.keys(feeds)).toEqual(['features', 'mask']);
  expect(feeds['features']).toEqual({ dtype: 'f32', shape: [2, 1, 2], data: Float32Array.of(5, 6, 1, 2) });
});
