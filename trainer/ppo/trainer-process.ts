import { errorWithHint, LabError } from '../../src/domain/error.ts';
import type { KnobValues } from '../../src/domain/knob.ts';
import { createRandom, deriveSeed, resumeRandom } from '../../src/domain/random.ts';
import { type Attachments, bytesOf } from '../../src/protocol/frame.ts';
import type { FromTrainer, ToTrainer, TrainerSettings, TrainerState } from '../../src/protocol/trainer.ts';
import { initialWeights } from '../policy/parameters.ts';
import { type EpisodeSamples, joinEpisodes, readSamples } from './batch.ts';
import { type FlatWeights, GradientStepper } from './gradient-step.ts';
import { klOf, nextKlCoefficient } from './kl-controller.ts';
import { KnobBoard } from './knob-board.ts';
import { Previewer, type UpdateRecord } from './preview.ts';
import { RewardScale } from './reward-scale.ts';
import { runUpdate, type UpdateControl, type UpdateOutcome } from './update.ts';

/** Above this, samples of the current version were not taken by the policy that is being trained. */
const LARGEST_FRESH_DEVIATION = 1e-3;

/** What the process reaches the outside with. */
export interface TrainerOutlets {
  send(message: FromTrainer, attachments?: Attachments): void;
  /** For people: a line on stderr. */
  warn(text: string): void;
  /** ms since the epoch. */
  now(): number;
}

type Start = Extract<ToTrainer, { type: 'start' }>;

/** Everything that exists once the trainer has been started. */
interface Session {
  readonly settings: TrainerSettings;
  readonly stepper: GradientStepper;
  readonly knobs: KnobBoard;
  readonly previewer: Previewer;
  flat: FlatWeights;
  policyVersion: number;
  adamStep: number;
  random: readonly number[];
  rewardScale: RewardScale;
  /** The newest update as it began, for previews; null before the first since the process started. */
  newest: UpdateRecord | null;
}

type PreviewRequest = Extract<ToTrainer, { type: 'preview' }>;

