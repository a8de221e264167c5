import type { KnobValues } from '../../src/domain/knob.ts';
import type { RandomStream } from '../../src/domain/random.ts';
import type { Batch } from './batch.ts';
import type { FlatWeights, GradientStepper, LiveWeights, StepMetrics } from './gradient-step.ts';
import { MinibatchSchedule } from './minibatch-schedule.ts';

/** Where an update begins. */
export interface UpdateStart extends FlatWeights {
  /** Adam's step count so far. */
  readonly adamStep: number;
  /** Shuffles; moved on by the update. */
  readonly random: RandomStream;
}

/** One minibatch that was computed. */
export interface Descended {
  /** From 0. */
  readonly minibatch: number;
  /** Number of its pass over the batch, from 0. */
  readonly epoch: number;
  /** How many minibatches there will be if the knobs stay. */
  readonly total: number;
  /** Rows of the batch. */
  readonly rows: Int32Array;
  /** What it was computed with. */
  readonly knobs: KnobValues;
  /** Before its step. */
  readonly metrics: StepMetrics;
  /** log π(a) − log π_old(a) of each row, before its step. */
  readonly logRatios: Float32Array;
  /** After its step. */
  readonly live: LiveWeights;
}

/** What decides between two minibatches. */
export interface DescentControl {
  /** The knobs as they are now. */
  knobs(): KnobValues;
  /** Minibatch number `minibatch` (from 0) is about to be computed; may wait, and change knobs. False ends it there. */
  before(minibatch: number): Promise<boolean>;
}

/**
 * Gradient steps on one minibatch after another, `epochs` passes over the batch; whoever reads them may stop at any. Knobs
 * are read before every minibatch. The start is left as it was, but for its random stream.
 */
export async function* descend(
  stepper: GradientStepper,
  batch: Batch,
  start: UpdateStart,
  control: DescentControl,
): AsyncGenerator<Descended, void> {
  const schedule = new MinibatchSchedule(batch.count, start.random);
  let live = stepper.load(start);
  for (let minibatch = 0; schedule.hasNext(control.knobs()); minibatch++) {
    if (!(await control.before(minibatch))) return;
    const knobs = control.knobs();
    if (!schedule.hasNext(knobs)) return;
    const rows = schedule.next(knobs);
    const step = start.adamStep + minibatch + 1;
    const { metrics, logRatios, live: next } = await stepper.run(live, batch, rows, { knobs, step });
    live = next;
    yield {
      minibatch,
      epoch: schedule.epoch,
      total: schedule.total(knobs),
      rows,
      knobs,
      metrics,
      logRatios,
      live,
    };
  }
}
