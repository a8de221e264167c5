import { z } from 'zod';

/** The smallest length of time that is told apart, in ms: about 61 ns. */
const LEAST_MS = 2 ** -14;
/** Bounds of neighbouring buckets differ by a factor of 2^(1/8): a quantile is right to within 4.5 %. */
const BUCKETS_AN_OCTAVE = 8;

const bucketSchema = z.tuple([z.int().nonnegative(), z.int().positive()]);

/** A histogram in a message: the buckets that are not empty, each with its count. Times in ms. */
export const histogramDataSchema = z.object({
  buckets: z.array(bucketSchema),
  sum: z.number().nonnegative(),
  max: z.number().nonnegative(),
});
export type HistogramData = Readonly<z.infer<typeof histogramDataSchema>>;

/** Counts lengths of time, in ms, in buckets that grow geometrically: any number of them in a fixed amount of memory. */
export class Histogram {
  #counts: number[] = [];
  #count = 0;
  #sum = 0;
  #max = 0;

  /** How many were added. */
  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  /** The longest, exactly; 0 when there is none. */
  get max(): number {
    return this.#max;
  }

  /** Adds so many of this length. */
  add(ms: number, count = 1): void {
    this.#addTo(bucketOf(ms), count);
    this.#sum += ms * count;
    if (ms > this.#max) this.#max = ms;
  }

  /** Adds all that another one has counted. */
  merge({ buckets, sum, max }: HistogramData): void {
    for (const [bucket, count] of buckets) this.#addTo(bucket, count);
    this.#sum += sum;
    this.#max = Math.max(this.#max, max);
  }

  /** What was counted so far; it begins again at nothing. */
  take(): HistogramData {
    const buckets: [number, number][] = [];
    for (const [bucket, count] of this.#counts.entries()) if (count > 0) buckets.push([bucket, count]);
    const data = { buckets, sum: this.#sum, max: this.#max };
    this.#counts = [];
    this.#count = 0;
    this.#sum = 0;
    this.#max = 0;
    return data;
  }

  /** The length, in ms, that a share `q` in [0, 1] of all does not pass (nearest rank); null when there is none. */
  quantile(q: number): number | null {
    const rank = Math.max(1, Math.ceil(q * this.#count));
    let seen = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count;
      if (seen >= rank) return Math.min(middleOf(bucket), this.#max);
    }
    return null;
  }

  #addTo(bucket: number, count: number): void {
    while (this.#counts.length <= bucket) this.#counts.push(0);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
    this.#count += count;
  }
}

function bucketOf(ms: number): number {
  return ms <= LEAST_MS ? 0 : Math.floor(Math.log2(ms / LEAST_MS) * BUCKETS_AN_OCTAVE);
}

/** The geometric mean of a bucket's bounds. */
function middleOf(bucket: number): number {
  return LEAST_MS * 2 ** ((bucket + 0.5) / BUCKETS_AN_OCTAVE);
}
