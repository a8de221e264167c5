import { observationTensors, type PolicySpec } from '../../src/domain/policy-spec.ts';
import type { ExportOrigin } from '../../src/protocol/export.ts';

/** The README of an export: what is in it, and a program that runs it. `file` says how observations are encoded. */
export function exportReadme(spec: PolicySpec, origin: ExportOrigin, file: string): string {
  const { run, iteration, policyVersion, env, labVersion } = origin;
  const inputs = observationTensors(spec).map(({ name, element, shape }) => {
    const type = element === 'u16' ? 'int32' : 'float32';
    return `| \`${name}\` | ${type} [B, ${shape.join(', ')}] | ${INPUTS[name]} |`;
  });
  return `# A policy of agentrl-lab

Iteration ${iteration} (policy version ${policyVersion}) of run \`${run}\`, environment \`${env}\`, written by agentrl-lab ${labVersion}.

- \`policy.onnx\`: the network with its weights, ONNX opset 18: any ONNX runtime runs it.
- \`${file}\`: how an observation becomes the inputs, what each action's index means, and three examples with every input
  and output.

| input | type | holds |
| ----- | ---- | ----- |
${inputs.join('\n')}

| output | type | holds |
| ------ | ---- | ----- |
| \`logProbabilities\` | float32 [B, A] | log-probability of each action of the flat list; what is not legal is at -50 |
| \`value\` | float32 [B] | expected discounted return |

B is any number of observations. An action's index is looked up in \`actions\` of \`${file}\`: \`blocks\` has the first index and
the length of each type that takes an argument (the n-th candidate of the type is the n-th index), \`bare\` the index of each
type that takes none. Draw from exp(logProbabilities) over the legal ones, or take the largest.

This program, for Node with \`onnxruntime-node\` installed, runs the examples and says how far the outputs are off:

\`\`\`js
const { readFileSync } = require('node:fs');
const { InferenceSession, Tensor } = require('onnxruntime-node');

async function main() {
  const { model, examples } = JSON.parse(readFileSync('${file}', 'utf8'));
  const session = await InferenceSession.create(model.file);
  for (const { inputs, outputs } of examples) {
    const feeds = {};
    for (const { name, type, shape } of model.inputs) {
      const data = type === 'int32' ? Int32Array.from(inputs[name]) : Float32Array.from(inputs[name]);
      feeds[name] = new Tensor(type, data, [1, ...shape.slice(1)]);
    }
    const { logProbabilities, value } = await session.run(feeds);
    const off = outputs.logProbabilities.map((wanted, at) => Math.abs(wanted - logProbabilities.data[at]));
    const worst = Math.max(...off, Math.abs(outputs.value - value.data[0]));
    process.stdout.write(worst + '\\n');
  }
}

main();
\`\`\`
`;
}

const INPUTS = {
  tokens: 'hashed words of the lines shown; 0 is padding',
  candidates: 'hashed features of each candidate argument, by slot',
  features: 'the numbers of the newest observations, oldest first',
  mask: '1 where the action of the flat list is legal, else 0',
} as const;
