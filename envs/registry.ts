import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { errorText, LabError } from '../src/domain/error.ts';
import { nearest } from '../src/domain/nearest.ts';
import { catalogSchema } from '../src/domain/task.ts';
import { acrobot, cartpole } from './classic/definitions.ts';
import type { EnvironmentDefinition } from './contract.ts';
import { corridor } from './corridor/definition.ts';
import { relay } from './relay/definition.ts';
import { waiting } from './waiting/definition.ts';
import { workbench } from './workbench/definition.ts';

/** Every environment that a config can name without a path. */
export const ENVIRONMENTS: Readonly<Record<string, EnvironmentDefinition>> = {
  workbench,
  cartpole,
  acrobot,
  corridor,
  waiting,
  relay,
};

/**
 * The environment of that name, or the one that a module exports as `environment` when the name is an absolute path. Throws
 * `environment-invalid`: with the names there are, or with what is wrong with the module.
 */
export async function findEnvironment(name: string): Promise<EnvironmentDefinition> {
  const definition = Object.hasOwn(ENVIRONMENTS, name) ? ENVIRONMENTS[name] : undefined;
  if (definition !== undefined) return definition;
  if (isAbsolute(name)) return readDefinition(name, await importModule(name));
  const names = Object.keys(ENVIRONMENTS);
  const meant = nearest(name, names);
  throw new LabError('environment-invalid', {
    message: `there is no environment "${name}"; there are: ${names.join(', ')}`,
    hint:
      meant === null
        ? `set env.name to one of: ${names.join(', ')}; or to the path of a module of yours, beginning with "./"`
        : `did you mean ${meant}?`,
  });
}

async function importModule(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (thrown) {
    const missing = !existsSync(path);
    throw new LabError('environment-invalid', {
      message: missing
        ? `there is no environment module ${path}`
        : `the environment module ${path} does not load: ${errorText(thrown)}`,
      hint: missing
        ? 'a path in a config is relative to the config file; on other hosts the file must be at the same place'
        : 'it must be JavaScript that Node can import: try node on the file',
      cause: thrown,
    });
  }
}

const isFunction = (value: unknown): boolean => typeof value === 'function';
const definitionSchema = z.looseObject({
  catalog: catalogSchema,
  createTask: z.custom(isFunction, 'must be a function'),
  create: z.custom(isFunction, 'must be a function'),
  createOracle: z.custom(isFunction, 'must be a function').optional(),
  tools: z.record(z.string(), z.looseObject({ readOnly: z.boolean() })).optional(),
});

function readDefinition(path: string, module: unknown): EnvironmentDefinition {
  const environment =
    typeof module === 'object' && module !== null && 'environment' in module ? module.environment : undefined;
  const parsed = definitionSchema.safeParse(environment);
  if (isDefinition(environment, parsed.success)) return environment;
  const [issue] = parsed.error?.issues ?? [];
  const where = ['environment', ...(issue?.path.map(String) ?? [])].join('.');
  throw new LabError('environment-invalid', {
    message:
      environment === undefined
        ? `the environment module ${path} does not export "environment"`
        : `the environment module ${path} is not as agreed: ${where}: ${issue?.message ?? 'not an object'}`,
    hint: 'docs/ENVIRONMENTS.md has a complete module to start from',
  });
}

/** The schema looks at all there is to see of it; what the functions do shows when they are called. */
function isDefinition(value: unknown, matches: boolean): value is EnvironmentDefinition {
  return matches && typeof value === 'object' && value !== null;
}
