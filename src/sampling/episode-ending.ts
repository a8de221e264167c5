import type { StepResult } from '../../envs/contract.ts';
import type { FailureStage, FailureType } from '../domain/failure.ts';
import type { Catalog } from '../domain/task.ts';
import type { WorkerSettings } from '../protocol/worker.ts';

/** How an episode came to its end. */
export interface Ending {
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  readonly failure: FailureType | null;
  readonly detail: string | null;
  /** What the environment was at when it failed. */
  readonly stage: FailureStage | null;
}

/** For a reason that the policy did not cause; the rest of it is to be said. */
export const VOID = { terminated: false, truncated: false, success: false } as const;
/** By a limit. */
export const TRUNCATED = { terminated: false, truncated: true, success: false, stage: null } as const;

/** How long an episode has gone on. */
export interface Length {
  readonly steps: number;
  readonly wallMs: number;
}

/** Whether an episode ends with this step, and how: by the environment, or by a limit. Null when it goes on. */
export function endingAfter(
  result: StepResult,
  { steps, wallMs }: Length,
  settings: Pick<WorkerSettings, 'maxSteps' | 'episodeTimeoutMs'>,
  catalog: Pick<Catalog, 'lasting' | 'maxSteps'>,
): Ending | null {
  const { terminated, success } = result;
  if (terminated) {
    const failure = success ? null : (result.failure ?? 'wrong_result');
    return { terminated, truncated: false, success, failure, detail: null, stage: null };
  }
  const { maxSteps, episodeTimeoutMs } = settings;
  if (steps >= maxSteps) {
    const hasLasted = catalog.lasting === true && steps >= catalog.maxSteps;
    if (hasLasted) return { ...TRUNCATED, success: true, failure: null, detail: null };
    return { ...TRUNCATED, failure: 'max_steps', detail: `limit of ${maxSteps} steps` };
  }
  if (wallMs >= episodeTimeoutMs) {
    return { ...TRUNCATED, failure: 'wall_clock', detail: `limit of ${episodeTimeoutMs} ms` };
  }
  return null;
}
