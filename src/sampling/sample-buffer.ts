import type { ObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import {
  type ActionLayout,
  type ObservationTensor,
  observationTensors,
  type PolicySpec,
} from '../domain/policy-spec.ts';
import type { Attachments } from '../protocol/frame.ts';

/** One row of a batch: what the policy was given and what it answered. The arrays are those of all rows. */
export interface SampleRow {
  readonly row: number;
  readonly observations: ObservationArrays;
  /** [rows, A] */
  readonly logProbabilities: Float32Array;
  readonly action: number;
  readonly value: number;
  readonly policyVersion: number;
}

/** A tensor of the samples in the memory of a step. */
interface Place {
  readonly name: string;
  /** Byte in a step's memory at which it begins, and bytes that it has there. */
  readonly start: number;
  readonly bytes: number;
}

/** How a step lies in memory: the same for all slots of a worker. */
interface StepLayout {
  /** Bytes of a step: a multiple of 4. */
  readonly stride: number;
  /** In the order in which they are sent. */
  readonly places: readonly Place[];
  readonly observations: readonly (ObservationTensor & { readonly start: number })[];
  readonly logProbabilities: number;
  readonly action: number;
  readonly value: number;
  readonly reward: number;
  readonly version: number;
}

/** Steps that there is room for at first. */
const INITIAL_STEPS = 8;

const layouts = new WeakMap<PolicySpec, StepLayout>();

/**
 * The trainer's tensors of one episode, filled step by step; reused by the slot for the next episode. All of a step stands
 * together, so that a step, whose slot's memory is in no cache by then, touches few lines of it; the tensors are put together
 * at the end. Room is made as it is needed: with thousands of slots, room for the longest episode in each would be most of the
 * memory.
 */
export class SampleBuffer {
  readonly #maxSteps: number;
  readonly #size: number;
  readonly #layout: StepLayout;
  #room: number;
  #length = 0;
  #bytes: Uint8Array;
  #words: Uint16Array;
  #floats: Float32Array;

  constructor(spec: PolicySpec, layout: ActionLayout, maxSteps: number) {
    this.#maxSteps = maxSteps;
    this.#size = layout.size;
    this.#layout = layouts.get(spec) ?? layOut(spec, layout.size);
    layouts.set(spec, this.#layout);
    this.#room = Math.min(INITIAL_STEPS, maxSteps);
    this.#bytes = new Uint8Array(this.#room * this.#layout.stride);
    this.#words = new Uint16Array(this.#bytes.buffer);
    this.#floats = new Float32Array(this.#bytes.buffer);
  }

  clear(): void {
    this.#length = 0;
  }

  push({ row, observations, logProbabilities, action, value, policyVersion }: SampleRow): void {
    if (this.#length === this.#room) this.#grow();
    const layout = this.#layout;
    const base = this.#length++ * layout.stride;
    for (const { name, element, width, start } of layout.observations) {
      const given = observations[name]?.subarray(row * width, (row + 1) * width);
      if (given === undefined) continue;
      if (element === 'u16') this.#words.set(given, (base + start) >> 1);
      else if (element === 'f32') this.#floats.set(given, (base + start) >> 2);
      else this.#bytes.set(given, base + start);
    }
    const size = this.#size;
    const floats = this.#floats;
    const from = row * size;
    const to = (base + layout.logProbabilities) >> 2;
    for (let i = 0; i < size; i++) floats[to + i] = logProbabilities[from + i] ?? 0;
    this.#words[(base + layout.action) >> 1] = action;
    floats[(base + layout.value) >> 2] = value;
    const version = (base + layout.version) >> 1;
    this.#words[version] = policyVersion;
    this.#words[version + 1] = policyVersion >>> 16;
  }

  /** The reward of the step that was pushed last. */
  setReward(reward: number): void {
    const { stride, reward: start } = this.#layout;
    this.#floats[((this.#length - 1) * stride + start) >> 2] = reward;
  }

  /** A further reward of a step that was pushed, and whose reward was set, before. */
  addReward(step: number, reward: number): void {
    const { stride, reward: start } = this.#layout;
    const at = (step * stride + start) >> 2;
    this.#floats[at] = (this.#floats[at] ?? 0) + reward;
  }

  /** Copies of the first `steps` steps, of all if it is left out, ready to send: views of one piece of memory. */
  tensors(steps = this.#length): Attachments {
    const { stride, places } = this.#layout;
    let total = 0;
    for (const { bytes } of places) total += bytes * steps;
    const copy = Buffer.allocUnsafe(total);
    const parts: Record<string, Uint8Array> = {};
    let at = 0;
    for (const { name, start, bytes } of places) {
      parts[name] = new Uint8Array(copy.buffer, copy.byteOffset + at, bytes * steps);
      for (let step = 0; step < steps; step++, at += bytes) {
        const from = step * stride + start;
        if (bytes > FEW_BYTES) copy.set(this.#bytes.subarray(from, from + bytes), at);
        else for (let i = 0; i < bytes; i++) copy[at + i] = this.#bytes[from + i] ?? 0;
      }
    }
    return parts;
  }

  #grow(): void {
    const before = this.#bytes;
    this.#room = Math.min(2 * this.#room, this.#maxSteps);
    this.#bytes = new Uint8Array(this.#room * this.#layout.stride);
    this.#bytes.set(before);
    this.#words = new Uint16Array(this.#bytes.buffer);
    this.#floats = new Float32Array(this.#bytes.buffer);
  }
}

/** To copy so few is faster one by one. */
const FEW_BYTES = 32;

function layOut(spec: PolicySpec, actions: number): StepLayout {
  const places: Place[] = [];
  let at = 0;
  const place = (name: string, bytes: number): number => {
    const start = at;
    places.push({ name, start, bytes });
    at += Math.ceil(bytes / 4) * 4;
    return start;
  };
  const observations = observationTensors(spec).map((tensor) => ({
    ...tensor,
    start: place(tensor.name, tensor.bytes),
  }));
  const [action, logProbabilities] = [place('actions', 2), place('logProbabilities', 4 * actions)];
  const [value, reward, version] = [place('values', 4), place('rewards', 4), place('versions', 4)];
  return { stride: at, places, observations, logProbabilities, action, value, reward, version };
}
