import { LabError } from '../../src/domain/error.ts';
import { type ActionLayout, CANDIDATE_TOKENS, type PolicySpec } from '../../src/domain/policy-spec.ts';
import {
  ARGUMENT_TYPES,
  type ArgumentType,
  type Candidate,
  type Observation,
  takesArgument,
} from '../../src/domain/space.ts';
import { type EncodedText, FEATURE, LineReader, MAX_NAMES } from './line-reader.ts';
import { findPhrase } from './words.ts';

/** Row-major arrays of a batch, into which observations are written in place. */
export interface EncodedRows {
  /** [rows, sentences, tokens] */
  readonly tokens: Uint16Array | Int32Array;
  /** [rows, slots, CANDIDATE_TOKENS] */
  readonly candidates: Uint16Array | Int32Array;
  /** [rows, A]: 1 where the action is legal. */
  readonly mask: Uint8Array | Float32Array;
}

interface EncodedCandidates {
  readonly generation: number;
  /** Place of each among all argument slots. */
  readonly slots: readonly number[];
  readonly texts: readonly EncodedText[];
  readonly kindTokens: readonly number[];
}

/**
 * Writes observations as hashed tokens, and remembers lines, names and candidate sets between calls: one per policy.
 * What it writes is described at `encodeObservation`.
 */
export class ObservationEncoder {
  readonly #spec: PolicySpec;
  readonly #layout: ActionLayout;
  readonly #reader: LineReader;
  readonly #candidateSets = new WeakMap<readonly Candidate[], EncodedCandidates>();
  // Where each name was last seen, by its number. An entry counts only when it bears the observation's stamp.
  #stamp = 0;
  readonly #taskStamp = new Float64Array(MAX_NAMES);
  readonly #taskLeft = new Uint16Array(2 * MAX_NAMES);
  readonly #lateStamp = new Float64Array(MAX_NAMES);
  readonly #lateLeft = new Uint16Array(2 * MAX_NAMES);
  readonly #lateAge = new Uint8Array(MAX_NAMES);

  /** Throws `config-invalid` when the task leaves no sentence for anything else. */
  constructor(spec: PolicySpec, layout: ActionLayout) {
    if (spec.taskSentences >= spec.sentences) {
      throw new LabError('config-invalid', {
        message: `policy.taskSentences is ${spec.taskSentences} and policy.sentences is ${spec.sentences}: no sentence is left for what happens`,
        hint: 'make policy.sentences larger than policy.taskSentences',
      });
    }
    this.#spec = spec;
    this.#layout = layout;
    this.#reader = new LineReader(spec);
  }

  encode(observation: Observation, out: EncodedRows, row: number): void {
    this.#reader.makeRoom();
    this.#stamp++;
    const set = this.#candidateSet(observation.candidates);
    this.#encodeLines(observation.lines, out.tokens, row);
    this.#encodeCandidates(set, observation.lines, out.candidates, row);
    this.#encodeMask(set, observation, out.mask, row);
  }

