import { errorText } from '../src/domain/error.ts';
import { isFinal } from '../src/domain/run.ts';
import type { Reading, RunFigures } from '../src/store/reading.ts';
import type { RunListing } from '../src/store/run-directory.ts';

/** Ms between two looks at the list while it is shown; a live run's figures are read again as often. */
const EVERY_MS = 2000;

/** Figures of a run, or why they cannot be read. */
export type RunFigureView = { readonly figures: RunFigures } | { readonly problem: string };

/** What the list of runs shows beside the manifests: read beside the drawing, one run after the other. */
export class RunsDesk {
  readonly #reading: Pick<Reading, 'run'>;
  readonly #onChange: () => void;
  readonly #views = new Map<string, RunFigureView>();
  /** The state that a run had when its figures were read. */
  readonly #readIn = new Map<string, string>();
  #isReading = false;
  #timer: NodeJS.Timeout | null = null;
  /** Ids of the runs that are to be compared, in the order that they were marked. */
  readonly marked = new Set<string>();

  constructor(reading: Pick<Reading, 'run'>, onChange: () => void) {
    this.#reading = reading;
    this.#onChange = onChange;
  }

  get views(): ReadonlyMap<string, RunFigureView> {
    return this.#views;
  }

  /** Calls `look` now and then until it says that the list is not shown any more. */
  watch(look: () => boolean): void {
    if (this.#timer !== null) return;
    this.#timer = setInterval(() => {
      if (!look()) this.close();
    }, EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Reads the figures of those runs whose figures may be others now, from the top down. */
  refresh(runs: readonly RunListing[]): void {
    if (this.#isReading) return;
    this.#isReading = true;
    void this.#read(runs);
  }

  async #read(runs: readonly RunListing[]): Promise<void> {
    for (const run of runs) {
      const { id, manifest, live, paths } = run;
      // One that is being started has nothing to read yet.
      if (manifest === null || manifest.state === 'starting') continue;
      const state = `${manifest.state} ${manifest.attempt} ${live}`;
      // Of one that has ended nothing changes any more.
      if (!live && this.#readIn.get(id) === state) continue;
      try {
        this.#views.set(id, { figures: await this.#reading.run(paths) });
      } catch (thrown) {
        this.#views.set(id, { problem: errorText(thrown) });
      }
      this.#readIn.set(id, state);
      this.#onChange();
    }
    this.#isReading = false;
  }
}

/** Whether a run has ended without saying so: its process is gone. */
export function isDead({ manifest, live }: RunListing): boolean {
  return manifest !== null && !live && !isFinal(manifest.state);
}
