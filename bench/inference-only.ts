import { findEnvironment } from '../envs/registry.ts';
import { loadConfig } from '../src/config/load.ts';
import { actionLayout } from '../src/domain/policy-spec.ts';
import { createRandom, deriveSeed } from '../src/domain/random.ts';
import type { Observation } from '../src/domain/space.ts';
import { encodeSight } from '../trainer/policy/encode.ts';
import { createPolicy } from '../trainer/policy/inference.ts';
import { createObservationArrays, type ObservationArrays } from '../trainer/policy/observation-arrays.ts';
import { chooseAction } from '../trainer/policy/sample-action.ts';
import { flatAction } from '../trainer/policy/tokenizer.ts';

/**
 * A process of the rollout benchmark: asks the policy about observations of the environment, as many a call as a worker asks
 * for, for so many seconds; prints rows/s. The observations are made beforehand, by random actions: the policy's work depends
 * on how many of their lines are the same.
 */

const BATCHES = 8;
const MOST_STEPS = 8;
const seconds = Number(process.argv[2]);
const { config } = loadConfig(null, { file: 'demo' });
const spec = config.policy;
const layout = actionLayout(spec);
const rows = config.sampling.slice;
const random = createRandom(1);
const definition = await findEnvironment(config.env.name);
const environment = definition.create(config.env.options);
const scratch = createObservationArrays(spec, 1);
const likely = new Float32Array(layout.size);

/** What is seen after up to MOST_STEPS random actions. */
async function observe(n: number): Promise<Observation> {
  const { env, families } = definition.catalog;
  const { name = '', train = 1 } = families[n % families.length] ?? {};
  const task = definition.createTask({ env, family: name, split: 'train', index: random.integer(train) });
  let observation = await environment.reset(task, deriveSeed('inference-only', n));
  for (let left = random.integer(MOST_STEPS + 1); left > 0; left--) {
    encodeSight(spec, layout, { observation, history: [] }, scratch, 0);
    const action = flatAction(
      layout,
      observation,
      chooseAction(likely, scratch.mask ?? likely, 'sampled', random),
    );
    const result = await environment.step(action);
    if (result.terminated) break;
    ({ observation } = result);
  }
  return observation;
}

const batches: ObservationArrays[] = [];
for (let batch = 0; batch < BATCHES; batch++) {
  const arrays = createObservationArrays(spec, rows);
  for (let row = 0; row < rows; row++) {
    const observation = await observe(batch * rows + row);
    encodeSight(spec, layout, { observation, history: [] }, arrays, row);
  }
  batches.push(arrays);
}

const policy = await createPolicy(spec, {
  threads: config.sampling.inferenceThreads,
  providers: config.sampling.providers,
  allowFallback: config.sampling.allowFallback,
});
let done = 0;
const started = performance.now();
while (performance.now() - started < seconds * 1000) {
  for (const arrays of batches) {
    await policy.run(rows, arrays);
    done += rows;
  }
}
console.log((done * 1000) / (performance.now() - started));
process.exit(0);
