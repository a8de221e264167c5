import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actionLayout, CANDIDATE_TOKENS } from '../../../src/domain/policy-spec.ts';
import { createRandom, type RandomStream } from '../../../src/domain/random.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import { createPolicy, type InferenceResult, type Policy } from '../../../trainer/policy/inference.ts';
import { buildNetwork, networkInputs } from '../../../trainer/policy/network.ts';
import { observationFeeds } from '../../../trainer/policy/observation-arrays.ts';
import { initialWeights } from '../../../trainer/policy/parameters.ts';
import { weightFeeds } from '../../../trainer/policy/weight-feeds.ts';
import { createSession, floats, type Session } from '../../../trainer/session.ts';
import { type Rows, randomRows, textPolicy } from '../small-policy.ts';

/*
 * The text policy computes of an observation only what is new to it. Beside it stands the whole network in one model, which
 * remembers nothing.
 */

const SPEC = textPolicy({
  vocabulary: 64,
  embedding: 6,
  hidden: 8,
  sentences: 6,
  taskSentences: 2,
  tokens: 4,
  argumentSlots: { read: 2, select_tool: 3, input: 3 },
});
const { slots, size } = actionLayout(SPEC);
const LINE = SPEC.tokens;
const LINES = SPEC.sentences * LINE;
/** What the worker must not exceed, and what two ways of adding the same numbers up may differ by. */
const CLOSE = 1e-5;

let whole: Session;
let policy: Policy;
beforeAll(async () => {
  const g = createGraph();
  const { logProbabilities, value } = buildNetwork(g, SPEC, networkInputs(g, SPEC, 'whole'));
  whole = await createSession(toModel({ logProbabilities, value }), { threads: 1 });
  policy = await createPolicy(SPEC, { threads: 1 });
});
afterAll(async () => {
  await Promise.all([whole.close(), policy.close()]);
});

async function wholly(rows: Rows, count: number, weights: Float32Array): Promise<InferenceResult> {
  const outputs = await whole.run({
    ...weightFeeds(SPEC, weights),
    ...observationFeeds(SPEC, rows, count),
  });
  return { logProbabilities: floats(outputs['logProbabilities']), values: floats(outputs['value']) };
}

/** By how much two answers differ at most. */
function difference(a: InferenceResult, b: InferenceResult): number {
  return Math.max(largest(a.logProbabilities, b.logProbabilities), largest(a.values, b.values));
}

function largest(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] ?? Number.NaN))), 0);
}

/** One slot's episodes as the encoder lays them out: the task, nothing, the turns, the screen. */
class Player {
  readonly #random: RandomStream;
  #task: number[][] = [];
  #turns: number[][] = [];
  #screen: number[] = [];

  constructor(seed: number) {
    this.#random = createRandom(seed);
    this.#begin();
  }

