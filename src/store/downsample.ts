/** What the points of a bucket come to. `count` is of the finite ones; without any, the rest is NaN. */
export interface Bucket {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly count: number;
}

/** A curve: `xs` ascending, `ys` of the same length; a NaN is a gap. */
export interface Curve {
  readonly xs: number[];
  readonly ys: number[];
}

/** Blocks of a level that make one of the next. */
const FAN = 16;
const FIRST_CAPACITY = 1024;
/** A bucket with fewer points than this is drawn by its points. */
const POINTS_DRAWN = 4;

/** Sums over blocks of FAN^n points each. */
class Level {
  min = new Float64Array(FIRST_CAPACITY);
  max = new Float64Array(FIRST_CAPACITY);
  sum = new Float64Array(FIRST_CAPACITY);
  count = new Float64Array(FIRST_CAPACITY);
  blocks = 0;

  /** Takes a finite value into the block. */
  add(block: number, y: number): void {
    while (this.blocks <= block) this.#open();
    this.min[block] = Math.min(this.min[block] ?? y, y);
    this.max[block] = Math.max(this.max[block] ?? y, y);
    this.sum[block] = (this.sum[block] ?? 0) + y;
    this.count[block] = (this.count[block] ?? 0) + 1;
  }

  #open(): void {
    if (this.blocks === this.min.length) {
      this.min = grown(this.min);
      this.max = grown(this.max);
      this.sum = grown(this.sum);
      this.count = grown(this.count);
    }
    this.min[this.blocks] = Number.POSITIVE_INFINITY;
    this.max[this.blocks] = Number.NEGATIVE_INFINITY;
    this.blocks += 1;
  }
}

/** Adds up what lies in a bucket. */
class Sum {
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  sum = 0;
  count = 0;

  point(y: number): void {
    if (!Number.isFinite(y)) return;
    this.min = Math.min(this.min, y);
    this.max = Math.max(this.max, y);
    this.sum += y;
    this.count += 1;
  }

  block(level: Level, block: number): void {
    const count = level.count[block] ?? 0;
    if (count === 0) return;
    this.min = Math.min(this.min, level.min[block] ?? this.min);
    this.max = Math.max(this.max, level.max[block] ?? this.max);
    this.sum += level.sum[block] ?? 0;
    this.count += count;
  }

  bucket(): Bucket {
    if (this.count === 0) return { min: Number.NaN, max: Number.NaN, mean: Number.NaN, count: 0 };
    return { min: this.min, max: this.max, mean: this.sum / this.count, count: this.count };
  }
}

/**
 * A growing curve that can be looked at from any distance. Beside the points it keeps minimum, maximum, sum and count of every
 * 16, 256, 4096, … of them, brought up to date as points come: so a bucket of any size costs a few hundred additions, and
 * a chart costs by its width, not by the length of the curve. Extremes are exact. 18 bytes a point.
 */
export class MetricPyramid {
  #xs = new Float64Array(FIRST_CAPACITY);
  #ys = new Float64Array(FIRST_CAPACITY);
  #length = 0;
  readonly #levels: Level[] = [];

  get length(): number {
    return this.#length;
  }

  /** The first and the last position, or null while there is none. */
  get span(): readonly [number, number] | null {
    return this.#length === 0 ? null : [this.x(0), this.x(this.#length - 1)];
  }

  /** Position of a point, by its place from 0. */
  x(index: number): number {
    return this.#xs[index] ?? Number.NaN;
  }

  /** Value of a point, NaN for a gap. */
  y(index: number): number {
    return this.#ys[index] ?? Number.NaN;
  }

  /** Place of the first point at or after a position; `length` where there is none. */
  firstFrom(x: number): number {
    return this.#search((at) => at >= x);
  }

