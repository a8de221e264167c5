import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { env, InferenceSession, listSupportedBackends, Tensor } from 'onnxruntime-node';
import { errorText, LabError } from '../src/domain/error.ts';
import { explainProviderFailure } from './devices/reason.ts';
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

/** A number as a tensor of shape []. */
export function scalar(value: number): SessionTensor {
  return { dtype: 'f32', shape: [], data: Float32Array.of(value) };
}

/** The data of an f32 output; empty for one that is missing or of another type. */
export function floats(tensor: SessionTensor | undefined): Float32Array {
  return tensor?.dtype === 'f32' ? tensor.data : new Float32Array(0);
}

/** Which execution providers of onnxruntime a session may run on. */
export interface EngineChoice {
  /** In order of preference; the CPU alone by default. */
  readonly providers?: readonly string[];
  /** Whether one that does not work may be passed over for the next, and at last for the CPU; no by default. */
  readonly allowFallback?: boolean;
}

export interface SessionOptions extends EngineChoice {
  /** Threads that share the work of one op. Must be 1 on the CPU for a model with scatterAddRows: see `createSession`. */
  readonly threads: number;
  /** Refuse a model of which the provider leaves some op to the CPU; else the CPU takes those ops, as onnxruntime does. */
  readonly wholly?: boolean;
}

/** A provider that was asked for and does not work, in words for people. */
export interface PassedOver {
  readonly provider: string;
  readonly reason: string;
}

/** What something runs on. */
export interface Engine {
  readonly provider: string;
  /** Providers asked for that come before it and do not work. */
  readonly fellBackFrom: readonly PassedOver[];
}

/** What several sessions run on together: where they differ, every provider is named, and every reason kept. */
export function joinEngines(engines: readonly Engine[]): Engine {
  const reasons = new Map(
    engines.flatMap(({ fellBackFrom }) => fellBackFrom.map((passed) => [passed.provider, passed])),
  );
  const providers = new Set(engines.map(({ provider }) => provider));
  return { provider: [...providers].join(' and '), fellBackFrom: [...reasons.values()] };
}

/** A model loaded into onnxruntime. Make few and keep them: each one made leaks a little native memory. */
export interface Session extends Engine {
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
 * Loads a model file. Throws `graph-invalid` when onnxruntime refuses it, when the first provider does not work and none may
 * take its place, and when a model that scatters is to run on more than one CPU thread: onnxruntime's CPU threads then add to
 * one row at once and lose updates without a word (its issue 18048; measured in 1.30: sums of frequent rows 20–40 % off,
 * differently each time). Several one-thread runs at once are right. With another provider such a model gets one CPU thread
 * whatever was asked for, since the CPU may be given the op.
 */
export async function createSession(model: Uint8Array, options: SessionOptions): Promise<Session> {
  const { providers = ['cpu'], allowFallback = false } = options;
  const order = allowFallback ? [...new Set([...providers, 'cpu'])] : providers.slice(0, 1);
  const passedOver: PassedOver[] = [];
  for (const provider of order) {
    if (provider === 'cpu') return new OnnxSession(await loadOnCpu(model, options), provider, passedOver);
    const threads = scatters(model) ? 1 : options.threads;
    try {
      const session = await load(model, provider, { ...options, threads });
      return new OnnxSession(session, provider, passedOver);
    } catch (thrown) {
      passedOver.push({ provider, reason: reasonOf(provider, thrown) });
    }
  }
  throw new LabError('graph-invalid', {
    message: passedOver
      .map(({ provider, reason }) => `provider ${provider} cannot be used: ${reason}`)
      .join('; '),
    hint: 'see what this machine has with: agentrl-lab devices; or set allowFallback: true beside providers',
  });
}

/** Version of onnxruntime, the providers that its build for this platform knows, and the folder of its libraries. */
export function engineInfo(): { version: string; known: readonly string[]; folder: string } {
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node');
  const folder = join(dirname(entry), '..', 'bin', 'napi-v6', process.platform, process.arch);
  return { version: env.versions.node ?? '', known: listSupportedBackends().map(({ name }) => name), folder };
}

function reasonOf(provider: string, thrown: unknown): string {
  return explainProviderFailure(provider, errorText(thrown), engineInfo().folder);
}

function scatters(model: Uint8Array): boolean {
  return Buffer.from(model.buffer, model.byteOffset, model.byteLength).includes('ScatterND');
}

async function loadOnCpu(model: Uint8Array, options: SessionOptions): Promise<InferenceSession> {
  if (options.threads > 1 && scatters(model)) {
    throw new LabError('graph-invalid', {
      message: `a model that scatters cannot run on ${options.threads} threads: wanted 1, or sums would lose updates`,
      hint: 'Split the batch and run the parts at the same time on a session of one thread.',
    });
  }
  try {
    return await load(model, 'cpu', options);
  } catch (thrown) {
    throw refused(`a model of ${model.byteLength} bytes could not be loaded`, thrown);
  }
}

async function load(
  model: Uint8Array,
  provider: string,
  { threads, wholly = false }: SessionOptions,
): Promise<InferenceSession> {
  return await InferenceSession.create(model, {
    executionProviders: [provider],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
    extra: {
      session: {
        // A spinning thread takes the core from the other processes of a run.
        intra_op: { allow_spinning: '0' },
        ...(wholly && provider !== 'cpu' ? { disable_cpu_ep_fallback: '1' } : {}),
      },
    },
  });
}

class OnnxSession implements Session {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly provider: string;
  readonly fellBackFrom: readonly PassedOver[];
  readonly #session: InferenceSession;

  constructor(session: InferenceSession, provider: string, fellBackFrom: readonly PassedOver[]) {
    this.#session = session;
    this.provider = provider;
    this.fellBackFrom = fellBackFrom;
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
