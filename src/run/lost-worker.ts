import type { Assignment } from '../domain/episode.ts';
import { episodeId } from '../domain/id.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { EpisodeIntake } from './episode-intake.ts';
import { culpritFailure, type EpisodeLoss, lostEpisode } from './lost-episode.ts';
import type { WorkerLoss } from './worker-pool.ts';

/** Workers that may die with an episode before it is taken for the reason: they would go on dying otherwise. */
const MOST_DEATHS = 3;

export interface LostWorkerParts {
  readonly dispatcher: Dispatcher;
  readonly intake: EpisodeIntake;
  readonly host: string;
  /** Is told how long, in ms, the training episodes that are done again were in flight, in sum. */
  readonly onRetried: (ms: number) => void;
}

/**
 * Settles what a lost worker had in flight: the episode that ended it, or those that were with too many workers when they
 * died, are stored as failed; the others will be dispatched again. Returns how many those are.
 */
export function settleLostWorker(worker: number, loss: WorkerLoss, parts: LostWorkerParts): number {
  const { dispatcher, intake } = parts;
  // What it delivered before it died is stored first: it will not be dispatched again. Where it cannot be stored, it was
  // not acknowledged either, and is.
  if (!intake.flush()) intake.drop(worker);
  for (const [assignment, why] of findGuilty(worker, loss, dispatcher)) {
    const summary = lostEpisode(assignment, { host: parts.host, worker, ...why });
    intake.add({ worker, summary, bytes: 0, bootstrapValue: null, attachments: {} });
  }
  if (!intake.flush()) intake.drop(worker);
  parts.onRetried(1000 * dispatcher.spentS(worker));
  return dispatcher.lose(worker);
}

/** What happened to a worker, for the log: `lost` episodes will be dispatched again. */
export function describeLoss({ reason, retryMs, asked }: WorkerLoss, lost: number): string {
  const next = retryMs === null ? 'given up' : `starting it again in ${retryMs} ms`;
  if (asked) return `${reason}; ${lost} episodes will be dispatched again`;
  return `${reason}; ${next}; ${lost} episodes will be dispatched again`;
}

type Verdict = [assignment: Assignment, why: Omit<EpisodeLoss, 'host' | 'worker'>];

/** Which episodes in flight at a lost worker are taken for the reason, and what they failed of. */
export function findGuilty(
  worker: number,
  { culprit, reason, asked }: WorkerLoss,
  dispatcher: Pick<Dispatcher, 'find' | 'suspects'>,
): Verdict[] {
  // Nothing that it had is to blame.
  if (asked) return [];
  const found = culprit === null || culprit.subject < 1 ? null : dispatcher.find(episodeId(culprit.subject));
  if (culprit !== null && found !== null) return [[found, culpritFailure(culprit, reason)]];
  const detail = `${MOST_DEATHS} workers died with it; the last one ${reason}`;
  return dispatcher
    .suspects(worker, MOST_DEATHS)
    .map((assignment) => [assignment, { failure: 'env_crash', detail, stage: null, ms: 0 }]);
}
