import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorText, LabError } from '../../src/domain/error.ts';
import type { KnobValues } from '../../src/domain/knob.ts';
import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import { programFile, RUNS_FROM_SOURCE } from '../../src/domain/program-files.ts';
import { type Engine, type EngineChoice, joinEngines } from '../session.ts';
import type { Batch } from './batch.ts';
import {
  type CompactBatch,
  compactBatch,
  type Part,
  PartGradients,
  type PartLosses,
} from './gradient-part.ts';
import type { FromThread, ThreadSetup, ToThread } from './gradient-thread.ts';
import type { LossOptions } from './losses.ts';

/** A part's losses and its gradient, in the order of the weights: the pool's own, overwritten by the next run. */
export interface PartResult extends PartLosses {
  readonly gradient: Float32Array;
}

/** A thread, and what it shares with this one. onnxruntime refuses shared memory: `gradient` is a copy for it. */
interface Thread {
  readonly worker: Worker;
  readonly shared: Float32Array;
  readonly gradient: Float32Array;
}

/**
 * Computes the gradients of parts of a minibatch at the same time: the first part in the calling thread, each other in a
 * thread of its own, an onnxruntime session each. A session's own threads will not do: a model that scatters is wrong on
 * several, and `run` holds up the thread that calls it, so two sessions in one thread only take turns. With one part
 * nothing is copied and no thread is started.
 */
export class GradientPool {
  readonly #spec: PolicySpec;
  readonly #own: PartGradients;
  /** What the sessions run on, and providers asked for that do not work. */
  readonly engine: Engine;
  /** In shared memory, for the other threads. */
  readonly #weights: Float32Array;
  readonly #threads: readonly Thread[];
  #batch: CompactBatch | null = null;
  #closing: Promise<void> | null = null;

  private constructor(
    spec: PolicySpec,
    own: PartGradients,
    engine: Engine,
    { weights, threads }: { readonly weights: Float32Array; readonly threads: readonly Thread[] },
  ) {
    this.#spec = spec;
    this.#own = own;
    this.engine = engine;
    this.#weights = weights;
    this.#threads = threads;
  }

  /** Starts the threads, and settles when each has its session. Throws as `createSession` does. */
  static async create(
    spec: PolicySpec,
    size: number,
    options: LossOptions & EngineChoice,
  ): Promise<GradientPool> {
    // First, since what is wrong with a provider is told best from here; a thread only says that it failed.
    const own = await PartGradients.create(spec, options);
    const { length } = own.gradient;
    const vector = (): Float32Array => new Float32Array(new SharedArrayBuffer(4 * length));
    const weights = vector();
    const threads = Array.from({ length: size - 1 }, (): Thread => {
      const shared = vector();
      const worker = startThread({ spec, options, weights, gradient: shared });
      return { worker, shared, gradient: new Float32Array(length) };
    });
    const answers = await Promise.all(threads.map(({ worker }) => reply(worker)));
    const others = answers.flatMap((answer) => (answer.type === 'ready' ? [answer.engine] : []));
    return new GradientPool(spec, own, joinEngines([own.engine, ...others]), { weights, threads });
  }

  /** The largest number of parts. */
  get size(): number {
    return 1 + this.#threads.length;
  }

  /** Parts of later runs are of this batch. Arrays in shared memory are shared with the threads, others copied. */
  setBatch(batch: Batch): void {
    this.#batch = compactBatch(this.#spec, batch);
    for (const { worker } of this.#threads) post(worker, { type: 'batch', batch: this.#batch });
  }

  /**
   * The parts' results, in order; at most `size` parts. Throws `internal` without a batch,
   * and when a thread fails or dies.
   */
  async run(
    weights: Float32Array,
    parts: readonly Part[],
    knobs: KnobValues,
  ): Promise<readonly PartResult[]> {
    if (this.#batch === null)
      throw new LabError('internal', { message: 'a part came before the batch it is of' });
    const batch = this.#batch;
    const [first, ...others] = parts;
    if (others.length > 0) this.#weights.set(weights);
    const running = others.map((part, place) => this.#runElsewhere(place, part, knobs));
    const own = first === undefined ? [] : [this.#runHere(weights, batch, first, knobs)];
    const all = [...own, ...running];
    // All of them, even if one fails: the answer of a thread left behind would be taken for that to the next part.
    await Promise.allSettled(all);
    return await Promise.all(all);
  }

  /** Ends the threads and frees the sessions; closing again is no error. */
  async close(): Promise<void> {
    this.#closing ??= this.#end();
    await this.#closing;
  }

  async #end(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
    await this.#own.close();
  }

  async #runHere(
    weights: Float32Array,
    batch: CompactBatch,
    part: Part,
    knobs: KnobValues,
  ): Promise<PartResult> {
    try {
      const losses = await this.#own.run(weights, batch, part, knobs);
      return { ...losses, gradient: this.#own.gradient };
    } catch (thrown) {
      throw broken(errorText(thrown), thrown);
    }
  }

  async #runElsewhere(place: number, part: Part, knobs: KnobValues): Promise<PartResult> {
    const thread = this.#threads[place];
    if (thread === undefined) throw broken(`there are ${this.size}, and it was asked for ${place + 2} parts`);
    const { worker, shared, gradient } = thread;
    const answer = reply(worker);
    post(worker, { type: 'part', ...part, knobs });
    const message = await answer;
    if (message.type !== 'done') throw broken(`it answered "${message.type}" to a part`);
    gradient.set(shared);
    return { losses: message.losses, logRatios: message.logRatios, gradient };
  }
}

/** Node 20 cannot start a thread from a TypeScript file: it starts from a line of JavaScript that loads the file. */
function startThread(setup: ThreadSetup): Worker {
  const load = `import(${JSON.stringify(programFile('gradientThread').href)})`;
  if (!RUNS_FROM_SOURCE) return new Worker(load, { eval: true, workerData: setup });
  // Not resolve('tsx/esm/api'): that finds the CommonJS build, which cannot register in a thread.
  const manifest = createRequire(import.meta.url).resolve('tsx/package.json');
  const tsx = new URL('dist/esm/api/index.mjs', pathToFileURL(manifest)).href;
  const code = `import(${JSON.stringify(tsx)}).then(({ register }) => { register(); return ${load}; })`;
  return new Worker(code, { eval: true, workerData: setup });
}

function post(worker: Worker, message: ToThread): void {
  worker.postMessage(message);
}

/** The next message of a thread. */
async function reply(worker: Worker): Promise<FromThread> {
  return await new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      act();
    };
    const onMessage = (message: FromThread): void =>
      settle(() => (message.type === 'failed' ? reject(broken(message.reason)) : resolve(message)));
    const onError = (thrown: unknown): void => settle(() => reject(broken(errorText(thrown), thrown)));
    const onExit = (code: number): void => settle(() => reject(broken(`it ended with code ${code}`)));
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}

function broken(what: string, cause?: unknown): LabError {
  return new LabError('internal', {
    message: `a gradient thread of the trainer failed: ${what}`,
    hint: 'the trainer is restarted from its last state; report it if it comes again',
    cause,
  });
}
