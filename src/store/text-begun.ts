/** The beginnings of words, in letters, for which phrases with an open end are listed. Longer ones go on in few words. */
export const BEGUN_LETTERS = [1, 2] as const;
const MOST_LETTERS = Math.max(...BEGUN_LETTERS);

/** Stands in a phrase for any word that begins like that and is not common: no word has the sign in it. */
export function begunSign(beginning: string): string {
  return `${beginning}*`;
}

/** The longest beginning of a word that is listed; shorter words are their own. */
export function longestListed(word: string): string {
  return beginningOf(word, MOST_LETTERS) ?? word;
}

/** Whether phrases that end with a beginning of that length are listed. */
export function isListedBeginning(beginning: string): boolean {
  return longestListed(beginning) === beginning;
}

/** What phrases may end with, and by the number of a word which of it that is: −1 for none. */
export interface PhraseEnds {
  readonly texts: readonly string[];
  readonly ofWord: Int32Array;
}

/**
 * The signs of words that are not common and have so many letters, by their beginnings: what the common ones go on in, they
 * say themselves.
 */
export function beginningsOf(words: readonly string[], isCommon: Uint8Array, letters: number): PhraseEnds {
  const ids = new Map<string, number>();
  const ofWord = Int32Array.from(words, (word, number) => {
    if (isCommon[number] === 1) return -1;
    const beginning = beginningOf(word, letters);
    if (beginning === null) return -1;
    const id = ids.get(beginning) ?? ids.size;
    ids.set(beginning, id);
    return id;
  });
  return { texts: [...ids.keys()].map(begunSign), ofWord };
}

function beginningOf(word: string, letters: number): string | null {
  if (word.length < letters) return null;
  const beginning = word.slice(0, letters);
  // Letters beyond the first plane of Unicode are two units of a text.
  if (!SURROGATE.test(beginning)) return beginning;
  const all = Array.from(word);
  return all.length < letters ? null : all.slice(0, letters).join('');
}

const SURROGATE = /[\ud800-\udfff]/;
