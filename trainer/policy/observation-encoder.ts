import { LabError } from '../../src/domain/error.ts';
import { type ActionLayout, CANDIDATE_TOKENS, type TextPolicySpec } from '../../src/domain/policy-spec.ts';
import {
  ARGUMENT_TYPES,
  type ArgumentType,
  type Candidate,
  type Observation,
  takesArgument,
} from '../../src/domain/space.ts';
import { FEATURE, LineReader, MAX_NAMES, type ReadTask } from './line-reader.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import { findPhrase, splitLine } from './words.ts';

/** Numbers for each name that was seen: in the task, and in the other lines; `…Left` is two tokens. */
const MARK = { taskStamp: 0, taskLeft: 1, lateStamp: 3, lateLeft: 4, lateAge: 6 } as const;
/** One more than are used, so that those of a name are in one line of a cache. */
const MARK_WIDTH = 8;
/** Stamps are whole numbers of 31 bits. */
const LAST_STAMP = 2 ** 31 - 1;

/** Place of each type among ARGUMENT_TYPES. */
const TYPE_PLACES: Readonly<Record<ArgumentType, number>> = { read: 0, select_tool: 1, input: 2 };

/** One of a batch's row-major arrays. */
type Rows = Int32Array | Float32Array;

/** Numbers for each candidate of a set: its place among all argument slots, its tokens, its name, its type's place. */
const SET = { slot: 0, text: 1, kind: 2, name: 3, type: 4 } as const;
const SET_WIDTH = 5;

/**
 * A set of candidates, as far as that depends on nothing else: SET_WIDTH numbers for each, one after the other, `end` in all. A
 * slot writes its sets into the same two again and again: what lives for an episode is what collecting garbage costs.
 */
interface EncodedSet {
  candidates: readonly Candidate[];
  readonly numbers: Int32Array;
  end: number;
}

/** No environment's. */
const NO_CANDIDATES: readonly Candidate[] = [];

/**
 * What was read of the newest observation of a slot. Most lines of the next one are the same, so that whoever encodes many
 * slots in turn keeps one of these for each: looking a line up among those of all slots costs more than writing it. It
 * changes nothing in what is written.
 */
export interface EncodingMemory {
  generation: number;
  task: ReadTask | null;
  /** Those behind the task's, each in its place, and their numbers among the reader's lines. */
  readonly lines: string[];
  readonly numbers: number[];
  /** The set of the newest observation, and the one before it: environments come back to the same array. */
  set: EncodedSet | null;
  otherSet: EncodedSet | null;
}

/** Place in a set of the candidate in an argument slot; -1 where there is none. */
export function placeInSet({ numbers, end }: EncodedSet, slot: number): number {
  for (let at = SET.slot; at < end; at += SET_WIDTH) {
    if (numbers[at] === slot) return (at - SET.slot) / SET_WIDTH;
  }
  return -1;
}

/** One that remembers nothing yet. */
export function createEncodingMemory(): EncodingMemory {
  return { generation: 0, task: null, lines: [], numbers: [], set: null, otherSet: null };
}

/**
 * Writes observations as hashed tokens, and remembers lines, names and candidate sets between calls: one per policy.
 * What it writes is described at `encodeObservation`.
 */
export class ObservationEncoder {
  readonly #spec: TextPolicySpec;
  readonly #layout: ActionLayout;
  readonly #reader: LineReader;
  /**
   * Where each name was last seen, by its number: MARK_WIDTH numbers for each, which lie together because the next name's
   * are in no cache. A mark counts only when it bears the observation's stamp.
   */
  readonly #marks = new Int32Array(MARK_WIDTH * MAX_NAMES);
  #stamp = 0;
  /** 1 for each argument type that the observation allows. */
  readonly #legal = new Uint8Array(ARGUMENT_TYPES.length);
  /** Candidates of each argument type in the set that is read. */
  readonly #used = new Int32Array(ARGUMENT_TYPES.length);
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
    this.#nextStamp();
    if (memory.generation !== this.#reader.generation) forget(memory, this.#reader.generation);
    const set = this.#rememberedSet(observation.candidates, memory);
    this.#encodeLines(observation.lines, memory, tokens, row);
    this.#encodeCandidates(set, observation.lines, candidates, row);
    this.#encodeMask(set, observation, mask, row);
  }

