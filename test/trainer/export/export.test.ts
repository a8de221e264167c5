import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { findEnvironment } from '../../../envs/registry.ts';
import {
  type ActionLayout,
  actionLayout,
  observationTensors,
  type PolicySpec,
  policySpecSchema,
} from '../../../src/domain/policy-spec.ts';
import { createRandom, type RandomStream } from '../../../src/domain/random.ts';
import { ACTION_TYPES, type Action, ARGUMENT_TYPES, type Observation } from '../../../src/domain/space.ts';
import { exportPolicy } from '../../../trainer/export/export-policy.ts';
import { encodeSight, type Sight } from '../../../trainer/policy/encode.ts';
import { createPolicy } from '../../../trainer/policy/inference.ts';
import { createObservationArrays } from '../../../trainer/policy/observation-arrays.ts';
import { initialWeights, parameterCount } from '../../../trainer/policy/parameters.ts';
import { chooseAction } from '../../../trainer/policy/sample-action.ts';
import { flatAction } from '../../../trainer/policy/tokenizer.ts';
import { type ExportFile, encodeNumbers, encodeText, readExport, runExport } from './outside.ts';

const root = mkdtempSync(join(tmpdir(), 'agentrl-export-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const ORIGIN = { run: 'demo-1', iteration: 300, policyVersion: 299, env: 'workbench', labVersion: '0.1.0' };
const TEXT = policySpecSchema.parse({ kind: 'text', vocabulary: 512, embedding: 16, hidden: 16 });

/** Weights that make a policy far from uniform, so that a wrong input shows. */
function sharpWeights(spec: PolicySpec): Float32Array {
  return initialWeights(spec, 7).map((weight) => 3 * weight);
}

async function exported(name: string, spec: PolicySpec): Promise<{ directory: string; file: ExportFile }> {
  const directory = join(root, name);
  mkdirSync(directory);
  const files = await exportPolicy(spec, sharpWeights(spec), ORIGIN);
  for (const [path, bytes] of Object.entries(files)) writeFileSync(join(directory, path), bytes);
  return {
    directory,
    file: readExport(directory, spec.kind === 'text' ? 'tokenizer.json' : 'features.json'),
  };
}

interface Verdict {
  readonly logProbabilities: Float32Array;
  readonly value: number;
}

/** The lab's own way: its encoder and its policy with weights as inputs. */
async function labVerdicts(spec: PolicySpec, sights: readonly Sight[]): Promise<Verdict[]> {
  const layout = actionLayout(spec);
  const arrays = createObservationArrays(spec, sights.length);
  for (const [row, sight] of sights.entries()) encodeSight(spec, layout, sight, arrays, row);
  const policy = await createPolicy(spec, { threads: 1 });
  policy.load(sharpWeights(spec));
  const { logProbabilities, values } = await policy.run(sights.length, arrays);
  await policy.close();
  return sights.map((_, row) => ({
    logProbabilities: logProbabilities.slice(row * layout.size, (row + 1) * layout.size),
    value: values[row]!,
  }));
}

function expectClose(got: readonly number[], wanted: ArrayLike<number>): void {
  expect(got).toHaveLength(wanted.length);
  for (const [at, value] of got.entries()) expect(Math.abs(value - wanted[at]!)).toBeLessThan(1e-4);
}

/** Observations of an episode, in which the environment's own oracle acts where it has one, else chance. */
async function episode(env: string, spec: PolicySpec, steps: number): Promise<Sight[]> {
  const definition = await findEnvironment(env);
  const family = definition.catalog.families.at(-1)!.name;
  const task = definition.createTask({ env, family, split: 'train', index: 3 });
  const environment = definition.create({});
  const oracle = definition.createOracle?.(task);
  const random = createRandom(5);
  const layout = actionLayout(spec);
  const sights: Sight[] = [];
  let observation: Observation = await environment.reset(task, 11);
  while (sights.length < steps) {
    const { features } = observation;
    const before = sights.at(-1)?.history ?? [];
    sights.push({ observation, history: features === undefined ? before : [...before, features] });
    const result = await environment.step(oracle?.(observation) ?? drawn(spec, layout, observation, random));
    if (result.terminated) break;
    observation = result.observation;
  }
  await environment.close();
  return sights;
}

function drawn(
  spec: PolicySpec,
  layout: ActionLayout,
  observation: Observation,
  random: RandomStream,
): Action {
  const arrays = createObservationArrays(spec, 1);
  encodeSight(spec, layout, { observation, history: [observation.features ?? []] }, arrays, 0);
  const uniform = new Float32Array(layout.size);
  return flatAction(layout, observation, chooseAction(uniform, arrays.mask!, 'sampled', random));
}

describe('a text policy', () => {
  it('says outside the lab what it says inside, of a real episode', async () => {
    const { directory, file } = await exported('text', TEXT);
    const sights = await episode('workbench', TEXT, 12);
    expect(sights.length).toBeGreaterThan(3);
    for (const [at, wanted] of (await labVerdicts(TEXT, sights)).entries()) {
      const got = await runExport(directory, file, encodeText(file, sights[at]!.observation));
      expectClose(got.logProbabilities, wanted.logProbabilities);
      expectClose([got.value], [wanted.value]);
    }
    // Otherwise a constant would pass.
    expect(file.algorithm).toEqual({ name: 'hashed-words', version: 2 });
    expect(file.origin).toEqual(ORIGIN);
  });

  it('has examples that a reader of the file and the model both agree with', async () => {
    const { directory, file } = await exported('text-examples', TEXT);
    expect(file.examples).toHaveLength(3);
    for (const { observation, inputs, outputs } of file.examples) {
      expect(encodeText(file, observation)).toEqual(inputs);
      const got = await runExport(directory, file, inputs);
      expectClose(got.logProbabilities, outputs.logProbabilities);
      expectClose([got.value], [outputs.value]);
    }
    const [first, second] = file.examples.map(({ outputs }) => outputs.value);
    expect(first).not.toBeCloseTo(second!, 3);
  });

  it('is encoded by the file alone as the lab encodes it, whatever the text', async () => {
    const { file } = await exported('text-any', TEXT);
    const layout = actionLayout(TEXT);
    const text = fc
      .array(fc.constantFrom('a', 'B', 'é', '7', ' ', '-', '.', "'", ', ', 'file', 'Ω_1', '!'), {
        maxLength: 9,
      })
      .map((parts) => parts.join(''));
    const candidate = fc.record({ type: fc.constantFrom(...ARGUMENT_TYPES), text, kind: text });
    const observation = fc.record({
      lines: fc.array(text, { maxLength: 12 }),
      legal: fc.subarray([...ACTION_TYPES]),
      candidates: fc.array(candidate, { maxLength: 6 }),
    });
    fc.assert(
      fc.property(observation, (seen) => {
        const arrays = createObservationArrays(TEXT, 1);
        encodeSight(TEXT, layout, { observation: seen, history: [] }, arrays, 0);
        const wanted = Object.fromEntries(
          observationTensors(TEXT).map(({ name }) => [name, Array.from(arrays[name]!)]),
        );
        expect(encodeText(file, seen)).toEqual(wanted);
      }),
      { numRuns: 300 },
    );
  });

  it('comes with a README whose program runs the examples', async () => {
    const files = await exportPolicy(TEXT, sharpWeights(TEXT), ORIGIN);
    const directory = join(root, 'readme');
    mkdirSync(directory);
    for (const [path, bytes] of Object.entries(files)) writeFileSync(join(directory, path), bytes);
    const readme = new TextDecoder().decode(files['README.md']);
    const program = /```js\n(.*?)```/su.exec(readme)?.[1] ?? '';
    writeFileSync(join(directory, 'check.cjs'), program);
    const printed = execFileSync(process.execPath, ['check.cjs'], {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, NODE_PATH: resolve('node_modules') },
    });
    const differences = printed.trim().split('\n').map(Number);
    expect(differences).toHaveLength(3);
    for (const difference of differences) expect(difference).toBeLessThan(1e-4);
  });
});

describe('a policy that reads numbers', () => {
  it.each([
    ['one observation, mlp', { features: 4, argumentSlots: { input: 2 } }],
    ['a window, mlp', { features: 4, window: 3, argumentSlots: { input: 2 } }],
    ['a window, gru', { features: 4, window: 4, network: 'gru', argumentSlots: { input: 2 } }],
  ])('says outside the lab what it says inside, of a real episode: %s', async (name, shape) => {
    const spec = policySpecSchema.parse({ kind: 'features', ...shape });
    const { directory, file } = await exported(name.replaceAll(/\W/gu, '-'), spec);
    const sights = await episode('cartpole', spec, 6);
    expect(sights.length).toBeGreaterThan(3);
    for (const [at, wanted] of (await labVerdicts(spec, sights)).entries()) {
      const { observation, history } = sights[at]!;
      const got = await runExport(directory, file, encodeNumbers(file, observation, history));
      expectClose(got.logProbabilities, wanted.logProbabilities);
      expectClose([got.value], [wanted.value]);
    }
    for (const { observation, history, inputs } of file.examples) {
      const { features, mask } = encodeNumbers(file, observation, history!);
      expect(mask).toEqual(inputs['mask']);
      expectClose(features!, inputs['features']!);
    }
  });
});

it('weights of another policy are refused', async () => {
  const weights = new Float32Array(parameterCount(TEXT) - 1);
  await expect(exportPolicy(TEXT, weights, ORIGIN)).rejects.toMatchObject({ code: 'checkpoint-corrupt' });
});
