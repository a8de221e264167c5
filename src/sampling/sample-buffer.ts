import type { ObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import {
  type ActionLayout,
  type ObservationTensor,
  observationTensors,
  type PolicySpec,
} from '../domain/policy-spec.ts';
import type { Attachments } from '../protocol/frame.ts';
import { outgoingMemory } from './outgoing-memory.ts';
import { BLOCK_STEPS, type Piece, StepPool } from './step-pool.ts';

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

/** Of a buffer without a step. */
const NO_PIECE: Piece = {
  bytes: new Uint8Array(0),
  halves: new Uint16Array(0),
  words: new Int32Array(0),
  floats: new Float32Array(0),
};

/** What all slots with one policy share. */
interface Shared {
  readonly layout: StepLayout;
  readonly pool: StepPool;
}

const sharedOf = new WeakMap<PolicySpec, Shared>();

/**
 * The trainer's tensors of one episode, filled step by step; reused by the slot for the next episode. All of a step stands
 * together, so that a step, whose slot's memory is in no cache by then, touches few lines of it; the tensors are put together
 * at the end. The memory is the pool's.
 */
export class SampleBuffer {
  readonly #size: number;
  readonly #layout: StepLayout;
  readonly #pool: StepPool;
  #length = 0;
  /** The pool's blocks with the steps, one after the other; there is room for more. */
  #blocks = new Int32Array(8);
  /** Of the step that was pushed last: where it lies, and the byte at which it begins there. */
  #piece: Piece = NO_PIECE;
  #base = 0;

  constructor(spec: PolicySpec, layout: ActionLayout) {
    const { layout: steps, pool } = sharedOf.get(spec) ?? share(spec, layout.size);
    this.#size = layout.size;
    this.#layout = steps;
    this.#pool = pool;
  }

  /** Begins anew, and gives its memory back. */
  clear(): void {
    for (let block = 0; block * BLOCK_STEPS < this.#length; block++)
      this.#pool.give(this.#blocks[block] ?? 0);
    this.#length = 0;
    this.#piece = NO_PIECE;
  }

  push({ row, observations, logProbabilities, action, value, policyVersion }: SampleRow): void {
    const { halves, words, floats, bytes } = this.#next();
    const base = this.#base;
    const layout = this.#layout;
    const rows = rowsOf(observations);
    for (let i = 0; i < layout.observations.length; i++) {
      const tensor = layout.observations[i];
      const given = tensor === undefined ? undefined : rows.view(tensor.name, tensor.width, row);
      if (tensor === undefined || given === undefined) continue;
      const at = base + tensor.start;
      if (tensor.element === 'u16') halves.set(given, at >> 1);
      else if (tensor.element === 'f32') floats.set(given, at >> 2);
      else bytes.set(given, at);
    }
    const size = this.#size;
    const from = row * size;
    const to = (base + layout.logProbabilities) >> 2;
    for (let i = 0; i < size; i++) floats[to + i] = logProbabilities[from + i] ?? 0;
    halves[(base + layout.action) >> 1] = action;
    floats[(base + layout.value) >> 2] = value;
    words[(base + layout.version) >> 2] = policyVersion;
  }

  /** The reward of the step that was pushed last. */
  setReward(reward: number): void {
    this.#piece.floats[(this.#base + this.#layout.reward) >> 2] = reward;
  }

  /** A further reward of a step that was pushed, and whose reward was set, before. */
  addReward(step: number, reward: number): void {
    const { stride, reward: start } = this.#layout;
    const block = this.#blocks[Math.floor(step / BLOCK_STEPS)] ?? 0;
    const { floats } = this.#pool.piece(block);
    const at = (this.#pool.start(block) + (step % BLOCK_STEPS) * stride + start) >> 2;
    floats[at] = (floats[at] ?? 0) + reward;
  }

  /** Copies of the first `steps` steps, of all if it is left out, ready to send: views of one piece of memory. */
  tensors(steps = this.#length): Attachments {
    const { places, stride } = this.#layout;
    let total = 0;
    for (const { bytes } of places) total += bytes * steps;
    const start = outgoingMemory.take(total);
    const { buffer } = outgoingMemory.bytes;
    for (let step = 0; step < steps; step++) {
      const block = this.#blocks[Math.floor(step / BLOCK_STEPS)] ?? 0;
      const from = this.#pool.start(block) + (step % BLOCK_STEPS) * stride;
      let to = start;
      const piece = this.#pool.piece(block);
      for (let i = 0; i < places.length; i++) {
        const place = places[i];
        if (place === undefined) continue;
        copyOut(piece, from + place.start, to + step * place.bytes, place.bytes);
        to += steps * place.bytes;
      }
    }
    const parts: Record<string, Uint8Array> = {};
    let at = start;
    for (const { name, bytes } of places) {
      parts[name] = new Uint8Array(buffer, at, bytes * steps);
      at += bytes * steps;
    }
    return parts;
  }

  /** Makes room for a step. */
  #next(): Piece {
    const step = this.#length++;
    const [place, inBlock] = [Math.floor(step / BLOCK_STEPS), step % BLOCK_STEPS];
    if (inBlock > 0) {
      this.#base += this.#layout.stride;
      return this.#piece;
    }
    if (place === this.#blocks.length) {
      const grown = new Int32Array(2 * place);
      grown.set(this.#blocks);
      this.#blocks = grown;
    }
    const block = this.#pool.take();
    this.#blocks[place] = block;
    this.#base = this.#pool.start(block);
    this.#piece = this.#pool.piece(block);
    return this.#piece;
  }
}

/** Copies from a piece into what is sent. Without views: each would be more garbage than it saves time for so few bytes. */
function copyOut(piece: Piece, from: number, to: number, bytes: number): void {
  if (((from | to | bytes) & 3) === 0) {
    const [source, target] = [piece.words, outgoingMemory.words];
    for (let i = 0; i < bytes; i += 4) target[(to + i) >> 2] = source[(from + i) >> 2] ?? 0;
  } else if (bytes > FEW_BYTES) {
    outgoingMemory.bytes.set(piece.bytes.subarray(from, from + bytes), to);
  } else {
    const [source, target] = [piece.bytes, outgoingMemory.bytes];
    for (let i = 0; i < bytes; i++) target[to + i] = source[from + i] ?? 0;
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

function share(spec: PolicySpec, actions: number): Shared {
  const layout = layOut(spec, actions);
  const shared = { layout, pool: new StepPool(layout.stride) };
  sharedOf.set(spec, shared);
  return shared;
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
