import { KNOB_NAMES, type KnobValues } from '../../src/domain/knob.ts';
import { resumeRandom } from '../../src/domain/random.ts';
import type { Preview } from '../../src/domain/run.ts';
import type { KlEstimator } from '../../src/domain/trainer-options.ts';
import type { Batch } from './batch.ts';
import { descend } from './descent.ts';
import type { FlatWeights, GradientStepper } from './gradient-step.ts';
import { klOf } from './kl-controller.ts';

/** What bounds the work of a preview, for each of the two sets of knobs. */
const MOST_MINIBATCHES = 8;
const MOST_SAMPLES = 4096;
/** The KL of the first minibatch says nothing of the knobs: it is computed before any step. */
const LEAST_MINIBATCHES = 2;

/** An update as it began: enough to make it again. */
export interface UpdateRecord {
  readonly iteration: number;
  readonly batch: Batch;
  readonly flat: FlatWeights;
  readonly adamStep: number;
  readonly random: readonly number[];
}

/** What previews are computed with. */
export interface PreviewTools {
  readonly stepper: GradientStepper;
  readonly klEstimator: KlEstimator;
  /** False gives a preview up. */
  readonly goesOn: () => boolean;
}

interface Outcome {
  readonly clipFraction: number;
  readonly kl: number;
  readonly minibatches: number;
  readonly samples: number;
}

/** What the knobs as they are came to: asked for again with every other value that somebody looks at. */
interface Remembered {
  readonly knobs: KnobValues;
  readonly most: number;
  readonly outcome: Outcome;
}

/** Makes the first minibatches of an update again, from its own start and in its own order, with other knobs. */
export class Previewer {
  readonly #tools: PreviewTools;
  /** By update; does not keep one in memory. */
  readonly #remembered = new WeakMap<UpdateRecord, Remembered>();

  constructor(tools: PreviewTools) {
    this.#tools = tools;
  }

  /** Compares the knobs `now` with those `then`. Returns the reason when there is no answer. */
  async compare(update: UpdateRecord, now: KnobValues, then: KnobValues): Promise<Preview | string> {
    const size = Math.min(update.batch.count, Math.max(now.minibatch, then.minibatch));
    const most = Math.min(MOST_MINIBATCHES, Math.max(LEAST_MINIBATCHES, Math.floor(MOST_SAMPLES / size)));
    const before = this.#recall(update, now, most) ?? (await rehearse(this.#tools, update, now, most));
    const after = await rehearse(this.#tools, update, then, most);
    if (!this.#tools.goesOn()) return 'the trainer is ending';
    this.#remembered.set(update, { knobs: now, most, outcome: before });
    return comparison(update, before, after);
  }

  #recall(update: UpdateRecord, knobs: KnobValues, most: number): Outcome | null {
    const last = this.#remembered.get(update);
    if (last?.most !== most) return null;
    return KNOB_NAMES.every((name) => last.knobs[name] === knobs[name]) ? last.outcome : null;
  }
}

function comparison(update: UpdateRecord, before: Outcome, after: Outcome): Preview | string {
  for (const [{ kl, clipFraction }, which] of [
    [before, 'the knobs as they are'],
    [after, 'these knobs'],
  ] as const) {
    if (Number.isFinite(kl) && Number.isFinite(clipFraction)) continue;
    return `with ${which}, update ${update.iteration} is not finite`;
  }
  return {
    iteration: update.iteration,
    minibatches: after.minibatches,
    samples: after.samples,
    now: { clipFraction: before.clipFraction, kl: before.kl },
    wouldBe: { clipFraction: after.clipFraction, kl: after.kl },
  };
}

/** The first minibatches of an update, `most` at most; fewer where the knobs end it earlier. */
async function rehearse(
  { stepper, klEstimator, goesOn }: PreviewTools,
  { batch, flat, adamStep, random }: UpdateRecord,
  knobs: KnobValues,
  most: number,
): Promise<Outcome> {
  const start = { ...flat, adamStep, random: resumeRandom(random) };
  const before = (minibatch: number): Promise<boolean> => Promise.resolve(minibatch < most && goesOn());
  let clipped = 0;
  let kl = 0;
  let minibatches = 0;
  let samples = 0;
  for await (const one of descend(stepper, batch, start, { knobs: () => knobs, before })) {
    minibatches++;
    samples += one.rows.length;
    clipped += one.metrics.clipFraction;
    kl = klOf(one.metrics, klEstimator);
    if (knobs.kl_limit > 0 && kl > knobs.kl_limit) break;
  }
  return { clipFraction: clipped / Math.max(1, minibatches), kl, minibatches, samples };
}
