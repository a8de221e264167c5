import { type Curve, MetricPyramid } from '../src/store/downsample.ts';

/** A row of metrics: of the reader, checked or as it was stored. */
type Row = object;

/** The figures that charts draw, by the names of their fields in the metrics. */
const FIGURES = [
  'envStepsPerS',
  'kl',
  'clipFraction',
  'reward',
  'success',
  'heldOutSuccess',
  'policyLoss',
  'gradientNorm',
  'valueLoss',
  'explainedVariance',
  'entropy',
  'klCoefficient',
  'staleness',
  'staleSteps',
  'voidShare',
  'truncatedShare',
  'meanSteps',
  'batchSteps',
] as const;

/** A figure of the charts, held-out success of one family, or what one component paid. */
export type CurveName = (typeof FIGURES)[number] | `family ${string}` | `component ${string}`;

export function familyCurve(family: string): CurveName {
  return `family ${family}`;
}

export function componentCurve(component: string): CurveName {
  return `component ${component}`;
}

/** What part of a curve is drawn. `smoothing`: weight of the past in the running mean, 0 for none. */
export interface CurvePart {
  readonly from: number;
  readonly to: number;
  readonly smoothing: number;
}

/** Points of a chart's curve, at most about four times as many. A terminal of 500 columns has two charts of 500 dots. */
const COLUMNS = 512;

/**
 * The figures of a run by iteration, ready to be drawn from any distance: what a chart costs depends on its width, not on the
 * length of the run, and extremes stay (MetricPyramid). About 18 bytes a figure and iteration.
 */
export class RunCurves {
  readonly #iterations = new MetricPyramid();
  readonly #times: number[] = [];
  readonly #figures = new Map<CurveName, MetricPyramid>();
  /** By figure and weight: made when first asked for, and gone on with from there. */
  readonly #smoothed = new Map<string, SmoothedCurve>();

  /** Adds an iteration, which must come after those before. */
  push(row: Row): void {
    const fields: Readonly<Record<string, unknown>> = { ...row };
    const iteration = numberOf(fields['iteration']);
    this.#iterations.push(iteration, iteration);
    this.#times.push(numberOf(fields['time']));
    for (const name of FIGURES) this.#pyramid(name).push(iteration, numberOf(fields[name]));
    this.#pushEach(iteration, fields['heldOutByFamily'], familyCurve);
    this.#pushEach(iteration, fields['components'], componentCurve);
  }

  #pushEach(iteration: number, values: unknown, curve: (name: string) => CurveName): void {
    if (typeof values !== 'object' || values === null) return;
    for (const [name, value] of Object.entries(values))
      this.#pyramid(curve(name)).push(iteration, numberOf(value));
  }

  get length(): number {
    return this.#iterations.length;
  }

  /** The first and the last iteration there is; null without any. */
  get span(): readonly [number, number] | null {
    return this.#iterations.span;
  }

  /** Iterations to draw at. */
  positions(from: number, to: number): readonly number[] {
    return this.#iterations.thinned(from, to, COLUMNS).xs;
  }

  curve(name: CurveName, { from, to, smoothing }: CurvePart): Curve {
    return this.#source(name, smoothing)?.thinned(from, to, COLUMNS) ?? { xs: [], ys: [] };
  }

  /** The value at the first iteration that is not before one; NaN where there is none. */
  valueFrom(name: CurveName, iteration: number, smoothing: number): number {
    const source = this.#source(name, smoothing);
    return source?.y(source.firstFrom(iteration)) ?? Number.NaN;
  }

  /** The newest value; NaN without one. */
  newest(name: CurveName, smoothing: number): number {
    const source = this.#source(name, smoothing);
    return source?.y(source.length - 1) ?? Number.NaN;
  }

  /** The first iteration that was made after a time, ms since the epoch; the last one where none was. */
  iterationAfter(time: number): number {
    let [from, to] = [0, this.#times.length];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if ((this.#times[middle] ?? 0) > time) to = middle;
      else from = middle + 1;
    }
    return this.#iterations.x(Math.min(from, this.length - 1));
  }

  #pyramid(name: CurveName): MetricPyramid {
    const known = this.#figures.get(name);
    if (known !== undefined) return known;
    const pyramid = new MetricPyramid();
    this.#figures.set(name, pyramid);
    return pyramid;
  }

  #source(name: CurveName, smoothing: number): MetricPyramid | undefined {
    const plain = this.#figures.get(name);
    if (plain === undefined || smoothing === 0) return plain;
    const key = `${smoothing} ${name}`;
    const known = this.#smoothed.get(key) ?? new SmoothedCurve(plain, smoothing);
    this.#smoothed.set(key, known);
    return known.pyramid();
  }
}

/** Of rows that are all there, as for a short run; the same object for the same array. */
export function curvesOf(rows: readonly Row[]): RunCurves {
  const known = CURVES.get(rows);
  if (known !== undefined) return known;
  const curves = new RunCurves();
  for (const row of rows) curves.push(row);
  CURVES.set(rows, curves);
  return curves;
}

/** The curves of a run: those that are read beside the drawing, or of its rows where nobody reads. */
export function runCurves(run: {
  readonly curves?: RunCurves | undefined;
  readonly iterations: readonly Row[];
}): RunCurves {
  return run.curves ?? curvesOf(run.iterations);
}

const CURVES = new WeakMap<readonly Row[], RunCurves>();

/**
 * Running mean that forgets: m ← w·m + (1 − w)·y, divided by 1 − wⁿ so that the first values are not drawn to 0 (Kingma & Ba 2015,
 * section 3). A gap stays one.
 */
class SmoothedCurve {
  readonly #plain: MetricPyramid;
  readonly #weight: number;
  readonly #smooth = new MetricPyramid();
  #mean = 0;
  #share = 0;

  constructor(plain: MetricPyramid, weight: number) {
    this.#plain = plain;
    this.#weight = weight;
  }

  /** Brought up to date with what the plain curve has. */
  pyramid(): MetricPyramid {
    const weight = this.#weight;
    for (let index = this.#smooth.length; index < this.#plain.length; index += 1) {
      const y = this.#plain.y(index);
      if (Number.isFinite(y)) {
        this.#mean = weight * this.#mean + (1 - weight) * y;
        this.#share = weight * this.#share + (1 - weight);
      }
      this.#smooth.push(this.#plain.x(index), Number.isFinite(y) ? this.#mean / this.#share : Number.NaN);
    }
    return this.#smooth;
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}