  #encodeLines(lines: readonly string[], out: EncodedRows['tokens'], row: number): void {
    const { sentences, tokens } = this.#spec;
    const start = row * sentences * tokens;
    const end = start + sentences * tokens;
    const task = this.#reader.task(lines[0] ?? '');
    const taskEnd = copyInto(out, task.tokens, start);
    this.#markTask(task.names);
    const first = this.#firstShown(lines.length);
    let at = end - (lines.length - first) * tokens;
    if (taskEnd < at) out.fill(0, taskEnd, at);
    for (let i = first; i < lines.length; i++) {
      const line = this.#reader.late(lines[i] ?? '');
      at = copyInto(out, line.tokens, at);
      this.#markLate(line.names, lines.length - 1 - i);
    }
  }

  /** Index of the oldest line, after the task, that still fits. */
  #firstShown(lines: number): number {
    return Math.min(lines, Math.max(1, lines - (this.#spec.sentences - this.#spec.taskSentences)));
  }

  /** Backwards, so that the first occurrence stays. */
  #markTask(names: readonly number[]): void {
    for (let i = names.length - 3; i >= 0; i -= 3) {
      const name = names[i] ?? 0;
      this.#taskStamp[name] = this.#stamp;
      this.#taskLeft[2 * name] = names[i + 1] ?? 0;
      this.#taskLeft[2 * name + 1] = names[i + 2] ?? 0;
    }
  }

  #markLate(names: readonly number[], age: number): void {
    for (let i = 0; i < names.length; i += 3) {
      const name = names[i] ?? 0;
      this.#lateStamp[name] = this.#stamp;
      this.#lateLeft[2 * name] = names[i + 1] ?? 0;
      this.#lateLeft[2 * name + 1] = names[i + 2] ?? 0;
      this.#lateAge[name] = age;
    }
  }

  #encodeCandidates(
    set: EncodedCandidates,
    lines: readonly string[],
    out: EncodedRows['candidates'],
    row: number,
  ): void {
    const start = row * this.#layout.slots * CANDIDATE_TOKENS;
    out.fill(0, start, start + this.#layout.slots * CANDIDATE_TOKENS);
    for (const [i, text] of set.texts.entries()) {
      const at = start + (set.slots[i] ?? 0) * CANDIDATE_TOKENS;
      out[at + FEATURE.text] = text.token;
      out[at + FEATURE.kind] = set.kindTokens[i] ?? 0;
      if (text.name >= 0) this.#placeName(text.name, out, at);
      else this.#placePhrase(text.lower, lines, out, at);
    }
  }

  #placeName(name: number, out: EncodedRows['candidates'], at: number): void {
    const { absent, ages } = this.#reader;
    const inTask = this.#taskStamp[name] === this.#stamp;
    out[at + FEATURE.taskLeft1] = (inTask ? this.#taskLeft[2 * name] : absent[FEATURE.taskLeft1]) ?? 0;
    out[at + FEATURE.taskLeft2] = (inTask ? this.#taskLeft[2 * name + 1] : absent[FEATURE.taskLeft2]) ?? 0;
    const isLate = this.#lateStamp[name] === this.#stamp;
    out[at + FEATURE.lateLeft1] = (isLate ? this.#lateLeft[2 * name] : absent[FEATURE.lateLeft1]) ?? 0;
    out[at + FEATURE.lateLeft2] = (isLate ? this.#lateLeft[2 * name + 1] : absent[FEATURE.lateLeft2]) ?? 0;
    out[at + FEATURE.age] = (isLate ? ages[this.#lateAge[name] ?? 0] : absent[FEATURE.age]) ?? 0;
  }

  /** The slow way, for texts of several words or with signs in them. */
  #placePhrase(text: string, lines: readonly string[], out: EncodedRows['candidates'], at: number): void {
    const reader = this.#reader;
    for (let feature: number = FEATURE.taskLeft1; feature <= FEATURE.age; feature++) {
      out[at + feature] = reader.absent[feature] ?? 0;
    }
    const task = reader.task(lines[0] ?? '');
    const inTask = findPhrase(task.lower, text, 'first');
    if (inTask >= 0) {
      out[at + FEATURE.taskLeft1] = reader.leftToken(FEATURE.taskLeft1, task.words, inTask - 1);
      out[at + FEATURE.taskLeft2] = reader.leftToken(FEATURE.taskLeft2, task.words, inTask - 2);
    }
    for (let i = lines.length - 1; i >= this.#firstShown(lines.length); i--) {
      const line = reader.late(lines[i] ?? '');
      const found = findPhrase(line.lower, text, 'last');
      if (found < 0) continue;
      out[at + FEATURE.lateLeft1] = reader.leftToken(FEATURE.lateLeft1, line.words, found - 1);
      out[at + FEATURE.lateLeft2] = reader.leftToken(FEATURE.lateLeft2, line.words, found - 2);
      out[at + FEATURE.age] = reader.ages[lines.length - 1 - i] ?? 0;
      return;
    }
  }

  #encodeMask(set: EncodedCandidates, observation: Observation, out: EncodedRows['mask'], row: number): void {
    const { bare, size } = this.#layout;
    const start = row * size;
    out.fill(0, start, start + size);
    const { legal, candidates } = observation;
    for (const type of legal) {
      if (!takesArgument(type)) out[start + bare[type]] = 1;
    }
    for (let i = 0; i < candidates.length; i++) {
      const type = candidates[i]?.type;
      if (type !== undefined && legal.includes(type)) out[start + (set.slots[i] ?? 0)] = 1;
    }
  }

  /** Environments that offer the same array again, as the contract asks, pay for it once. */
  #candidateSet(candidates: readonly Candidate[]): EncodedCandidates {
    const known = this.#candidateSets.get(candidates);
    if (known !== undefined && known.generation === this.#reader.generation) return known;
    const used = { read: 0, select_tool: 0, input: 0 };
    const slots = candidates.map(({ type }) => this.#layout.blocks[type].start + used[type]++);
    for (const type of ARGUMENT_TYPES) this.#checkCount(type, used[type]);
    const encoded: EncodedCandidates = {
      generation: this.#reader.generation,
      slots,
      texts: candidates.map(({ text }) => this.#reader.candidateText(text)),
      kindTokens: candidates.map(({ kind }) => this.#reader.kindToken(kind)),
    };
    this.#candidateSets.set(candidates, encoded);
    return encoded;
  }

  #checkCount(type: ArgumentType, count: number): void {
    const limit = this.#layout.blocks[type].length;
    if (count <= limit) return;
    throw new LabError('environment-invalid', {
      message: `the observation offers ${count} candidates of type ${type}, and the policy has slots for ${limit}`,
      hint: `offer fewer, or raise policy.argumentSlots.${type} in the config`,
    });
  }
}

/** Copies a short list: faster than `set` for a sentence. Returns where it ends. */
function copyInto(out: EncodedRows['tokens'], from: readonly number[], at: number): number {
  for (let i = 0; i < from.length; i++) out[at + i] = from[i] ?? 0;
  return at + from.length;
}
