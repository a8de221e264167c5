import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { errorText, LabError } from '../../src/domain/error.ts';
import type { KnobValues } from '../../src/domain/knob.ts';
import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import type { Engine, EngineChoice } from '../session.ts';
import { type CompactBatch, type Part, PartGradients, type PartLosses } from './gradient-part.ts';
import type { LossOptions } from './losses.ts';

/** Entry of a thread that computes gradients: see gradient-pool.ts, which starts it. */

/** What a thread is given at its start. The vectors lie in shared memory. */
export interface ThreadSetup {
  readonly spec: PolicySpec;
  readonly options: LossOptions & EngineChoice;
  /** Read before each part. */
  readonly weights: Float32Array;
  /** Written after each part, in the order of the weights. */
  readonly gradient: Float32Array;
}

export type ToThread =
  | { readonly type: 'batch'; readonly batch: CompactBatch }
  | ({ readonly type: 'part'; readonly knobs: KnobValues } & Part);

export type FromThread =
  | { readonly type: 'ready'; readonly engine: Engine }
  | ({ readonly type: 'done' } & PartLosses)
  | { readonly type: 'failed'; readonly reason: string };

/** Computes parts one after another. onnxruntime refuses shared memory, so weights and gradient are copied in and out. */
class GradientThread {
  readonly #setup: ThreadSetup;
  readonly #gradients: PartGradients;
  readonly #weights: Float32Array;
  #batch: CompactBatch | null = null;

  constructor(setup: ThreadSetup, gradients: PartGradients) {
    this.#setup = setup;
    this.#gradients = gradients;
    this.#weights = new Float32Array(setup.weights.length);
  }

  async handle(message: ToThread): Promise<FromThread | null> {
    if (message.type === 'batch') {
      this.#batch = message.batch;
      return null;
    }
    if (this.#batch === null)
      throw new LabError('internal', { message: 'a part came before the batch it is of' });
    this.#weights.set(this.#setup.weights);
    const losses = await this.#gradients.run(this.#weights, this.#batch, message, message.knobs);
    this.#setup.gradient.set(this.#gradients.gradient);
    return { type: 'done', ...losses };
  }
}

async function serve(port: MessagePort, setup: ThreadSetup): Promise<void> {
  const gradients = await PartGradients.create(setup.spec, setup.options);
  const thread = new GradientThread(setup, gradients);
  const answer = async (message: ToThread): Promise<void> => {
    const reply = await thread.handle(message).catch((thrown: unknown): FromThread => {
      return { type: 'failed', reason: errorText(thrown) };
    });
    if (reply !== null) port.postMessage(reply);
  };
  port.on('message', (message: ToThread) => void answer(message));
  port.postMessage({ type: 'ready', engine: gradients.engine } satisfies FromThread);
}

if (parentPort === null)
  throw new LabError('internal', { message: 'gradient-thread is the entry of a thread' });
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what gradient-pool gives is typed there
await serve(parentPort, workerData as ThreadSetup);
