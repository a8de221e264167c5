import type { EpisodeSummary } from '../domain/episode.ts';
import { deriveSeed } from '../domain/random.ts';

/** Why an episode keeps its steps when others lose theirs, in the order in which they are asked. */
export const KEEP_REASONS = ['pinned', 'heldOut', 'failed', 'edge', 'sample'] as const;
export type KeepReason = (typeof KEEP_REASONS)[number];

const KEEP_MEANINGS: Readonly<Record<KeepReason, string>> = {
  pinned: 'pinned ones',
  heldOut: 'held-out tasks',
  failed: 'failures',
  edge: 'families that succeeded in 20 to 80 % of the tries at that time',
  sample: 'a uniform sample',
};

/** All of them in words. */
export function describeKept(): string {
  return KEEP_REASONS.map((reason) => KEEP_MEANINGS[reason]).join(', ');
}

/** A family is at the edge of the curriculum while it succeeds so often: neither hopeless nor solved. */
const EDGE = { from: 0.2, to: 0.8 } as const;
/** Success at an iteration is that of so many iterations up to it: a batch holds few tries of each family. */
const EDGE_ITERATIONS = 5;

export interface RetentionOptions {
  /** Share of the episodes that nobody else asks for, in [0, 1]. */
  readonly keepSample: number;
  readonly pinned: ReadonlySet<string>;
  /** Failures are kept as others are, but for the first FAILURES_KEPT of each type in the segment. */
  readonly thinFailures?: boolean;
}

/** Of each failure type in a segment, where failures are thinned. */
const FAILURES_KEPT = 20;

/**
 * Who of the episodes of a segment keeps its steps. Success of a family is taken from the training episodes among them that were
 * given out for the iteration of the episode and the four before it, void ones left out. The sample is drawn by a hash of the episode's seed and id: the same each time, and
 * independent of everything else. Null: nobody asks for it.
 */
export function createRetention(
  episodes: readonly EpisodeSummary[],
  options: RetentionOptions,
): (summary: EpisodeSummary) => KeepReason | null {
  const isAtEdge = edgeOf(episodes);
  const telling = options.thinFailures === true ? firstOfEachFailure(episodes) : null;
  return (summary) => {
    if (options.pinned.has(summary.id)) return 'pinned';
    if (summary.task.split === 'held_out') return 'heldOut';
    if (!summary.success && (telling?.has(summary.id) ?? true)) return 'failed';
    if (isAtEdge(summary)) return 'edge';
    return inSample(summary, options.keepSample) ? 'sample' : null;
  };
}

function inSample({ id, seed }: EpisodeSummary, share: number): boolean {
  return deriveSeed('retention', seed, id) / 2 ** 32 < share;
}

function firstOfEachFailure(episodes: readonly EpisodeSummary[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const first = new Set<string>();
  for (const { id, failure } of episodes) {
    if (failure === null) continue;
    const count = (counts.get(failure) ?? 0) + 1;
    counts.set(failure, count);
    if (count <= FAILURES_KEPT) first.add(id);
  }
  return first;
}

function edgeOf(episodes: readonly EpisodeSummary[]): (summary: EpisodeSummary) => boolean {
  const table = new Map<string, { tries: number; successes: number }>();
  for (const { phase, trust, iteration, success, task } of episodes) {
    if (phase !== 'train' || trust === 'void') continue;
    const key = `${iteration} ${task.family}`;
    const entry = table.get(key) ?? { tries: 0, successes: 0 };
    entry.tries += 1;
    entry.successes += Number(success);
    table.set(key, entry);
  }
  return ({ iteration, task: { family } }) => {
    let [tries, successes] = [0, 0];
    for (let back = 0; back < EDGE_ITERATIONS; back += 1) {
      const entry = table.get(`${iteration - back} ${family}`);
      tries += entry?.tries ?? 0;
      successes += entry?.successes ?? 0;
    }
    const rate = successes / tries;
    return tries > 0 && rate >= EDGE.from && rate <= EDGE.to;
  };
}
