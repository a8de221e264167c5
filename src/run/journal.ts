import { errorText } from '../domain/error.ts';
import type { KnobChange, RunEvent, RunManifest, RunState } from '../domain/run.ts';
import type { RunStore } from '../store/index-writer.ts';
import { type RunPaths, writeManifest } from '../store/run-directory.ts';

export interface JournalOptions {
  readonly manifest: RunManifest;
  readonly paths: RunPaths;
  readonly store: RunStore;
  readonly log: (line: string) => void;
}

/**
 * What the run says of itself: state, events, knob changes. Writes go to the store and the log; one that fails is only
 * logged, since the run can live without it (a full disk is reported by the episodes, which it cannot live without).
 */
export class Journal {
  readonly #options: JournalOptions;
  #manifest: RunManifest;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#manifest = options.manifest;
  }

  get manifest(): RunManifest {
    return this.#manifest;
  }

  log(line: string): void {
    this.#options.log(line);
  }

  event(
    level: RunEvent['level'],
    kind: string,
    subject: string,
    message: string,
    episodes: readonly string[] = [],
  ): void {
    this.tell({ level, kind, subject, message, episodes: [...episodes] });
  }

  /** The same with all that an event may have. */
  tell(what: Omit<RunEvent, 'time'>): void {
    const { level, kind, subject, message } = what;
    this.log(`${level} ${kind} ${subject}: ${message}`);
    this.record((store) => store.appendEvent({ time: Date.now(), ...what }));
  }

  /** Something that a person asked for: `who` is user@host. */
  command(who: string, kind: string, subject: string, message: string): void {
    const told = `${message}, by ${who}`;
    this.log(`info ${kind} ${subject}: ${told}`);
    const time = Date.now();
    this.record((store) =>
      store.appendEvent({ time, level: 'info', kind, subject, message: told, episodes: [], who }),
    );
  }

  /** Returns whether it is stored. */
  knobChange(change: KnobChange): boolean {
    this.log(`knob ${change.knob}: ${change.from} -> ${change.to} by ${change.who}`);
    return this.record((store) => store.appendKnobChange(change));
  }

  /** Takes a new state over; returns whether it is one. */
  setState(state: RunState, reason: string | null): boolean {
    if (this.#manifest.state === state && this.#manifest.reason === reason) return false;
    this.#manifest = { ...this.#manifest, state, reason };
    this.log(`state ${state}${reason === null ? '' : `: ${reason}`}`);
    this.record(() => writeManifest(this.#options.paths, this.#manifest));
    return true;
  }

  /** The run's process ends: nobody can be asked any more. */
  forgetProcess(): void {
    this.#manifest = { ...this.#manifest, pid: null };
  }

  /** Returns whether it worked. */
  record(write: (store: RunStore) => void): boolean {
    try {
      write(this.#options.store);
      return true;
    } catch (thrown) {
      this.log(`could not be recorded: ${errorText(thrown)}`);
      return false;
    }
  }
}
