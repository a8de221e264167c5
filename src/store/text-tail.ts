import { statSync } from 'node:fs';
import { join } from 'node:path';
import { systemErrorCode } from '../domain/error.ts';
import { partsOf, scanSegment, segmentName, segmentNumbers } from './segment.ts';
import type { TextState } from './text-database.ts';
import { documentOf, type TextDocument } from './text-document.ts';
import { foldText, lineHas, type Phrase } from './text-words.ts';

/** Newest episodes that are searched without being indexed, and bytes of records that are looked through for them. */
export const TAIL_EPISODES = 1000;
const TAIL_BYTES = 2 * 1024 * 1024;

type Place = TextState['end'];

interface TailDocument {
  readonly place: Place;
  readonly sequence: number;
  readonly lines: readonly string[];
  /** Lines as they are compared, to pass over most documents at once. */
  readonly folded: string;
}

/** The newest episodes of the segments that are not indexed yet. Read once each, kept until they are indexed. */
export class TextTail {
  readonly #segments: string;
  #documents: TailDocument[] = [];
  #read: Place = { segment: 0, offset: 0 };

  /** `segments`: the directory they are in. */
  constructor(segments: string) {
    this.#segments = segments;
  }

  /** Sequences of those after `indexed` that have the phrase, in the order in which they were stored. */
  match(indexed: Place, phrase: Phrase): number[] {
    if (phrase.words.length === 0) return [];
    this.#refresh(indexed);
    return this.#documents
      .filter(
        ({ folded, lines }) =>
          phrase.words.every((word) => folded.includes(word)) && lines.some((line) => lineHas(line, phrase)),
      )
      .map(({ sequence }) => sequence);
  }

  #refresh(indexed: Place): void {
    this.#documents = this.#documents.filter(({ place }) => !isBefore(place, indexed));
    if (isBefore(this.#read, indexed)) this.#read = indexed;
    const numbers = segmentNumbers(this.#segments).filter((number) => number >= this.#read.segment);
    let room = TAIL_BYTES;
    const stretches: { number: number; from: number; to: number }[] = [];
    for (const number of numbers.toReversed()) {
      const to = sizeOf(join(this.#segments, segmentName(number)));
      const from = Math.max(number === this.#read.segment ? this.#read.offset : 0, to - room);
      room -= Math.max(0, to - from);
      if (to > from) stretches.unshift({ number, from, to });
      if (room <= 0) break;
    }
    for (const { number, from, to } of stretches) this.#readStretch(number, from, to);
    this.#documents = this.#documents.slice(-TAIL_EPISODES);
  }

  #readStretch(number: number, from: number, to: number): void {
    for (const stretch of scanSegment(this.#segments, number, from, to)) {
      // Half written: it is whole at the next look.
      if (stretch.type === 'damage' && stretch.reachesEnd) break;
      this.#read = { segment: number, offset: stretch.offset + stretch.length };
      for (const record of stretch.type === 'record' ? partsOf(stretch.record) : []) {
        const document = documentOf(record);
        if (document !== null)
          this.#documents.push(tailDocument({ segment: number, offset: stretch.offset }, document));
      }
    }
  }
}

function tailDocument(place: Place, { sequence, lines }: TextDocument): TailDocument {
  return { place, sequence, lines, folded: foldText(lines.join('\n')) };
}

function isBefore(one: Place, other: Place): boolean {
  return one.segment < other.segment || (one.segment === other.segment && one.offset < other.offset);
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'ENOENT') return 0;
    throw thrown;
  }
}
