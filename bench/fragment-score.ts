import { type FinishedEpisode, type FragmentSettings, trainOnFragments } from './fragment-trainer.ts';

/** How a training went. */
export interface Score {
  /** Over the episodes that ended in the last part of the steps, of the policy as it samples. */
  readonly reward: number;
  readonly success: number;
  readonly episodes: number;
  /** Env steps until the newest 100 episodes paid `goal` on average; null when never. */
  readonly stepsToGoal: number | null;
}

/** Trains, and scores what the last `share` of the steps shows. */
export async function scoreOf(
  settings: FragmentSettings,
  { goal, share }: { readonly goal: number; readonly share: number },
): Promise<Score> {
  const episodes: FinishedEpisode[] = [];
  await trainOnFragments(settings, (episode) => void episodes.push(episode));
  const last = episodes.filter(({ at }) => at > (1 - share) * settings.totalSteps);
  return {
    reward: mean(last.map(({ reward }) => reward)),
    success: mean(last.map(({ success }) => (success ? 1 : 0))),
    episodes: last.length,
    stepsToGoal: firstStepOver(episodes, goal),
  };
}

function mean(of: readonly number[]): number {
  return of.reduce((sum, each) => sum + each, 0) / of.length;
}

const NEWEST = 100;

function firstStepOver(episodes: readonly FinishedEpisode[], goal: number): number | null {
  let sum = 0;
  for (const [place, { at, reward }] of episodes.entries()) {
    sum += reward - (episodes[place - NEWEST]?.reward ?? 0);
    if (place + 1 >= NEWEST && sum / NEWEST >= goal) return at;
  }
  return null;
}
