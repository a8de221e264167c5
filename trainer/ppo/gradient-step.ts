import type { KnobValues } from '../../src/domain/knob.ts';
import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import { recordOf } from '../../src/domain/table.ts';
import { parameterShapes, splitWeights } from '../policy/parameters.ts';
import { createSession, type Session, type SessionTensor, type Tensors } from '../session.ts';
import type { Batch } from './batch.ts';
import { GradientPool, type Part, type PartResult } from './gradient-pool.ts';
import { LOSS_OUTPUTS, type LossOutput, type OptimiserSettings, optimiserModel } from './training-model.ts';

/** The losses of one minibatch before its step, and the gradients' norm before clipping. */
export type StepMetrics = Readonly<Record<LossOutput | 'gradientNorm', number>>;

/** Parameters and moments inside the engine, from one gradient step to the next without a copy. */
export type LiveWeights = Tensors;

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
  readonly #spec: PolicySpec;
  readonly #pool: GradientPool;
  readonly #optimiser: Session;
  /** By part: onnxruntime refuses the pool's shared memory. */
  readonly #gradients: readonly Float32Array[];
  #batch: Batch | null = null;

  private constructor(spec: PolicySpec, pool: GradientPool, optimiser: Session) {
    this.#spec = spec;
    this.#pool = pool;
    this.#optimiser = optimiser;
    this.#gradients = Array.from({ length: pool.size }, () => new Float32Array(pool.weights.length));
  }

  static async create(
    spec: PolicySpec,
    settings: OptimiserSettings,
    threads: number,
  ): Promise<GradientStepper> {
    const [pool, optimiser] = await Promise.all([
      GradientPool.create(spec, threads),
      createSession(optimiserModel(spec, settings, threads), { threads }),
    ]);
    return new GradientStepper(spec, pool, optimiser);
  }

  /** Views of flat vectors. Throws `checkpoint-corrupt` when their lengths are not the policy's. */
  load({ weights, optimiser }: FlatWeights): LiveWeights {
    const half = optimiser.length / 2;
    return {
      ...this.#tensors('', weights),
      ...this.#tensors('m.', optimiser.subarray(0, half)),
      ...this.#tensors('v.', optimiser.subarray(half)),
    };
  }

  /** Copies. */
  unload(live: LiveWeights): FlatWeights {
    const { length } = this.#pool.weights;
    const weights = new Float32Array(length);
    const optimiser = new Float32Array(2 * length);
    this.#copy(live, '', weights);
    this.#copy(live, 'm.', optimiser.subarray(0, length));
    this.#copy(live, 'v.', optimiser.subarray(length));
    return { weights, optimiser };
  }

  /** One step on the samples of a batch that `rows` names; `step` is Adam's, from 1. */
  async run(
    live: LiveWeights,
    batch: Batch,
    rows: Int32Array,
    { knobs, step }: { readonly knobs: KnobValues; readonly step: number },
  ): Promise<{ live: LiveWeights; metrics: StepMetrics }> {
    if (batch !== this.#batch) this.#pool.setBatch(batch);
    this.#batch = batch;
    this.#copy(live, '', this.#pool.weights);
    const parts = this.#split(rows);
    const results = await this.#pool.run(parts, knobs);
    const outputs = await this.#optimiser.run({
      ...live,
      ...this.#partialGradients(results),
      'knob.lr': scalar(knobs.lr),
      step: scalar(step),
    });
    const next: Record<string, SessionTensor> = {};
    for (const name of Object.keys(live)) next[name] = outputs[`next.${name}`] ?? scalar(Number.NaN);
    const gradientNorm = Number(outputs['gradientNorm']?.data[0]);
    return { live: next, metrics: { ...joinLosses(results, parts), gradientNorm } };
  }

  async close(): Promise<void> {
    await this.#pool.close();
    await this.#optimiser.close();
  }

  #split(rows: Int32Array): Part[] {
    const size = Math.ceil(rows.length / this.#pool.size);
    const parts: Part[] = [];
    for (let at = 0; at < rows.length; at += size) {
      const part = rows.slice(at, at + size);
      parts.push({ rows: part, share: part.length / rows.length });
    }
    return parts;
  }

  /** Gradients by part, with zeros for parts that a very small minibatch does not have. */
  #partialGradients(results: readonly PartResult[]): Tensors {
    const feeds: Tensors[] = this.#gradients.map((own, part) => {
      const result = results[part];
      if (result === undefined) own.fill(0);
      else own.set(result.gradient);
      return this.#tensors(`gradient.${part}.`, own);
    });
    return Object.assign({}, ...feeds);
  }

  #tensors(prefix: string, flat: Float32Array): Tensors {
    const views = splitWeights(this.#spec, flat);
    return Object.fromEntries(
      parameterShapes(this.#spec).map(({ name, shape }): [string, SessionTensor] => [
        `${prefix}${name}`,
        { dtype: 'f32', shape, data: views[name] },
      ]),
    );
  }

  #copy(live: LiveWeights, prefix: string, out: Float32Array): void {
    for (const { name, start } of parameterShapes(this.#spec)) {
      const tensor = live[`${prefix}${name}`];
      if (tensor?.dtype === 'f32') out.set(tensor.data, start);
    }
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

function scalar(value: number): SessionTensor {
  return { dtype: 'f32', shape: [], data: Float32Array.of(value) };
}
