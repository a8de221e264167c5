import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';

/**
 * What somebody without the lab makes of an export: a reader of `tokenizer.json` and `features.json` written from
 * docs/EXPORT.md, and onnxruntime. Nothing here comes from the lab.
 */

interface Candidate {
  readonly type: string;
  readonly text: string;
  readonly kind: string;
}

export interface Seen {
  readonly lines: readonly string[];
  readonly legal: readonly string[];
  readonly candidates: readonly Candidate[];
}

export type Inputs = Readonly<Record<string, readonly number[]>>;

interface Example {
  readonly observation: Seen;
  readonly history?: readonly (readonly number[])[];
  readonly inputs: Inputs;
  readonly outputs: { readonly logProbabilities: readonly number[]; readonly value: number };
}

export interface ExportFile {
  readonly kind: 'text' | 'features';
  readonly algorithm: { readonly name: string; readonly version: number };
  readonly origin: Readonly<Record<string, unknown>>;
  readonly model: {
    readonly file: string;
    readonly inputs: readonly {
      readonly name: string;
      readonly type: string;
      readonly shape: readonly (string | number)[];
    }[];
  };
  readonly actions: {
    readonly withArgument: readonly string[];
    readonly blocks: Readonly<Record<string, { readonly start: number; readonly length: number }>>;
    readonly bare: Readonly<Record<string, number>>;
    readonly size: number;
  };
  readonly sizes: Readonly<Record<string, number>>;
  readonly words: { readonly ranges: readonly (readonly [number, number])[]; readonly connectors: string };
  readonly hash: {
    readonly fnvOffset: number;
    readonly fnvPrime: number;
    readonly shifts: readonly [number, number, number];
    readonly multipliers: readonly [number, number];
    readonly featureMultiplier: number;
    readonly absent: string;
    readonly lineStart: string;
  };
  readonly featureOrder: readonly string[];
  readonly examples: readonly Example[];
}

export function readExport(directory: string, name: string): ExportFile {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is wrong with it shows in what is made of it
  return JSON.parse(readFileSync(join(directory, name), 'utf8')) as ExportFile;
}

/** Runs the exported model on one observation's inputs. */
export async function runExport(
  directory: string,
  file: ExportFile,
  inputs: Inputs,
): Promise<{ logProbabilities: number[]; value: number }> {
  const session = await InferenceSession.create(join(directory, file.model.file));
  const feeds = Object.fromEntries(
    file.model.inputs.map(({ name, type, shape }) => {
      const dims = shape.map((length) => (typeof length === 'number' ? length : 1));
      const data = inputs[name] ?? [];
      const tensor =
        type === 'int32'
          ? new Tensor('int32', Int32Array.from(data), dims)
          : new Tensor('float32', Float32Array.from(data), dims);
      return [name, tensor];
    }),
  );
  const results = await session.run(feeds);
  await session.release();
  const numbers = (name: string): number[] => Array.from(results[name]!.data, Number);
  return { logProbabilities: numbers('logProbabilities'), value: numbers('value')[0]! };
}

/** The inputs that a `features` policy wants: `history` has the episode's observations, the newest last. */
export function encodeNumbers(file: ExportFile, seen: Seen, history: readonly (readonly number[])[]): Inputs {
  const { features = 0, window = 1, width = 0 } = file.sizes;
  const shown = history.slice(-window);
  const rows = shown.map((numbers) => (window > 1 ? [...numbers, 1] : [...numbers]));
  for (const row of rows) if (row.length !== width) throw new Error(`wanted ${features} numbers`);
  const before = Array.from({ length: (window - shown.length) * width }, () => 0);
  return { features: [...before, ...rows.flat()], mask: maskOf(file, seen) };
}

/** The inputs that a `text` policy wants. */
export function encodeText(file: ExportFile, seen: Seen): Inputs {
  const tokenizer = new Tokenizer(file);
  return {
    tokens: tokenizer.tokens(seen.lines),
    candidates: tokenizer.candidates(seen),
    mask: maskOf(file, seen),
  };
}

function placesOf({ actions }: ExportFile, candidates: readonly Candidate[]): number[] {
  const used = new Map<string, number>();
  return candidates.map(({ type }) => {
    const place = used.get(type) ?? 0;
    used.set(type, place + 1);
    return actions.blocks[type]!.start + place;
  });
}

function maskOf(file: ExportFile, { legal, candidates }: Seen): number[] {
  const { size, bare, withArgument } = file.actions;
  const mask = Array.from({ length: size }, () => 0);
  for (const type of legal) if (!withArgument.includes(type)) mask[bare[type]!] = 1;
  for (const [index, place] of placesOf(file, candidates).entries()) {
    if (legal.includes(candidates[index]!.type)) mask[place] = 1;
  }
  return mask;
}

interface Name {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly wordsBefore: number;
}

class Tokenizer {
  readonly #file: ExportFile;

  constructor(file: ExportFile) {
    this.#file = file;
  }

