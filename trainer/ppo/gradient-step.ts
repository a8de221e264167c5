import { LabError } from '../../src/domain/error.ts';
import type { KnobValues } from '../../src/domain/knob.ts';
import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import { recordOf } from '../../src/domain/table.ts';
import { parameterCount } from '../policy/parameters.ts';
import {
  createSession,
  type Engine,
  type EngineChoice,
  floats,
  joinEngines,
  type Session,
  type SessionTensor,
  scalar,
  type Tensors,
} from '../session.ts';
import { standardScaling } from './advantages.ts';
import type { Batch } from './batch.ts';
import type { Part } from './gradient-part.ts';
import { GradientPool, type PartResult } from './gradient-pool.ts';
import type { LossOptions } from './losses.ts';
import { LOSS_OUTPUTS, type LossOutput, type OptimiserSettings, optimiserModel } from './training-model.ts';

/** The losses of one minibatch before its step, and the gradients' norm before clipping. */
export type StepMetrics = Readonly<Record<LossOutput | 'gradientNorm', number>>;

/** What one gradient step did. */
export interface StepResult {
  readonly live: LiveWeights;
  readonly metrics: StepMetrics;
  /** log π(a) − log π_old(a) before the step, of each row of the minibatch. */
  readonly logRatios: Float32Array;
}

/** What the engine gave in one gradient step and takes in the next, without a copy: flat vectors in the order of the weights. */
export type LiveWeights = Readonly<Record<'weights' | 'm' | 'v', Float32Array>>;

/** Weights with Adam's moments as flat vectors: `optimiser` is m, then v, each in the order of the weights. */
export interface FlatWeights {
  readonly weights: Float32Array;
  readonly optimiser: Float32Array;
}

/**
 * Computes gradient steps. A minibatch is split into as many parts as there are threads, their gradients are computed at
 * the same time and added up. Which samples a part has depends on nothing but their order and the number of threads, so a
 * step gives the same bits again.
 */
export class GradientStepper {
  readonly #pool: GradientPool;
  readonly #optimiser: Session;
  /** In place of the gradient of a part that a very small minibatch does not have. */
  readonly #noGradient: Float32Array;
  #batch: Batch | null = null;

  private constructor(pool: GradientPool, optimiser: Session, weights: number) {
    this.#pool = pool;
    this.#optimiser = optimiser;
    this.#noGradient = new Float32Array(weights);
  }

  static async create(
    spec: PolicySpec,
    settings: OptimiserSettings & LossOptions & EngineChoice,
    threads: number,
  ): Promise<GradientStepper> {
    const pool = await GradientPool.create(spec, threads, settings);
    const count = parameterCount(spec);
    const optimiser = await createSession(optimiserModel(count, settings, threads), { ...settings, threads });
    return new GradientStepper(pool, optimiser, count);
  }

  /** What gradients and Adam's steps are computed on. */
  get engine(): Engine {
    return joinEngines([this.#pool.engine, this.#optimiser]);
  }

  /** Views of flat vectors. Throws `checkpoint-corrupt` when their lengths are not the policy's. */
  load({ weights, optimiser }: FlatWeights): LiveWeights {
    const { length } = this.#noGradient;
    if (weights.length !== length || optimiser.length !== 2 * length) {
      throw new LabError('checkpoint-corrupt', {
        message: `got ${weights.length} weights with ${optimiser.length} moments, and this policy has ${length} with ${2 * length}`,
        hint: 'the weights belong to a policy of another shape: check policy in the config',
      });
    }
    return { weights, m: optimiser.subarray(0, length), v: optimiser.subarray(length) };
  }

  /** Copies. */
  unload({ weights, m, v }: LiveWeights): FlatWeights {
    const optimiser = new Float32Array(m.length + v.length);
    optimiser.set(m);
    optimiser.set(v, m.length);
    return { weights: weights.slice(), optimiser };
  }

  /** One step on the samples of a batch that `rows` names; `step` is Adam's, from 1. */
  async run(
    live: LiveWeights,
    batch: Batch,
    rows: Int32Array,
    { knobs, step }: { readonly knobs: KnobValues; readonly step: number },
  ): Promise<StepResult> {
    if (batch !== this.#batch) this.#pool.setBatch(batch);
    this.#batch = batch;
    const parts = this.#split(batch, rows);
    const results = await this.#pool.run(live.weights, parts, knobs);
    const outputs = await this.#optimiser.run({
      ...this.#vectors(live, results),
      'knob.lr': scalar(knobs.lr),
      step: scalar(step),
    });
    const gradientNorm = Number(outputs['gradientNorm']?.data[0]);
    return {
      live: {
        weights: floats(outputs['next.weights']),
        m: floats(outputs['next.m']),
        v: floats(outputs['next.v']),
      },
      metrics: { ...joinLosses(results, parts), gradientNorm },
      logRatios: joinRows(results, rows.length),
    };
  }

  async close(): Promise<void> {
    await this.#pool.close();
    await this.#optimiser.close();
  }

  #split({ advantages }: Batch, rows: Int32Array): Part[] {
    const scaling = standardScaling(Float32Array.from(rows, (row) => advantages[row] ?? 0));
    const size = Math.ceil(rows.length / this.#pool.size);
    const parts: Part[] = [];
    for (let at = 0; at < rows.length; at += size) {
      const part = rows.slice(at, at + size);
      parts.push({ rows: part, share: part.length / rows.length, scaling });
    }
    return parts;
  }

  /** Weights, moments, and the gradients by part, with zeros for parts that a very small minibatch does not have. */
  #vectors({ weights, m, v }: LiveWeights, results: readonly PartResult[]): Tensors {
    const vectors: Record<string, SessionTensor> = { weights: vector(weights), m: vector(m), v: vector(v) };
    for (let part = 0; part < this.#pool.size; part++) {
      vectors[`gradient.${part}`] = vector(results[part]?.gradient ?? this.#noGradient);
    }
    return vectors;
  }
}

/** Means over the whole minibatch; of the largest deviation, the largest. */
function joinLosses(
  results: readonly PartResult[],
  parts: readonly Part[],
): Readonly<Record<LossOutput, number>> {
  return recordOf(LOSS_OUTPUTS, (name) => {
    const values = results.map(({ losses }) => losses[name]);
    if (name === 'ratioDeviation') return Math.max(...values);
    return values.reduce((sum, value, place) => sum + value * (parts[place]?.share ?? 0), 0);
  });
}

function joinRows(results: readonly PartResult[], rows: number): Float32Array {
  const joined = new Float32Array(rows);
  let at = 0;
  for (const { logRatios } of results) {
    joined.set(logRatios, at);
    at += logRatios.length;
  }
  return joined;
}

function vector(data: Float32Array): SessionTensor {
  return { dtype: 'f32', shape: [data.length], data };
}