  /** Adds a point. `x` must not be below the one before; throws RangeError otherwise. What is not finite is a gap. */
  push(x: number, y: number): void {
    if (this.#length > 0 && !(x >= this.x(this.#length - 1))) {
      throw new RangeError(`x is ${x}, below ${this.x(this.#length - 1)} before it`);
    }
    if (this.#length === this.#xs.length) {
      this.#xs = grown(this.#xs);
      this.#ys = grown(this.#ys);
    }
    this.#xs[this.#length] = x;
    this.#ys[this.#length] = y;
    this.#length += 1;
    if (Number.isFinite(y)) this.#raise(this.#length - 1, y);
  }

  /** The points with `from` ≤ x < `to`, as one bucket. */
  bucket(from: number, to: number): Bucket {
    return this.#sum(this.firstFrom(from), this.firstFrom(to));
  }

  /** `buckets` of equal width over [from, to]; the last one has its right end too. */
  buckets(from: number, to: number, buckets: number): Bucket[] {
    const width = (to - from) / buckets;
    const edges = Array.from({ length: buckets }, (_, bucket) => this.firstFrom(from + bucket * width));
    return edges.map((edge, bucket) => this.#sum(edge, edges[bucket + 1] ?? this.#firstAfter(to)));
  }

  /**
   * A curve that fills `columns` columns over [from, to], column n being around from + n/(columns − 1) of the way, just as the
   * whole one does: of each column the first point, minimum, maximum and last point, or all points where they are few.
   */
  thinned(from: number, to: number, columns: number): Curve {
    const [start, end] = [this.firstFrom(from), this.#firstAfter(to)];
    const curve: Curve = { xs: [], ys: [] };
    if (end - start <= POINTS_DRAWN * columns || columns < 2) return this.#copy(curve, start, end);
    const width = (to - from) / (columns - 1);
    let edge = start;
    for (let column = 0; column < columns; column += 1) {
      const next = column === columns - 1 ? end : this.firstFrom(from + (column + 0.5) * width);
      if (next - edge <= POINTS_DRAWN) this.#copy(curve, edge, next);
      else {
        const { min, max } = this.#sum(edge, next);
        // At the middle of the column, but at the ends, which say how far the curve reaches.
        const x = Math.min(to, from + column * width);
        curve.xs.push(x, x, x, x);
        curve.ys.push(this.y(edge), min, max, this.y(next - 1));
      }
      edge = next;
    }
    return curve;
  }

  #copy(curve: Curve, start: number, end: number): Curve {
    for (let index = start; index < end; index += 1) {
      curve.xs.push(this.x(index));
      curve.ys.push(this.y(index));
    }
    return curve;
  }

  /** Takes a point into each level that has a block for it. A level begins when the one below has more than one block. */
  #raise(index: number, y: number): void {
    let block = Math.floor(index / FAN);
    for (let depth = 0; depth < this.#levels.length || block > 0; depth += 1) {
      let level = this.#levels[depth];
      if (level === undefined) {
        level = this.#newLevel(depth, index);
        this.#levels.push(level);
      } else level.add(block, y);
      block = Math.floor(block / FAN);
    }
  }

  /** A level over all points until now. */
  #newLevel(depth: number, last: number): Level {
    const level = new Level();
    const size = FAN ** (depth + 1);
    for (let index = 0; index <= last; index += 1) {
      const y = this.y(index);
      if (Number.isFinite(y)) level.add(Math.floor(index / size), y);
    }
    return level;
  }

  /** Of the points from `start` to before `end`, by the largest blocks that fit. */
  #sum(start: number, end: number): Bucket {
    const sum = new Sum();
    let index = start;
    while (index < end) {
      let [size, depth] = [1, -1];
      while (depth + 1 < this.#levels.length && index % (size * FAN) === 0 && index + size * FAN <= end) {
        size *= FAN;
        depth += 1;
      }
      const level = this.#levels[depth];
      if (level === undefined) sum.point(this.y(index));
      else sum.block(level, index / size);
      index += size;
    }
    return sum.bucket();
  }

  /** Index of the first point after x. */
  #firstAfter(x: number): number {
    return this.#search((at) => at > x);
  }

  #search(reached: (x: number) => boolean): number {
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (reached(this.x(middle))) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function grown(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2);
  larger.set(values);
  return larger;
}
