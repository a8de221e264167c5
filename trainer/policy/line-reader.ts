import { CANDIDATE_TOKENS, type TextPolicySpec } from '../../src/domain/policy-spec.ts';
import { LineTable } from './line-table.ts';
import { RecentMap } from './recent-map.ts';
import { finaliseHash, hashText, isName, LineScanner } from './words.ts';

/** The features of a candidate, one hashed token each: places in its CANDIDATE_TOKENS. */
export const FEATURE = {
  text: 0,
  kind: 1,
  taskLeft1: 2,
  taskLeft2: 3,
  lateLeft1: 4,
  lateLeft2: 5,
  age: 6,
} as const;

/** Most names that have a number at one time. */
export const MAX_NAMES = 131_072;

/** Lines after which all are forgotten. */
const MOST_LINES = 65_536;

/** Names that there is room for in a task at first. */
const FEW_NAMES = 32;

/** Texts of candidates remembered in each of the two generations of a cache. */
const CACHED_TEXTS = 16_384;

/** Stand, among hashes of words, for "occurs nowhere" and for what is left of a line's first word. */
const ABSENT = hashText('\u0000absent');
const LINE_START = hashText('\u0000start');

/** A candidate's text, as far as it depends on nothing else. */
interface EncodedText {
  /** Its token as a feature. */
  readonly token: number;
  /** Number of the name, or -1 for a text that is no single name. */
  readonly name: number;
}

/**
 * What a task line was read into. Whoever encodes keeps one for each slot: training tasks are so many that a table of them would
 * be looked through in vain.
 */
export interface ReadTask {
  /** Null: nothing was read. */
  text: string | null;
  readonly tokens: Uint16Array;
  /** Three numbers for each name; there is room for more. */
  names: Int32Array;
  nameEnd: number;
}

/**
 * Reads lines into tokens and numbered names, and remembers those it read. Names are numbered densely from 0; when the
 * numbers run out, everything is forgotten and `generation` counts up.
 */
export class LineReader {
  readonly #spec: TextPolicySpec;
  readonly #names = new Map<string, number>();
  /** Lines read, but for those of tasks: their tokens fill one sentence. */
  readonly lines: LineTable;
  readonly #texts = new RecentMap<EncodedText>(CACHED_TEXTS);
  readonly #kinds = new RecentMap<number>(CACHED_TEXTS);
  /** Tokens of a candidate that occurs nowhere, by feature. */
  readonly absent: readonly number[];
  /** Token of each age: 0 is the newest line. */
  readonly ages: readonly number[];
  #generation = 0;
  /** What the newest line was read into. */
  readonly #scanner = new LineScanner();
  readonly #readTokens: Uint16Array;
  #readNames = new Int32Array(3 * 64);

  constructor(spec: TextPolicySpec) {
    this.#spec = spec;
    this.lines = new LineTable(spec.tokens);
    this.#readTokens = new Uint16Array(spec.taskSentences * spec.tokens);
    this.absent = Array.from({ length: CANDIDATE_TOKENS }, (_, feature) =>
      this.featureToken(feature, ABSENT),
    );
    this.ages = Array.from({ length: spec.sentences }, (_, age) => this.featureToken(FEATURE.age, age));
  }

  get generation(): number {
    return this.#generation;
  }

  /** To be called between observations: starts again when half of the names' numbers are used, or enough lines kept. */
  makeRoom(): void {
    if (this.#names.size < MAX_NAMES / 2 && this.lines.size < MOST_LINES) return;
    this.#generation++;
    this.#names.clear();
    this.lines.clear();
    this.#texts.clear();
    this.#kinds.clear();
  }

  /** A task that nothing was read into yet. */
  emptyTask(): ReadTask {
    const tokens = new Uint16Array(this.#readTokens.length);
    return { text: null, tokens, names: new Int32Array(3 * FEW_NAMES), nameEnd: 0 };
  }

  /** Reads a task line: its tokens fill the first sentences, its names have the left words' tokens as task features. */
  task(text: string, into: ReadTask): void {
    const nameEnd = this.#read(text, into.tokens.length, FEATURE.taskLeft1);
    if (nameEnd > into.names.length) into.names = new Int32Array(2 * nameEnd);
    for (let i = 0; i < into.tokens.length; i++) into.tokens[i] = this.#readTokens[i] ?? 0;
    for (let i = 0; i < nameEnd; i++) into.names[i] = this.#readNames[i] ?? 0;
    into.nameEnd = nameEnd;
    into.text = text;
  }

  /** Number of any other line among `lines`. */
  late(text: string): number {
    const known = this.lines.find(text);
    if (known !== undefined) return known;
    const { tokens } = this.#spec;
    const nameEnd = this.#read(text, tokens, FEATURE.lateLeft1);
    return this.lines.add(text, {
      tokens: this.#readTokens.subarray(0, tokens),
      names: this.#readNames.subarray(0, nameEnd),
    });
  }

  candidateText(text: string): EncodedText {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const lower = text.toLowerCase();
    return this.#texts.set(text, {
      token: this.featureToken(FEATURE.text, hashText(lower)),
      name: isName(lower) ? this.#nameNumber(lower) : -1,
    });
  }

  /** Token of a candidate's kind. */
  kindToken(kind: string): number {
    return this.#kinds.get(kind) ?? this.#kinds.set(kind, this.featureToken(FEATURE.kind, hashText(kind)));
  }

  /** The number of a lower-cased name. */
  #nameNumber(text: string): number {
    let number = this.#names.get(text);
    if (number === undefined) {
      // An observation with more names than there is room for: the surplus share the last number.
      number = Math.min(this.#names.size, MAX_NAMES - 1);
      this.#names.set(text, number);
    }
    return number;
  }

  /** Token of a hash as one of a candidate's features: the same word has another token in each. */
  featureToken(feature: number, hash: number): number {
    const mixed = finaliseHash(hash ^ Math.imul(feature + 1, 0x9e3779b1));
    return 1 + (mixed % (this.#spec.vocabulary - 1));
  }

  /** Token of the word at an index, or of the line's start before the first. */
  leftToken(feature: number, words: ArrayLike<number>, index: number): number {
    return this.featureToken(feature, index < 0 ? LINE_START : (words[index] ?? LINE_START));
  }

  /** Reads a line into `#readTokens`, so many, and `#readNames`; returns how many numbers its names are. */
  #read(text: string, length: number, leftFeature: number): number {
    const lower = text.toLowerCase();
    const scanner = this.#scanner;
    scanner.scan(lower);
    const { words, wordCount, nameCount } = scanner;
    if (3 * nameCount > this.#readNames.length) this.#readNames = new Int32Array(6 * nameCount);
    const [tokens, names] = [this.#readTokens, this.#readNames];
    const numbers = this.#spec.vocabulary - 1;
    for (let i = 0; i < length; i++) tokens[i] = i < wordCount ? 1 + ((words[i] ?? 0) % numbers) : 0;
    for (let name = 0; name < nameCount; name++) {
      const before = scanner.wordsBefore(name);
      names[3 * name] = this.#nameNumber(lower.slice(scanner.nameStart(name), scanner.nameEnd(name)));
      names[3 * name + 1] = this.leftToken(leftFeature, words, before - 1);
      names[3 * name + 2] = this.leftToken(leftFeature + 1, words, before - 2);
    }
    return 3 * nameCount;
  }
}
