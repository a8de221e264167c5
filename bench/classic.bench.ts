import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import { type Benchmark, median } from './benchmark.ts';
import { CLASSIC_NAMES, type ClassicName, classicGoals } from './fragment-tasks.ts';

/**
 * What CleanRL's ppo.py reaches in the same 500,000 steps: `published` in its docs/benchmark/ppo.md (mean and deviation of
 * three seeds); `measured` by hand with its own code and PyTorch 1.13, on a 2-core machine like the one this was written on.
 */
const CLEANRL = {
  cartpole: {
    published: '490.0 ± 6.1',
    atLeast: 490.04 - 6.12,
    measured: { rewards: '482.7, 496.5, 488.8', wallS: 38.6, goal: '254k, 268k, 198k' },
  },
  acrobot: {
    published: '-86.4 ± 1.3',
    atLeast: -86.36 - 1.32,
    measured: { rewards: '-85.6, -85.0', wallS: 56.8, goal: '119k, 128k' },
  },
} as const;

const runSchema = z.object({
  reward: z.number(),
  episodes: z.number(),
  stepsToGoal: z.number().nullable(),
  wallS: z.number(),
  cpuS: z.number(),
});
type Run = z.infer<typeof runSchema>;

/** CartPole-v1 and Acrobot-v1 with CleanRL's settings, one process on one core for each task and seed, one after another. */
export const classic: Benchmark = {
  name: 'classic',
  measures: 'return and seconds of 500,000 steps of CartPole-v1 and Acrobot-v1, as CleanRL trains them',
  async run({ seeds, say }) {
    const isPinned = process.platform === 'linux';
    const figures: Record<string, number | null> = {};
    const details: string[] = [];
    for (const env of CLASSIC_NAMES) {
      const runs: Run[] = [];
      for (const seed of seeds) {
        const run = await trainOnce(env, seed, isPinned);
        say(
          `${env}, seed ${seed}: ${run.reward.toFixed(1)} in ${run.wallS.toFixed(1)} s (cpu ${run.cpuS.toFixed(1)} s)`,
        );
        runs.push(run);
      }
      const rewards = runs.map(({ reward }) => reward);
      figures[`${env}Return`] = rewards.reduce((sum, each) => sum + each, 0) / rewards.length;
      figures[`${env}Lowest`] = Math.min(...rewards);
      figures[`${env}Published`] = CLEANRL[env].atLeast;
      figures[`${env}WallS`] = median(runs.map(({ wallS }) => wallS));
      figures[`${env}CpuS`] = median(runs.map(({ cpuS }) => cpuS));
      figures[`${env}StepsToGoal`] = median(runs.map(({ stepsToGoal }) => stepsToGoal));
      details.push(...describe(env, runs));
    }
    return {
      figures,
      conditions: { steps: 500_000, seeds: seeds.join(','), oneCore: isPinned },
      details,
    };
  },
};

async function trainOnce(env: ClassicName, seed: number, isPinned: boolean): Promise<Run> {
  const program = ['node', '--import', 'tsx', 'bench/classic-run.ts', env, String(seed)];
  const [command = 'node', ...args] = isPinned ? ['taskset', '-c', '0', ...program] : program;
  const { stdout } = await promisify(execFile)(command, args);
  return runSchema.parse(JSON.parse(stdout));
}

function describe(env: ClassicName, runs: readonly Run[]): string[] {
  const { published, measured } = CLEANRL[env];
  const goals = runs.map(({ stepsToGoal }) =>
    stepsToGoal === null ? 'never' : `${Math.round(stepsToGoal / 1000)}k`,
  );
  return [
    `${env}: mean return of the episodes in the last tenth of 500,000 steps; env steps to ${classicGoals[env].goal} over 100 episodes`,
    `  here                          ${runs.map(({ reward }) => reward.toFixed(1)).join(', ')}  in ${runs.map(({ wallS }) => wallS.toFixed(1)).join(', ')} s; ${goals.join(', ')}`,
    `  CleanRL, published            ${published}`,
    `  CleanRL, measured earlier     ${measured.rewards}  in ${measured.wallS} s; ${measured.goal} (not in this run)`,
  ];
}
