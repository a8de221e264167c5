import type { Config } from '../config/schema.ts';
import { errorText, LabError } from '../domain/error.ts';
import type { RunStore } from '../store/index-writer.ts';
import { writeCheckpoint } from './checkpoint.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Journal } from './journal.ts';
import type { KnobKeeper } from './knob-keeper.ts';
import type { Lifecycle } from './lifecycle.ts';
import { keepPolicy } from './policy-shelf.ts';
import type { Progress } from './progress.ts';
import type { TrainerLink } from './trainer-link.ts';

/** The parts of a run that a checkpoint is made of. */
export interface CheckpointSources {
  readonly trainer: Pick<TrainerLink, 'snapshot'>;
  readonly dispatcher: Pick<Dispatcher, 'curriculumState'>;
  readonly progress: Pick<Progress, 'iteration' | 'elapsedS' | 'evaluations'>;
  readonly knobs: Pick<KnobKeeper, 'steering'>;
  readonly store: Pick<RunStore, 'sync'>;
  readonly journal: Pick<Journal, 'event'>;
}

/** Writes checkpoints of a run's newest good state. */
export class CheckpointKeeper {
  readonly #directory: string;
  readonly #config: Pick<Config, 'checkpoint' | 'knobs' | 'evaluation'>;
  readonly #sources: CheckpointSources;

  constructor(
    directory: string,
    config: Pick<Config, 'checkpoint' | 'knobs' | 'evaluation'>,
    sources: CheckpointSources,
  ) {
    this.#directory = directory;
    this.#config = config;
    this.#sources = sources;
  }

  /** Writes one now; returns its name. Throws `checkpoint-missing` before the trainer has been ready. */
  write(): string {
    const { trainer, dispatcher, progress, knobs, store, journal } = this.#sources;
    const { snapshot } = trainer;
    const curriculum = dispatcher.curriculumState();
    if (snapshot === null || curriculum === null) {
      throw new LabError('checkpoint-missing', {
        message: 'there is nothing to keep yet: the run is still starting',
        hint: 'try again when it is running',
      });
    }
    const { state, weights, optimiser } = snapshot;
    const { iteration, elapsedS, evaluations } = progress;
    const name = writeCheckpoint(
      this.#directory,
      {
        iteration,
        elapsedS,
        evaluations,
        curriculum,
        trainer: state,
        configKnobs: this.#config.knobs,
        steering: knobs.steering,
        weights,
        optimiser,
      },
      this.#config.checkpoint.keep,
    );
    store.sync();
    journal.event('info', 'checkpoint', 'run', `wrote checkpoint ${name}`);
    return name;
  }

  /** Everything rests: it is quiesced once all of it is in one. `leftSteps` wait for a batch and cannot be. */
  settle(life: Pick<Lifecycle, 'quiesced' | 'quiesceFailed'>, leftSteps: number): void {
    try {
      life.quiesced(this.write(), leftSteps);
    } catch (thrown) {
      life.quiesceFailed(errorText(thrown));
    }
  }

  /** Writes one after every so many iterations, and keeps the weights of each policy that is evaluated. */
  afterIteration(iteration: number): void {
    if (iteration % this.#config.evaluation.every === 0) this.#keepPolicy();
    if (iteration % this.#config.checkpoint.every === 0) this.tryWrite();
  }

  #keepPolicy(): void {
    const { trainer, journal } = this.#sources;
    const { snapshot } = trainer;
    const { policies } = this.#config.checkpoint;
    if (snapshot === null || policies === 0) return;
    try {
      keepPolicy(this.#directory, snapshot.state.policyVersion, snapshot.weights, policies);
    } catch (thrown) {
      journal.event('warning', 'policy-not-kept', 'run', errorText(thrown));
    }
  }

  /** Writes one if there is anything to keep; failing is bad, but no reason to lose the run. */
  tryWrite(): void {
    try {
      this.write();
    } catch (thrown) {
      if (thrown instanceof LabError && thrown.code === 'checkpoint-missing') return;
      this.#sources.journal.event('error', 'checkpoint-failed', 'run', errorText(thrown));
    }
  }
}
