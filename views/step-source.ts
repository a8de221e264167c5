import {
  type EpisodeBody,
  type EpisodeSummary,
  resolveLines,
  type StepRecord,
} from '../src/domain/episode.ts';
import { errorText } from '../src/domain/error.ts';
import { type Candidate, formatAction } from '../src/domain/space.ts';
import type { StoredEpisode } from '../src/store/queries.ts';
import { PAGE_STEPS, type Reading, type StepPage } from '../src/store/reading.ts';
import type { RunPaths } from '../src/store/run-directory.ts';
import { figuresOf, type StepFigures } from '../src/store/step-figures.ts';

/** Episodes of more steps are read a page at a time, beside the drawing: reading 1,000 steps takes some 10 ms. */
export const LONG_STEPS = 1000;

/** What is shown at one place of an episode. */
export interface Place {
  /** Null at the end. */
  readonly step: StepRecord | null;
  readonly observation: readonly ObservationLine[];
  /** What the step could have given as an argument. */
  readonly candidates: readonly Candidate[];
  /** Who sees it, where the episode has several agents and that is known. */
  readonly agent: string | undefined;
  /** Whoever sees it has seen nothing before: no line is marked as fresh then. */
  readonly isFirst: boolean;
}

interface ObservationLine {
  readonly text: string;
  /** Was not there in the observation before, of whoever sees it. */
  readonly fresh: boolean;
}

/** What is looked for: the next place from one (not itself) on that holds a text, or before it; round the end. */
export interface Wanted {
  readonly text: string;
  readonly from: number;
  readonly direction: 1 | -1;
}

/** Where a replay has its steps from. */
export interface StepSource {
  readonly summary: EpisodeSummary;
  /** Steps; the place behind the last one is the end. */
  readonly count: number;
  /** What is at a place, or null while it is being read. */
  place(position: number): Place | null;
  /** The step alone; null at the end, undefined while it is being read. */
  step(position: number): StepRecord | null | undefined;
  /** Of all steps, or null while they are being read. */
  readonly figures: StepFigures | null;
  /** Why something of it cannot be read, or null. */
  readonly problem: string | null;
  /** Tells the next place with a text, or null when there is no other: at once where all of it is in memory. */
  find(wanted: Wanted, onFound: (place: number | null) => void): void;
}

/** The step at a position and what the agent saw before it; at the end, what it saw last. */
function placeAt(body: EpisodeBody, position: number): Place {
  const step = body.steps[position] ?? null;
  const agent = step === null ? body.finalAgent : step.agent;
  const before = body.steps.findLast((each, at) => at < position && each.agent === agent);
  const seen = new Set(before?.observation ?? step?.observation ?? []);
  const indices = step?.observation ?? body.finalObservation;
  const texts = resolveLines(body, indices);
  return {
    step,
    observation: indices.map((line, index) => ({ text: texts[index] ?? '', fresh: !seen.has(line) })),
    agent,
    isFirst: before === undefined,
    candidates: step === null ? [] : (body.candidateSets[step.candidates] ?? []),
  };
}

/** An episode that is all in memory. */
export class WholeEpisode implements StepSource {
  readonly summary: EpisodeSummary;
  readonly figures: StepFigures;
  readonly problem = null;
  readonly #body: EpisodeBody;

  constructor({ summary, body }: StoredEpisode) {
    this.summary = summary;
    this.#body = body;
    this.figures = figuresOf(summary, body.steps);
  }

  get count(): number {
    return this.#body.steps.length;
  }

  place(position: number): Place {
    return placeAt(this.#body, position);
  }

  step(position: number): StepRecord | null {
    return this.#body.steps[position] ?? null;
  }

  find({ text, from, direction }: Wanted, onFound: (place: number | null) => void): void {
    const places = this.count + 1;
    const wanted = text.toLowerCase();
    for (let away = 1; away < places; away += 1) {
      const place = (from + direction * away + 2 * places) % places;
      if (this.#holds(place, wanted)) return onFound(place);
    }
    return onFound(null);
  }

  #holds(position: number, wanted: string): boolean {
    const { step, observation, isFirst } = this.place(position);
    const done = step === null ? [] : [formatAction(step.action)];
    // Lines that were there before are found where they came up.
    const seen = observation.filter(({ fresh }) => fresh || isFirst).map(({ text }) => text);
    return [...done, ...seen].some((text) => text.toLowerCase().includes(wanted));
  }
}

/** The part of a reading that a long episode needs. */
export type PageReading = Pick<Reading, 'page' | 'figures' | 'find'>;

/** Pages kept: enough to walk to and fro in. */
const KEPT_PAGES = 8;

/** A long episode: pages of it are asked for when they are to be shown, figures of all steps once. */
export class PagedEpisode implements StepSource {
  readonly summary: EpisodeSummary;
  readonly #reading: PageReading;
  readonly #paths: RunPaths;
  readonly #onChange: () => void;
  readonly #pages = new Map<number, StepPage>();
  readonly #asked = new Set<number>();
  #figures: StepFigures | null = null;
  #problem: string | null = null;

  /** `first` is the page that was read to open it. `onChange` is called when more is there. */
  constructor(
    from: {
      readonly reading: PageReading;
      readonly paths: RunPaths;
      readonly onChange: () => void;
      readonly isShown: (source: StepSource) => boolean;
    },
    { summary, page }: { readonly summary: EpisodeSummary; readonly page: StepPage },
  ) {
    this.#reading = from.reading;
    this.#paths = from.paths;
    this.#onChange = from.onChange;
    this.summary = summary;
    this.#pages.set(0, page);
    this.#ask(async () => {
      this.#figures = await this.#reading.figures(this.#paths, summary.id, () => from.isShown(this));
    });
  }

  get count(): number {
    return this.summary.steps;
  }

  get figures(): StepFigures | null {
    return this.#figures;
  }

  get problem(): string | null {
    return this.#problem;
  }

  place(position: number): Place | null {
    const page = this.#page(position);
    return page === null ? null : placeAt(page.body, position - page.from);
  }

  step(position: number): StepRecord | null | undefined {
    if (position >= this.count) return null;
    const page = this.#page(position);
    return page === null ? undefined : page.body.steps[position - page.from];
  }

  find(wanted: Wanted, onFound: (place: number | null) => void): void {
    this.#ask(async () => onFound(await this.#reading.find(this.#paths, this.summary.id, wanted)));
  }

  #page(position: number): StepPage | null {
    const number = Math.floor(Math.min(position, this.count) / PAGE_STEPS);
    const page = this.#pages.get(number);
    if (page !== undefined) return page;
    if (this.#asked.has(number)) return null;
    this.#asked.add(number);
    this.#ask(async () => {
      const found = await this.#reading.page(this.#paths, this.summary.id, number * PAGE_STEPS);
      this.#asked.delete(number);
      this.#pages.set(number, found.page);
      for (const old of this.#pages.keys()) {
        if (this.#pages.size <= KEPT_PAGES) break;
        this.#pages.delete(old);
      }
    });
    return null;
  }

  #ask(work: () => Promise<void>): void {
    work().then(this.#onChange, (thrown: unknown) => {
      this.#problem = errorText(thrown);
      this.#onChange();
    });
  }
}
