import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { createPolicy, type Policy } from '../../trainer/policy/inference.ts';
import type { Assignment } from '../domain/episode.ts';
import { actionLayout } from '../domain/policy-spec.ts';
import type { Attachments } from '../protocol/frame.ts';
import type { Lifeline } from '../protocol/lifeline.ts';
import type { FromWorker, WorkerReport, WorkerSettings } from '../protocol/worker.ts';
import { InferenceBatch } from './inference-batch.ts';
import { type FinishedEpisode, Slot } from './slot.ts';

export interface WorkerOptions {
  readonly settings: WorkerSettings;
  readonly definition: EnvironmentDefinition;
  readonly lifeline: Lifeline;
  readonly send: (message: FromWorker, attachments?: Attachments) => void;
}

/** Episodes asked for beyond the free slots, as a part of all slots, so that a slot never waits for a message. */
const LOOKAHEAD = 1 / 8;

/**
 * A warm pool of slots, and the loop that moves them, a slice at a time. It uses one core: onnxruntime-node computes on the
 * thread that calls it. More cores are used by more workers.
 */
export class SamplingWorker {
  readonly #options: WorkerOptions;
  readonly #policy: Policy;
  readonly #slots: Slot[] = [];
  #running: Promise<void> = Promise.resolve();
  #wakeUp: () => void = () => undefined;
  #queue: Assignment[] = [];
  #claimed = 0;
  #unacked = 0;
  #held = true;
  #heldSince = Date.now();
  #stopped = false;
  #policyVersion = -1;
  #times = { encodeMs: 0, inferenceMs: 0, stepMs: 0, recordMs: 0, idleMs: 0 };
  #steps = 0;
  #calls = 0;

  private constructor(options: WorkerOptions, policy: Policy) {
    this.#options = options;
    this.#policy = policy;
  }

  /** Builds every slot before the first episode, and loads the policy. */
  static async create(options: WorkerOptions): Promise<SamplingWorker> {
    const { settings } = options;
    const policy = await createPolicy(settings.policy, { threads: settings.inferenceThreads });
    const worker = new SamplingWorker(options, policy);
    const layout = actionLayout(settings.policy);
    for (let index = 0; index < settings.slots; index++) {
      const slot = new Slot(
        {
          settings,
          definition: options.definition,
          layout,
          lifeline: options.lifeline,
          onFinished: (_slot, episode) => worker.#deliver(episode),
          onReady: () => worker.#wake(),
        },
        index,
      );
      worker.#slots.push(slot);
    }
    const capacity = Math.min(settings.slice, settings.slots);
    worker.#running = worker.#run(new InferenceBatch(settings.policy, layout, capacity), capacity);
    return worker;
  }

  /** Takes new weights over; they apply from the next batch on. */
  load(weights: Float32Array, policyVersion: number): void {
    this.#policy.load(weights);
    this.#policyVersion = policyVersion;
    this.#wake();
  }

  dispatch(episodes: readonly Assignment[]): void {
    this.#claimed -= episodes.length;
    this.#queue.push(...episodes);
    this.#wake();
  }

  hold(): void {
    if (!this.#held) this.#heldSince = Date.now();
    this.#held = true;
  }

  go(): void {
    if (this.#held) {
      const ms = Date.now() - this.#heldSince;
      for (const slot of this.#slots) slot.stoodStill(ms);
    }
    this.#held = false;
    this.#claim();
    this.#wake();
  }

  ack(bytes: number): void {
    this.#unacked -= bytes;
    this.#wake();
  }

  /** What happened since the last report. */
  report(): WorkerReport {
    const report: WorkerReport = {
      steps: this.#steps,
      inferenceCalls: this.#calls,
      ...this.#times,
      busySlots: this.#slots.filter((slot) => slot.state !== 'free').length,
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
    };
    this.#steps = 0;
    this.#calls = 0;
    this.#times = { encodeMs: 0, inferenceMs: 0, stepMs: 0, recordMs: 0, idleMs: 0 };
    return report;
  }

  /** Fails the episodes whose environments have not answered in time. */
  checkDeadlines(): void {
    const now = Date.now();
    for (const slot of this.#slots) slot.checkDeadline(now);
  }

  /** Ends the loop after the batch in flight, and closes every environment. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#running;
    await Promise.allSettled(this.#slots.map(async (slot) => await slot.close()));
  }

  async #run(batch: InferenceBatch, capacity: number): Promise<void> {
    let from = 0;
    while (!this.#stopped) {
      const ready = this.#mayStep() ? this.#collect(from, capacity) : [];
      if (ready.length === 0) {
        // Episodes that all failed at their reset leave nothing to step, and free slots.
        if (this.#mayStep()) this.#claim();
        const idleSince = performance.now();
        await this.#sleep();
        this.#times.idleMs += performance.now() - idleSince;
        continue;
      }
      from = (from + capacity) % this.#slots.length;
      const times = await batch.run(ready, this.#policy, this.#policyVersion);
      this.#steps += ready.length;
      this.#calls++;
      this.#times.encodeMs += times.encodeMs;
      this.#times.inferenceMs += times.inferenceMs;
      this.#times.stepMs += times.stepMs;
      this.#claim();
      // Lets messages in between two batches.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  #mayStep(): boolean {
    return !this.#held && this.#policyVersion >= 0 && this.#unacked < this.#options.settings.unackedBytes;
  }

  /** Up to `capacity` slots that wait for the policy, from slot `from` on; free ones begin an episode first. */
  #collect(from: number, capacity: number): Slot[] {
    const slots = this.#slots;
    const ready: Slot[] = [];
    for (let i = 0; i < slots.length && ready.length < capacity; i++) {
      const slot = slots[(from + i) % slots.length];
      if (slot === undefined) continue;
      if (slot.state === 'free') {
        const assignment = this.#queue.shift();
        if (assignment !== undefined) slot.begin(assignment);
      }
      if (slot.state === 'ready' || slot.state === 'closing') ready.push(slot);
    }
    return ready;
  }

  #claim(): void {
    const { slots } = this.#options.settings;
    let free = 0;
    for (const slot of this.#slots) if (slot.state === 'free') free++;
    const wanted = free + Math.ceil(slots * LOOKAHEAD) - this.#queue.length - this.#claimed;
    if (wanted < Math.max(1, Math.floor((slots * LOOKAHEAD) / 2))) return;
    this.#claimed += wanted;
    this.#options.send({ type: 'claim', count: wanted });
  }

  #deliver(episode: FinishedEpisode): void {
    const started = performance.now();
    const { body, tensors, summary, bootstrapValue } = episode;
    let bytes = body.byteLength;
    for (const tensor of Object.values(tensors ?? {})) bytes += tensor.byteLength;
    this.#unacked += bytes;
    this.#options.send({ type: 'episode', summary, bytes, bootstrapValue }, { body, ...tensors });
    this.#times.recordMs += performance.now() - started;
  }

  async #sleep(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wakeUp = resolve;
    });
  }

  #wake(): void {
    this.#wakeUp();
  }
}