  /** Mostly a further turn, before which the oldest may go; the screen often changes; sometimes another episode begins. */
  step(): void {
    const drawn = this.#random.next();
    if (drawn < 0.15) return this.#begin();
    if (drawn < 0.85) this.#turns.push(this.#line());
    while (this.#turns.length > SPEC.sentences - SPEC.taskSentences - 1) this.#turns.shift();
    if (this.#random.next() < 0.7) this.#screen = this.#line();
  }

  write(tokens: Int32Array, row: number): void {
    const start = row * LINES;
    tokens.fill(0, start, start + LINES);
    for (const [i, line] of this.#task.entries()) tokens.set(line, start + i * LINE);
    const late = [...this.#turns, this.#screen];
    for (const [i, line] of late.entries()) tokens.set(line, start + LINES - (late.length - i) * LINE);
  }

  #begin(): void {
    // With one sentence or two, or none; of few words, so that tasks of other slots are the same.
    this.#task = Array.from({ length: this.#random.integer(3) }, () => this.#line());
    this.#turns = [];
    this.#screen = this.#random.next() < 0.1 ? [0, 0, 0, 0] : this.#line();
  }

  #line(): number[] {
    const words = 1 + this.#random.integer(LINE);
    return Array.from({ length: LINE }, (_, i) => (i < words ? 1 + this.#random.integer(4) : 0));
  }
}

/** Rows that the players see now. */
function look(players: readonly Player[], random: RandomStream): Rows {
  const rows = randomRows(SPEC, players.length, random);
  for (const [row, player] of players.entries()) player.write(rows.tokens, row);
  return rows;
}

function rowsOf(rows: Rows, chosen: readonly number[]): Rows {
  const take = (from: Int32Array | Float32Array, width: number): number[] =>
    chosen.flatMap((row) => [...from.subarray(row * width, (row + 1) * width)]);
  return {
    tokens: Int32Array.from(take(rows.tokens, LINES)),
    candidates: Int32Array.from(take(rows.candidates, slots * CANDIDATE_TOKENS)),
    mask: Float32Array.from(take(rows.mask, size)),
  };
}

describe('what is answered', () => {
  test('is what the whole network says, over episodes, calls of any readers, and changes of the weights', async () => {
    const plan = fc.record({
      seed: fc.integer({ min: 0, max: 1e6 }),
      calls: fc.array(
        fc.record({
          chosen: fc.uniqueArray(fc.nat({ max: 8 }), { minLength: 1, maxLength: 9 }),
          reload: fc.nat({ max: 5 }),
        }),
        { minLength: 4, maxLength: 14 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ seed, calls }) => {
        const random = createRandom(seed);
        const players = Array.from({ length: 9 }, (_, i) => new Player(seed + i));
        let weights = initialWeights(SPEC, seed);
        policy.load(weights);
        for (const { chosen, reload } of calls) {
          if (reload === 0) {
            weights = initialWeights(SPEC, random.integer(1000));
            policy.load(weights);
          }
          const asked = chosen.map((i) => players[i] ?? new Player(0));
          const rows = look(asked, random);
          const got = await policy.run(
            chosen.length,
            rows,
            Int32Array.from(chosen, (i) => 3 * i),
          );
          expect(difference(got, await wholly(rows, chosen.length, weights))).toBeLessThan(CLOSE);
          for (const player of asked) player.step();
        }
      }),
      { numRuns: 40 },
    );
  });

  test('is the same to the last bit whoever shares the call, remembered or not', async () => {
    const other = await createPolicy(SPEC, { threads: 1 });
    const random = createRandom(5);
    const players = Array.from({ length: 9 }, (_, i) => new Player(50 + i));
    const all = players.map((_, i) => i);
    const weights = initialWeights(SPEC, 3);
    policy.load(weights);
    other.load(weights);
    for (let step = 0; step < 25; step++) {
      const rows = look(players, random);
      const together = await policy.run(9, rows, Int32Array.from(all));
      const afresh = await other.run(9, rows);
      expect(afresh).toEqual(together);
      const order = random.shuffle(all);
      for (let at = 0; at < 9; ) {
        const group = order.slice(at, at + 1 + random.integer(5));
        at += group.length;
        const apart = await other.run(group.length, rowsOf(rows, group), Int32Array.from(group));
        const wanted = group.map((row) => together.values[row]);
        expect([...apart.values]).toEqual(wanted);
        expect([...apart.logProbabilities]).toEqual(
          group.flatMap((row) => [...together.logProbabilities.subarray(row * size, (row + 1) * size)]),
        );
      }
      for (const player of players) player.step();
    }
    await other.close();
  });

  test('is right for tokens that no encoder writes', async () => {
    const weights = initialWeights(SPEC, 9);
    policy.load(weights);
    const random = createRandom(6);
    for (let call = 0; call < 20; call++) {
      const rows = randomRows(SPEC, 5, random);
      for (let line = 0; line < 5 * SPEC.sentences; line++)
        if (random.next() < 0.5) rows.tokens.fill(0, line * LINE, (line + 1) * LINE);
      expect(
        difference(await policy.run(5, rows, Int32Array.of(0, 1, 2, 3, 4)), await wholly(rows, 5, weights)),
      ).toBeLessThan(CLOSE);
    }
  });

  test('is the same wherever lines stand: one without words changes nothing', async () => {
    const weights = initialWeights(SPEC, 2);
    policy.load(weights);
    const rows = randomRows(SPEC, 2, createRandom(7));
    const { tokens, candidates, mask } = rows;
    candidates.copyWithin(slots * CANDIDATE_TOKENS, 0, slots * CANDIDATE_TOKENS);
    mask.copyWithin(size, 0, size);
    tokens.fill(0);
    tokens.set([5, 6, 0, 0, 7, 8, 9, 0], 0);
    tokens.set([5, 6, 0, 0], LINES + LINE);
    tokens.set([7, 8, 9, 0], 2 * LINES - LINE);
    const { values } = await policy.run(2, rows);
    expect(values[1]).toBe(values[0]);
    const { values: plain } = await wholly(rows, 2, weights);
    expect(Math.abs((plain[1] ?? 0) - (plain[0] ?? 1))).toBeLessThan(1e-6);
    expect(Math.abs((plain[0] ?? 0) - (values[0] ?? 1))).toBeLessThan(CLOSE);
  });
});

test('more lines and candidates than are remembered are answered all the same', async () => {
  const weights = initialWeights(SPEC, 4);
  policy.load(weights);
  const random = createRandom(8);
  const count = 600;
  for (let call = 0; call < 8; call++) {
    const rows = randomRows(SPEC, count, random);
    expect(difference(await policy.run(count, rows), await wholly(rows, count, weights))).toBeLessThan(CLOSE);
  }
});

test('weights that come while a call is under way are those of the next one', async () => {
  const [first, second] = [initialWeights(SPEC, 11), initialWeights(SPEC, 12)];
  const readers = Int32Array.of(20, 21, 22);
  const players = [new Player(1), new Player(2), new Player(3)];
  const rows = look(players, createRandom(9));
  policy.load(first);
  const running = policy.run(3, rows, readers);
  policy.load(second);
  expect(difference(await running, await wholly(rows, 3, first))).toBeLessThan(CLOSE);
  expect(difference(await policy.run(3, rows, readers), await wholly(rows, 3, second))).toBeLessThan(CLOSE);
});

test('a call that fails leaves nothing to go on from', async () => {
  const weights = initialWeights(SPEC, 13);
  policy.load(weights);
  const readers = Int32Array.of(30, 31);
  const rows = look([new Player(4), new Player(5)], createRandom(10));
  const bad = { ...rows, tokens: rows.tokens.slice() };
  bad.tokens[LINES - 1] = SPEC.vocabulary;
  await expect(policy.run(2, bad, readers)).rejects.toThrow('the model could not be run');
  expect(difference(await policy.run(2, rows, readers), await wholly(rows, 2, weights))).toBeLessThan(CLOSE);
});