  /** Marks are as they were at first when the numbers of stamps run out. */
  #nextStamp(): void {
    if (this.#stamp === LAST_STAMP) {
      this.#marks.fill(0);
      this.#stamp = 0;
    }
    this.#stamp++;
  }

  #encodeLines(lines: readonly string[], memory: EncodingMemory, out: Rows, row: number): void {
    const { sentences, tokens } = this.#spec;
    const start = row * sentences * tokens;
    const end = start + sentences * tokens;
    const reader = this.#reader;
    const task = this.#readTask(lines[0] ?? '', memory);
    const taskEnd = start + task.tokens.length;
    copyRow(task.tokens, 0, { out, at: start, width: task.tokens.length });
    this.#markTask(task);
    const first = this.#firstShown(lines.length);
    const oldest = end - (lines.length - first) * tokens;
    if (taskEnd < oldest) out.fill(0, taskEnd, oldest);
    // Line 1, while it is shown, stands behind the newest: see `encodeObservation`.
    const turned = first === 1 ? 2 : first;
    let at = oldest;
    for (let i = first; i < lines.length; i++) {
      const line = this.#readLate(lines[i] ?? '', i, memory);
      const place = i < turned ? end - tokens : at;
      copyRow(reader.lines.tokens, line * tokens, { out, at: place, width: tokens });
      if (i >= turned) at += tokens;
      // The oldest first, so that the newest mark stays.
      this.#markLate(line, lines.length - 1 - i);
    }
  }

  #readTask(text: string, memory: EncodingMemory): ReadTask {
    memory.task ??= this.#reader.emptyTask();
    if (memory.task.text !== text) this.#reader.task(text, memory.task);
    return memory.task;
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
  #markTask({ names, nameEnd }: ReadTask): void {
    const marks = this.#marks;
    for (let i = nameEnd - 3; i >= 0; i -= 3) {
      const at = MARK_WIDTH * (names[i] ?? 0);
      marks[at + MARK.taskStamp] = this.#stamp;
      marks[at + MARK.taskLeft] = names[i + 1] ?? 0;
      marks[at + MARK.taskLeft + 1] = names[i + 2] ?? 0;
    }
  }

  #markLate(line: number, age: number): void {
    const { names, nameStarts } = this.#reader.lines;
    const marks = this.#marks;
    const end = nameStarts[line + 1] ?? 0;
    for (let i = nameStarts[line] ?? 0; i < end; i += 3) {
      const at = MARK_WIDTH * (names[i] ?? 0);
      marks[at + MARK.lateStamp] = this.#stamp;
      marks[at + MARK.lateLeft] = names[i + 1] ?? 0;
      marks[at + MARK.lateLeft + 1] = names[i + 2] ?? 0;
      marks[at + MARK.lateAge] = age;
    }
  }

  #encodeCandidates(set: EncodedSet, lines: readonly string[], out: Rows, row: number): void {
    const start = row * this.#layout.slots * CANDIDATE_TOKENS;
    out.fill(0, start, start + this.#layout.slots * CANDIDATE_TOKENS);
    const { numbers, candidates, end } = set;
    for (let i = 0; i < end; i += SET_WIDTH) {
      const at = start + (numbers[i + SET.slot] ?? 0) * CANDIDATE_TOKENS;
      out[at + FEATURE.text] = numbers[i + SET.text] ?? 0;
      out[at + FEATURE.kind] = numbers[i + SET.kind] ?? 0;
      const name = numbers[i + SET.name] ?? -1;
      if (name >= 0) this.#placeName(name, out, at);
      else this.#placePhrase(candidates[i / SET_WIDTH]?.text.toLowerCase() ?? '', lines, out, at);
    }
  }

  #placeName(name: number, out: Rows, at: number): void {
    const { absent, ages } = this.#reader;
    const marks = this.#marks;
    const mark = MARK_WIDTH * name;
    const inTask = marks[mark + MARK.taskStamp] === this.#stamp;
    out[at + FEATURE.taskLeft1] = (inTask ? marks[mark + MARK.taskLeft] : absent[FEATURE.taskLeft1]) ?? 0;
    out[at + FEATURE.taskLeft2] = (inTask ? marks[mark + MARK.taskLeft + 1] : absent[FEATURE.taskLeft2]) ?? 0;
    const isLate = marks[mark + MARK.lateStamp] === this.#stamp;
    out[at + FEATURE.lateLeft1] = (isLate ? marks[mark + MARK.lateLeft] : absent[FEATURE.lateLeft1]) ?? 0;
    out[at + FEATURE.lateLeft2] = (isLate ? marks[mark + MARK.lateLeft + 1] : absent[FEATURE.lateLeft2]) ?? 0;
    out[at + FEATURE.age] = (isLate ? ages[marks[mark + MARK.lateAge] ?? 0] : absent[FEATURE.age]) ?? 0;
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

  #encodeMask({ numbers, end }: EncodedSet, observation: Observation, out: Rows, row: number): void {
    const { bare, size } = this.#layout;
    const start = row * size;
    out.fill(0, start, start + size);
    const legal = this.#legal.fill(0);
    for (const type of observation.legal) {
      if (takesArgument(type)) legal[TYPE_PLACES[type]] = 1;
      else out[start + bare[type]] = 1;
    }
    for (let i = 0; i < end; i += SET_WIDTH) {
      if (legal[numbers[i + SET.type] ?? 0] === 1) out[start + (numbers[i + SET.slot] ?? 0)] = 1;
    }
  }

  /** Environments that offer the same array again, as the contract asks, pay for it once. */
  #rememberedSet(candidates: readonly Candidate[], memory: EncodingMemory): EncodedSet {
    const { set, otherSet } = memory;
    if (set?.candidates === candidates) return set;
    const next = otherSet ?? this.#emptySet();
    if (next.candidates !== candidates) this.#encodeSet(candidates, set, next);
    memory.otherSet = set;
    memory.set = next;
    return next;
  }

  #emptySet(): EncodedSet {
    return {
      candidates: NO_CANDIDATES,
      numbers: new Int32Array(SET_WIDTH * this.#layout.slots),
      end: 0,
    };
  }

  /** Candidates that stand where they stood in the set before are not looked up again. */
  #encodeSet(candidates: readonly Candidate[], before: EncodedSet | null, out: EncodedSet): void {
    const { blocks } = this.#layout;
    const used = this.#used.fill(0);
    const { numbers } = out;
    // Nobody's, until it is whole.
    out.candidates = NO_CANDIDATES;
    for (let i = 0; i < candidates.length; i++) {
      const candidate = candidates[i];
      if (candidate === undefined) continue;
      const { type, text, kind } = candidate;
      const place = TYPE_PLACES[type];
      const at = i * SET_WIDTH;
      const count = used[place] ?? 0;
      used[place] = count + 1;
      numbers[at + SET.slot] = blocks[type].start + count;
      if (before?.candidates[i] === candidate) {
        for (let part: number = SET.text; part < SET_WIDTH; part++)
          numbers[at + part] = before.numbers[at + part] ?? 0;
        continue;
      }
      const known = this.#reader.candidateText(text);
      numbers[at + SET.text] = known.token;
      numbers[at + SET.kind] = this.#reader.kindToken(kind);
      numbers[at + SET.name] = known.name;
      numbers[at + SET.type] = place;
    }
    for (const type of ARGUMENT_TYPES) this.#checkCount(type, used[TYPE_PLACES[type]] ?? 0);
    out.candidates = candidates;
    out.end = candidates.length * SET_WIDTH;
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
  memory.task = null;
  memory.lines.length = 0;
  memory.numbers.length = 0;
  memory.set = null;
  memory.otherSet = null;
}

/** Copies tokens one by one: faster than `set` for a sentence. */
function copyRow(
  from: Uint16Array,
  start: number,
  { out, at, width }: { readonly out: Rows; readonly at: number; readonly width: number },
): void {
  for (let i = 0; i < width; i++) out[at + i] = from[start + i] ?? 0;
}
