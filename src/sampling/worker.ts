import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { createPolicy, type Policy } from '../../trainer/policy/inference.ts';
import type { Assignment } from '../domain/episode.ts';
import type { SlotUse } from '../domain/pipeline.ts';
import { actionLayout } from '../domain/policy-spec.ts';
import type { Attachments } from '../protocol/frame.ts';
import type { Lifeline } from '../protocol/lifeline.ts';
import type { FromWorker, IdleCause, WorkerReport, WorkerSettings } from '../protocol/worker.ts';
import { Arrivals } from './batch-cost.ts';
import { BatchWindow, type Wait } from './batch-window.ts';
import type { FinishedEpisode } from './finished-episode.ts';
import { InferenceBatch } from './inference-batch.ts';
import { Likeliest } from './likeliest.ts';
import { Lockstep } from './lockstep.ts';
import { LoopClock } from './loop-clock.ts';
import type { Measure } from './measure.ts';
import { Pacer } from './pacer.ts';
import { createRandomActor } from './random-actor.ts';
import type { ResetAudit } from './reset-audit.ts';
import { Slot } from './slot.ts';
import type { TempDirectories } from './temp-directories.ts';
import { WaitingLine } from './waiting-line.ts';
import { WorkerWatch } from './worker-watch.ts';

export interface WorkerOptions {
  readonly settings: WorkerSettings;
  readonly definition: EnvironmentDefinition;
  readonly lifeline: Lifeline;
  /** Absent: environments get no temporary directories. */
  readonly directories?: TempDirectories | undefined;
  /** Absent: nothing is measured beyond the sums of every report. */
  readonly measure?: Measure | undefined;
  /** Absent: resets are not audited. */
  readonly audit?: ResetAudit | undefined;
  readonly send: (message: FromWorker, attachments?: Attachments) => void;
  /** Bytes sent that the system has not yet taken; absent: none. When there are fewer, `drained` is to be called. */
  readonly queuedBytes?: (() => number) | undefined;
}

/** Episodes asked for beyond the free slots, as a part of all slots, so that a slot never waits for a message: least and most. */
const LEAST_AHEAD = 1 / 8;
const MOST_AHEAD = 1 / 2;
/** By how much more than what was begun while a claim was on its way. */
const AHEAD = 2;

/**
 * Products of matrices take rows by fours, and one to three that are left over by another kernel whose sums differ in the
 * last bit. With whole blocks, what the policy says of a row does not depend on those beside it, so that an episode is the
 * same whatever batches its steps were in. Rows beyond the batch hold older observations; nobody looks at their answers.
 */
const BLOCK_ROWS = 4;

/** Turns of the event loop after a call, at most, while more than so many bytes of what was sent are not yet written. */
const MOST_TURNS = 16;
const QUEUED_BYTES = 64 * 1024;
/** Beyond this no call is made: the run is slower than the worker, and what it gets late would only be staler. */
const MOST_QUEUED_BYTES = 4 * 1024 * 1024;

/** Without a word of the config. */
const NEVER_WAIT = { minRows: 1, minWindowMs: 0, maxWindowMs: 0 };

const NO_TIMES = { encodeMs: 0, inferenceMs: 0, stepMs: 0, recordMs: 0, idleMs: 0, gatherMs: 0, lateMs: 0 };

/**
 * A warm pool of slots, and the loop that moves them, a slice at a time. It uses one core: onnxruntime-node computes on the
 * thread that calls it. More cores are used by more workers.
 */
export class SamplingWorker {
  readonly #options: WorkerOptions;
  readonly #policy: Policy;
  /** The same by whole blocks of rows, with a look at the clock after each answer: what slots do then has that time. */
  readonly #asked: Pick<Policy, 'run'>;
  readonly #window: BatchWindow;
  /** Most observations in one call. */
  readonly #capacity: number;
  readonly #clock = new LoopClock();
  readonly #watch: WorkerWatch;
  readonly #pacer = new Pacer((restedMs) => this.#goOn(restedMs));
  readonly #lockstep: Lockstep;
  readonly #slots: Slot[] = [];
  /** Slots without an episode. */
  readonly #free = new WaitingLine<Slot>();
  readonly #stepPace = { ms: 0 };
  /** Slots that wait for the policy, those that wait longest first. */
  readonly #ready = new WaitingLine<Slot>();
  /** Slots at the last look whose environments were at work, and when that was. */
  #away = 0;
  #lookedAt = this.#clock.now;
  /** Slots that have gone to work since then. */
  #left = 0;
  /** When the last call ended, and what was waited for a larger batch since. */
  #calledAt = this.#clock.now;
  #gatheredMs = 0;
  #running: Promise<void> = Promise.resolve();
  #wakeUp: () => void = () => undefined;
  /** So many observations wake the loop. */
  #enough = 1;
  #queue: Assignment[] = [];
  #claimed = 0;
  readonly #claims = new Arrivals();
  #unacked = 0;
  #held = true;
  #heldSince = Date.now();
  #stopped = false;
  #policyVersion = -1;
  #reportedAt = performance.now();
  #times = { ...NO_TIMES };
  #steps = 0;
  #calls = 0;

