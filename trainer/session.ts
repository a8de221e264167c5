import { InferenceSession, Tensor } from 'onnxruntime-node';
import { errorText, LabError } from '../src/domain/error.ts';
import type { Dtype, TensorData } from './graph/node.ts';

/** Array type of each element type; bool is a Uint8Array of 0 and 1. */
interface DataOf {
  readonly f32: Float32Array;
  readonly i32: Int32Array;
  readonly i64: BigInt64Array;
  readonly bool: Uint8Array;
}

/** A tensor's data, row-major, with its lengths; a scalar has shape [] and one element. */
export type SessionTensor = {
  [T in Dtype]: { readonly dtype: T; readonly shape: readonly number[]; readonly data: DataOf[T] };
}[Dtype];
export type Tensors = Readonly<Record<string, SessionTensor>>;

export interface SessionOptions {
  /** Threads that share the work of one op. Must be 1 for a model with scatterAddRows: see `createSession`. */
  readonly threads: number;
  /** Execution providers of onnxruntime, in order of preference; CPU only by default. */
  readonly providers?: readonly string[];
}

/** A model loaded into onnxruntime. Make few and keep them: each one made leaks a little native memory. */
export interface Session {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /**
   * Runs the model. Nothing is copied on the way in: tensors are views of the arrays given, so an array must stay as it is
   * until the promise settles. Outputs can be fed to the next run as they are. Arrays named in `into` receive those outputs
   * in place. Throws `graph-invalid`, naming the input, when feeds are missing, unknown or of another type or shape.
   */
  run(feeds: Tensors, into?: Tensors): Promise<Tensors>;
  /** Frees the native memory; no run may follow. */
  close(): Promise<void>;
}

/**
 * Loads a model file. Throws `graph-invalid` when onnxruntime refuses it, and when a model that scatters is to run on more
 * than one thread: onnxruntime's CPU threads then add to one row at once and lose updates without a word (its issue 18048;
 * measured in 1.30: sums of frequent rows 20–40 % off, differently each time). Several one-thread runs at once are right.
 */
export async function createSession(model: Uint8Array, options: SessionOptions): Promise<Session> {
  if (
    options.threads > 1 &&
    Buffer.from(model.buffer, model.byteOffset, model.byteLength).includes('ScatterND')
  ) {
    throw new LabError('graph-invalid', {
      message: `a model that scatters cannot run on ${options.threads} threads: wanted 1, or sums would lose updates`,
      hint: 'Split the batch and run the parts at the same time on a session of one thread.',
    });
  }
  try {
    const session = await InferenceSession.create(model, {
      executionProviders: [...(options.providers ?? ['cpu'])],
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      logSeverityLevel: 3,
      // A spinning thread takes the core from the other processes of a run.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    });
    return new OnnxSession(session);
  } catch (thrown) {
    throw refused(`a model of ${model.byteLength} bytes could not be loaded`, thrown);
  }
}

class OnnxSession implements Session {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly #session: InferenceSession;

  constructor(session: InferenceSession) {
    this.#session = session;
    this.inputs = session.inputNames;
    this.outputs = session.outputNames;
  }

  async run(feeds: Tensors, into?: Tensors): Promise<Tensors> {
    this.#checkNames(feeds);
    const inputs = toOnnx(feeds);
    const results = await this.#run(inputs, into);
    const outputs: Record<string, SessionTensor> = {};
    for (const [name, tensor] of Object.entries(results)) outputs[name] = fromOnnx(name, tensor);
    return outputs;
  }

  async close(): Promise<void> {
    await this.#session.release();
  }

  async #run(
    inputs: Record<string, Tensor>,
    into: Tensors | undefined,
  ): Promise<InferenceSession.ReturnType> {
    try {
      if (into === undefined) return await this.#session.run(inputs);
      const unfilled = Object.fromEntries(this.outputs.map((name) => [name, null]));
      return await this.#session.run(inputs, { ...unfilled, ...toOnnx(into) });
    } catch (thrown) {
      throw refused('the model could not be run', thrown);
    }
  }

  #checkNames(feeds: Tensors): void {
    const missing = this.inputs.filter((name) => !(name in feeds));
    const unknown = Object.keys(feeds).filter((name) => !this.inputs.includes(name));
    if (missing.length === 0 && unknown.length === 0) return;
    throw new LabError('graph-invalid', {
      message: `running a model: missing inputs [${missing.join(', ')}], unknown inputs [${unknown.join(', ')}]`,
      hint: `Feed exactly: ${this.inputs.join(', ')}.`,
    });
  }
}

function toOnnx(tensors: Tensors): Record<string, Tensor> {
  const converted: Record<string, Tensor> = {};
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    try {
      converted[name] = CONVERSIONS[dtype](data, shape);
    } catch (thrown) {
      throw refused(`tensor "${name}": ${dtype}[${shape.join(',')}] of ${data.length} elements`, thrown);
    }
  }
  return converted;
}

const CONVERSIONS: Readonly<Record<Dtype, (data: TensorData, shape: readonly number[]) => Tensor>> = {
  f32: (data, shape) => new Tensor('float32', expect(data, Float32Array), shape),
  i32: (data, shape) => new Tensor('int32', expect(data, Int32Array), shape),
  i64: (data, shape) => new Tensor('int64', expect(data, BigInt64Array), shape),
  bool: (data, shape) => new Tensor('bool', expect(data, Uint8Array), shape),
};

function fromOnnx(name: string, { data, dims: shape }: Tensor): SessionTensor {
  if (data instanceof Float32Array) return { dtype: 'f32', shape, data };
  if (data instanceof Int32Array) return { dtype: 'i32', shape, data };
  if (data instanceof BigInt64Array) return { dtype: 'i64', shape, data };
  if (data instanceof Uint8Array) return { dtype: 'bool', shape, data };
  throw new LabError('graph-invalid', {
    message: `model output "${name}" is neither f32, i32, i64 nor bool`,
  });
}

function expect<T extends TensorData>(data: TensorData, type: abstract new (...args: never[]) => T): T {
  if (data instanceof type) return data;
  throw new TypeError(`wanted a ${type.name}, got a ${data.constructor.name}`);
}

function refused(what: string, cause: unknown): LabError {
  return new LabError('graph-invalid', {
    message: `onnxruntime: ${what}: ${errorText(cause)}`,
    hint: 'Compare the shapes fed with those the graph was built with.',
    cause,
  });
}
