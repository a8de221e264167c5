import { type Benchmark, median } from './benchmark.ts';
import { scoreOf } from './fragment-score.ts';
import { corridorGoal, corridorSettings } from './fragment-tasks.ts';

const KINDS = [
  { name: 'gru', network: 'gru', window: 12 },
  { name: 'gruWithoutWindow', network: 'gru', window: 1 },
  { name: 'mlpWithoutWindow', network: 'mlp', window: 1 },
] as const;

/** The corridor can be solved from memory only: with the GRU over a window it is, without one it is guessed, 1 in 2. */
export const memory: Benchmark = {
  name: 'memory',
  measures: 'success in the corridor, a task of memory, with the GRU and without',
  async run({ seeds, say }) {
    const figures: Record<string, number | null> = {};
    let steps = 0;
    for (const { name, network, window } of KINDS) {
      const scores = [];
      for (const seed of seeds) {
        const settings = corridorSettings(network, window, seed);
        const score = await scoreOf(settings, corridorGoal);
        say(`${network}, window ${window}, seed ${seed}: success ${(100 * score.success).toFixed(1)} %`);
        scores.push(score);
        steps = settings.totalSteps;
      }
      const successes = scores.map(({ success }) => success);
      figures[`${name}Lowest`] = Math.min(...successes);
      figures[`${name}Highest`] = Math.max(...successes);
      if (name === 'gru')
        figures[`${name}StepsToGoal`] = median(scores.map(({ stepsToGoal }) => stepsToGoal));
    }
    return { figures, conditions: { steps, seeds: seeds.join(','), ...corridorGoal } };
  },
};