  tokens(lines: readonly string[]): number[] {
    const { sentences = 0, tokens = 0, taskSentences = 0, vocabulary = 0 } = this.#file.sizes;
    const row = (line: string, length: number): number[] => {
      const words = this.#split(line).words.slice(0, length);
      const ids = words.map((word) => 1 + (this.#hash(word) % (vocabulary - 1)));
      return [...ids, ...Array.from({ length: length - ids.length }, () => 0)];
    };
    const oldestFirst = this.#shown(lines);
    // Line 1 stands last while it is shown.
    const isWhole = oldestFirst.length === Math.max(0, lines.length - 1);
    const shown = isWhole ? [...oldestFirst.slice(1), ...oldestFirst.slice(0, 1)] : oldestFirst;
    const gap = sentences - taskSentences - shown.length;
    return [
      ...row(lines[0] ?? '', taskSentences * tokens),
      ...Array.from({ length: gap * tokens }, () => 0),
      ...shown.flatMap((line) => row(line, tokens)),
    ];
  }

  candidates({ lines, candidates }: Seen): number[] {
    const { candidateTokens = 0 } = this.#file.sizes;
    const { blocks } = this.#file.actions;
    const slots = Object.values(blocks).reduce((sum, { length }) => sum + length, 0);
    const out = Array.from({ length: slots * candidateTokens }, () => 0);
    for (const [index, place] of placesOf(this.#file, candidates).entries()) {
      const features = this.#features(candidates[index]!, lines);
      for (const [at, name] of this.#file.featureOrder.entries()) {
        out[place * candidateTokens + at] = this.#token(at, features[name]!);
      }
    }
    return out;
  }

  /** The hash behind each feature. */
  #features({ text, kind }: Candidate, lines: readonly string[]): Record<string, number> {
    const { absent } = this.#file.hash;
    const wanted = text.toLowerCase();
    const shown = this.#shown(lines).toReversed();
    const inTask = this.#find(lines[0] ?? '', wanted, 'first');
    const late = shown.map((line) => this.#find(line, wanted, 'last'));
    const age = late.findIndex((found) => found >= 0);
    const left = (line: string, before: number, distance: number): number =>
      before < 0 ? this.#hash(absent) : this.#leftWord(line, before - distance);
    return {
      text: this.#hash(wanted),
      kind: this.#hash(kind),
      taskLeft1: left(lines[0] ?? '', inTask, 1),
      taskLeft2: left(lines[0] ?? '', inTask, 2),
      lateLeft1: left(shown[age] ?? '', late[age] ?? -1, 1),
      lateLeft2: left(shown[age] ?? '', late[age] ?? -1, 2),
      age: age < 0 ? this.#hash(absent) : age,
    };
  }

  #leftWord(line: string, index: number): number {
    return this.#hash(this.#split(line).words[index] ?? this.#file.hash.lineStart);
  }

  /** Number of words before the first or last whole occurrence of a text in a line, or -1. */
  #find(line: string, wanted: string, which: 'first' | 'last'): number {
    if (wanted === '') return -1;
    const { names } = this.#split(line);
    const own = this.#split(wanted).names;
    if (own.length === 1 && own[0]!.text === wanted) {
      const same = names.filter(({ text }) => text === wanted);
      return (which === 'first' ? same[0] : same.at(-1))?.wordsBefore ?? -1;
    }
    const lower = line.toLowerCase();
    const cuts = (at: number): boolean => names.some(({ start, end }) => start < at && at < end);
    const places = Array.from({ length: lower.length }, (_, at) => at).filter(
      (at) => lower.startsWith(wanted, at) && !cuts(at) && !cuts(at + wanted.length),
    );
    const place = which === 'first' ? places[0] : places.at(-1);
    return place === undefined ? -1 : this.#split(lower.slice(0, place)).words.length;
  }

  #shown(lines: readonly string[]): readonly string[] {
    const { sentences = 0, taskSentences = 0 } = this.#file.sizes;
    return lines.slice(1).slice(-(sentences - taskSentences));
  }

  /** Words are runs of word characters; names are words joined by single connectors. */
  #split(line: string): { words: string[]; names: Name[] } {
    const { ranges, connectors } = this.#file.words;
    const word = `[${ranges.map(([from, to]) => `${escape(from)}-${escape(to)}`).join('')}]+`;
    const joint = `[${Array.from(connectors, (sign) => escape(sign.charCodeAt(0))).join('')}]`;
    const lower = line.toLowerCase();
    const words = [...lower.matchAll(new RegExp(word, 'g'))];
    const names = [...lower.matchAll(new RegExp(`${word}(?:${joint}${word})*`, 'g'))];
    return {
      words: words.map(([text]) => text),
      names: names.map(({ 0: text, index }) => ({
        text,
        start: index,
        end: index + text.length,
        wordsBefore: words.filter((other) => other.index < index).length,
      })),
    };
  }

  #hash(text: string): number {
    const { fnvOffset, fnvPrime } = this.#file.hash;
    let hash = fnvOffset;
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), fnvPrime);
    return this.#mix(hash);
  }

  #mix(value: number): number {
    const { shifts, multipliers } = this.#file.hash;
    let mixed = Math.imul(value ^ (value >>> shifts[0]), multipliers[0]);
    mixed = Math.imul(mixed ^ (mixed >>> shifts[1]), multipliers[1]);
    return (mixed ^ (mixed >>> shifts[2])) >>> 0;
  }

  #token(feature: number, hash: number): number {
    const { featureMultiplier } = this.#file.hash;
    const mixed = this.#mix(hash ^ Math.imul(feature + 1, featureMultiplier));
    return 1 + (mixed % (this.#file.sizes['vocabulary']! - 1));
  }
}

/** As a regular expression writes it. */
function escape(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
