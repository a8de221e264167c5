import { describe, expect, test } from 'vitest';
import { ENVIRONMENTS, findEnvironment } from '../../envs/registry.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { testEnvironmentConformance } from '../conformance/environment.ts';

for (const [name, definition] of Object.entries(ENVIRONMENTS)) testEnvironmentConformance(name, definition);

describe('the registry', () => {
  test('an environment is found by its name', () => {
    expect(findEnvironment('workbench')).toBe(workbench);
  });

  test('a mistyped name is refused with the name that was meant', () => {
    expect(() => findEnvironment('workbensh')).toThrow(
      expect.objectContaining({
        code: 'environment-invalid',
        message: 'there is no environment "workbensh"; there are: workbench',
        hint: 'did you mean workbench?',
      }),
    );
  });

  test('a name like none, even one of an object’s own members, is refused with those there are', () => {
    expect(() => findEnvironment('toString')).toThrow(
      expect.objectContaining({ code: 'environment-invalid', hint: 'set env.name to one of: workbench.' }),
    );
  });
});
