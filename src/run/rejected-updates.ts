import type { Config } from '../config/schema.ts';
import { keysOf } from '../domain/table.ts';
import { type RejectedUpdate, reactTo } from './guard.ts';
import type { Journal } from './journal.ts';
import type { KnobKeeper } from './knob-keeper.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { TrainerLink } from './trainer-link.ts';

/** Rejected updates in a row after which the run waits for somebody. */
const MAX_REJECTED = 3;
/** The same where each of them eased the knobs. */
const MAX_EASED = 10;

export interface RejectedUpdatesParts {
  readonly guard: Config['guard'];
  readonly trainer: Pick<TrainerLink, 'knobs'>;
  readonly knobs: Pick<KnobKeeper, 'ease'>;
  readonly journal: Pick<Journal, 'event'>;
  readonly life: Pick<Lifecycle, 'state' | 'setState' | 'stall'>;
}

/** What follows when the trainer drops an update: eased knobs, a pause, or a stall after too many in a row. */
export class RejectedUpdates {
  readonly #parts: RejectedUpdatesParts;
  #inARow = 0;

  constructor(parts: RejectedUpdatesParts) {
    this.#parts = parts;
  }

  /** An update went well, or somebody resumed the run: the next one is the first again. */
  forget(): void {
    this.#inARow = 0;
  }

  add(update: RejectedUpdate): void {
    this.#inARow++;
    const { guard, trainer, knobs, journal, life } = this.#parts;
    const { kind, message, episodes, ease, pause } = reactTo(update, guard, trainer.knobs);
    journal.event('error', kind, 'trainer', message, episodes);
    knobs.ease(ease);
    // Easing gets further tries, as long as there is anything to ease.
    if (this.#inARow >= (keysOf(ease).length > 0 ? MAX_EASED : MAX_REJECTED)) {
      const what = `${this.#inARow} updates in a row were dropped: ${update.reason}`;
      life.stall('updates-rejected', 'trainer', what);
    } else if (pause !== null && life.state === 'running') {
      life.setState('pausing', pause);
    }
  }
}
