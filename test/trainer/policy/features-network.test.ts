import { describe, expect, test } from 'vitest';
import { actionLayout, type FeaturesPolicySpec, policySpecSchema } from '../../../src/domain/policy-spec.ts';
import { createRandom } from '../../../src/domain/random.ts';
import { createPolicy } from '../../../trainer/policy/inference.ts';
import { createObservationArrays } from '../../../trainer/policy/observation-arrays.ts';
import { initialWeights, splitWeights } from '../../../trainer/policy/parameters.ts';

function specOf(given: object): FeaturesPolicySpec {
  const slots = { read: 0, select_tool: 0, input: 2 };
  const spec = policySpecSchema.parse({
    kind: 'features',
    features: 3,
    hidden: 5,
    argumentSlots: slots,
    ...given,
  });
  if (spec.kind !== 'features') throw new Error(spec.kind);
  return spec;
}

type Weights = ReturnType<typeof splitWeights>;

/** W x + b for one row, W [inputs, outputs]. */
function dense(weights: Weights, name: string, input: readonly number[]): number[] {
  const [matrix, bias] = [weights[name], weights[`${name}Bias`]];
  if (matrix === undefined || bias === undefined) throw new Error(name);
  return [...bias].map((start, column) =>
    input.reduce((sum, value, row) => sum + value * (matrix[row * bias.length + column] ?? 0), start),
  );
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** A GRU as PyTorch documents it, from a state of zeros; gates in the order reset, update, new. */
function lastState(weights: Weights, hidden: number, rows: readonly (readonly number[])[]): number[] {
  let state = Array.from({ length: hidden }, () => 0);
  for (const row of rows) {
    const input = dense(weights, 'gruInput', row);
    const recurrent = dense(weights, 'gruHidden', state);
    state = state.map((old, i) => {
      const reset = sigmoid((input[i] ?? 0) + (recurrent[i] ?? 0));
      const update = sigmoid((input[hidden + i] ?? 0) + (recurrent[hidden + i] ?? 0));
      const fresh = Math.tanh((input[2 * hidden + i] ?? 0) + reset * (recurrent[2 * hidden + i] ?? 0));
      return (1 - update) * fresh + update * old;
    });
  }
  return state;
}

/** What the heads read: policy, value. `rows` are those of the window that were observed, with their flags cut off. */
function readOf(spec: FeaturesPolicySpec, weights: Weights, flat: readonly number[]): [number[], number[]] {
  if (spec.network === 'mlp') {
    const layers = (first: string, second: string): number[] =>
      dense(weights, second, dense(weights, first, flat).map(Math.tanh)).map(Math.tanh);
    return [layers('policyFirst', 'policySecond'), layers('valueFirst', 'valueSecond')];
  }
  const width = flat.length / spec.window;
  const rows = Array.from({ length: spec.window }, (_, i) => flat.slice(i * width, (i + 1) * width));
  const seen = rows.filter((row) => spec.window === 1 || row[spec.features] === 1);
  const state = lastState(
    weights,
    spec.hidden,
    seen.map((row) => row.slice(0, spec.features)),
  );
  return [state, state];
}

function evaluate(
  spec: FeaturesPolicySpec,
  weights: Weights,
  flat: readonly number[],
  mask: readonly number[],
) {
  const [policy, value] = readOf(spec, weights, flat);
  const logits = dense(weights, 'policyOutput', policy);
  const total = logits.reduce((sum, logit, i) => sum + (mask[i] === 1 ? Math.exp(logit) : 0), 0);
  return {
    logProbabilities: logits.map((logit, i) => (mask[i] === 1 ? logit - Math.log(total) : -50)),
    value: dense(weights, 'valueOutput', value)[0] ?? Number.NaN,
  };
}

/** Random windows; the k-th of them has observations in its newest 1 + k mod window places. */
function randomWindows(spec: FeaturesPolicySpec, count: number) {
  const { size, bare } = actionLayout(spec);
  const random = createRandom(3);
  const arrays = createObservationArrays(spec, count);
  const features = arrays.features ?? new Float32Array(0);
  const mask = arrays.mask ?? new Float32Array(0);
  const numbers = features.length / count / spec.window;
  for (let row = 0; row < count; row++) {
    for (let back = 0; back <= row % spec.window; back++) {
      const at = (row * spec.window + spec.window - 1 - back) * numbers;
      for (let i = 0; i < spec.features; i++) features[at + i] = 4 * random.next() - 2;
      if (spec.window > 1) features[at + spec.features] = 1;
    }
    for (let i = 0; i < size; i++) mask[row * size + i] = random.integer(2);
    mask[row * size + bare.noop] = 1;
  }
  return { arrays, features, mask };
}

/** Every parameter away from 0, biases too. */
function anyWeights(spec: FeaturesPolicySpec): Float32Array {
  const random = createRandom(8);
  return initialWeights(spec, 1).map(() => 1.4 * random.next() - 0.7);
}

const CASES: readonly [string, FeaturesPolicySpec][] = [
  ['mlp on one observation', specOf({ network: 'mlp', window: 1 })],
  ['mlp on a window of 4', specOf({ network: 'mlp', window: 4 })],
  ['gru on one observation', specOf({ network: 'gru', window: 1 })],
  ['gru on a window of 4', specOf({ network: 'gru', window: 4 })],
];

describe('the network that reads numbers', () => {
  test.each(CASES)('is what its definition says: %s', async (_, spec) => {
    const rows = 9;
    const { arrays, features, mask } = randomWindows(spec, rows);
    const flat = anyWeights(spec);
    const policy = await createPolicy(spec, { threads: 1 });
    policy.load(flat);
    const { logProbabilities, values } = await policy.run(rows, arrays);
    await policy.close();
    const { size } = actionLayout(spec);
    const width = features.length / rows;
    for (let row = 0; row < rows; row++) {
      const expected = evaluate(
        spec,
        splitWeights(spec, flat),
        [...features.subarray(row * width, (row + 1) * width)],
        [...mask.subarray(row * size, (row + 1) * size)],
      );
      expect(values[row]).toBeCloseTo(expected.value, 5);
      for (const [i, wanted] of expected.logProbabilities.entries())
        expect(logProbabilities[row * size + i]).toBeCloseTo(wanted, 4);
    }
  });

  test('reads an episode the same in a window that is longer than it', async () => {
    const [short, long] = [
      specOf({ network: 'gru', window: 2 }),
      specOf({ network: 'gru', window: 6 }),
    ] as const;
    const observed = [0.5, -1, 2, 1, -0.3, 0.8, 0.1, 1];
    const answers: number[] = [];
    for (const spec of [short, long]) {
      const policy = await createPolicy(spec, { threads: 1 });
      policy.load(anyWeights(spec));
      const arrays = createObservationArrays(spec, 1);
      arrays.features?.set(observed, (arrays.features.length ?? 0) - observed.length);
      arrays.mask?.fill(1);
      const { values, logProbabilities } = await policy.run(1, arrays);
      answers.push(values[0] ?? Number.NaN, logProbabilities[0] ?? Number.NaN);
      await policy.close();
    }
    expect(answers[2]).toBe(answers[0]);
    expect(answers[3]).toBe(answers[1]);
  });
});
