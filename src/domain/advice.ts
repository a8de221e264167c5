import { percent } from './figure-text.ts';
import type { IterationMetrics, RunSetup, RunStatus } from './run.ts';

/** Something that could be changed about a run, and what that would bring by what was measured. */
export interface Advice {
  /** What to change. */
  readonly what: string;
  /** How many more iterations an hour that makes, as a part of those there are; 0 where it only frees something; at best. */
  readonly gain: number;
  /** How the gain was computed, in one line. */
  readonly how: string;
}

/** What advice depends on besides the rows of metrics. */
export interface AdviceSetup extends RunSetup {
  /** Workers that sample. */
  readonly workers: number;
  /** Cores of the machine that nobody uses; null where that is not known. */
  readonly spareCores: number | null;
}

type Times = Pick<
  IterationMetrics,
  'elapsedS' | 'sampleS' | 'updateS' | 'evalS' | 'heldS' | 'staleSteps' | 'batchSteps'
>;

/** Fewer rows say nothing: the first ones are not like the others. */
const LEAST_ROWS = 6;
/** The newest rows that are looked at. */
const NEWEST = 20;
/** A smaller gain is within what varies from hour to hour. */
const LEAST_GAIN = 0.05;
/** Samplers that stand still for less of the time are no surplus. */
const IDLE = 0.25;
/** That much of their speed is kept in hand when workers are taken away. */
const RESERVE = 1.1;

/** Seconds of the rows, summed: waiting for samples, updates, evaluations; the three make up the time. */
interface Sums {
  readonly rows: number;
  readonly sample: number;
  /** With what it takes to hand batches and weights over. */
  readonly update: number;
  /** The part of it in which the trainer computed. */
  readonly compute: number;
  readonly evaluation: number;
  readonly total: number;
  /** The part of the time apart from evaluations in which samplers stood still, in [0, 1]. */
  readonly held: number;
  /** The part of the sampled steps that was left out of batches. */
  readonly stale: number;
}

/**
 * What would make a run faster, by the times of its newest iterations, the largest gain first. An iteration takes the time that
 * the trainer waits for samples, updates, and waits for evaluations; what is changed of one of these changes the sum (Amdahl's
 * law), and with it iterations an hour. Nothing where too little is known or no gain is to be seen.
 */
export function adviceOf(rows: readonly Times[], setup: AdviceSetup): Advice[] {
  const sums = sumUp(rows.slice(-NEWEST - 1));
  if (sums.rows < LEAST_ROWS - 1 || sums.total <= 0) return [];
  const all = [
    ...lessEvaluation(sums, setup),
    ...overlapped(sums, setup),
    ...moreWorkers(sums, setup),
    ...moreThreads(sums, setup),
  ];
  const worth = all.filter(({ gain }) => gain >= LEAST_GAIN).toSorted((a, b) => b.gain - a.gain);
  return [...worth, ...fewerWorkers(sums, setup), ...lessStale(sums)];
}

/** What advice depends on, by the run's answer; null where it does not say how it is set up. */
export function adviceSetup({
  setup,
  children,
  hosts,
}: Pick<RunStatus, 'setup' | 'children' | 'hosts'>): AdviceSetup | null {
  if (setup === null) return null;
  const workers = children.filter(
    ({ role, state, drain }) => role === 'worker' && state === 'ready' && drain === null,
  );
  const spare = hosts.flatMap(({ figures }) =>
    figures === null || figures.load === null ? [] : [figures.cores - figures.load],
  );
  return { ...setup, workers: workers.length, spareCores: spare.length === 0 ? null : Math.max(...spare) };
}

