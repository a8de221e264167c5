import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkEnvironment } from '../../envs/conformance.ts';
import { ENVIRONMENTS, findEnvironment } from '../../envs/registry.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { testEnvironmentConformance } from '../conformance/environment.ts';

const OPTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { waiting: { latencyMs: 0 } };

for (const [name, definition] of Object.entries(ENVIRONMENTS)) {
  testEnvironmentConformance(name, definition, OPTIONS[name]);
}

describe('the registry', () => {
  test('an environment is found by its name', async () => {
    expect(await findEnvironment('workbench')).toBe(workbench);
  });

  test('a mistyped name is refused with the name that was meant', async () => {
    await expect(findEnvironment('workbensh')).rejects.toMatchObject({
      code: 'environment-invalid',
      message:
        'there is no environment "workbensh"; there are: workbench, cartpole, acrobot, corridor, waiting, relay',
      hint: 'did you mean workbench?',
    });
  });

  test('a name like none, even one of an object’s own members, is refused with those there are', async () => {
    await expect(findEnvironment('toString')).rejects.toMatchObject({
      code: 'environment-invalid',
      hint: 'set env.name to one of: workbench, cartpole, acrobot, corridor, waiting, relay; or to the path of a module of yours, beginning with "./"',
    });
  });
});

describe('an environment module of the user', () => {
  const directory = mkdtempSync(join(tmpdir(), 'agentrl-env-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  function module(name: string, text: string): string {
    const file = join(directory, name);
    writeFileSync(file, text);
    return file;
  }

  async function refusal(name: string, text: string): Promise<string> {
    const error: unknown = await findEnvironment(module(name, text)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'environment-invalid' });
    return error instanceof Error ? error.message : '';
  }

  test('that of docs/ENVIRONMENTS.md loads and keeps the contract', async () => {
    const example = /```js\n(?<code>\/\/ my-env\.mjs\n.*?)```/su.exec(
      readFileSync('docs/ENVIRONMENTS.md', 'utf8'),
    );
    const file = module('my-env.mjs', example?.groups?.['code'] ?? '');
    const definition = await findEnvironment(file);
    expect(definition.catalog.env).toBe('colours');
    expect(await checkEnvironment(definition, { episodes: 5, seed: 1 })).toEqual([]);
  });

  test('a missing file is named', async () => {
    const file = join(directory, 'none.mjs');
    await expect(findEnvironment(file)).rejects.toMatchObject({
      message: `there is no environment module ${file}`,
      hint: expect.stringContaining('relative to the config file'),
    });
  });

  test.each([
    ['syntax.mjs', 'export const environment = {', /does not load: ./u],
    ['throws.mjs', 'throw new Error("no licence")', /does not load: no licence/u],
    ['imports.mjs', 'import "./gone.mjs"', /does not load: ./u],
    ['nothing.mjs', 'export default {}', /does not export "environment"/u],
    ['null.mjs', 'export const environment = null', /not as agreed: environment: /u],
    ['empty.mjs', 'export const environment = {}', /not as agreed: environment\.catalog: /u],
    [
      'families.mjs',
      `export const environment = { catalog: { env: 'x', version: '1', maxSteps: 3, families: [] } }`,
      /environment\.catalog\.families: /u,
    ],
    [
      'functions.mjs',
      `export const environment = { createTask: 1, create() {},
         catalog: { env: 'x', version: '1', maxSteps: 3, families: [{ name: 'a', train: 1, heldOut: 0 }] } }`,
      /environment\.createTask: must be a function/u,
    ],
  ])('%s is refused with what is wrong', async (name, text, message) => {
    expect(await refusal(name, text)).toMatch(message);
  });
});
