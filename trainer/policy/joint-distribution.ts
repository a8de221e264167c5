import type { ActionLayout } from '../../src/domain/policy-spec.ts';
import { ACTION_TYPES, ARGUMENT_TYPES } from '../../src/domain/space.ts';
import { LOWEST_LOG_PROBABILITY } from './network-parts.ts';

const TYPES = ACTION_TYPES.length;
const TYPES_WITH_ARGUMENT = ARGUMENT_TYPES.length;

type Mask = Int32Array | Float32Array;

/** What the heads say of a batch, and the keys of all candidates known. */
export interface Scores {
  /** Logits of the types, in the order of ACTION_TYPES: [places, 6]. */
  readonly types: Float32Array;
  /** A query for each type that takes an argument: [places, 3, embedding]. */
  readonly queries: Float32Array;
  /** [candidates, embedding] */
  readonly keys: Float32Array;
}

/**
 * log p(type) + log p(argument | type) of a batch, as `buildTextNetwork` defines it, but computed only for what is legal: of the
 * demo's 27 actions about ten. First every row's legal candidates are listed, then, when their keys are there, scored.
 */
export class JointDistribution {
  readonly #layout: ActionLayout;
  readonly #embedding: number;
  /** First slot of each block, and the slot after the last block. */
  readonly #blocks: Int32Array;
  /** Legal candidates, row after row: flat index and number of the key. */
  #slots = new Int32Array(0);
  #numbers = new Int32Array(0);
  /** [rows, 4]: where those of each type begin, and where the last ones end. */
  #bounds = new Int32Array(0);
  /** Of one row's legal candidates, and of the types: logits. */
  readonly #logits: Float64Array;
  readonly #types = new Float64Array(TYPES);

  constructor(layout: ActionLayout, embedding: number) {
    this.#layout = layout;
    this.#embedding = embedding;
    this.#logits = new Float64Array(layout.slots);
    this.#blocks = Int32Array.of(...ARGUMENT_TYPES.map((type) => layout.blocks[type].start), layout.slots);
  }

  /** Lists what the mask [rows, A] leaves of the candidates; `numberOf` says which key that of a row's slot has. */
  list(mask: Mask, rows: number, numberOf: (row: number, slot: number) => number): void {
    const { slots, size } = this.#layout;
    if (rows * slots > this.#slots.length) {
      this.#slots = new Int32Array(rows * slots);
      this.#numbers = new Int32Array(rows * slots);
      this.#bounds = new Int32Array(rows * (TYPES_WITH_ARGUMENT + 1));
    }
    const blocks = this.#blocks;
    const bounds = this.#bounds;
    const legal = this.#slots;
    const numbers = this.#numbers;
    let end = 0;
    let bound = 0;
    for (let row = 0; row < rows; row++) {
      const maskAt = row * size;
      for (let type = 0; type < TYPES_WITH_ARGUMENT; type++) {
        bounds[bound++] = end;
        const last = blocks[type + 1] ?? 0;
        for (let slot = blocks[type] ?? 0; slot < last; slot++) {
          if (mask[maskAt + slot] === 0) continue;
          legal[end] = slot;
          numbers[end++] = numberOf(row, slot);
        }
      }
      bounds[bound++] = end;
    }
  }

  /**
   * Writes the log-probabilities of a listed row, the scores of which are at `place`, into [rows, A]; none is below
   * LOWEST_LOG_PROBABILITY, which stands there already.
   */
  write(mask: Mask, row: number, scores: Scores, place: number, out: Float32Array): void {
    const { slots, size } = this.#layout;
    const at = row * size;
    const bareAt = at + slots - TYPES_WITH_ARGUMENT;
    const bounds = this.#bounds;
    const bound = row * (TYPES_WITH_ARGUMENT + 1);
    const ofTypes = this.#scoreTypes(mask, bareAt, { bound, logits: scores.types, at: place * TYPES });
    for (let type = 0; type < TYPES_WITH_ARGUMENT; type++) {
      const from = bounds[bound + type] ?? 0;
      const to = bounds[bound + type + 1] ?? 0;
      if (from === to) continue;
      const query = (place * TYPES_WITH_ARGUMENT + type) * this.#embedding;
      const shift = (this.#types[type] ?? 0) - ofTypes - this.#scoreArguments(scores, query, from, to);
      for (let i = from; i < to; i++) {
        const value = (this.#logits[i - from] ?? 0) + shift;
        if (value > LOWEST_LOG_PROBABILITY) out[at + (this.#slots[i] ?? 0)] = value;
      }
    }
    for (let type = TYPES_WITH_ARGUMENT; type < TYPES; type++) {
      const value = (this.#types[type] ?? 0) - ofTypes;
      if (value > LOWEST_LOG_PROBABILITY) out[bareAt + type] = value;
    }
  }

  /** Logits of the legal types go to `#types`, −∞ for the others; returns the logarithm of their exponentials' sum. */
  #scoreTypes(
    mask: Mask,
    bareAt: number,
    { bound, logits, at }: { readonly bound: number; readonly logits: Float32Array; readonly at: number },
  ): number {
    const bounds = this.#bounds;
    const types = this.#types;
    let highest = Number.NEGATIVE_INFINITY;
    for (let type = 0; type < TYPES; type++) {
      const isLegal =
        type < TYPES_WITH_ARGUMENT
          ? bounds[bound + type + 1] !== bounds[bound + type]
          : mask[bareAt + type] !== 0;
      const logit = isLegal ? (logits[at + type] ?? 0) : Number.NEGATIVE_INFINITY;
      types[type] = logit;
      if (logit > highest) highest = logit;
    }
    return logSum(types, TYPES, highest);
  }

  /** Logits of the legal arguments of a type go to `#logits`; returns the logarithm of their exponentials' sum. */
  #scoreArguments({ queries, keys }: Scores, query: number, from: number, to: number): number {
    const width = this.#embedding;
    const numbers = this.#numbers;
    const logits = this.#logits;
    let highest = Number.NEGATIVE_INFINITY;
    for (let i = from; i < to; i++) {
      const logit = product(queries, query, keys, (numbers[i] ?? 0) * width, width);
      logits[i - from] = logit;
      if (logit > highest) highest = logit;
    }
    return logSum(logits, to - from, highest);
  }
}

/** log Σ e^x over the first `count`, of which the highest is known. */
function logSum(logits: Float64Array, count: number, highest: number): number {
  let total = 0;
  for (let i = 0; i < count; i++) total += Math.exp((logits[i] ?? 0) - highest);
  return highest + Math.log(total);
}

/** Of two vectors in larger arrays. Four sums, so that an addition need not wait for the one before it. */
function product(a: Float32Array, aAt: number, b: Float32Array, bAt: number, width: number): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let i = 0;
  for (; i + 3 < width; i += 4) {
    first += (a[aAt + i] ?? 0) * (b[bAt + i] ?? 0);
    second += (a[aAt + i + 1] ?? 0) * (b[bAt + i + 1] ?? 0);
    third += (a[aAt + i + 2] ?? 0) * (b[bAt + i + 2] ?? 0);
    fourth += (a[aAt + i + 3] ?? 0) * (b[bAt + i + 3] ?? 0);
  }
  for (; i < width; i++) first += (a[aAt + i] ?? 0) * (b[bAt + i] ?? 0);
  return first + second + (third + fourth);
}
