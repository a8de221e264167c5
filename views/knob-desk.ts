import { KNOB_NAMES, KNOBS, type KnobName, type KnobValues, stepKnob } from '../src/domain/knob.ts';
import type { KnobChange } from '../src/domain/run.ts';
import { formatNumber } from './format.ts';

/** What the screen shows of a knob. */
export interface KnobView {
  readonly name: KnobName;
  readonly label: string;
  /** Value in use, or null while the run has not said. */
  readonly value: number | null;
  /** Asked for and not yet taken over by the trainer, or null. */
  readonly pending: number | null;
  /** The one that - and + turn. */
  readonly selected: boolean;
}

/** Where knobs are sent: resolves to what the trainer has taken over. */
interface KnobTaker {
  set(knobs: Partial<KnobValues>): Promise<readonly KnobChange[]>;
}

/** Turns knobs of a live run: remembers what was asked, until the trainer has said when it applies. */
export class KnobDesk {
  readonly #pending = new Map<KnobName, number>();
  readonly #undo: { readonly knob: KnobName; readonly value: number }[] = [];
  #selected: KnobName = 'lr';

  get selected(): KnobName {
    return this.#selected;
  }

  get canUndo(): boolean {
    return this.#undo.length > 0;
  }

  /** The knobs in the table's order, given the values in use. */
  view(values: KnobValues | null): KnobView[] {
    return KNOB_NAMES.map((name) => ({
      name,
      label: KNOBS[name].label,
      value: values?.[name] ?? null,
      pending: this.#pendingBeside(name, values),
      selected: name === this.#selected,
    }));
  }

  #pendingBeside(name: KnobName, values: KnobValues | null): number | null {
    const pending = this.#pending.get(name) ?? null;
    return pending === values?.[name] ? null : pending;
  }

  /** Selects the next (1) or previous (-1) knob. */
  select(direction: 1 | -1): void {
    const index = KNOB_NAMES.indexOf(this.#selected) + direction;
    this.#selected = KNOB_NAMES.at(index % KNOB_NAMES.length) ?? this.#selected;
  }

  /**
   * Moves a knob one step from where it is, or from where it was last asked to be. Resolves to a line for the user when
   * the trainer has taken it over. Rejects with what the run answered.
   */
  async turn(run: KnobTaker, values: KnobValues, knob: KnobName, direction: 1 | -1): Promise<string> {
    const from = this.#pending.get(knob) ?? values[knob];
    const to = stepKnob(knob, from, direction);
    if (to === from) {
      const edge = direction === 1 ? 'greatest' : 'least';
      return `${KNOBS[knob].label} stays ${formatNumber(from)}: it is the ${edge} it takes`;
    }
    // Before the run has answered: undo pressed meanwhile means this turn, not the one before it.
    const turn = { knob, value: from };
    this.#undo.push(turn);
    try {
      return await this.#send(run, knob, to);
    } catch (thrown) {
      const at = this.#undo.lastIndexOf(turn);
      if (at >= 0) this.#undo.splice(at, 1);
      throw thrown;
    }
  }

  /** Puts the knob that was turned last back to its old value. */
  async undo(run: KnobTaker): Promise<string> {
    const last = this.#undo.pop();
    if (last === undefined) return 'no knob was turned from this screen yet';
    return `undone: ${await this.#send(run, last.knob, last.value)}`;
  }

  async #send(run: KnobTaker, knob: KnobName, to: number): Promise<string> {
    this.#pending.set(knob, to);
    try {
      const changes = await run.set({ [knob]: to });
      return changes.length === 0
        ? `${KNOBS[knob].label} ${formatNumber(to)}: unchanged`
        : changes.map(changeText).join(', ');
    } finally {
      // A later press has asked for another value by now: that one is still on its way.
      if (this.#pending.get(knob) === to) this.#pending.delete(knob);
    }
  }
}

/** `clip 0.2 → 0.22 from iteration 12, minibatch 3`. */
function changeText(change: KnobChange): string {
  const { knob, from, to, iteration, minibatch } = change;
  return `${KNOBS[knob].label} ${formatNumber(from)} → ${formatNumber(to)} from iteration ${iteration}, minibatch ${minibatch}`;
}
