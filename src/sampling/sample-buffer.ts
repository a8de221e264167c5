import type { ObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import {
  type ActionLayout,
  type ObservationTensor,
  observationTensors,
  type PolicySpec,
} from '../domain/policy-spec.ts';
import type { Attachments } from '../protocol/frame.ts';
import { outgoingMemory } from './outgoing-memory.ts';

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
  #halves: Uint16Array;
  #words: Int32Array;
  #floats: Float32Array;

  constructor(spec: PolicySpec, layout: ActionLayout, maxSteps: number) {
    this.#maxSteps = maxSteps;
    this.#size = layout.size;
    this.#layout = layouts.get(spec) ?? layOut(spec, layout.size);
    layouts.set(spec, this.#layout);
    this.#room = Math.min(INITIAL_STEPS, maxSteps);
    this.#bytes = new Uint8Array(this.#room * this.#layout.stride);
    this.#halves = new Uint16Array(this.#bytes.buffer);
    this.#words = new Int32Array(this.#bytes.buffer);
    this.#floats = new Float32Array(this.#bytes.buffer);
  }

  clear(): void {
    this.#length = 0;
  }

  push({ row, observations, logProbabilities, action, value, policyVersion }: SampleRow): void {
    if (this.#length === this.#room) this.#grow();
    const layout = this.#layout;
    const base = this.#length++ * layout.stride;
    const rows = rowsOf(observations);
    for (let i = 0; i < layout.observations.length; i++) {
      const tensor = layout.observations[i];
      const given = tensor === undefined ? undefined : rows.view(tensor.name, tensor.width, row);
      if (tensor === undefined || given === undefined) continue;
      const at = base + tensor.start;
      if (tensor.element === 'u16') this.#halves.set(given, at >> 1);
      else if (tensor.element === 'f32') this.#floats.set(given, at >> 2);
      else this.#bytes.set(given, at);
    }
    const size = this.#size;
    const floats = this.#floats;
    const from = row * size;
    const to = (base + layout.logProbabilities) >> 2;
    for (let i = 0; i < size; i++) floats[to + i] = logProbabilities[from + i] ?? 0;
    this.#halves[(base + layout.action) >> 1] = action;
    floats[(base + layout.value) >> 2] = value;
    const version = (base + layout.version) >> 1;
    this.#halves[version] = policyVersion;
    this.#halves[version + 1] = policyVersion >>> 16;
  }

  /** The reward of the step that was pushed last. */
  setReward(reward: number): void {
    const { stride, reward: start } = this.#layout;
    this.#floats[((this.#length - 1) * stride + start) >> 2] = reward;
  }

  /** Copies of the filled parts, ready to send: views of one piece of memory. */
  tensors(): Attachments {
    const { stride, places } = this.#layout;
    const steps = this.#length;
    let total = 0;
    for (const { bytes } of places) total += bytes * steps;
    let at = outgoingMemory.take(total);
    const { buffer } = outgoingMemory.bytes;
    const parts: Record<string, Uint8Array> = {};
    for (let i = 0; i < places.length; i++) {
      const place = places[i];
      if (place === undefined) continue;
      const { name, start, bytes } = place;
      parts[name] = new Uint8Array(buffer, at, bytes * steps);
      for (let step = 0; step < steps; step++, at += bytes) this.#copy(step * stride + start, at, bytes);
    }
    return parts;
  }

  /** Without views: each would be more garbage than it saves time for so few bytes. */
  #copy(from: number, to: number, bytes: number): void {
    if (((from | to | bytes) & 3) === 0) {
      const [source, target] = [this.#words, outgoingMemory.words];
      for (let i = 0; i < bytes; i += 4) target[(to + i) >> 2] = source[(from + i) >> 2] ?? 0;
    } else if (bytes > FEW_BYTES) {
      outgoingMemory.bytes.set(this.#bytes.subarray(from, from + bytes), to);
    } else {
      const [source, target] = [this.#bytes, outgoingMemory.bytes];
      for (let i = 0; i < bytes; i++) target[to + i] = source[from + i] ?? 0;
    }
  }

  #grow(): void {
    const before = this.#bytes;
    this.#room = Math.min(2 * this.#room, this.#maxSteps);
    this.#bytes = new Uint8Array(this.#room * this.#layout.stride);
    this.#bytes.set(before);
    this.#halves = new Uint16Array(this.#bytes.buffer);
    this.#words = new Int32Array(this.#bytes.buffer);
    this.#floats = new Float32Array(this.#bytes.buffer);
  }
}

/** To copy so few is faster one by one. */
const FEW_BYTES = 128;

/** Views of the rows of a batch's arrays, each made when it is first asked for: a batch's arrays are filled again and again. */
class RowViews {
  readonly #arrays: ObservationArrays;
  readonly #views = new Map<ObservationTensor['name'], (Int32Array | Float32Array)[]>();

  constructor(arrays: ObservationArrays) {
    this.#arrays = arrays;
  }

  view(name: ObservationTensor['name'], width: number, row: number): Int32Array | Float32Array | undefined {
    const known = this.#views.get(name)?.[row];
    return known ?? this.#make(name, width, row);
  }

  #make(name: ObservationTensor['name'], width: number, row: number): Int32Array | Float32Array | undefined {
    const view = this.#arrays[name]?.subarray(row * width, (row + 1) * width);
    if (view === undefined) return undefined;
    const views = this.#views.get(name) ?? [];
    views[row] = view;
    this.#views.set(name, views);
    return view;
  }
}

const viewsOf = new WeakMap<ObservationArrays, RowViews>();
let newest: { readonly arrays: ObservationArrays; readonly views: RowViews } | null = null;

function rowsOf(arrays: ObservationArrays): RowViews {
  if (newest?.arrays === arrays) return newest.views;
  const views = viewsOf.get(arrays) ?? new RowViews(arrays);
  viewsOf.set(arrays, views);
  newest = { arrays, views };
  return views;
}

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
