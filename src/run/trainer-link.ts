import { LabError } from '../domain/error.ts';
import type { HostSpec } from '../domain/host.ts';
import { checkKnob, KNOB_NAMES, type KnobName, type KnobValues } from '../domain/knob.ts';
import type { ChildStatus, KnobChange, Preview } from '../domain/run.ts';
import type { Attachments } from '../protocol/frame.ts';
import {
  type FromTrainer,
  fromTrainerSchema,
  type ToTrainer,
  type TrainerSettings,
  type TrainerState,
  type UpdateMetrics,
  type UpdateSpot,
} from '../protocol/trainer.ts';
import { ChildLink, type RestartPolicy } from './child-link.ts';
import type { RejectedUpdate } from './guard.ts';
import type { RunsOn } from './provider-news.ts';
import type { QueuedSamples } from './sample-queue.ts';

/** Weights, Adam's moments and the rest: enough to start a trainer that goes on as if nothing had happened. */
export interface TrainerSnapshot {
  readonly state: TrainerState;
  readonly weights: Uint8Array;
  readonly optimiser: Uint8Array;
}

export interface TrainerLinkOptions {
  readonly host: HostSpec;
  readonly restart: RestartPolicy;
  readonly settings: TrainerSettings;
  /** Knobs of a run that begins; a snapshot brings its own. */
  readonly knobs: KnobValues;
  readonly snapshot: TrainerSnapshot | null;
  /** Number of the run's next update. */
  readonly nextIteration: () => number;
  readonly onReady: (snapshot: TrainerSnapshot, runsOn: RunsOn) => void;
  /** `stop`: where the KL limit ended the update early, or null. */
  readonly onUpdated: (iteration: number, metrics: UpdateMetrics, stop: UpdateSpot | null) => void;
  readonly onRefused: (reason: string) => void;
  readonly onRejected: (update: RejectedUpdate) => void;
  readonly onKnob: (change: KnobChange) => void;
  readonly onStderr: (line: string) => void;
  readonly onLost: (reason: string, retryMs: number | null) => void;
}

type WantedKnobs = Readonly<Partial<Record<KnobName, number>>>;

interface PendingUpdate {
  readonly iteration: number;
  readonly batch: readonly QueuedSamples[];
}

interface PendingSet {
  readonly knob: KnobName;
  readonly resolve: (change: KnobChange) => void;
  readonly reject: (error: LabError) => void;
}

interface PendingPreview {
  readonly resolve: (preview: Preview) => void;
  readonly reject: (error: LabError) => void;
}

/** The trainer as the run process sees it: survives its process, which is started again from the last good state. */
export class TrainerLink {
  readonly #options: TrainerLinkOptions;
  readonly #link: ChildLink<ToTrainer, FromTrainer>;
  #snapshot: TrainerSnapshot | null;
  #update: PendingUpdate | null = null;
  #sets: PendingSet[] = [];
  readonly #previews = new Map<number, PendingPreview>();
  #previewId = 0;
  #provider: string | null = null;
  #paused = false;
  #minibatch = 0;
  #moves = 0;

  constructor(options: TrainerLinkOptions) {
    this.#options = options;
    this.#snapshot = options.snapshot;
    this.#link = new ChildLink<ToTrainer, FromTrainer>({
      role: 'trainer',
      index: 0,
      host: options.host,
      restart: options.restart,
      schema: fromTrainerSchema,
      onHello: () => this.#begin(),
      onMessage: (message, attachments) => this.#receive(message, attachments),
      onStderr: options.onStderr,
      onLost: (reason, retryMs) => {
        for (const { reject } of [...this.#sets, ...this.#previews.values()]) reject(goneError(reason));
        this.#sets = [];
        this.#previews.clear();
        this.#provider = null;
        options.onLost(reason, retryMs);
      },
    });
  }

  get name(): string {
    return this.#link.name;
  }

  get ready(): boolean {
    return this.#link.state === 'ready';
  }

  /** It died too often: it comes back only when somebody resumes the run. */
  get givenUp(): boolean {
    return this.#link.state === 'dead';
  }

  get updating(): boolean {
    return this.#update !== null;
  }

  /** How often the update's minibatch was another one than before: while it stays the same, no update gets on. */
  get moves(): number {
    return this.#moves;
  }

  /** The newest good state; null before the trainer was ready for the first time. */
  get snapshot(): TrainerSnapshot | null {
    return this.#snapshot;
  }

  get knobs(): KnobValues {
    return this.#snapshot?.state.knobs ?? this.#options.knobs;
  }

  status(): ChildStatus {
    return {
      ...this.#link.status(),
      slots: 0,
      busySlots: 0,
      rssMiB: 0,
      provider: this.#provider,
      resources: null,
      drain: null,
    };
  }

  start(): void {
    this.#link.start();
  }

  /** Kills a trainer that has been silent for too long, but not after this process was `asleep` itself. */
  checkHeartbeat(asleep: boolean): void {
    if (asleep) this.#link.excuse();
    else this.#link.checkHeartbeat();
  }

  /** Starts a trainer that was given up once more, without the batch in hand: that may be what it died of. */
  revive(): number {
    const dropped = this.#link.state === 'dead' ? (this.#update?.batch.length ?? 0) : 0;
    if (dropped > 0) this.#update = null;
    this.#link.revive();
    return dropped;
  }

