import type { ActionMode, EpisodeSummary } from '../domain/episode.ts';
import { ACTION_MODES } from '../domain/episode.ts';
import type { Evaluation } from '../domain/run.ts';
import type { Catalog, TaskRef } from '../domain/task.ts';

export interface EvaluationPlan {
  readonly task: TaskRef;
  readonly mode: ActionMode;
}

/**
 * The held-out episodes of one evaluation: `episodes` in each action mode, dealt evenly over the families. Every
 * evaluation of a run uses the same tasks, so that its curve moves by the policy alone.
 */
export function planEvaluation(catalog: Catalog, episodes: number): EvaluationPlan[] {
  const families = catalog.families.filter((family) => family.heldOut > 0);
  const plans: EvaluationPlan[] = [];
  for (const mode of ACTION_MODES) {
    for (let i = 0; i < episodes && families.length > 0; i++) {
      const family = families[i % families.length];
      if (family === undefined) continue;
      const index = Math.floor(i / families.length) % family.heldOut;
      plans.push({ task: { env: catalog.env, family: family.name, split: 'held_out', index }, mode });
    }
  }
  return plans;
}

interface Tally {
  episodes: number;
  successes: number;
}

/** Collects the episodes of one evaluation. Void ones count neither as success nor as failure. */
export class EvaluationRound {
  readonly #iteration: number;
  readonly #policyVersion: number;
  readonly #tallies = new Map<ActionMode, Map<string, Tally>>();
  #outstanding: number;

  constructor(iteration: number, policyVersion: number, planned: number) {
    this.#iteration = iteration;
    this.#policyVersion = policyVersion;
    this.#outstanding = planned;
  }

  get done(): boolean {
    return this.#outstanding <= 0;
  }

  add(summary: EpisodeSummary): void {
    this.#outstanding--;
    if (summary.trust === 'void') return;
    const byFamily = this.#tallies.get(summary.mode) ?? new Map<string, Tally>();
    this.#tallies.set(summary.mode, byFamily);
    const tally = byFamily.get(summary.task.family) ?? { episodes: 0, successes: 0 };
    byFamily.set(summary.task.family, tally);
    tally.episodes++;
    tally.successes += Number(summary.success);
  }

  /** One row for each action mode that was tried. */
  results(): Evaluation[] {
    return [...this.#tallies].map(([mode, byFamily]) => {
      const tallies = [...byFamily.values()];
      const episodes = tallies.reduce((sum, tally) => sum + tally.episodes, 0);
      const successes = tallies.reduce((sum, tally) => sum + tally.successes, 0);
      return {
        iteration: this.#iteration,
        policyVersion: this.#policyVersion,
        mode,
        episodes,
        success: successes / episodes,
        byFamily: Object.fromEntries(
          [...byFamily].map(([family, tally]) => [family, tally.successes / tally.episodes]),
        ),
      };
    });
  }
}
