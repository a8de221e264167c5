import type { EpisodeBody, StepRecord } from '../domain/episode.ts';
import type { Action, Candidate, Observation } from '../domain/space.ts';
import type { Payment } from '../rewards/aggregator.ts';

/** What the policy said of a step. */
export interface Decision {
  readonly action: Action;
  readonly probability: number;
  readonly value: number;
  readonly entropy: number;
  readonly policyVersion: number;
}

/** Collects an episode's steps for the store; each line and each set of candidates is kept once. */
export class EpisodeRecorder {
  #lines: string[] = [];
  #lineIndex = new Map<string, number>();
  #candidateSets: (readonly Candidate[])[] = [];
  #steps: StepRecord[] = [];

  clear(): void {
    this.#lines = [];
    this.#lineIndex = new Map();
    this.#candidateSets = [];
    this.#steps = [];
  }

  /** Adds a step: the observation before it, what was decided, what came of it and what it was paid. */
  push(observation: Observation, decision: Decision, effective: boolean, payment: Payment): void {
    this.#steps.push({
      observation: this.#indices(observation),
      candidates: this.#candidateSet(observation.candidates),
      action: decision.action,
      probability: round(decision.probability),
      value: round(decision.value),
      entropy: round(decision.entropy),
      policyVersion: decision.policyVersion,
      effective,
      reward: round(payment.reward),
      parts: [...payment.parts],
    });
  }

  get steps(): readonly StepRecord[] {
    return this.#steps;
  }

  /** The whole body as UTF-8 JSON. */
  encode(final: Observation | null): Uint8Array {
    const finalObservation = final === null ? [] : this.#indices(final);
    const body = {
      lines: this.#lines,
      candidateSets: this.#candidateSets,
      steps: this.#steps,
      finalObservation,
    } satisfies Record<keyof EpisodeBody, unknown>;
    return Buffer.from(JSON.stringify(body));
  }

  #indices(observation: Observation): number[] {
    return observation.lines.map((line) => {
      const known = this.#lineIndex.get(line);
      if (known !== undefined) return known;
      const index = this.#lines.push(line) - 1;
      this.#lineIndex.set(line, index);
      return index;
    });
  }

  /** Environments hand out the same array while nothing changes, so only the newest set needs a look. */
  #candidateSet(candidates: readonly Candidate[]): number {
    const newest = this.#candidateSets.length - 1;
    if (newest >= 0 && this.#candidateSets[newest] === candidates) return newest;
    return this.#candidateSets.push(candidates) - 1;
  }
}

/** Six decimals: what a reader can use, at half the bytes. */
function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
