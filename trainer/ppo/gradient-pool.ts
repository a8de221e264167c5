import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorText, LabError } from '../../src/domain/error.ts';
import type { KnobValues } from '../../src/domain/knob.ts';
import type { PolicySpec } from '../../src/domain/policy-spec.ts';
import { parameterCount } from '../policy/parameters.ts';
import type { Batch } from './batch.ts';
import type { FromThread, ThreadSetup, ToThread } from './gradient-thread.ts';
import type { LossOutput } from './training-model.ts';

/** A part of a minibatch, and its share of it. */
export interface Part {
  readonly rows: Int32Array;
  readonly share: number;
}

export interface PartResult {
  /** Multiplied by the share; in the order of the weights, in shared memory: overwritten by the thread's next part. */
  readonly gradient: Float32Array;
  /** Means over the part. */
  readonly losses: Readonly<Record<LossOutput, number>>;
}

interface Thread {
  readonly worker: Worker;
  readonly gradient: Float32Array;
}

/**
 * Threads that compute the gradients of parts of a minibatch at the same time, an onnxruntime session each. A session's own
 * threads will not do: a model that scatters is wrong on several, and `run` holds up the thread that calls it, so two
 * sessions in one thread only take turns.
 */
export class GradientPool {
  /** Shared with the threads: to be filled before `run`. */
  readonly weights: Float32Array;
  readonly #threads: readonly Thread[];

  private constructor(weights: Float32Array, threads: readonly Thread[]) {
    this.weights = weights;
    this.#threads = threads;
  }

  /** Starts the threads, and settles when each has its session. */
  static async create(spec: PolicySpec, size: number): Promise<GradientPool> {
    const vector = (): Float32Array => new Float32Array(new SharedArrayBuffer(4 * parameterCount(spec)));
    const weights = vector();
    const threads = Array.from({ length: size }, () => {
      const gradient = vector();
      return { worker: startThread({ spec, weights, gradient }), gradient };
    });
    const pool = new GradientPool(weights, threads);
    await Promise.all(threads.map(({ worker }) => reply(worker)));
    return pool;
  }

  get size(): number {
    return this.#threads.length;
  }

  /** Parts of later runs are of this batch. Arrays in shared memory are shared, others copied. */
  setBatch(batch: Batch): void {
    for (const { worker } of this.#threads) post(worker, { type: 'batch', batch });
  }

  /** The parts' results, in order; at most `size` parts. Throws `internal` when a thread fails or dies. */
  async run(parts: readonly Part[], knobs: KnobValues): Promise<readonly PartResult[]> {
    return await Promise.all(
      this.#threads.slice(0, parts.length).map(async ({ worker, gradient }, place) => {
        const part = parts[place] ?? { rows: new Int32Array(0), share: 0 };
        const answer = reply(worker);
        post(worker, { type: 'part', ...part, knobs });
        const message = await answer;
        if (message.type !== 'done') throw broken(`it answered "${message.type}" to a part`);
        return { gradient, losses: message.losses };
      }),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }
}

/** Node 20 cannot start a thread from a TypeScript file: it starts from a line of JavaScript that loads the file. */
function startThread(setup: ThreadSetup): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  const entry = new URL(isSource ? './gradient-thread.ts' : './gradient-thread.js', import.meta.url).href;
  const load = `import(${JSON.stringify(entry)})`;
  if (!isSource) return new Worker(load, { eval: true, workerData: setup });
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
