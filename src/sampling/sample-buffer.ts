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

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, f32: Float32Array } as const;
type ObservationColumn = InstanceType<(typeof ARRAYS)[keyof typeof ARRAYS]>;

/** The tensors of so many steps; those of the observation in the order of `observationTensors`. */
interface Columns {
  readonly memory: Buffer;
  /** Where each tensor begins in it, and how many bytes of it are one step's, in the order in which they are sent. */
  readonly places: readonly { readonly name: string; readonly start: number; readonly bytes: number }[];
  readonly observations: readonly ObservationColumn[];
  readonly actions: Uint16Array;
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  readonly rewards: Float32Array;
  readonly versions: Uint32Array;
}

/** Steps that there is room for at first. */
const INITIAL_STEPS = 8;

/**
 * The trainer's tensors of one episode, filled step by step; reused by the slot for the next episode. Room is made as it is
 * needed: with thousands of slots, room for the longest episode in each would be most of the memory.
 */
export class SampleBuffer {
  readonly #maxSteps: number;
  readonly #tensors: readonly ObservationTensor[];
  readonly #size: number;
  #columns: Columns;
  #room: number;
  #length = 0;

  constructor(spec: PolicySpec, layout: ActionLayout, maxSteps: number) {
    this.#maxSteps = maxSteps;
    this.#tensors = observationTensors(spec);
    this.#size = layout.size;
    this.#room = Math.min(INITIAL_STEPS, maxSteps);
    this.#columns = this.#createColumns(this.#room);
  }

  clear(): void {
    this.#length = 0;
  }

  push({ row, observations, logProbabilities, action, value, policyVersion }: SampleRow): void {
    if (this.#length === this.#room) this.#grow();
    const step = this.#length++;
    const columns = this.#columns;
    for (let i = 0; i < this.#tensors.length; i++) {
      const tensor = this.#tensors[i];
      const given = tensor === undefined ? undefined : observations[tensor.name];
      if (tensor === undefined || given === undefined) continue;
      const { width } = tensor;
      columns.observations[i]?.set(given.subarray(row * width, (row + 1) * width), step * width);
    }
    const size = this.#size;
    columns.logProbabilities.set(logProbabilities.subarray(row * size, (row + 1) * size), step * size);
    columns.actions[step] = action;
    columns.values[step] = value;
    columns.versions[step] = policyVersion;
  }

  /** The reward of the step that was pushed last. */
  setReward(reward: number): void {
    this.#columns.rewards[this.#length - 1] = reward;
  }

  /** Copies of the filled parts, ready to send: views of one piece of memory. */
  tensors(): Attachments {
    const { memory, places } = this.#columns;
    let total = 0;
    for (const { bytes } of places) total += bytes * this.#length;
    const copy = Buffer.allocUnsafe(total);
    const parts: Record<string, Uint8Array> = {};
    let at = 0;
    for (const { name, start, bytes } of places) {
      const filled = bytes * this.#length;
      memory.copy(copy, at, start, start + filled);
      parts[name] = new Uint8Array(copy.buffer, copy.byteOffset + at, filled);
      at += filled;
    }
    return parts;
  }

  /** All in one piece of memory: a step then touches few of its pages. */
  #createColumns(steps: number): Columns {
    const floats = 4 * steps;
    let bytes = floats * (this.#size + 3) + roundUp(2 * steps);
    for (const { element, width } of this.#tensors)
      bytes += roundUp(ARRAYS[element].BYTES_PER_ELEMENT * steps * width);
    const memory = new ArrayBuffer(bytes);
    const places: Columns['places'][number][] = [];
    let at = 0;
    const next = (name: string, bytesOfStep: number): number => {
      const start = at;
      places.push({ name, start, bytes: bytesOfStep });
      at += roundUp(bytesOfStep * steps);
      return start;
    };
    const observations = this.#tensors.map(({ name, element, width, bytes: bytesOfStep }) => {
      return new ARRAYS[element](memory, next(name, bytesOfStep), steps * width);
    });
    const actions = new Uint16Array(memory, next('actions', 2), steps);
    const logProbabilities = new Float32Array(
      memory,
      next('logProbabilities', 4 * this.#size),
      steps * this.#size,
    );
    const values = new Float32Array(memory, next('values', 4), steps);
    const rewards = new Float32Array(memory, next('rewards', 4), steps);
    const versions = new Uint32Array(memory, next('versions', 4), steps);
    return {
      memory: Buffer.from(memory),
      places,
      observations,
      actions,
      logProbabilities,
      values,
      rewards,
      versions,
    };
  }

  #grow(): void {
    const [before, room] = [this.#columns, Math.min(2 * this.#room, this.#maxSteps)];
    const after = this.#createColumns(room);
    for (const [i, column] of before.observations.entries()) after.observations[i]?.set(column);
    after.actions.set(before.actions);
    after.logProbabilities.set(before.logProbabilities);
    after.values.set(before.values);
    after.rewards.set(before.rewards);
    after.versions.set(before.versions);
    this.#columns = after;
    this.#room = room;
  }
}

/** To the next place where any element may begin. */
function roundUp(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}
