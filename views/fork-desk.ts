import type { EpisodeSummary, StepRecord } from '../src/domain/episode.ts';
import { ACTION_TYPES, type Action, formatAction } from '../src/domain/space.ts';
import { type Fork, type ForkPlan, forkLines, offeredActions } from '../src/replay/fork.ts';
import { ListCursor } from './list-cursor.ts';
import type { StepSource } from './step-source.ts';

/** Something that may be done in a step. */
export interface ForkChoice {
  /** Null: what the policy draws. */
  readonly action: Action | null;
  readonly text: string;
  /** How likely the policy of that time held it, where the record says so. */
  readonly probability: number | null;
  /** It is what was done. */
  readonly isRecorded: boolean;
}

/** What might be done instead at a step of an episode, and what came of trying. */
export class ForkDesk {
  readonly summary: EpisodeSummary;
  /** From 1. */
  readonly step: number;
  /** The version that acted in it. */
  readonly acted: number;
  readonly choices: readonly ForkChoice[];
  readonly cursor = new ListCursor();
  /** The policy that goes on; null: the one that acted in each step then. */
  version: number | null = null;
  /** Continuations of one try. */
  count = 20;
  /** Steps after which one is truncated; null: what the run says. */
  maxSteps: number | null = null;
  /** What is being tried. */
  busy: string | null = null;
  /** Of the newest try. */
  result: readonly string[] = [];

  /** Throws at the end of an episode, and while the step is still read. */
  constructor(steps: StepSource, position: number) {
    const place = steps.place(position);
    if (place === null) throw new Error('the step is still read: try again in a moment');
    const record = place.step;
    if (record === null) throw new Error('there is no step here to leave the episode at');
    this.summary = steps.summary;
    this.step = position + 1;
    this.acted = record.policyVersion;
    const offered = offeredActions(place.candidates).map((action, index) => choice(record, action, index));
    this.choices = [
      { action: null, text: 'what the policy draws', probability: null, isRecorded: false },
      // The likeliest first; those of which the record does not say come last, in the order of the record.
      ...offered.toSorted((a, b) => (b.probability ?? -1) - (a.probability ?? -1)),
    ];
  }

  get selected(): ForkChoice | null {
    return this.choices[this.cursor.selected] ?? null;
  }

  /** What is done on Enter; null where nothing is pointed at. */
  get plan(): ForkPlan | null {
    const { selected, step, version, count, maxSteps } = this;
    return selected === null ? null : { step, action: selected.action, version, count, maxSteps };
  }

  done(fork: Fork): void {
    this.busy = null;
    this.result = forkLines(fork);
  }

  failed(problem: string): void {
    this.busy = null;
    this.result = [problem];
  }
}

function choice(
  { action, probability, likeliest = [] }: StepRecord,
  other: Action,
  place: number,
): ForkChoice {
  const text = formatAction(other);
  const isRecorded = text === formatAction(action);
  // As in the record: the place of a candidate, and below it the types that take no argument.
  const which = other.argument === null ? -1 - ACTION_TYPES.indexOf(other.type) : place;
  const known = likeliest.find(([each]) => each === which)?.[1] ?? null;
  return { action: other, text, probability: isRecorded ? probability : known, isRecorded };
}
