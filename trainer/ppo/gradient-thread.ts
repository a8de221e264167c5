import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { errorText, LabError } from '../../src/domain/error.ts';
import type { KnobValues } from '../../src/domain/knob.ts';
import { actionLayout, CANDIDATE_TOKENS, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { recordOf } from '../../src/domain/table.ts';
import { parameterShapes, splitWeights } from '../policy/parameters.ts';
import { createSession, type Session, type SessionTensor, type Tensors } from '../session.ts';
import type { Batch } from './batch.ts';
import { LOSS_KNOBS } from './losses.ts';
import { gradientModel, LOSS_OUTPUTS, type LossOutput } from './training-model.ts';

/** Entry of a thread that computes gradients: see gradient-pool.ts, which starts it. */

/** What a thread is given at its start. The vectors lie in shared memory. */
export interface ThreadSetup {
  readonly spec: PolicySpec;
  /** Read before each part. */
  readonly weights: Float32Array;
  /** Written after each part, in the order of the weights. */
  readonly gradient: Float32Array;
}

export type ToThread =
  | { readonly type: 'batch'; readonly batch: Batch }
  | { readonly type: 'part'; readonly rows: Int32Array; readonly share: number; readonly knobs: KnobValues };

export type FromThread =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly losses: Readonly<Record<LossOutput, number>> }
  | { readonly type: 'failed'; readonly reason: string };

/** Computes parts one after another. onnxruntime refuses shared memory, so weights and gradient are copied in and out. */
class GradientThread {
  readonly #setup: ThreadSetup;
  readonly #session: Session;
  readonly #weights: Float32Array;
  readonly #gradient: Float32Array;
  readonly #parameters: Tensors;
  readonly #into: Tensors;
  #batch: Batch | null = null;

  constructor(setup: ThreadSetup, session: Session) {
    this.#setup = setup;
    this.#session = session;
    this.#weights = new Float32Array(setup.weights.length);
    this.#gradient = new Float32Array(setup.gradient.length);
    this.#parameters = tensorsOf(setup.spec, this.#weights, '');
    this.#into = tensorsOf(setup.spec, this.#gradient, 'gradient.');
  }

  async handle(message: ToThread): Promise<FromThread | null> {
    if (message.type === 'batch') {
      this.#batch = message.batch;
      return null;
    }
    if (this.#batch === null)
      throw new LabError('internal', { message: 'a part came before the batch it is of' });
    this.#weights.set(this.#setup.weights);
    const outputs = await this.#session.run(
      {
        ...this.#parameters,
        ...samplesOf(this.#setup.spec, this.#batch, message.rows),
        ...Object.fromEntries(LOSS_KNOBS.map((name) => [`knob.${name}`, scalar(message.knobs[name])])),
        share: scalar(message.share),
      },
      this.#into,
    );
    this.#setup.gradient.set(this.#gradient);
    const losses = recordOf(LOSS_OUTPUTS, (name) => Number(outputs[name]?.data[0]));
    return { type: 'done', losses };
  }
}

function tensorsOf(spec: PolicySpec, flat: Float32Array, prefix: string): Tensors {
  const views = splitWeights(spec, flat);
  return Object.fromEntries(
    parameterShapes(spec).map(({ name, shape }): [string, SessionTensor] => [
      `${prefix}${name}`,
      { dtype: 'f32', shape, data: views[name] },
    ]),
  );
}

/** The samples of a batch that `rows` names, as the model's inputs. */
function samplesOf(spec: PolicySpec, batch: Batch, rows: Int32Array): Tensors {
  const { slots, size } = actionLayout(spec);
  const n = rows.length;
  const floats = (from: Float32Array, ...widths: number[]): SessionTensor => {
    const width = widths.reduce((product, each) => product * each, 1);
    return { dtype: 'f32', shape: [n, ...widths], data: gather(new Float32Array(n * width), from, rows) };
  };
  const integers = (from: Int32Array, ...widths: number[]): SessionTensor => {
    const width = widths.reduce((product, each) => product * each, 1);
    return { dtype: 'i32', shape: [n, ...widths], data: gather(new Int32Array(n * width), from, rows) };
  };
  return {
    tokens: integers(batch.tokens, spec.sentences, spec.tokens),
    candidates: integers(batch.candidates, slots, CANDIDATE_TOKENS),
    actions: integers(batch.actions),
    mask: floats(batch.mask, size),
    oldLogProbabilities: floats(batch.oldLogProbabilities, size),
    advantages: floats(batch.advantages),
    returns: floats(batch.returns),
  };
}

/** Copies rows of equal width into `out`, which has room for exactly those. */
function gather<T extends Int32Array | Float32Array>(out: T, from: T, rows: Int32Array): T {
  const width = out.length / rows.length;
  for (const [place, row] of rows.entries()) {
    out.set(from.subarray(row * width, (row + 1) * width), place * width);
  }
  return out;
}

function scalar(value: number): SessionTensor {
  return { dtype: 'f32', shape: [], data: Float32Array.of(value) };
}

async function serve(port: MessagePort, setup: ThreadSetup): Promise<void> {
  const thread = new GradientThread(setup, await createSession(gradientModel(setup.spec), { threads: 1 }));
  const answer = async (message: ToThread): Promise<void> => {
    const reply = await thread.handle(message).catch((thrown: unknown): FromThread => {
      return { type: 'failed', reason: errorText(thrown) };
    });
    if (reply !== null) port.postMessage(reply);
  };
  port.on('message', (message: ToThread) => void answer(message));
  port.postMessage({ type: 'ready' } satisfies FromThread);
}

if (parentPort === null)
  throw new LabError('internal', { message: 'gradient-thread is the entry of a thread' });
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what gradient-pool gives is typed there
await serve(parentPort, workerData as ThreadSetup);