  /** Trains on a batch. It is kept until the answer has come, and sent again to a restarted trainer. */
  update(iteration: number, batch: readonly QueuedSamples[]): void {
    this.#update = { iteration, batch };
    if (this.ready) this.#sendUpdate();
  }

  /** Between two minibatches: rest, or go on. */
  setPaused(paused: boolean): void {
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#link.send({ type: paused ? 'pause' : 'resume' });
  }

  /** Changes knobs; refuses all of them when one is out of range. Resolves with what the trainer says of each. */
  async setAll(knobs: WantedKnobs, who: string, undo: boolean): Promise<KnobChange[]> {
    const wanted = checked(knobs);
    if (!this.ready) throw goneError('it is being started');
    return await Promise.all(wanted.map(async ({ knob, value }) => await this.#set(knob, value, who, undo)));
  }

  /** What knobs would do to the newest update. Throws `usage` when there is none to tell it from. */
  async preview(knobs: WantedKnobs): Promise<Preview> {
    checked(knobs);
    if (!this.ready) throw goneError('it is being started');
    return await new Promise<Preview>((resolve, reject) => {
      const id = ++this.#previewId;
      this.#previews.set(id, { resolve, reject });
      this.#link.send({ type: 'preview', id, knobs });
    });
  }

  async stop(graceMs: number): Promise<void> {
    await this.#link.stop({ type: 'stop' }, graceMs);
  }

  async #set(knob: KnobName, value: number, who: string, undo: boolean): Promise<KnobChange> {
    return await new Promise<KnobChange>((resolve, reject) => {
      this.#sets.push({ knob, resolve, reject });
      this.#link.send({ type: 'set', knob, value, who, undo });
    });
  }

  #begin(): void {
    const { settings } = this.#options;
    const from = this.#snapshot;
    this.#link.send(
      {
        type: 'start',
        settings,
        knobs: this.knobs,
        state: from?.state ?? null,
        iteration: this.#options.nextIteration(),
      },
      from === null ? {} : { weights: from.weights, optimiser: from.optimiser },
    );
  }

  #sendUpdate(): void {
    if (this.#update === null) return;
    for (const { header, samples } of this.#update.batch) {
      this.#link.send({ type: 'samples', samples: header }, { samples });
    }
    this.#link.send({ type: 'update', iteration: this.#update.iteration });
  }

  #receive(message: FromTrainer, attachments: Attachments): void {
    switch (message.type) {
      case 'ready':
        this.#link.markReady();
        this.#keep(message.state, attachments);
        if (this.#paused) this.#link.send({ type: 'pause' });
        // First: hearing that it is ready, the run may begin another update, which sends itself.
        this.#sendUpdate();
        this.#provider = message.provider;
        if (this.#snapshot !== null) this.#options.onReady(this.#snapshot, message);
        break;
      case 'refused':
        this.#options.onRefused(message.reason);
        break;
      case 'updated':
        this.#link.markUseful();
        this.#update = null;
        this.#keep(message.state, attachments);
        this.#options.onUpdated(message.iteration, message.metrics, message.stop);
        break;
      case 'rejected':
        this.#update = null;
        this.#options.onRejected(message);
        break;
      case 'knob':
        this.#acknowledge(message.change);
        break;
      case 'preview':
        this.#answerPreview(message);
        break;
      case 'alive':
        if (message.minibatch !== this.#minibatch) this.#moves++;
        this.#minibatch = message.minibatch;
        break;
      case 'hello':
        break;
    }
  }

  #keep(state: TrainerState, attachments: Attachments): void {
    const { weights, optimiser } = attachments;
    if (weights === undefined || optimiser === undefined) return;
    // The attachments are views into a receive buffer: copy, or that buffer lives as long as they do.
    this.#snapshot = { state, weights: Uint8Array.from(weights), optimiser: Uint8Array.from(optimiser) };
  }

  #answerPreview({ id, preview, reason }: Extract<FromTrainer, { type: 'preview' }>): void {
    const waiting = this.#previews.get(id);
    this.#previews.delete(id);
    if (preview !== null) waiting?.resolve(preview);
    else {
      const message = `there is no preview: ${reason ?? 'the trainer gives no reason'}`;
      waiting?.reject(new LabError('usage', { message, hint: 'ask again after the next update' }));
    }
  }

  #acknowledge(change: KnobChange): void {
    if (this.#snapshot !== null) {
      const knobs = { ...this.#snapshot.state.knobs, [change.knob]: change.to };
      this.#snapshot = { ...this.#snapshot, state: { ...this.#snapshot.state, knobs } };
    }
    this.#options.onKnob(change);
    const at = this.#sets.findIndex((set) => set.knob === change.knob);
    const [set] = at < 0 ? [] : this.#sets.splice(at, 1);
    set?.resolve(change);
  }
}

/** In the order of the knobs. Throws `knob-invalid` when one is out of range. */
function checked(knobs: WantedKnobs): { readonly knob: KnobName; readonly value: number }[] {
  return KNOB_NAMES.flatMap((knob) => {
    const value = knobs[knob];
    return value === undefined ? [] : [{ knob, value: checkKnob(knob, value) }];
  });
}

function goneError(reason: string): LabError {
  return new LabError('child-failed', {
    message: `the trainer cannot take knobs just now: ${reason}`,
    hint: 'try again when it is ready',
  });
}
