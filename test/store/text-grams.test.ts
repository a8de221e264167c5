import { describe, expect, it } from 'vitest';
import { createRandom } from '../../src/domain/random.ts';
import { BEGUN_LETTERS } from '../../src/store/text-begun.ts';
import { BLOCK, BlockGrams, MAX_GRAM, markMembers, SET_BYTES } from '../../src/store/text-grams.ts';

/** A word in so many documents is common; a phrase in so many is kept as a set of them. */
const COMMON = 32;
const LEAST_OF_SET = 128;

function membersIn(stored: Buffer): number[] {
  // Those of the second block.
  const bits = new Uint32Array((3 * BLOCK) / 32);
  markMembers(bits, 1, stored);
  const marked = Array.from({ length: 3 * BLOCK }, (_, n) => n).filter(
    (n) => ((bits[n >>> 5] ?? 0) & (1 << (n & 31))) !== 0,
  );
  return marked.map((n) => n - BLOCK);
}

/** Documents by every phrase of up to four words in them, by looking at each. */
function phrasesOf(documents: readonly (readonly string[])[]): Map<string, number[]> {
  const found = new Map<string, Set<number>>();
  for (const [document, lines] of documents.entries()) {
    for (const line of lines) {
      const words = line.split(' ');
      for (let start = 0; start < words.length; start += 1) {
        for (let length = 1; length <= MAX_GRAM && start + length <= words.length; length += 1) {
          const gram = words.slice(start, start + length).join(' ');
          const known = found.get(gram) ?? new Set<number>();
          found.set(gram, known.add(document));
        }
      }
    }
  }
  return new Map([...found].map(([gram, members]) => [gram, [...members].toSorted((a, b) => a - b)]));
}

function noted(documents: readonly (readonly string[])[]): { block: BlockGrams; words: string[] } {
  const words: string[] = [];
  const block = new BlockGrams((word) => void words.push(word));
  for (const lines of documents) expect(block.add(lines)).toEqual(lines);
  return { block, words };
}

/** Of phrases whose last word alone is not common, the documents by the beginning of that word. */
function begunOf(
  all: ReadonlyMap<string, readonly number[]>,
  isCommon: (word: string) => boolean,
): Map<string, number[]> {
  const found = new Map<string, Set<number>>();
  for (const [gram, members] of all) {
    const words = gram.split(' ');
    const last = words.pop() ?? '';
    if (isCommon(last) || !words.every(isCommon)) continue;
    for (const letters of BEGUN_LETTERS) {
      if (last.length < letters) continue;
      const begun = [...words, `${last.slice(0, letters)}*`].join(' ');
      const known = found.get(begun) ?? new Set();
      for (const member of members) known.add(member);
      found.set(begun, known);
    }
  }
  return new Map([...found].map(([gram, members]) => [gram, [...members].toSorted((a, b) => a - b)]));
}

function listed(block: BlockGrams): {
  phrases: Map<string, number[]>;
  complete: number;
  begun: number;
  sets: string[];
} {
  const { phrases, complete, begun } = block.common();
  return {
    phrases: new Map(phrases.map(({ gram, members }) => [gram, membersIn(members)])),
    complete,
    begun,
    sets: phrases.filter(({ members }) => members.byteLength === SET_BYTES).map(({ gram }) => gram),
  };
}

describe('a block of documents', () => {
  it('lists every phrase of common words with the documents that have it, and tells each word once', () => {
    const random = createRandom(5);
    const lines = Array.from({ length: 60 }, () =>
      Array.from({ length: 1 + random.integer(7) }, () => `w${Math.floor(24 * random.next() ** 3)}`).join(
        ' ',
      ),
    );
    const documents = Array.from({ length: 900 }, (_, n) => {
      // The first lines are in most documents, the last in a few.
      const seen = lines.filter((_line, place) => random.next() < 0.7 / (1 + place));
      return n % 50 === 3 ? [...seen, `name${n} ${lines[n % 60] ?? ''}`] : seen;
    });
    const { block, words } = noted(documents);
    const all = phrasesOf(documents);
    expect(new Set(words)).toEqual(new Set([...all.keys()].filter((gram) => !gram.includes(' '))));
    expect(new Set(words).size).toBe(words.length);
    const isCommon = (gram: string): boolean => (all.get(gram)?.length ?? 0) >= COMMON;
    const whole = [...all].filter(([gram]) => gram.split(' ').every(isCommon));
    const wanted = [...whole, ...begunOf(all, isCommon)];
    const { phrases, complete, begun, sets } = listed(block);
    expect({ complete, begun }).toEqual({ complete: MAX_GRAM, begun: MAX_GRAM });
    expect(phrases).toEqual(new Map(wanted));
    expect(new Set(sets)).toEqual(
      new Set(wanted.flatMap(([gram, members]) => (members.length >= LEAST_OF_SET ? [gram] : []))),
    );
    // Both kinds were there to be seen.
    expect(sets.length).toBeGreaterThan(10);
    expect(phrases.size).toBeGreaterThan(sets.length + 10);
  });

  it('of common words in any order lists only what is common, and says up to which length it lists all', () => {
    const random = createRandom(6);
    const documents = Array.from({ length: 600 }, () => [
      'always the same words here',
      Array.from({ length: 150 }, () => `w${random.integer(150)}`).join(' '),
    ]);
    const { block } = noted(documents);
    const { phrases, complete } = listed(block);
    expect(complete).toBe(1);
    // No two of the other words follow each other in a fifth of the documents.
    const always = [...phrasesOf([['always the same words here']]).keys()];
    expect(new Set(phrases.keys())).toEqual(
      new Set([...always, ...Array.from({ length: 150 }, (_, n) => `w${n}`)]),
    );
    for (const gram of always) expect(phrases.get(gram)).toHaveLength(600);
  });

  it('of too much text lists nothing, and still says its words', () => {
    const block = new BlockGrams(() => {});
    const long = 'a '.repeat(100_000);
    for (let n = 0; n < 45; n += 1) block.add([`Line ${n}`, `${long}${n}`]);
    expect(block.add(['One More, line'])).toEqual(['one more line']);
    expect(block.common()).toEqual({ phrases: [], complete: 0, begun: 0 });
  });
});
