import { LabError } from '../../src/domain/error.ts';
import { type ActionLayout, CANDIDATE_TOKENS, type TextPolicySpec } from '../../src/domain/policy-spec.ts';
import {
  ARGUMENT_TYPES,
  type ArgumentType,
  type Candidate,
  type Observation,
  takesArgument,
} from '../../src/domain/space.ts';
import { type EncodedText, FEATURE, LineReader, MAX_NAMES } from './line-reader.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import { findPhrase, splitLine } from './words.ts';

/** One of a batch's row-major arrays. */
type Rows = Int32Array | Float32Array;

interface EncodedCandidates {
  readonly generation: number;
  /** Place of each among all argument slots. */
  readonly slots: readonly number[];
  readonly texts: readonly EncodedText[];
  readonly kindTokens: readonly number[];
}

/**
 * What was read of the newest observation of a slot. Most lines of the next one are the same, so that whoever encodes many
 * slots in turn keeps one of these for each: looking a line up among those of all slots costs more than writing it. It
 * changes nothing in what is written.
 */
export interface EncodingMemory {
  generation: number;
  readonly lines: string[];
  /** Number of each of the lines: the task's among the reader's tasks, the others' among its lines. */
  readonly numbers: number[];
  candidates: readonly Candidate[] | null;
  encodedCandidates: EncodedCandidates | null;
}

/** One that remembers nothing yet. */
export function createEncodingMemory(): EncodingMemory {
  return { generation: 0, lines: [], numbers: [], candidates: null, encodedCandidates: null };
}

/**
 * Writes observations as hashed tokens, and remembers lines, names and candidate sets between calls: one per policy.
 * What it writes is described at `encodeObservation`.
 */
export class ObservationEncoder {
  readonly #spec: TextPolicySpec;
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
  /** For those who bring none. */
  readonly #memory = createEncodingMemory();

  /** Throws `config-invalid` when the task leaves no sentence for anything else. */
  constructor(spec: TextPolicySpec, layout: ActionLayout) {
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

  /** Writes row `row`. Throws `environment-invalid` as `encodeObservation` does. */
  encode(observation: Observation, out: ObservationArrays, row: number, memory = this.#memory): void {
    const { tokens, candidates, mask } = out;
    if (tokens === undefined || candidates === undefined || mask === undefined) return;
    this.#reader.makeRoom();
    this.#stamp++;
    if (memory.generation !== this.#reader.generation) forget(memory, this.#reader.generation);
    const set = this.#rememberedSet(observation.candidates, memory);
    this.#encodeLines(observation.lines, memory, tokens, row);
    this.#encodeCandidates(set, observation.lines, candidates, row);
    this.#encodeMask(set, observation, mask, row);
  }

  #encodeLines(lines: readonly string[], memory: EncodingMemory, out: Rows, row: number): void {
    const { sentences, tokens } = this.#spec;
    const start = row * sentences * tokens;
    const end = start + sentences * tokens;
    const reader = this.#reader;
    const task = this.#readTask(lines[0] ?? '', memory);
    const taskWidth = this.#spec.taskSentences * tokens;
    const taskEnd = start + taskWidth;
    copyRow(reader.tasks.tokens, task * taskWidth, { out, at: start, width: taskWidth });
    this.#markTask(task);
    const first = this.#firstShown(lines.length);
    let at = end - (lines.length - first) * tokens;
    if (taskEnd < at) out.fill(0, taskEnd, at);
    for (let i = first; i < lines.length; i++) {
      const line = this.#readLate(lines[i] ?? '', i, memory);
      copyRow(reader.lines.tokens, line * tokens, { out, at, width: tokens });
      at += tokens;
      this.#markLate(line, lines.length - 1 - i);
    }
  }

  #readTask(text: string, { lines, numbers }: EncodingMemory): number {
    const known = lines[0] === text ? numbers[0] : undefined;
    if (known !== undefined) return known;
    const number = this.#reader.task(text);
    lines[0] = text;
    numbers[0] = number;
    return number;
  }

