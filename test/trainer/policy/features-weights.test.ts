import { describe, expect, test } from 'vitest';
import { type PolicySpec, policySpecSchema } from '../../../src/domain/policy-spec.ts';
import { initialWeights, parameterShapes, splitWeights } from '../../../trainer/policy/parameters.ts';

const MLP = policySpecSchema.parse({ kind: 'features', features: 4, argumentSlots: { input: 2 } });
const GRU = policySpecSchema.parse({ kind: 'features', features: 3, window: 5, network: 'gru', hidden: 12 });
const TEXT = policySpecSchema.parse({ vocabulary: 64, embedding: 8, hidden: 10 });

/** Columns `from` to before `to` of a matrix, as rows. */
function columns(matrix: Float32Array, width: number, from: number, to: number): number[][] {
  return Array.from({ length: matrix.length / width }, (_, row) => [
    ...matrix.subarray(row * width + from, row * width + to),
  ]);
}

/** The products of every two rows, or of every two columns when they are fewer, as the largest distance from gain² · I. */
function defect(rows: readonly (readonly number[])[], gain: number): number {
  const width = rows[0]?.length ?? 0;
  const vectors =
    rows.length <= width
      ? rows
      : Array.from({ length: width }, (_, column) => rows.map((row) => row[column] ?? 0));
  const products = vectors.flatMap((a, i) =>
    vectors.map((b, j) => a.reduce((sum, x, k) => sum + x * (b[k] ?? 0), 0) - (i === j ? gain ** 2 : 0)),
  );
  return Math.max(...products.map(Math.abs));
}

/** Of one of the GRU's gates, or of a whole matrix. */
function defectOf(spec: PolicySpec, name: string, gain: number, blocks = 1): number {
  const width = parameterShapes(spec).find((each) => each.name === name)?.shape[1] ?? 0;
  const matrix = splitWeights(spec, initialWeights(spec, 5, 'orthogonal'))[name] ?? new Float32Array(0);
  const block = width / blocks;
  return Math.max(
    ...Array.from({ length: blocks }, (_, i) =>
      defect(columns(matrix, width, i * block, (i + 1) * block), gain),
    ),
  );
}

describe('orthogonal weights', () => {
  test.each([
    ['policyFirst', Math.SQRT2],
    ['policySecond', Math.SQRT2],
    ['policyOutput', 0.01],
    ['valueFirst', Math.SQRT2],
    ['valueSecond', Math.SQRT2],
    ['valueOutput', 1],
  ])('%s of the mlp has orthonormal rows or columns times its gain', (name, gain) => {
    expect(defectOf(MLP, name, gain)).toBeLessThan(1e-6);
  });

  test('are orthogonal gate by gate in a GRU', () => {
    expect(defectOf(GRU, 'gruHidden', 1, 3)).toBeLessThan(1e-6);
    expect(defectOf(GRU, 'gruInput', 1, 3)).toBeLessThan(1e-6);
    expect(defectOf(TEXT, 'gruHidden', 1, 3)).toBeLessThan(1e-6);
  });

  test('keep the gains of the text policy, and leave its embeddings as they are', () => {
    expect(defectOf(TEXT, 'type', 0.1)).toBeLessThan(1e-6);
    expect(defectOf(TEXT, 'query', 0.3)).toBeLessThan(1e-6);
    expect(defectOf(TEXT, 'valueHidden', 1)).toBeLessThan(1e-6);
    const embeddings = (how: 'uniform' | 'orthogonal') =>
      splitWeights(TEXT, initialWeights(TEXT, 5, how))['embedding'];
    expect(embeddings('orthogonal')).toEqual(embeddings('uniform'));
  });

  test('are a function of the seed, and differ between layers of one shape', () => {
    const weights = initialWeights(MLP, 1, 'orthogonal');
    expect(initialWeights(MLP, 1, 'orthogonal')).toEqual(weights);
    expect(initialWeights(MLP, 2, 'orthogonal')).not.toEqual(weights);
    const { policySecond, valueSecond } = splitWeights(MLP, weights);
    expect(policySecond).not.toEqual(valueSecond);
  });
});

describe('weights of either sort', () => {
  test.each(['uniform', 'orthogonal'] as const)('begin with biases of 0: %s', (how) => {
    for (const spec of [MLP, GRU, TEXT]) {
      const views = splitWeights(spec, initialWeights(spec, 3, how));
      for (const [name, view] of Object.entries(views))
        expect([name, view.every((value) => value === 0)]).toEqual([name, name.endsWith('Bias')]);
    }
  });

  test('uniform ones have the variance gain² / inputs, and no outliers', () => {
    const wide = policySpecSchema.parse({ kind: 'features', features: 4, hidden: 200 });
    const { policySecond = new Float32Array(0) } = splitWeights(wide, initialWeights(wide, 3));
    const variance = policySecond.reduce((sum, value) => sum + value ** 2, 0) / policySecond.length;
    expect(variance).toBeCloseTo(2 / 200, 3);
    const bound = Math.sqrt((3 * 2) / 200);
    expect(policySecond.every((value) => Math.abs(value) <= bound)).toBe(true);
  });
});
