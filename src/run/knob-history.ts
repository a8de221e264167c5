import { KNOB_NAMES, type KnobName } from '../domain/knob.ts';
import type { KnobChange } from '../domain/run.ts';

/** Names in `who` of what turns knobs by itself; people are `user@host`. */
export const BY_SCHEDULE = 'schedule';
export const BY_GUARD = 'guard';
export const BY_CONFIG = 'config';
const MACHINES: ReadonlySet<string> = new Set([BY_SCHEDULE, BY_GUARD, BY_CONFIG]);

/** What a change did to the schedule of its knob. */
export type ScheduleTurn = 'off' | 'on' | null;

interface Turn {
  readonly index: number;
  readonly change: KnobChange;
}

/**
 * What all changes of knobs so far amount to: what undo would put back, and which knobs follow their schedule. A function of
 * the stored changes in their order, so that it is the same after any kind of end. A schedule is off from the first turn by a
 * person or the guard until that turn is undone, or the schedule itself has set the knob again.
 */
export class KnobHistory {
  readonly #scheduled: ReadonlySet<KnobName>;
  /** Knobs whose schedule is off, by the place of the change that ended it; −1: an earlier run did. */
  readonly #off = new Map<KnobName, number>();
  #turns: Turn[] = [];
  #length = 0;

  /** `off`: schedules that were off where the history begins. */
  constructor(scheduled: Iterable<KnobName>, off: Iterable<KnobName> = []) {
    this.#scheduled = new Set(scheduled);
    for (const knob of off) this.#off.set(knob, -1);
  }

  /** Number of changes. */
  get length(): number {
    return this.#length;
  }

  /** Knobs that follow their schedule. */
  get scheduled(): KnobName[] {
    return KNOB_NAMES.filter((knob) => this.follows(knob));
  }

  /** Knobs that have a schedule and do not follow it. */
  get off(): KnobName[] {
    return KNOB_NAMES.filter((knob) => this.#scheduled.has(knob) && this.#off.has(knob));
  }

  /** The newest change by a person that was not undone yet. */
  get undoable(): KnobChange | null {
    return this.#turns.at(-1)?.change ?? null;
  }

  follows(knob: KnobName): boolean {
    return this.#scheduled.has(knob) && !this.#off.has(knob);
  }

  add(change: KnobChange): ScheduleTurn {
    const index = this.#length++;
    const { knob, who } = change;
    if (who === BY_SCHEDULE) {
      if (!this.#off.delete(knob)) return null;
      // What was turned before is the schedule's again: putting it back would undo nothing.
      this.#turns = this.#turns.filter((turn) => turn.change.knob !== knob);
      return 'on';
    }
    if (who === BY_CONFIG) return null;
    if (change.undo) {
      const undone = this.#turns.pop();
      if (undone?.change.knob !== knob || this.#off.get(knob) !== undone.index) return null;
      this.#off.delete(knob);
      return 'on';
    }
    const ends = this.follows(knob);
    if (ends) this.#off.set(knob, index);
    // Setting a knob to what it is changes nothing that could be put back, unless it ended a schedule.
    if (!MACHINES.has(who) && (ends || change.from !== change.to)) this.#turns.push({ index, change });
    return ends ? 'off' : null;
  }
}