/** The trainer behind its messages: src/protocol/trainer.ts. */
export class TrainerProcess {
  readonly #outlets: TrainerOutlets;
  #session: Session | null = null;
  #episodes: EpisodeSamples[] = [];
  /** The update in progress, and its next minibatch; between updates the next update and 0. */
  #iteration = 1;
  #minibatch = 0;
  #minibatches = 0;
  #isUpdating = false;
  /** Between two minibatches of a paused update. */
  #isResting = false;
  #isPaused = false;
  /** How long the update in progress has rested so far. */
  #restedMs = 0;
  #isStopping = false;
  /** Asked for and not answered yet. */
  #previews: PreviewRequest[] = [];
  #wake: () => void = () => undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(outlets: TrainerOutlets) {
    this.#outlets = outlets;
  }

  /** Messages take effect in the order in which they come; work goes on in the background. */
  handle(message: ToTrainer, attachments: Attachments): Promise<void> {
    switch (message.type) {
      case 'start':
        return this.#enqueue(() => this.#start(message, attachments));
      case 'samples':
        return this.#enqueue(() => this.#take(message.samples, attachments));
      case 'update':
        // Even while it waits for its turn, it is the one that a knob turned now is for.
        if (!this.#isUpdating) this.#iteration = message.iteration;
        return this.#enqueue(() => this.#update(message.iteration));
      case 'set':
        return this.#enqueueKnob(message);
      case 'preview':
        this.#previews.push(message);
        // An update at rest answers; one that goes on does between two minibatches; else it is this turn.
        this.#wake();
        return this.#enqueue(() => this.#answerPreviews());
      case 'pause':
        this.#isPaused = true;
        return Promise.resolve();
      case 'resume':
        this.#isPaused = false;
        this.#wake();
        return Promise.resolve();
      case 'stop':
        return this.stop();
    }
  }

  /** Says that it is alive, and how far the update is. */
  reportAlive(): void {
    this.#outlets.send({ type: 'alive', minibatch: this.#minibatch, minibatches: this.#minibatches });
  }

  /** Gives up an update in progress after the minibatch being computed, and settles when nothing runs any more. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wake();
    await this.#work;
  }

  #enqueue(work: () => Promise<void> | void): Promise<void> {
    this.#work = this.#work.then(() => (this.#isStopping ? undefined : work()));
    return this.#work;
  }

  /** Not behind the update in progress: at its next minibatch. */
  #enqueueKnob(request: Extract<ToTrainer, { type: 'set' }>): Promise<void> {
    if (this.#session === null) return this.#enqueue(() => this.#requestKnob(request));
    this.#requestKnob(request);
    return Promise.resolve();
  }

  #requestKnob(request: Extract<ToTrainer, { type: 'set' }>): void {
    this.#started().knobs.request(request);
    if (!this.#isUpdating || this.#isResting) this.#applyKnobs();
  }

  #applyKnobs(): void {
    const at = { iteration: this.#iteration, minibatch: this.#minibatch, time: this.#outlets.now() };
    for (const change of this.#started().knobs.apply(at)) this.#outlets.send({ type: 'knob', change });
  }

  async #start({ settings, knobs, state, iteration }: Start, attachments: Attachments): Promise<void> {
    const stepper = await this.#createStepper(settings);
    // Refused: it is told to end.
    if (stepper === null) return;
    const flat = state === null ? freshWeights(settings) : receivedWeights(attachments);
    stepper.load(flat);
    const { klEstimator } = settings;
    this.#session = {
      settings,
      stepper,
      knobs: new KnobBoard(state?.knobs ?? knobs),
      previewer: new Previewer({ stepper, klEstimator, goesOn: () => !this.#isStopping }),
      flat,
      policyVersion: state?.policyVersion ?? 0,
      adamStep: state?.adamStep ?? 0,
      random: state?.random ?? createRandom(deriveSeed(settings.seed, 'minibatches')).getState(),
      rewardScale: new RewardScale(settings.rewardWindow, settings.gamma, state?.rewardWindow),
      newest: null,
    };
    this.#iteration = iteration;
    const { provider, fellBackFrom } = stepper.engine;
    this.#outlets.send(
      { type: 'ready', state: this.#state(), provider, fellBackFrom: [...fellBackFrom] },
      this.#attachments(),
    );
  }

  /** Null when no execution provider will do, here or after a restart. */
  async #createStepper(settings: TrainerSettings): Promise<GradientStepper | null> {
    try {
      return await GradientStepper.create(settings.policy, settings, settings.threads);
    } catch (thrown) {
      if (!(thrown instanceof LabError) || thrown.code !== 'graph-invalid') throw thrown;
      this.#outlets.send({ type: 'refused', reason: errorWithHint(thrown) });
      return null;
    }
  }

  /** Never while a minibatch is being computed, and without a trace in the state. */
  async #answerPreviews(): Promise<void> {
    const { previewer, knobs } = this.#started();
    for (let request = this.#previews.shift(); request !== undefined; request = this.#previews.shift()) {
      const { newest } = this.#started();
      const then: KnobValues = { ...knobs.values, ...request.knobs };
      const answer =
        newest === null
          ? 'no update was made yet since the trainer started'
          : await previewer.compare(newest, knobs.values, then);
      const isReason = typeof answer === 'string';
      this.#outlets.send({
        type: 'preview',
        id: request.id,
        preview: isReason ? null : answer,
        reason: isReason ? answer : null,
      });
    }
  }

  #take(header: Extract<ToTrainer, { type: 'samples' }>['samples'], attachments: Attachments): void {
    this.#episodes.push(readSamples(this.#started().settings.policy, header, attachments));
  }

  async #update(iteration: number): Promise<void> {
    const session = this.#started();
    const started = performance.now();
    this.#restedMs = 0;
    const { settings, policyVersion } = session;
    // Taken over together with the weights: a dropped update leaves no trace.
    const rewardScale = session.rewardScale.after(this.#episodes);
    const { divisor } = rewardScale;
    const batch = joinEpisodes(settings.policy, this.#episodes, settings, policyVersion, divisor);
    this.#episodes = [];
    this.#iteration = iteration;
    this.#minibatch = 0;
    this.#isUpdating = true;
    const random = resumeRandom(session.random);
    const { flat, adamStep, newest } = session;
    if (batch.count > 0) session.newest = { iteration, batch, flat, adamStep, random: session.random };
    const start = { ...flat, adamStep, random };
    const outcome = await runUpdate(session.stepper, batch, start, this.#control(), settings);
    this.#isUpdating = false;
    this.#iteration = outcome.kind === 'updated' ? iteration + 1 : iteration;
    this.#minibatch = 0;
    if (outcome.kind !== 'updated') {
      this.#applyKnobs();
      if (outcome.kind === 'abandoned') return;
      const { cause, reason, spot } = outcome;
      // It was never begun: a preview tells more of the one before it.
      if (cause === 'bad_batch') session.newest = newest;
      this.#outlets.send({ type: 'rejected', iteration, cause, reason, spot });
      return;
    }
    if (batch.staleness === 0) this.#checkFreshness(iteration, outcome.firstRatioDeviation);
    session.random = random.getState();
    session.rewardScale = rewardScale;
    this.#accept(session, outcome);
    // Before the state is sent, so that it has them.
    this.#applyKnobs();
    const metrics = { ...outcome.metrics, updateS: (performance.now() - started - this.#restedMs) / 1000 };
    this.#outlets.send(
      { type: 'updated', iteration, metrics, state: this.#state(), stop: outcome.stop },
      this.#attachments(),
    );
  }

  #control(): UpdateControl {
    return {
      knobs: () => this.#started().knobs.values,
      before: async (minibatch) => {
        this.#minibatch = minibatch;
        const since = performance.now();
        await this.#answerPreviews();
        while (this.#isPaused && !this.#isStopping) {
          this.#isResting = true;
          this.#applyKnobs();
          const woken = new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          await this.#answerPreviews();
          await woken;
        }
        this.#restedMs += performance.now() - since;
        this.#isResting = false;
        this.#applyKnobs();
        return !this.#isStopping;
      },
      after: (done, total) => {
        this.#minibatch = done;
        this.#minibatches = total;
        this.reportAlive();
      },
    };
  }

  #accept(session: Session, { end, metrics }: Extract<UpdateOutcome, { kind: 'updated' }>): void {
    session.flat = { weights: end.weights, optimiser: end.optimiser };
    session.adamStep = end.adamStep;
    session.policyVersion++;
    const { kl, kl_target: target } = session.knobs.values;
    const reached = klOf(metrics, session.settings.klEstimator);
    session.knobs.setKlCoefficient(nextKlCoefficient(kl, reached, target));
  }

  #checkFreshness(iteration: number, deviation: number): void {
    if (deviation <= LARGEST_FRESH_DEVIATION) return;
    this.#outlets.warn(
      `iteration ${iteration}: probability ratios of fresh samples are off 1 by ${deviation.toExponential(2)}; sampler and trainer do not agree on the policy`,
    );
  }

  #state(): TrainerState {
    const { policyVersion, adamStep, knobs, random, rewardScale } = this.#started();
    const rewardWindow = [...rewardScale.window];
    return { policyVersion, adamStep, knobs: knobs.values, random: [...random], rewardWindow };
  }

  #attachments(): Attachments {
    const { weights, optimiser } = this.#started().flat;
    return { weights: bytesOf(weights), optimiser: bytesOf(optimiser) };
  }

  #started(): Session {
    if (this.#session !== null) return this.#session;
    throw new LabError('protocol-invalid', { message: 'the trainer was given work before "start"' });
  }
}

function freshWeights({ policy, seed, initialisation }: TrainerSettings): FlatWeights {
  const weights = initialWeights(policy, seed, initialisation);
  return { weights, optimiser: new Float32Array(2 * weights.length) };
}

/** Copies: an attachment need not be aligned. */
function receivedWeights({ weights, optimiser }: Attachments): FlatWeights {
  if (weights === undefined || optimiser === undefined) {
    throw new LabError('protocol-invalid', {
      message: 'the trainer was started with a state, but without "weights" and "optimiser"',
      hint: 'send all three, or none',
    });
  }
  return {
    weights: new Float32Array(new Uint8Array(weights).buffer),
    optimiser: new Float32Array(new Uint8Array(optimiser).buffer),
  };
}
