import { LabError } from '../src/domain/error.ts';
import { nearest } from '../src/domain/nearest.ts';
import type { EnvironmentDefinition } from './contract.ts';
import { workbench } from './workbench/definition.ts';

/** Every environment that a config can name. */
export const ENVIRONMENTS: Readonly<Record<string, EnvironmentDefinition>> = { workbench };

/** The environment of that name. Throws `environment-invalid` with the names there are. */
export function findEnvironment(name: string): EnvironmentDefinition {
  const definition = Object.hasOwn(ENVIRONMENTS, name) ? ENVIRONMENTS[name] : undefined;
  if (definition !== undefined) return definition;
  const names = Object.keys(ENVIRONMENTS);
  const meant = nearest(name, names);
  throw new LabError('environment-invalid', {
    message: `there is no environment "${name}"; there are: ${names.join(', ')}`,
    hint: meant === null ? `set env.name to one of: ${names.join(', ')}.` : `did you mean ${meant}?`,
  });
}
