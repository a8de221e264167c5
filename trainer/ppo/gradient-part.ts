import type { KnobValues } from '../../src/domain/knob.ts';
import { actionLayout, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { recordOf } from '../../src/domain/table.ts';
import {
  type CompactObservations,
  compactFeeds,
  compactObservations,
  gatherFloats,
  selectSamples,
} from '../policy/compact-observations.ts';
import { type ParameterSlice, parameterCount, parameterShapes } from '../policy/parameters.ts';
import { weightFeeds } from '../policy/weight-feeds.ts';
import {
  createSession,
  type Engine,
  type EngineChoice,
  type Session,
  type SessionTensor,
  scalar,
  type Tensors,
} from '../session.ts';
import type { Scaling } from './advantages.ts';
import type { Batch } from './batch.ts';
import { LOSS_KNOBS, type LossOptions } from './losses.ts';
import { gradientModel, LOSS_OUTPUTS, type LossOutput } from './training-model.ts';

/** A part of a minibatch, and its share of it. */
export interface Part {
  readonly rows: Int32Array;
  readonly share: number;
  /** Of the advantages of the whole minibatch; used when they are normalised by minibatch. */
  readonly scaling: Scaling;
}

/** What a part says of itself beside its gradient. */
export interface PartLosses {
  /** Means over the part. */
  readonly losses: Readonly<Record<LossOutput, number>>;
  /** log π(a) − log π_old(a) of each row. */
  readonly logRatios: Float32Array;
}

/** What gradients are computed from: a batch with its observations compacted. */
export interface CompactBatch
  extends Pick<Batch, 'actions' | 'oldLogProbabilities' | 'advantages' | 'returns' | 'oldValues'> {
  readonly observations: CompactObservations;
}

/** Finds equal rows once for all the parts to come. Arrays other than observations are shared with the batch. */
export function compactBatch(spec: PolicySpec, batch: Batch): CompactBatch {
  const { actions, oldLogProbabilities, advantages, returns, oldValues } = batch;
  const observations = compactObservations(spec, batch.observations, batch.count);
  return { observations, actions, oldLogProbabilities, advantages, returns, oldValues };
}

/** The gradient model in an onnxruntime session of one thread: computes parts one after another, in this thread. */
export class PartGradients {
  /** Of the last part, multiplied by its share; in the order of the weights. The next part overwrites it. */
  readonly gradient: Float32Array;
  readonly #spec: PolicySpec;
  readonly #options: LossOptions;
  readonly #session: Session;
  readonly #into: Tensors;
  readonly #slices: readonly ParameterSlice[];

  private constructor(spec: PolicySpec, options: LossOptions, session: Session) {
    this.#spec = spec;
    this.#options = options;
    this.#session = session;
    this.#slices = parameterShapes(spec);
    this.gradient = new Float32Array(parameterCount(spec));
    this.#into = weightFeeds(spec, this.gradient, 'gradient.');
  }

  static async create(spec: PolicySpec, options: LossOptions & EngineChoice): Promise<PartGradients> {
    const model = gradientModel(spec, options, 'compact');
    return new PartGradients(spec, options, await createSession(model, { ...options, threads: 1 }));
  }

  get engine(): Engine {
    return this.#session;
  }

  /** Weights that no other thread shares. Throws `graph-invalid` when the model cannot take the batch. */
  async run(weights: Float32Array, batch: CompactBatch, part: Part, knobs: KnobValues): Promise<PartLosses> {
    const feeds: Record<string, SessionTensor> = {
      ...samplesOf(this.#spec, this.#options, batch, part),
      share: scalar(part.share),
    };
    for (const { name, shape, start, length } of this.#slices) {
      feeds[name] = { dtype: 'f32', shape, data: weights.subarray(start, start + length) };
    }
    for (const name of LOSS_KNOBS) feeds[`knob.${name}`] = scalar(knobs[name]);
    const outputs = await this.#session.run(feeds, this.#into);
    const logRatios = outputs['logRatios'];
    return {
      losses: recordOf(LOSS_OUTPUTS, (name) => Number(outputs[name]?.data[0])),
      logRatios: logRatios?.dtype === 'f32' ? logRatios.data : new Float32Array(0),
    };
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

/** The samples of a part as the model's inputs; only those that the options ask for. */
function samplesOf(
  spec: PolicySpec,
  options: LossOptions,
  batch: CompactBatch,
  { rows, scaling }: Part,
): Tensors {
  const { size } = actionLayout(spec);
  const n = rows.length;
  const floats = (from: Float32Array): SessionTensor => {
    return { dtype: 'f32', shape: [n], data: gatherFloats(from, 1, rows) };
  };
  return {
    ...compactFeeds(spec, selectSamples(spec, batch.observations, rows), n),
    actions: { dtype: 'i32', shape: [n], data: rows.map((row) => batch.actions[row] ?? 0) },
    oldLogProbabilities: {
      dtype: 'f32',
      shape: [n, size],
      data: gatherFloats(batch.oldLogProbabilities, size, rows),
    },
    advantages: floats(batch.advantages),
    returns: floats(batch.returns),
    ...(options.valueClip > 0 && { oldValues: floats(batch.oldValues) }),
    ...(options.advantages === 'minibatch' && {
      advantageShift: scalar(scaling.shift),
      advantageScale: scalar(scaling.scale),
    }),
  };
}
