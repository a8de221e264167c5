import { LabError } from '../../src/domain/error.ts';
import { actionLayout, observationTensors, type PolicySpec } from '../../src/domain/policy-spec.ts';
import type { ExportOrigin } from '../../src/protocol/export.ts';
import type { Attachments } from '../../src/protocol/frame.ts';
import { createGraph } from '../graph/graph.ts';
import { toModel } from '../graph/onnx-file.ts';
import { encodeSight } from '../policy/encode.ts';
import { createPolicy } from '../policy/inference.ts';
import { buildNetwork, networkInputs } from '../policy/network.ts';
import { createObservationArrays, observationFeeds } from '../policy/observation-arrays.ts';
import { splitWeights } from '../policy/parameters.ts';
import { createSession } from '../session.ts';
import { exampleSights } from './examples.ts';
import { type Example, observationFile } from './observation-file.ts';
import { exportReadme } from './readme.ts';

/** The exported model may differ from the lab's by rounding alone; relative to the number, or to 1 if that is larger. */
const LARGEST_DIFFERENCE = 1e-4;

/**
 * A policy as files that need nothing of the lab, by name: the ONNX model with the weights in it, a JSON file that says how an
 * observation becomes its inputs, with examples, and a README. Throws `checkpoint-corrupt` for weights of another policy, and
 * `internal` if the model does not say what the lab's policy says of the examples.
 */
export async function exportPolicy(
  spec: PolicySpec,
  weights: Float32Array,
  origin: ExportOrigin,
): Promise<Attachments> {
  const model = exportedModel(spec, weights, origin);
  const examples = await makeExamples(spec, weights, model);
  const text = new TextEncoder();
  const file = observationFile(spec, origin, examples);
  return {
    'policy.onnx': model,
    [file.name]: text.encode(`${JSON.stringify(file.content, null, 2)}\n`),
    'README.md': text.encode(exportReadme(spec, origin, file.name)),
  };
}

/** The inference model with its parameters as constants. Inputs are the observation tensors, as in `inferenceModel`. */
function exportedModel(spec: PolicySpec, weights: Float32Array, origin: ExportOrigin): Uint8Array {
  const g = createGraph();
  const { logProbabilities, value } = buildNetwork(g, spec, networkInputs(g, spec));
  const metadata = Object.entries(origin).map(([name, entry]) => [name, String(entry)]);
  return toModel(
    { logProbabilities, value },
    {
      initialisers: splitWeights(spec, weights),
      producer: 'agentrl-lab',
      metadata: Object.fromEntries([...metadata, ['kind', spec.kind]]),
    },
  );
}

/** Examples as the lab encodes them, with what the exported model says of each; compared with the lab's own policy. */
async function makeExamples(
  spec: PolicySpec,
  weights: Float32Array,
  model: Uint8Array,
): Promise<readonly Example[]> {
  const layout = actionLayout(spec);
  const sights = exampleSights(spec);
  const arrays = createObservationArrays(spec, sights.length);
  for (const [row, sight] of sights.entries()) encodeSight(spec, layout, sight, arrays, row);
  const session = await createSession(model, { threads: 1 });
  const outputs = await session.run(observationFeeds(spec, arrays, sights.length));
  await session.close();
  const logProbabilities = numbers(outputs['logProbabilities']?.data);
  const values = numbers(outputs['value']?.data);
  const policy = await createPolicy(spec, { threads: 1 });
  policy.load(weights);
  const own = await policy.run(sights.length, arrays);
  await policy.close();
  checkSame([...own.logProbabilities, ...own.values], [...logProbabilities, ...values]);
  return sights.map((sight, row) => ({
    sight,
    inputs: Object.fromEntries(
      observationTensors(spec).map(({ name, width }) => [name, rowOf(numbers(arrays[name]), row, width)]),
    ),
    outputs: {
      logProbabilities: rowOf(logProbabilities, row, layout.size),
      value: values[row] ?? Number.NaN,
    },
  }));
}

function rowOf(all: readonly number[], row: number, width: number): readonly number[] {
  return all.slice(row * width, (row + 1) * width);
}

function numbers(data: ArrayLike<number | bigint> | undefined): readonly number[] {
  return Array.from(data ?? [], Number);
}

function checkSame(wanted: readonly number[], got: readonly number[]): void {
  const differences = wanted.map(
    (value, at) => Math.abs(value - (got[at] ?? Number.NaN)) / Math.max(1, Math.abs(value)),
  );
  const largest = Math.max(...differences);
  if (wanted.length === got.length && largest <= LARGEST_DIFFERENCE) return;
  throw new LabError('internal', {
    message: `the exported model differs from the policy by ${largest}; wanted ${LARGEST_DIFFERENCE} at most`,
    hint: 'nothing was written; report it with the config of the run',
  });
}
