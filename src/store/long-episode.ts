import { constants, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import {
  type EpisodeBody,
  type EpisodeSummary,
  episodeBodySchema,
  stepRecordSchema,
} from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { formatAction } from '../domain/space.ts';
import { BodyScanner, type Spans } from './body-scan.ts';
import { MAX_BODY_BYTES } from './segment.ts';
import { StepFigureBuilder, type StepFigures } from './step-figures.ts';
import { reasonText } from './store-error.ts';

/** Steps of a page. */
export const PAGE_STEPS = 256;
/** Deflated bytes that the first page is looked for in; twice as many when it is not there. */
const FIRST_BYTES = 64 * 1024;
const LEAST_CHUNK = 16 * 1024;
const MOST_CHUNK = 16 * 1024 * 1024;

/**
 * Some steps of an episode, as a body of their own with the lines and candidates that they need. Its first step is number `from`,
 * from 0: the last one of the page before, so that what is new in the page's first step can be told.
 */
export interface StepPage {
  readonly from: number;
  readonly body: EpisodeBody;
}

/** What is read of every step: the rest of it is checked with its page. */
const figuredSchema = stepRecordSchema.pick({
  observation: true,
  action: true,
  effective: true,
  reward: true,
  value: true,
  parts: true,
  tool: true,
  agent: true,
});

/** Stands for a step that there is not. */
const NO_STEP = -1;
const ALL = Number.POSITIVE_INFINITY;
const indicesSchema = z.array(z.int().nonnegative());

/** What a search goes through: of each step the lines it saw, and what it did as a number of `actions`. */
interface Trace {
  /** Lines of step `i` are `seen` from `ends[i - 1]` up to `ends[i]`; of the last observation after all steps. */
  readonly seen: Uint32Array;
  readonly ends: Uint32Array;
  readonly done: Uint32Array;
  readonly actions: readonly string[];
  /** Of each step, and of the last observation, the step before it of whoever sees it; NO_STEP where there is none. */
  readonly before: Int32Array;
}

/**
 * A stored episode of any length, read a page at a time: its body is unpacked only as far as the page needs, and only the page's
 * steps are parsed. Every method throws `segment-corrupt` for a body that is damaged.
 */
export class LongEpisode {
  readonly summary: EpisodeSummary;
  readonly #deflated: Uint8Array;
  readonly #scanner = new BodyScanner();
  /** What has been unpacked of the body: so many of its deflated bytes. */
  #bytes: Buffer = Buffer.alloc(0);
  #unpacked = 0;
  #survey: Survey | null = null;

  constructor(summary: EpisodeSummary, deflated: Uint8Array) {
    this.summary = summary;
    this.#deflated = deflated;
  }

  /** The page with a step; that of the last step for a number beyond it. */
  page(step: number): StepPage {
    const wanted = Math.floor(Math.min(step, this.summary.steps) / PAGE_STEPS) * PAGE_STEPS;
    const to = Math.min(wanted + PAGE_STEPS, this.summary.steps);
    const isLast = to === this.summary.steps;
    this.#readUntil(isLast ? ALL : to);
    const { parts } = this.#scanner;
    const from = Math.max(0, wanted - 1);
    const lines = new Gathered(this.#bytes, parts.lines);
    const sets = new Gathered(this.#bytes, parts.candidateSets);
    const steps: unknown[] = [];
    for (let index = from; index < to; index += 1) {
      const record = this.#step(stepRecordSchema, index);
      const observation = record.observation.map((line) => lines.take(line));
      steps.push({ ...record, observation, candidates: sets.take(record.candidates) });
    }
    const final = isLast ? this.#values(indicesSchema, parts.finalObservation) : [];
    const finalObservation = final.map((line) => lines.take(line));
    // Written by somebody else, what steps point at may come behind them.
    if ((lines.lacks || sets.lacks) && !this.#scanner.isWhole) {
      this.#readUntil(ALL);
      return this.page(step);
    }
    try {
      const found = { lines: lines.values, candidateSets: sets.values, steps, finalObservation };
      const finalAgent = isLast ? this.#finalAgent() : undefined;
      return { from, body: episodeBodySchema.parse({ ...found, finalAgent }) };
    } catch (thrown) {
      throw this.#corrupt(reasonText(thrown), thrown);
    }
  }

  /**
   * Figures of all steps. The first call unpacks the whole of it; each reads `most` further steps, some 200,000 a second, and gives
   * null while there are more.
   */
  figures(most = ALL): StepFigures | null {
    this.#readUntil(ALL);
    const { steps, finalObservation } = this.#scanner.parts;
    this.#survey ??= new Survey(this.summary, steps.length);
    for (let left = most; left > 0 && this.#survey.length < steps.length; left -= 1) {
      this.#survey.add(this.#step(figuredSchema, this.#survey.length));
    }
    if (this.#survey.length < steps.length) return null;
    this.#survey.end(this.#values(indicesSchema, finalObservation), this.#finalAgent());
    return this.#survey.figures;
  }

  /**
   * The next step from one (not itself) on whose action or whose new lines hold a text, whatever the case; round the end. The number
   * behind the last step stands for the last observation. Null when there is no other.
   */
  find(wanted: string, from: number, direction: 1 | -1): number | null {
    this.figures();
    const trace = this.#survey?.trace ?? NO_TRACE;
    const { seen, ends, done, actions } = trace;
    const sought = wanted.toLowerCase();
    const holds = (text: string): boolean => text.toLowerCase().includes(sought);
    const inLines = this.#values(z.array(z.string()), this.#scanner.parts.lines).map(holds);
    const inActions = actions.map(holds);
    const places = ends.length;
    for (let away = 1; away < places; away += 1) {
      const place = (from + direction * away + 2 * places) % places;
      if (inActions[done[place] ?? -1] === true) return place;
      const [start, end] = [place === 0 ? 0 : (ends[place - 1] ?? 0), ends[place] ?? 0];
      const lines = seen.subarray(start, end);
      if (lines.some((line) => inLines[line] === true && !sawBefore(trace, place, line))) return place;
    }
    return null;
  }

  /** Unpacks as much as so many steps need; for more than there are, all. */
  #readUntil(steps: number): void {
    const { parts } = this.#scanner;
    while (!this.#scanner.isWhole && parts.steps.length < steps) {
      this.#scanner.scan(this.#bytes, steps);
      if (this.#scanner.isWhole || parts.steps.length >= steps) return;
      if (this.#unpacked >= this.#deflated.byteLength) {
        throw this.#corrupt('its JSON is not that of an episode', null);
      }
      const most = Number.isFinite(steps) ? Math.max(FIRST_BYTES, this.#unpacked * 2) : Infinity;
      this.#bytes = this.#unpack(Math.min(most, this.#deflated.byteLength));
    }
  }

  #unpack(bytes: number): Buffer {
    this.#unpacked = bytes;
    try {
      return inflateRawSync(this.#deflated.subarray(0, bytes), {
        maxOutputLength: MAX_BODY_BYTES,
        // In pieces of 16 KiB, as by default, unpacking takes half as long again.
        chunkSize: Math.min(MOST_CHUNK, Math.max(LEAST_CHUNK, 8 * bytes)),
        // Of a start, what is there is handed out.
        ...(bytes < this.#deflated.byteLength ? { finishFlush: constants.Z_SYNC_FLUSH } : {}),
      });
    } catch (thrown) {
      throw this.#corrupt(`a body that does not unpack: ${reasonText(thrown)}`, thrown);
    }
  }

  #step<Value>(schema: z.ZodType<Value>, index: number): Value {
    try {
      return schema.parse(valueAt(this.#bytes, this.#scanner.parts.steps, index));
    } catch (thrown) {
      throw this.#corrupt(`step ${index + 1}: ${reasonText(thrown)}`, thrown);
    }
  }

  /** All of an array. */
  #values<Value>(schema: z.ZodType<Value>, spans: Spans): Value {
    try {
      const end = spans.end(Math.max(0, spans.length - 1));
      return schema.parse(JSON.parse(`[${this.#bytes.toString('utf8', spans.start(0), end)}]`));
    } catch (thrown) {
      throw this.#corrupt(reasonText(thrown), thrown);
    }
  }

  /** Whose turn it would be after the last step; all of it has been read. */
  #finalAgent(): string | undefined {
    const { finalAgent } = this.#scanner;
    if (finalAgent.length === 0) return undefined;
    return z.string().safeParse(valueAt(this.#bytes, finalAgent, 0)).data;
  }

  #corrupt(what: string, cause: unknown): LabError {
    return new LabError('segment-corrupt', {
      message: `episode ${this.summary.id} cannot be read: ${what}`,
      hint: 'see what is lost, and rebuild the index of the rest, with: agentrl-lab fsck',
      cause,
    });
  }
}

const NO_TRACE: Trace = {
  seen: new Uint32Array(),
  ends: new Uint32Array(),
  done: new Uint32Array(),
  actions: [],
  before: new Int32Array(),
};

/** Figures and trace of an episode, made step by step. */
class Survey {
  readonly #builder: StepFigureBuilder;
  readonly #ends: Uint32Array;
  readonly #done: Uint32Array;
  readonly #actions = new Map<string, number>();
  readonly #before: Int32Array;
  /** The newest step of each agent, of the only one under no name. */
  readonly #turns = new Map<string | undefined, number>();
  readonly #seen: number[] = [];
  #length = 0;
  #trace: Trace = NO_TRACE;

  constructor(summary: EpisodeSummary, steps: number) {
    this.#builder = new StepFigureBuilder(summary, steps);
    this.#ends = new Uint32Array(steps + 1);
    this.#done = new Uint32Array(steps);
    this.#before = new Int32Array(steps + 1);
  }

  /** Steps taken so far. */
  get length(): number {
    return this.#length;
  }

  get figures(): StepFigures {
    return this.#builder.figures;
  }

  get trace(): Trace {
    return this.#trace;
  }

  add(step: z.infer<typeof figuredSchema>): void {
    this.#builder.add(step);
    for (const line of step.observation) this.#seen.push(line);
    this.#ends[this.#length] = this.#seen.length;
    const action = formatAction(step.action);
    const known = this.#actions.get(action) ?? this.#actions.size;
    this.#actions.set(action, known);
    this.#done[this.#length] = known;
    this.#before[this.#length] = this.#turns.get(step.agent) ?? NO_STEP;
    this.#turns.set(step.agent, this.#length);
    this.#length += 1;
  }

  /** The last observation comes after all steps. */
  end(finalObservation: readonly number[], agent: string | undefined): void {
    if (this.#trace !== NO_TRACE) return;
    this.#before[this.#length] = this.#turns.get(agent) ?? NO_STEP;
    for (const line of finalObservation) this.#seen.push(line);
    this.#ends[this.#length] = this.#seen.length;
    const actions = [...this.#actions.keys()];
    const seen = Uint32Array.from(this.#seen);
    this.#trace = { seen, ends: this.#ends, done: this.#done, actions, before: this.#before };
  }
}

/** Whether a line stood in the observation before this one, of whoever sees it. */
function sawBefore({ seen, ends, before }: Trace, place: number, line: number): boolean {
  const step = before[place] ?? NO_STEP;
  if (step === NO_STEP) return false;
  return seen.subarray(step === 0 ? 0 : (ends[step - 1] ?? 0), ends[step] ?? 0).includes(line);
}

function valueAt(bytes: Buffer, spans: Spans, index: number): unknown {
  return JSON.parse(bytes.toString('utf8', spans.start(index), spans.end(index)));
}

/** The elements of an array that something points at, in the order that they are first asked for. */
class Gathered {
  readonly values: unknown[] = [];
  readonly #bytes: Buffer;
  readonly #spans: Spans;
  readonly #places = new Map<number, number>();

  constructor(bytes: Buffer, spans: Spans) {
    this.#bytes = bytes;
    this.#spans = spans;
  }

  /** Something was pointed at that is not there: its value is null. */
  get lacks(): boolean {
    return this.values.includes(null);
  }

  /** The place among `values` of element `index`. */
  take(index: number): number {
    const known = this.#places.get(index);
    if (known !== undefined) return known;
    const place = this.values.length;
    this.#places.set(index, place);
    this.values.push(index < this.#spans.length ? valueAt(this.#bytes, this.#spans, index) : null);
    return place;
  }
}
