import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { actionLayout, CANDIDATE_TOKENS } from '../../../src/domain/policy-spec.ts';
import type { Candidate, Observation } from '../../../src/domain/space.ts';
import { FEATURE } from '../../../trainer/policy/line-reader.ts';
import { actionIndex, encodeObservation, flatAction } from '../../../trainer/policy/tokenizer.ts';
import { SMALL, SMALL_LAYOUT, textPolicy } from '../small-policy.ts';

const spec = textPolicy({ vocabulary: 65536, sentences: 4, taskSentences: 2, tokens: 4 });
const layout = actionLayout(spec);

function rows(count = 1) {
  return {
    tokens: new Int32Array(count * spec.sentences * spec.tokens).fill(9),
    candidates: new Int32Array(count * layout.slots * CANDIDATE_TOKENS).fill(9),
    mask: new Float32Array(count * layout.size).fill(9),
  };
}

function encode(observation: Observation) {
  const out = rows();
  encodeObservation(spec, layout, observation, out, 0);
  const width = spec.tokens;
  return {
    sentences: Array.from({ length: spec.sentences }, (_, i) => [
      ...out.tokens.subarray(i * width, (i + 1) * width),
    ]),
    candidate: (slot: number) => [
      ...out.candidates.subarray(slot * CANDIDATE_TOKENS, (slot + 1) * CANDIDATE_TOKENS),
    ],
    mask: [...out.mask],
  };
}

const observe = (lines: string[], candidates: Candidate[] = []): Observation => ({
  lines,
  legal: ['read', 'select_tool', 'input', 'confirm', 'submit', 'noop'],
  candidates,
});
const input = (text: string, kind = 'value'): Candidate => ({ type: 'input', text, kind });
const slot = layout.blocks.input.start;

describe('sentences', () => {
  test('the task goes on over its sentences, and words are case-blind', () => {
    const { sentences } = encode(observe(['Move A b, c D e']));
    const [again] = encode(observe(['move a B c'])).sentences;
    expect(sentences[0]).toEqual(again);
    expect(sentences[1]?.slice(0, 2)).toEqual(encode(observe(['d e'])).sentences[0]?.slice(0, 2));
    expect(sentences[1]?.slice(2)).toEqual([0, 0]);
  });

  test('the newest lines fill the rest, the newest last', () => {
    const full = encode(observe(['task', 'one', 'two', 'three'])).sentences;
    const three = encode(observe(['task', 'three'])).sentences;
    expect(full[3]).toEqual(three[3]);
    expect(three[2]).toEqual([0, 0, 0, 0]);
    expect(full[2]).toEqual(encode(observe(['task', 'two'])).sentences[3]);
  });

  test('line 1 stands behind the newest while it is shown', () => {
    const alone = (line: string): number[] | undefined => encode(observe(['task', line])).sentences[3];
    const { sentences } = encode(observe(['task', 'screen', 'turn']));
    expect(sentences.slice(2)).toEqual([alone('turn'), alone('screen')]);
    const later = encode(observe(['task', 'screen', 'turn', 'next'])).sentences;
    expect(later.slice(2)).toEqual([alone('turn'), alone('next')]);
  });

  test('an observation without lines is all padding', () => {
    expect(encode(observe([])).sentences.flat()).toEqual(Array.from({ length: 16 }, () => 0));
  });

  test('ids stay below the vocabulary and only padding is 0', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { maxLength: 6 }),
        fc.array(fc.string(), { maxLength: 12 }),
        (lines, texts) => {
          const out = {
            tokens: new Int32Array(SMALL.sentences * SMALL.tokens),
            candidates: new Int32Array(SMALL_LAYOUT.slots * CANDIDATE_TOKENS),
            mask: new Float32Array(SMALL_LAYOUT.size),
          };
          const candidates = texts.slice(0, 3).map((text) => input(text));
          encodeObservation(SMALL, SMALL_LAYOUT, observe(lines, candidates), out, 0);
          expect(Math.max(...out.tokens, ...out.candidates)).toBeLessThan(SMALL.vocabulary);
          const start = SMALL_LAYOUT.blocks.input.start * CANDIDATE_TOKENS;
          const used = out.candidates.subarray(start, start + candidates.length * CANDIDATE_TOKENS);
          expect(used.every((id) => id > 0)).toBe(true);
        },
      ),
    );
  });

  test('writes its own row and no other', () => {
    const out = rows(3);
    encodeObservation(spec, layout, observe(['task', 'line'], [input('x')]), out, 1);
    const alone = rows();
    encodeObservation(spec, layout, observe(['task', 'line'], [input('x')]), alone, 0);
    expect(out.tokens.subarray(16, 32)).toEqual(alone.tokens);
    expect(out.tokens.subarray(0, 16).every((id) => id === 9)).toBe(true);
    expect(out.tokens.subarray(32).every((id) => id === 9)).toBe(true);
    expect(out.candidates.subarray(0, layout.slots * CANDIDATE_TOKENS).every((id) => id === 9)).toBe(true);
    expect(out.mask.subarray(2 * layout.size).every((legal) => legal === 9)).toBe(true);
  });
});

