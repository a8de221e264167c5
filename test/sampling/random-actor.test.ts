import fc from 'fast-check';
import { expect, it } from 'vitest';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import { createRandom } from '../../src/domain/random.ts';
import { createRandomActor } from '../../src/sampling/random-actor.ts';
import { chooseAction } from '../../trainer/policy/sample-action.ts';

const layout = actionLayout(policySpecSchema.parse({ kind: 'features', features: 1 }));
const { size } = layout;

it('gives every legal action the same probability, and no other one any', async () => {
  const masks = fc.array(fc.array(fc.boolean(), { minLength: size, maxLength: size }), {
    minLength: 1,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(masks, async (rows) => {
      const mask = Float32Array.from(rows.flat(), Number);
      const { logProbabilities, values } = await createRandomActor(layout).run(rows.length, { mask });
      expect(values).toEqual(new Float32Array(rows.length));
      for (const [row, legal] of rows.entries()) {
        const count = legal.filter(Boolean).length;
        for (const [action, is] of legal.entries()) {
          const probability = Math.exp(logProbabilities[row * size + action]!);
          expect(probability).toBeCloseTo(is ? 1 / count : 0, 5);
        }
      }
    }),
  );
});

it('and the draw takes each of them about as often', async () => {
  const mask = Float32Array.from({ length: size }, (_, index) => index % 2);
  const { logProbabilities } = await createRandomActor(layout).run(1, { mask });
  const counts = Array.from({ length: size }, () => 0);
  const random = createRandom(7);
  for (let n = 0; n < 3000; n++) counts[chooseAction(logProbabilities, mask, 'sampled', random)]!++;
  const legal = counts.filter((_, index) => index % 2 === 1);
  expect(counts.filter((_, index) => index % 2 === 0).every((count) => count === 0)).toBe(true);
  for (const count of legal) expect(Math.abs(count / 3000 - 1 / legal.length)).toBeLessThan(0.04);
});
