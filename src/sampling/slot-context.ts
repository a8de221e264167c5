import type { EnvironmentDefinition } from '../../envs/contract.ts';
import type { ActionLayout } from '../domain/policy-spec.ts';
import type { Lifeline } from '../protocol/lifeline.ts';
import type { WorkerSettings } from '../protocol/worker.ts';
import type { FinishedEpisode } from './finished-episode.ts';
import type { ResetAudit } from './reset-audit.ts';
import type { Slot } from './slot.ts';
import type { TempDirectories } from './temp-directories.ts';

/** What slots of one worker share. */
export interface SlotContext {
  readonly settings: WorkerSettings;
  readonly definition: EnvironmentDefinition;
  readonly layout: ActionLayout;
  readonly lifeline: Lifeline;
  /** Absent: environments get none. */
  readonly directories?: TempDirectories | undefined;
  /** An environment has answered a reset, or a step that it did not answer at once, after so many ms. */
  readonly onAnswer?: (stage: WaitedStage, ms: number) => void;
  /** Absent: resets are not audited. */
  readonly audit?: ResetAudit | undefined;
  /** What an environment that answers at once takes for a step, ms: the mean of the newest slice. */
  readonly stepPace: { ms: number };
  readonly onFinished: (slot: Slot, episode: FinishedEpisode) => void;
  /** The slot waits for the policy: it is `ready` or `closing`. */
  readonly onReady: (slot: Slot) => void;
}

/** What an environment may be waited for. */
export type WaitedStage = 'reset' | 'step';
