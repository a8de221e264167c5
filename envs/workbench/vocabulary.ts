import { createRandom } from '../../src/domain/random.ts';
import type { Split } from '../../src/domain/task.ts';

const CONSONANTS = 'bdfgklmnprstvz';
const VOWELS = 'aeiou';
const TRAIN_WORDS = 2000;
const HELD_OUT_WORDS = 500;
const SEED = 20261130;

/** Words for names and values: the splits have none in common, so that a policy cannot know a held-out word. */
export const VOCABULARY: Readonly<Record<Split, readonly string[]>> = generateVocabulary();

/**
 * Words of two syllables and a final consonant (`bakel`). No word of a template, tool or field has that form: a test
 * holds this.
 */
function generateVocabulary(): Record<Split, readonly string[]> {
  const random = createRandom(SEED);
  const letter = (letters: string): string => letters.charAt(random.integer(letters.length));
  const words = new Set<string>();
  while (words.size < TRAIN_WORDS + HELD_OUT_WORDS) {
    words.add(letter(CONSONANTS) + letter(VOWELS) + letter(CONSONANTS) + letter(VOWELS) + letter(CONSONANTS));
  }
  const all = [...words];
  return { train: all.slice(0, TRAIN_WORDS), held_out: all.slice(TRAIN_WORDS) };
}