  /** It may stand where it stood before, or one place further on: turns move up when the oldest goes. */
  #readLate(text: string, place: number, { lines, numbers }: EncodingMemory): number {
    const same = lines[place] === text ? numbers[place] : undefined;
    if (same !== undefined) return same;
    const moved = lines[place + 1] === text ? numbers[place + 1] : undefined;
    const number = moved ?? this.#reader.late(text);
    lines[place] = text;
    numbers[place] = number;
    return number;
  }

  /** Index of the oldest line, after the task, that still fits. */
  #firstShown(lines: number): number {
    return Math.min(lines, Math.max(1, lines - (this.#spec.sentences - this.#spec.taskSentences)));
  }

  /** Backwards, so that the first occurrence stays. */
  #markTask(line: number): void {
    const { names, nameStarts } = this.#reader.tasks;
    const start = nameStarts[line] ?? 0;
    for (let i = (nameStarts[line + 1] ?? 0) - 3; i >= start; i -= 3) {
      const name = names[i] ?? 0;
      this.#taskStamp[name] = this.#stamp;
      this.#taskLeft[2 * name] = names[i + 1] ?? 0;
      this.#taskLeft[2 * name + 1] = names[i + 2] ?? 0;
    }
  }

  #markLate(line: number, age: number): void {
    const { names, nameStarts } = this.#reader.lines;
    const end = nameStarts[line + 1] ?? 0;
    for (let i = nameStarts[line] ?? 0; i < end; i += 3) {
      const name = names[i] ?? 0;
      this.#lateStamp[name] = this.#stamp;
      this.#lateLeft[2 * name] = names[i + 1] ?? 0;
      this.#lateLeft[2 * name + 1] = names[i + 2] ?? 0;
      this.#lateAge[name] = age;
    }
  }

  #encodeCandidates(set: EncodedCandidates, lines: readonly string[], out: Rows, row: number): void {
    const start = row * this.#layout.slots * CANDIDATE_TOKENS;
    out.fill(0, start, start + this.#layout.slots * CANDIDATE_TOKENS);
    const { texts } = set;
    for (let i = 0; i < texts.length; i++) {
      const text = texts[i];
      if (text === undefined) continue;
      const at = start + (set.slots[i] ?? 0) * CANDIDATE_TOKENS;
      out[at + FEATURE.text] = text.token;
      out[at + FEATURE.kind] = set.kindTokens[i] ?? 0;
      if (text.name >= 0) this.#placeName(text.name, out, at);
      else this.#placePhrase(text.lower, lines, out, at);
    }
  }

  #placeName(name: number, out: Rows, at: number): void {
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
  #placePhrase(text: string, lines: readonly string[], out: Rows, at: number): void {
    const reader = this.#reader;
    for (let feature: number = FEATURE.taskLeft1; feature <= FEATURE.age; feature++) {
      out[at + feature] = reader.absent[feature] ?? 0;
    }
    const task = (lines[0] ?? '').toLowerCase();
    const inTask = findPhrase(task, text, 'first');
    if (inTask >= 0) {
      const { words } = splitLine(task);
      out[at + FEATURE.taskLeft1] = reader.leftToken(FEATURE.taskLeft1, words, inTask - 1);
      out[at + FEATURE.taskLeft2] = reader.leftToken(FEATURE.taskLeft2, words, inTask - 2);
    }
    for (let i = lines.length - 1; i >= this.#firstShown(lines.length); i--) {
      const line = (lines[i] ?? '').toLowerCase();
      const found = findPhrase(line, text, 'last');
      if (found < 0) continue;
      const { words } = splitLine(line);
      out[at + FEATURE.lateLeft1] = reader.leftToken(FEATURE.lateLeft1, words, found - 1);
      out[at + FEATURE.lateLeft2] = reader.leftToken(FEATURE.lateLeft2, words, found - 2);
      out[at + FEATURE.age] = reader.ages[lines.length - 1 - i] ?? 0;
      return;
    }
  }

  #encodeMask(set: EncodedCandidates, observation: Observation, out: Rows, row: number): void {
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

  #rememberedSet(candidates: readonly Candidate[], memory: EncodingMemory): EncodedCandidates {
    if (memory.candidates === candidates && memory.encodedCandidates !== null)
      return memory.encodedCandidates;
    const set = this.#candidateSet(candidates);
    memory.candidates = candidates;
    memory.encodedCandidates = set;
    return set;
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

function forget(memory: EncodingMemory, generation: number): void {
  memory.generation = generation;
  memory.lines.length = 0;
  memory.numbers.length = 0;
  memory.candidates = null;
  memory.encodedCandidates = null;
}

/** Copies tokens one by one: faster than `set` for a sentence. */
function copyRow(
  from: Uint16Array,
  start: number,
  { out, at, width }: { readonly out: Rows; readonly at: number; readonly width: number },
): void {
  for (let i = 0; i < width; i++) out[at + i] = from[start + i] ?? 0;
}
