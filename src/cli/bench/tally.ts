import type { EpisodeSummary } from '../../domain/episode.ts';
import { FAILURES, type FailureType } from '../../domain/failure.ts';
import { episodeSequence } from '../../domain/id.ts';
import { formatTask } from './plan.ts';

/** Mean and some quantiles (nearest rank) of a list; null when it is empty. */
export interface Spread {
  readonly mean: number;
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/** One type of failure, and the first that was given out of those that had it: the same one in every bench of the same kind. */
export interface FailureCount {
  readonly type: FailureType;
  readonly count: number;
  /** The environment is to blame, or the machine, not the agent. */
  readonly isVoid: boolean;
  readonly first: {
    readonly detail: string | null;
    /** As `--task` takes it. */
    readonly task: string;
    readonly worker: string;
    readonly steps: number;
  };
}

export interface FamilyResult {
  readonly family: string;
  readonly tasks: number;
  readonly void: number;
  readonly success: number;
  /** Of episodes that are not void, as are the steps. */
  readonly reward: Spread | null;
  readonly steps: Spread | null;
}

export interface Results {
  readonly tasks: number;
  readonly void: number;
  readonly success: number;
  readonly steps: Spread | null;
  readonly failures: readonly FailureCount[];
  readonly families: readonly FamilyResult[];
}

interface FamilyTally {
  tasks: number;
  void: number;
  success: number;
  readonly rewards: number[];
  readonly steps: number[];
}

interface FailureTally {
  count: number;
  /** Dispatch number of `first`. */
  sequence: number;
  first: FailureCount['first'];
}

/** Counts what became of each task, and drops the episodes. */
export class Tally {
  readonly #families = new Map<string, FamilyTally>();
  readonly #failures = new Map<FailureType, FailureTally>();
  #tasks = 0;
  #void = 0;

  get tasks(): number {
    return this.#tasks;
  }

  get void(): number {
    return this.#void;
  }

  /** `worker` is the name of the one that had it. */
  add(summary: EpisodeSummary, worker: string): void {
    const { task, failure, failureDetail, seed, steps } = summary;
    const family = this.#family(task.family);
    const isVoid = summary.trust === 'void';
    this.#tasks++;
    this.#void += Number(isVoid);
    family.tasks++;
    family.void += Number(isVoid);
    family.success += Number(summary.success);
    if (!isVoid) {
      family.steps.push(steps);
      family.rewards.push(summary.reward ?? 0);
    }
    if (failure === null) return;
    const sequence = episodeSequence(summary.id);
    const known = this.#failures.get(failure);
    const count = (known?.count ?? 0) + 1;
    if (known !== undefined && known.sequence < sequence) known.count = count;
    else {
      const first = { detail: failureDetail, task: formatTask(task, seed), worker, steps };
      this.#failures.set(failure, { count, sequence, first });
    }
  }

  /** Families in alphabetical order; failures the most frequent first. */
  results(): Results {
    const families = [...this.#families].toSorted(([left], [right]) => left.localeCompare(right));
    return {
      tasks: this.#tasks,
      void: this.#void,
      success: families.reduce((sum, [, { success }]) => sum + success, 0),
      steps: spreadOf(families.flatMap(([, { steps }]) => steps)),
      failures: [...this.#failures]
        .map(([type, { count, first }]) => ({ type, count, isVoid: FAILURES[type].ending === 'void', first }))
        .toSorted((left, right) => right.count - left.count),
      families: families.map(([family, { rewards, steps, ...counts }]) => ({
        family,
        ...counts,
        reward: spreadOf(rewards),
        steps: spreadOf(steps),
      })),
    };
  }

  #family(name: string): FamilyTally {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { tasks: 0, void: 0, success: 0, rewards: [], steps: [] };
      this.#families.set(name, family);
    }
    return family;
  }
}

/** Null for an empty list. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).toSorted();
  const at = (q: number): number => sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0;
  const sum = sorted.reduce((all, value) => all + value, 0);
  return { mean: sum / sorted.length, p5: at(0.05), p50: at(0.5), p95: at(0.95), max: at(1) };
}