/** Of all rows but the first: that one is where their time begins. */
function sumUp([first, ...rows]: readonly Times[]): Sums {
  const sum = (of: (row: Times) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const total = (rows.at(-1)?.elapsedS ?? 0) - (first?.elapsedS ?? 0);
  const [sample, evaluation] = [sum((row) => row.sampleS), sum((row) => row.evalS)];
  const update = Math.max(0, total - sample - evaluation);
  const [stale, trained] = [sum((row) => row.staleSteps), sum((row) => row.batchSteps)];
  return {
    rows: rows.length,
    sample,
    update,
    compute: Math.min(
      update,
      sum((row) => row.updateS),
    ),
    evaluation,
    total,
    held: Math.min(1, sum((row) => row.heldS) / Math.max(1e-9, sample + update)),
    stale: stale / Math.max(1, stale + trained),
  };
}

/** The gain where `total` seconds become `next`. */
function gainOf({ total }: Sums, next: number): number {
  return total / Math.max(1e-9, next) - 1;
}

function lessEvaluation(sums: Sums, { evaluationEvery }: AdviceSetup): Advice[] {
  const { evaluation, total, rows } = sums;
  const how = `evaluations took ${percent(evaluation / total)} of the last ${rows} iterations; half as many take half of that`;
  const what = `evaluation.every ${2 * evaluationEvery} (now ${evaluationEvery})`;
  return [{ what, gain: gainOf(sums, total - evaluation / 2), how }];
}

function overlapped(sums: Sums, { overlap, spareCores }: AdviceSetup): Advice[] {
  // Where sampling and updates share the cores, doing both at once makes neither faster.
  if (overlap || !isSpare(spareCores)) return [];
  const { sample, update, evaluation, total } = sums;
  const how = `waiting for samples took ${percent(sample / total)}, updates ${percent(update / total)}; at once, the longer of the two`;
  const gain = gainOf(sums, Math.max(sample, update) + evaluation);
  return [{ what: 'sampling.overlap true (now false)', gain, how }];
}

function moreWorkers(sums: Sums, { overlap, workers, spareCores }: AdviceSetup): Advice[] {
  if (workers === 0 || !isSpare(spareCores)) return [];
  const { sample, update, evaluation, total } = sums;
  const faster = workers / (workers + 1);
  // With overlap samplers have all of the time but what they stand still; the trainer cannot be faster than its updates.
  const cycle = overlap
    ? Math.max(update, (sample + update) * Math.max(faster * (1 - sums.held), 0))
    : sample * faster + update;
  const how = `the trainer waited for samples ${percent(sample / total)} of the time; with ${workers + 1} workers as fast as these ${workers}`;
  const gain = sample <= 0 ? 0 : gainOf(sums, cycle + evaluation);
  return [{ what: 'one worker more (agentrl-lab workers add)', gain, how }];
}

function moreThreads(sums: Sums, { overlap, trainerThreads, spareCores }: AdviceSetup): Advice[] {
  if (!isSpare(spareCores)) return [];
  const { sample, update, compute, evaluation, total } = sums;
  const faster = update - compute / (trainerThreads + 1);
  const sampling = (sample + update) * (1 - sums.held);
  const cycle = overlap ? Math.max(sampling, sample + faster) : sample + faster;
  const how = `the trainer computed ${percent(compute / total)}; at best ${trainerThreads + 1} threads take ${trainerThreads}/${trainerThreads + 1} of that`;
  const what = `trainer.threads ${trainerThreads + 1} (now ${trainerThreads})`;
  return [{ what, gain: gainOf(sums, cycle + evaluation), how }];
}

function fewerWorkers({ held }: Sums, { overlap, workers }: AdviceSetup): Advice[] {
  // Without overlap all of them stand still during updates, however many there are.
  if (!overlap || held < IDLE) return [];
  const needed = Math.max(1, Math.ceil(workers * (1 - held) * RESERVE));
  if (needed >= workers) return [];
  const how = `samplers stood still ${percent(held)} of the time: ${needed} of ${workers} would do`;
  const surplus = workers - needed;
  const what = `${surplus} ${surplus === 1 ? 'worker' : 'workers'} fewer would cost nothing`;
  return [{ what, gain: 0, how }];
}

/** Steps that nobody trains on cost sampling for nothing. */
function lessStale({ stale }: Sums): Advice[] {
  if (stale < LEAST_GAIN) return [];
  const how = `${percent(stale)} of the steps were too old or too many when their turn came`;
  return [{ what: 'a smaller sampling.ahead, or fewer workers', gain: 0, how }];
}

/** At least most of a core. */
function isSpare(cores: number | null): boolean {
  return cores !== null && cores >= 0.8;
}
