import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { createPolicy, type Policy } from '../../trainer/policy/inference.ts';
import type { Assignment } from '../domain/episode.ts';
import { actionLayout } from '../domain/policy-spec.ts';
import type { Attachments } from '../protocol/frame.ts';
import type { Lifeline } from '../protocol/lifeline.ts';
import type { FromWorker, IdleCause, WorkerReport, WorkerSettings } from '../protocol/worker.ts';
import { InferenceBatch } from './inference-batch.ts';
import type { Measure } from './measure.ts';
import { createRandomActor } from './random-actor.ts';
import { type FinishedEpisode, Slot } from './slot.ts';

export interface WorkerOptions {
  readonly settings: WorkerSettings;
  readonly definition: EnvironmentDefinition;
  readonly lifeline: Lifeline;
  /** Absent: nothing is measured beyond the sums of every report. */
  readonly measure?: Measure | undefined;
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
  /** Slots without an episode. */
  readonly #free: Slot[] = [];
  readonly #pace = { stepMs: 0 };
  /** Slots that wait for the policy, those that wait longest first. */
  readonly #ready: Slot[] = [];
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
    const { inferenceThreads: threads, providers, allowFallback } = settings;
    const layout = actionLayout(settings.policy);
    const isRandom = settings.actor === 'random';
    const policy = isRandom
      ? createRandomActor(layout)
      : await createPolicy(settings.policy, { threads, providers, allowFallback });
    const worker = new SamplingWorker(options, policy);
    // Nobody will send weights.
    if (isRandom) worker.#policyVersion = 0;
    for (let index = 0; index < settings.slots; index++) {
      const slot = new Slot(
        {
          settings,
          definition: options.definition,
          layout,
          lifeline: options.lifeline,
          pace: worker.#pace,
          onFinished: (freed, episode) => {
            worker.#free.push(freed);
            worker.#deliver(episode);
            worker.#wake();
          },
          onReady: (ready) => {
            worker.#ready.push(ready);
            worker.#wake();
          },
        },
        index,
      );
      worker.#slots.push(slot);
      worker.#free.push(slot);
    }
    const capacity = Math.min(settings.slice, settings.slots);
    worker.#running = worker.#run(new InferenceBatch(settings.policy, layout, capacity), capacity);
    return worker;
  }

  /** What the policy runs on, and providers asked for that do not work. */
  get engine(): Pick<Policy, 'provider' | 'fellBackFrom'> {
    return this.#policy;
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
      busySlots: this.#slots.length - this.#free.length,
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
      measure: this.#options.measure?.take(),
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
    while (!this.#stopped) {
      const ready = this.#mayStep() ? this.#collect(capacity) : [];
      if (ready.length === 0) {
        // Episodes that all failed at their reset leave nothing to step, and free slots.
        if (this.#mayStep()) this.#claim();
        const idleSince = performance.now();
        this.#options.measure?.beginIdle(this.#idleCause());
        await this.#sleep();
        this.#options.measure?.endIdle();
        this.#times.idleMs += performance.now() - idleSince;
        continue;
      }
      const times = await batch.run(ready, this.#policy, this.#policyVersion);
      this.#pace.stepMs = times.stepMs / ready.length;
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

  #idleCause(): IdleCause {
    if (this.#held || this.#policyVersion < 0) return 'held';
    if (!this.#mayStep()) return 'acknowledgement';
    // Nothing is ready: slots that are not free wait for their environments.
    return this.#free.length > this.#slots.length / 2 ? 'tasks' : 'answers';
  }

  /** Begins episodes in at most `capacity` free slots, then takes up to as many that wait for the policy. */
  #collect(capacity: number): Slot[] {
    for (let begun = 0; begun < capacity; begun++) {
      const slot = this.#queue.length > 0 ? this.#free.pop() : undefined;
      const assignment = slot === undefined ? undefined : this.#queue.shift();
      if (slot === undefined || assignment === undefined) break;
      slot.begin(assignment);
    }
    return this.#ready.splice(0, capacity);
  }

  #claim(): void {
    const { slots } = this.#options.settings;
    const wanted = this.#free.length + Math.ceil(slots * LOOKAHEAD) - this.#queue.length - this.#claimed;
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
