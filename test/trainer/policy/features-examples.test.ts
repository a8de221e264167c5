import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findEnvironment } from '../../../envs/registry.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { actionLayout } from '../../../src/domain/policy-spec.ts';
import { createAggregator } from '../../../src/rewards/aggregator.ts';
import { encodeSight } from '../../../trainer/policy/encode.ts';
import { createObservationArrays } from '../../../trainer/policy/observation-arrays.ts';
import { flatAction } from '../../../trainer/policy/tokenizer.ts';

const FOLDER = 'docs/examples';
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));

test('there are examples of the numeric environments', () => {
  expect(files).toEqual(expect.arrayContaining(['acrobot.yaml', 'cartpole.yaml', 'corridor.yaml']));
});

test.each(files)(
  '%s loads, its policy reads what the environment shows, and every step is paid',
  async (file) => {
    const { config } = loadConfig(readFileSync(join(FOLDER, file), 'utf8'), { file });
    const definition = await findEnvironment(config.env.name);
    const { catalog } = definition;
    const environment = definition.create(config.env.options);
    const layout = actionLayout(config.policy);
    const arrays = createObservationArrays(config.policy, 1);
    const rewards = createAggregator(config.rewards);
    for (const family of catalog.families) {
      const task = definition.createTask({ env: catalog.env, family: family.name, split: 'train', index: 0 });
      let observation = await environment.reset(task, 1);
      for (let step = 0; step < 3; step++) {
        encodeSight(config.policy, layout, { observation, history: [observation.features ?? []] }, arrays, 0);
        const legal = [...(arrays.mask ?? [])].lastIndexOf(1);
        const result = await environment.step(flatAction(layout, observation, legal));
        rewards.pay(result.components);
        observation = result.observation;
        if (result.terminated) break;
      }
    }
    await environment.close();
    expect(config.sampling.maxSteps).toBe(catalog.maxSteps);
  },
);
