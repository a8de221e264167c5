import type { KnobName, KnobValues } from '../domain/knob.ts';
import type { KnobChange, Preview } from '../domain/run.ts';
import type { KnobKeeper } from './knob-keeper.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { TrainerLink } from './trainer-link.ts';

export interface SteeringParts {
  readonly life: Pick<Lifecycle, 'refuseEnding'>;
  readonly knobs: Pick<KnobKeeper, 'set' | 'undo' | 'takeUp'>;
  readonly trainer: Pick<TrainerLink, 'preview'>;
}

/** What people do with a run's knobs. Everything throws `run-not-live` when the run is ending. */
export class Steering {
  readonly #parts: SteeringParts;

  constructor(parts: SteeringParts) {
    this.#parts = parts;
  }

  /** Changes knobs; refuses all of them when one is out of range. Resolves when the trainer has taken them over. */
  async set(who: string, knobs: Readonly<Partial<KnobValues>>): Promise<KnobChange[]> {
    this.#parts.life.refuseEnding();
    return await this.#parts.knobs.set(who, knobs);
  }

  /** Puts back what the newest turn by a person changed. */
  async undo(who: string): Promise<KnobChange> {
    this.#parts.life.refuseEnding();
    return await this.#parts.knobs.undo(who);
  }

  /** Lets the schedule move knobs again that somebody has turned. */
  async takeUpSchedule(who: string, knobs: readonly KnobName[]): Promise<KnobChange[]> {
    this.#parts.life.refuseEnding();
    return await this.#parts.knobs.takeUp(who, knobs);
  }

  /** What knobs would do to the newest update. */
  async preview(knobs: Readonly<Partial<KnobValues>>): Promise<Preview> {
    this.#parts.life.refuseEnding();
    return await this.#parts.trainer.preview(knobs);
  }
}