describe('candidates', () => {
  const task = 'move file harbor-7.txt into docs';

  test('carry the two words left of where they occur in the task', () => {
    const [first, second] = [
      encode(observe([task], [input('harbor-7.txt')])).candidate(slot),
      encode(observe(['please move file other.txt'], [input('other.txt')])).candidate(slot),
    ];
    expect(first[FEATURE.taskLeft1]).toBe(second[FEATURE.taskLeft1]);
    expect(first[FEATURE.taskLeft2]).toBe(second[FEATURE.taskLeft2]);
    expect(first[FEATURE.text]).not.toBe(second[FEATURE.text]);
    const docs = encode(observe([task], [input('docs')])).candidate(slot);
    expect(docs[FEATURE.taskLeft1]).not.toBe(first[FEATURE.taskLeft1]);
  });

  test('the same word has another token to the left in the task than in a later line', () => {
    const got = encode(observe(['a b x', 'a b x'], [input('x')])).candidate(slot);
    expect(got[FEATURE.taskLeft1]).not.toBe(got[FEATURE.lateLeft1]);
  });

  test('carry the most recent occurrence in the other lines, and its age', () => {
    const newest = encode(observe(['task', 'old a x', 'new b x'], [input('x')])).candidate(slot);
    const only = encode(observe(['task', 'zzz', 'new b x'], [input('x')])).candidate(slot);
    const aged = encode(observe(['task', 'new b x', 'zzz'], [input('x')])).candidate(slot);
    expect(newest).toEqual(only);
    expect(aged.slice(0, FEATURE.age)).toEqual(only.slice(0, FEATURE.age));
    expect(aged[FEATURE.age]).not.toBe(only[FEATURE.age]);
  });

  test('lines that do not fit any more are not searched', () => {
    const gone = encode(observe(['task', 'a x', 'two', 'three'], [input('x')])).candidate(slot);
    const never = encode(observe(['task', 'one', 'two', 'three'], [input('x')])).candidate(slot);
    expect(gone).toEqual(never);
  });

  test('only whole names count', () => {
    const inside = encode(observe(['see harbor-7.txt', 'harbors'], [input('harbor')])).candidate(slot);
    const nowhere = encode(observe(['see it', 'it'], [input('harbor')])).candidate(slot);
    expect(inside).toEqual(nowhere);
  });

  test('texts of several words and with signs are found too', () => {
    const path = encode(observe(['open a/b now', 'saw a/b'], [input('a/b')])).candidate(slot);
    const name = encode(observe(['open ab now', 'saw ab'], [input('ab')])).candidate(slot);
    expect(path.slice(FEATURE.taskLeft1)).toEqual(name.slice(FEATURE.taskLeft1));
    const absent = encode(observe(['open', 'saw'], [input('a/b')])).candidate(slot);
    expect(absent.slice(FEATURE.taskLeft1)).not.toEqual(path.slice(FEATURE.taskLeft1));
  });

  test('caches give what a fresh encoder gives', () => {
    const words = fc.constantFrom('x', 'y.txt', 'a/b', 'move', 'into', 'two words');
    const line = fc.array(words, { maxLength: 5 }).map((parts) => parts.join(' '));
    const observation = fc
      .tuple(fc.array(line, { maxLength: 6 }), fc.uniqueArray(words, { maxLength: 6 }))
      .map(([lines, texts]) =>
        observe(
          lines,
          texts.map((text) => input(text)),
        ),
      );
    fc.assert(
      fc.property(fc.array(observation, { minLength: 1, maxLength: 8 }), (observations) => {
        for (const each of observations) {
          const [warm, fresh] = [rows(), rows()];
          encodeObservation(spec, layout, each, warm, 0);
          encodeObservation({ ...spec }, layout, structuredClone(each), fresh, 0);
          expect(warm).toEqual(fresh);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('more candidates than slots are refused, with type, count and limit', () => {
    const many = Array.from({ length: 13 }, (_, i) => input(`v${i}`));
    expect(() => encode(observe(['task'], many))).toThrow(
      'the observation offers 13 candidates of type input, and the policy has slots for 12',
    );
  });

  test('a policy without sentences for anything but the task is refused', () => {
    const bad = { ...spec, sentences: 2 };
    expect(() => encodeObservation(bad, layout, observe(['task']), rows(), 0)).toThrow(
      /taskSentences is 2 and policy.sentences is 2/u,
    );
  });
});

describe('actions', () => {
  const observation: Observation = {
    lines: ['task'],
    legal: ['read', 'input', 'submit'],
    candidates: [
      input('a'),
      { type: 'read', text: 'r', kind: 'file' },
      input('b'),
      { type: 'select_tool', text: 't', kind: 'tool' },
    ],
  };

  test('the mask allows the candidates of legal types and the legal bare types', () => {
    const { mask } = encode(observation);
    const legal = mask.flatMap((value, index) => (value === 1 ? [index] : []));
    expect(legal).toEqual([layout.blocks.read.start, slot, slot + 1, layout.bare.submit]);
    expect(mask.every((value) => value === 0 || value === 1)).toBe(true);
    expect(legal.map((index) => flatAction(layout, observation, index))).toEqual([
      { type: 'read', argument: 'r' },
      { type: 'input', argument: 'a' },
      { type: 'input', argument: 'b' },
      { type: 'submit', argument: null },
    ]);
  });

  test('actionIndex is the inverse of flatAction', () => {
    for (const index of [layout.blocks.read.start, slot, slot + 1, layout.bare.submit]) {
      expect(actionIndex(layout, observation, flatAction(layout, observation, index))).toBe(index);
    }
  });

  test('what is not offered is refused in both directions', () => {
    expect(() => flatAction(layout, observation, slot + 2)).toThrow(`flat action ${slot + 2} is not among`);
    expect(() => flatAction(layout, observation, layout.bare.noop)).toThrow('is not among');
    expect(() => actionIndex(layout, observation, { type: 'input', argument: 'z' })).toThrow(
      'action input "z" is not among',
    );
    expect(() => actionIndex(layout, observation, { type: 'select_tool', argument: 't' })).toThrow(
      'is not among',
    );
  });
});
