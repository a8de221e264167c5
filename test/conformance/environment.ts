import { describe, expect, test } from 'vitest';
import { checkEnvironment } from '../../envs/conformance.ts';
import type { EnvironmentDefinition } from '../../envs/contract.ts';

/** The suite that every environment has to pass, with options that let it answer at once. */
export function testEnvironmentConformance(
  name: string,
  definition: EnvironmentDefinition,
  env: Readonly<Record<string, unknown>> = {},
): void {
  describe(`the contract of environments, kept by ${name}`, () => {
    test.each([1, 2, 3])(
      'nothing is found wrong in 20 episodes of each family and split, seed %i',
      async (seed) => {
        expect(await checkEnvironment(definition, { episodes: 20, seed, env })).toEqual([]);
      },
    );

    test('the catalog announces tasks under the name of the environment', () => {
      expect(definition.catalog.env).toBe(name);
      expect(definition.catalog.families.every(({ train, heldOut }) => train > 0 && heldOut > 0)).toBe(true);
    });
  });
}