  private constructor(options: WorkerOptions, policy: Policy) {
    const { settings, lifeline, directories, send } = options;
    const { slots, slice, batch, limits, lockstep } = settings;
    this.#options = options;
    this.#policy = policy;
    this.#asked = {
      run: async (rows, observations, readers) => await this.#ask(rows, observations, readers),
    };
    this.#capacity = Math.min(slice, slots);
    // In lockstep nothing may depend on a clock.
    const bounds = lockstep === true ? NEVER_WAIT : (batch ?? NEVER_WAIT);
    this.#window = new BatchWindow({ ...bounds, capacity: this.#capacity });
    this.#watch = new WorkerWatch({ slots, limits, lifeline, directories }, Date.now());
    this.#lockstep = new Lockstep(lockstep === true ? () => send({ type: 'sync' }) : null);
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
          directories: options.directories,
          onAnswer: (stage, ms) => worker.#watch.answered(stage, ms),
          audit: options.audit,
          stepPace: worker.#stepPace,
          onFinished: (freed, episode) => {
            worker.#free.push(freed, worker.#clock.tick());
            worker.#deliver(episode);
            worker.#wake();
          },
          onReady: (ready) => {
            worker.#ready.push(ready, worker.#clock.now);
            if (worker.#ready.length >= worker.#enough) worker.#wake();
          },
        },
        index,
      );
      worker.#slots.push(slot);
      worker.#free.push(slot, worker.#clock.now);
    }
    const likeliest = new Likeliest(settings.record?.likeliest ?? 0, layout);
    const rows = wholeBlocks(worker.#capacity);
    worker.#running = worker.#run(new InferenceBatch(settings.policy, layout, rows, likeliest));
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

  /** Slows stepping down to this part of its full speed; 1 is full speed. */
  setPace(fraction: number): void {
    this.#pacer.setPace(fraction);
  }

  hold(): void {
    this.#pacer.interrupt();
    if (!this.#held) this.#heldSince = Date.now();
    this.#held = true;
    this.#wake();
  }

  go(): void {
    this.#pacer.interrupt();
    const restedMs = this.#held ? Date.now() - this.#heldSince : 0;
    this.#held = false;
    this.#lockstep.spoke();
    this.#claim();
    this.#goOn(restedMs);
  }

  /** The run has dealt with everything until `sync`. */
  synced(): void {
    this.#lockstep.release();
  }

  ack(bytes: number): void {
    this.#unacked -= bytes;
    this.#watch.acknowledged(bytes);
    this.#wake();
  }

  /** The system has taken what was sent, or some of it. */
  drained(): void {
    this.#wake();
  }

  /** What happened since the last report. */
  report(): WorkerReport {
    const now = performance.now();
    const report: WorkerReport = {
      wallMs: now - this.#reportedAt,
      steps: this.#steps,
      inferenceCalls: this.#calls,
      ...this.#times,
      waitMs: this.#ready.takeWaited(this.#clock.tick()),
      freeMs: this.#free.takeWaited(this.#clock.now),
      windowMs: this.#window.windowMs,
      busySlots: this.#slots.length - this.#free.length,
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
      measure: this.#options.measure?.take(),
      watch: this.#watch.take(
        {
          slots: this.#slots,
          freeSlots: this.#free.length,
          queued: this.#queue.length,
          held: this.#held,
          policyVersion: this.#policyVersion,
        },
        Date.now(),
      ),
      audits: this.#options.audit?.take(),
    };
    this.#steps = 0;
    this.#calls = 0;
    this.#times = { ...NO_TIMES };
    this.#reportedAt = now;
    return report;
  }

  /** Fails the episodes whose environments have not answered in time, and those whose slots use too much. */
  checkDeadlines(): void {
    const now = Date.now();
    const stoodStillMs = this.#watch.look(now);
    if (stoodStillMs > 0) for (const slot of this.#slots) slot.excuse(stoodStillMs);
    if (this.#held) this.#heldSince += stoodStillMs;
    const heldMs = this.#held ? now - this.#heldSince : 0;
    for (const slot of this.#slots) slot.checkDeadline(now, heldMs);
    for (const { slot, detail } of this.#watch.overLimit(this.#slots)) this.#evict(slot, detail);
  }

  /** What is in every slot, and what it uses. */
  slotUse(): SlotUse[] {
    return this.#watch.slotUse(this.#slots, Date.now());
  }

  /** Why this process cannot go on: it uses too much, and no slot can be blamed for it. Null while it can. */
  exhausted(): string | null {
    return this.#watch.exhausted();
  }

  /** Ends the loop after the batch in flight, and closes every environment. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#lockstep.release();
    this.#wake();
    await this.#running;
    await Promise.allSettled(this.#slots.map(async (slot) => await slot.close()));
  }

  async #run(batch: InferenceBatch): Promise<void> {
    while (!this.#stopped) {
      await this.#lockstep.catchUp();
      if (this.#stopped) break;
      if (!this.#mayStep()) {
        // What it has said by now is dealt with first: no other message may come to wake it.
        if (this.#lockstep.isBehind) continue;
        this.#clock.stand();
        await this.#idle();
        this.#clock.go();
        this.#away = this.#countAway();
        this.#lookedAt = this.#clock.tick();
        continue;
      }
      const begun = this.#begin();
      this.#claim();
      this.#look();
      const now = this.#clock.now;
      const [ready, away, oldestMs] = [this.#ready.length, this.#away, this.#ready.oldestMs(now)];
      const wait = this.#window.plan({ ready, away, oldestMs });
      if (ready > 0 && wait.ms === 0) await this.#call(batch);
      // More free slots than one turn begins episodes in.
      else if (begun === this.#capacity) await this.#awaitEvents(nextTurn());
      else if (ready > 0) await this.#gather(wait);
      else if (!this.#lockstep.isBehind) await this.#idle();
    }
  }

  /** Asks the policy about the observations that wait longest, as many as a batch holds, and lets their slots act. */
  async #call(batch: InferenceBatch): Promise<void> {
    const started = this.#clock.now;
    const readySince = Math.max(this.#calledAt, this.#ready.oldestSince);
    this.#times.lateMs += Math.max(0, started - readySince - this.#gatheredMs);
    this.#gatheredMs = 0;
    const slots = this.#ready.shift(this.#capacity, started);
    const times = await this.#watch.call(
      slots.length,
      async () => await batch.run(slots, this.#asked, this.#policyVersion),
    );
    this.#left += slots.reduce((left, { state }) => left + Number(state === 'busy'), 0);
    this.#stepPace.ms = times.stepMs / slots.length;
    this.#steps += times.steps;
    this.#calls++;
    // Held in the middle of the call: a rest beside that would be counted twice.
    if (!this.#held) this.#pacer.stepped(slots.length);
    this.#times.encodeMs += times.encodeMs;
    this.#times.inferenceMs += times.inferenceMs;
    this.#times.stepMs += times.stepMs;
    this.#calledAt = this.#clock.tick();
    this.#window.called(slots.length, this.#calledAt - started);
    // Lets messages, and what environments have ready, in between two batches.
    await this.#awaitEvents(this.#nextTurns());
  }

  /**
   * One turn of the event loop, and more while it writes what was sent: a turn writes no more than the system has room for,
   * which is less than the episodes of some calls. What is left would keep back every later one, and the claims among them.
   */
  async #nextTurns(): Promise<void> {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      await nextTurn();
      if (this.#queuedBytes <= QUEUED_BYTES) break;
    }
  }

  async #ask(...[rows, observations, readers]: Parameters<Policy['run']>): ReturnType<Policy['run']> {
    const answer = await this.#policy.run(wholeBlocks(rows), observations, readers);
    this.#clock.tick();
    return answer;
  }

  /** Waits until there are so many observations, but not for longer than that. */
  async #gather({ ms, rows }: Wait): Promise<void> {
    const since = this.#clock.now;
    this.#enough = rows;
    this.#options.measure?.beginIdle('answers');
    await this.#sleep(ms);
    this.#options.measure?.endIdle();
    this.#enough = 1;
    // What comes after the end of the window is not by the rule.
    const waited = Math.min(ms, this.#clock.tick() - since);
    this.#gatheredMs += waited;
    this.#times.gatherMs += waited;
  }

  async #idle(): Promise<void> {
    const since = performance.now();
    this.#options.measure?.beginIdle(this.#idleCause());
    await this.#sleep(null);
    this.#options.measure?.endIdle();
    this.#times.idleMs += performance.now() - since;
  }

  /** Tells the window how many slots came back from their environments since the last look. */
  #look(): void {
    const away = this.#countAway();
    const ms = this.#clock.tick() - this.#lookedAt;
    if (ms <= 0) return;
    this.#window.passed(ms, this.#away + this.#left - away, away);
    this.#claims.add(ms, 0, this.#claimed);
    this.#away = away;
    this.#left = 0;
    this.#lookedAt += ms;
  }

  get #queuedBytes(): number {
    return this.#options.queuedBytes?.() ?? 0;
  }

  #countAway(): number {
    return this.#slots.length - this.#free.length - this.#ready.length;
  }

  #mayStep(): boolean {
    return (
      !this.#held &&
      !this.#pacer.resting &&
      this.#policyVersion >= 0 &&
      this.#unacked < this.#options.settings.unackedBytes &&
      this.#queuedBytes < MOST_QUEUED_BYTES
    );
  }

  #idleCause(): IdleCause {
    if (this.#held || this.#pacer.resting || this.#policyVersion < 0) return 'held';
    if (!this.#mayStep()) return 'acknowledgement';
    // Nothing is ready: slots that are not free wait for their environments.
    return this.#free.length > this.#slots.length / 2 ? 'tasks' : 'answers';
  }

  /** Begins episodes in free slots, at most as many as a batch holds. Returns in how many. */
  #begin(): number {
    const most = Math.min(this.#capacity, this.#queue.length, this.#free.length);
    for (const assignment of this.#queue.splice(0, most)) {
      const slot = this.#free.pop(this.#clock.tick());
      slot?.begin(assignment);
      if (slot?.state === 'busy') this.#left++;
    }
    return most;
  }

  #claim(): void {
    const { slots, lockstep } = this.#options.settings;
    // By Little's law, as many are begun during a claim's way there and back as are claimed and not yet here.
    const away = lockstep === true ? 0 : this.#claims.meanAway;
    const needed = Math.max(LEAST_AHEAD * slots, AHEAD * away);
    const ahead = Math.ceil(Math.min(MOST_AHEAD * slots, needed));
    const wanted = this.#free.length + ahead - this.#queue.length - this.#claimed;
    // Not a message for each episode, unless a slot has nothing to do.
    const isStarving = this.#free.length > 0 && this.#queue.length === 0;
    if (wanted < (isStarving ? 1 : Math.max(1, Math.floor((LEAST_AHEAD * slots) / 2)))) return;
    this.#claimed += wanted;
    this.#lockstep.spoke();
    this.#options.send({ type: 'claim', count: wanted });
  }

  #deliver(episode: FinishedEpisode): void {
    const started = performance.now();
    const { body, tensors, summary, bootstrapValue, agentValues, recycled } = episode;
    let bytes = body.byteLength;
    for (const tensor of Object.values(tensors ?? {})) bytes += tensor.byteLength;
    this.#unacked += bytes;
    this.#watch.sent(bytes);
    this.#lockstep.spoke();
    const message = { type: 'episode', summary, bytes, bootstrapValue, agentValues, recycled } as const;
    this.#options.send(message, { body, ...tensors });
    this.#times.recordMs += performance.now() - started;
  }

  /** Fails the episode of a slot that uses too much; one whose batch is in flight is taken at another look. */
  #evict(slot: Slot, detail: string): void {
    const waits = slot.state === 'ready' || slot.state === 'closing';
    if (waits && !this.#ready.remove(slot, this.#clock.tick())) return;
    if (slot.evict(detail)) this.#watch.rebuilt(slot.index, detail);
  }

  /** The time for which nothing was stepped is not the episodes'. */
  #goOn(restedMs: number): void {
    if (restedMs > 0) for (const slot of this.#slots) slot.stoodStill(restedMs);
    this.#wake();
  }

  /** Until something wakes the loop, or for so many ms. */
  async #sleep(ms: number | null): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const woken = new Promise<void>((resolve) => {
      this.#wakeUp = resolve;
      if (ms !== null) timer = setTimeout(resolve, ms);
    });
    await this.#awaitEvents(woken);
    clearTimeout(timer);
    // Timers that are due at the same time fire one after another: the first must not get a batch of its own.
    await this.#awaitEvents(nextTurn());
  }

  async #awaitEvents(event: Promise<void>): Promise<void> {
    this.#clock.setAwaiting(true);
    await event;
    this.#clock.setAwaiting(false);
  }

  #wake(): void {
    this.#wakeUp();
  }
}

function wholeBlocks(rows: number): number {
  return Math.ceil(rows / BLOCK_ROWS) * BLOCK_ROWS;
}

async function nextTurn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
