import { checkKnob, type KnobName, type KnobValues } from '../../src/domain/knob.ts';
import type { KnobChange } from '../../src/domain/run.ts';

/** A wish for another value, as it arrived. */
export interface KnobRequest {
  readonly knob: KnobName;
  readonly value: number;
  readonly who: string;
  readonly undo: boolean;
}

/** The knobs as they are, and the wishes that wait for the next minibatch. */
export class KnobBoard {
  #values: KnobValues;
  #waiting: KnobRequest[] = [];

  constructor(values: KnobValues) {
    this.#values = values;
  }

  get values(): KnobValues {
    return this.#values;
  }

  /** Throws `knob-invalid` for a value out of range. */
  request(request: KnobRequest): void {
    checkKnob(request.knob, request.value);
    this.#waiting.push(request);
  }

  /** Takes over what waits, in order. `at` says which minibatch of which update is the first to use it; time in ms. */
  apply(at: { readonly iteration: number; readonly minibatch: number; readonly time: number }): KnobChange[] {
    const changes = this.#waiting.map(({ knob, value, who, undo }) => {
      const change = { ...at, who, undo, knob, from: this.#values[knob], to: value };
      this.#values = { ...this.#values, [knob]: value };
      return change;
    });
    this.#waiting = [];
    return changes;
  }

  /** The controller's change; it is part of every update's metrics, and so not announced. */
  setKlCoefficient(value: number): void {
    this.#values = { ...this.#values, kl: value };
  }
}
