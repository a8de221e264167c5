import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import { recordOf } from '../../src/domain/table.ts';
import { observationFeeds } from '../../trainer/policy/observation-arrays.ts';
import { parameterShapes } from '../../trainer/policy/parameters.ts';
import { weightFeeds } from '../../trainer/policy/weight-feeds.ts';
import { standardScaling } from '../../trainer/ppo/advantages.ts';
import type { Batch } from '../../trainer/ppo/batch.ts';
import { LOSS_KNOBS, type LossOptions } from '../../trainer/ppo/losses.ts';
import { gradientModel, LOSS_OUTPUTS, type LossOutput } from '../../trainer/ppo/training-model.ts';
import { createSession, type Session, type SessionTensor } from '../../trainer/session.ts';

export type LossKnobValues = Readonly<Record<(typeof LOSS_KNOBS)[number], number>>;

export interface LossResult {
  readonly losses: Readonly<Record<LossOutput, number>>;
  /** In the order of the weights. */
  readonly gradient: Float32Array;
  readonly logRatios: Float32Array;
}

/** The training graph on a whole batch at once, in this thread. */
export class LossModel {
  readonly #spec: PolicySpec;
  readonly #options: LossOptions;
  readonly #session: Session;

  private constructor(spec: PolicySpec, options: LossOptions, session: Session) {
    this.#spec = spec;
    this.#options = options;
    this.#session = session;
  }

  static async create(spec: PolicySpec, options: LossOptions): Promise<LossModel> {
    return new LossModel(spec, options, await createSession(gradientModel(spec, options), { threads: 1 }));
  }

  /** With inputs that the options do not ask for, the engine refuses to run. */
  async run(weights: Float32Array, batch: Batch, knobs: LossKnobValues): Promise<LossResult> {
    const { count } = batch;
    // Copies: the engine refuses shared memory.
    const observations = Object.fromEntries(
      Object.entries(batch.observations).map(([name, values]) => [name, values.slice()]),
    );
    const { shift, scale } = standardScaling(batch.advantages);
    const outputs = await this.#session.run({
      ...weightFeeds(this.#spec, weights),
      ...observationFeeds(this.#spec, observations, count),
      ...Object.fromEntries(LOSS_KNOBS.map((name) => [`knob.${name}`, scalar(knobs[name])])),
      actions: { dtype: 'i32', data: batch.actions, shape: [count] },
      oldLogProbabilities: f32(batch.oldLogProbabilities.slice(), [
        count,
        batch.oldLogProbabilities.length / count,
      ]),
      advantages: f32(batch.advantages, [count]),
      returns: f32(batch.returns, [count]),
      share: scalar(1),
      ...(this.#options.valueClip > 0 && { oldValues: f32(batch.oldValues, [count]) }),
      ...(this.#options.advantages === 'minibatch' && {
        advantageShift: scalar(shift),
        advantageScale: scalar(scale),
      }),
    });
    const gradient = new Float32Array(weights.length);
    for (const { name, start } of parameterShapes(this.#spec))
      gradient.set(floats(outputs[`gradient.${name}`]), start);
    return {
      losses: recordOf(LOSS_OUTPUTS, (name) => Number(outputs[name]?.data[0])),
      gradient,
      logRatios: floats(outputs['logRatios']),
    };
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

function f32(data: Float32Array, shape: readonly number[]): SessionTensor {
  return { dtype: 'f32', data, shape };
}

function floats(tensor: SessionTensor | undefined): Float32Array {
  if (tensor?.dtype !== 'f32') throw new Error('an output is missing');
  return tensor.data;
}

function scalar(value: number): SessionTensor {
  return f32(Float32Array.of(value), []);
}
