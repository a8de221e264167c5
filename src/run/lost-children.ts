import type { Dispatcher } from './dispatcher.ts';
import type { EpisodeIntake } from './episode-intake.ts';
import type { Journal } from './journal.ts';
import type { Lifecycle } from './lifecycle.ts';
import { describeLoss, settleLostWorker } from './lost-worker.ts';
import type { SampleFlow } from './sample-flow.ts';
import type { TrainerLink } from './trainer-link.ts';
import type { WorkerLoss, WorkerPool } from './worker-pool.ts';

export interface LostChildrenParts {
  readonly trainer: Pick<TrainerLink, 'name'>;
  readonly workers: Pick<WorkerPool, 'name' | 'hostName' | 'dead' | 'size'>;
  readonly dispatcher: Dispatcher;
  readonly intake: EpisodeIntake;
  readonly samples: Pick<SampleFlow, 'addRetried'>;
  readonly journal: Pick<Journal, 'event'>;
  readonly life: Pick<Lifecycle, 'stall'>;
  /** Restarts in a row after which a child is given up; for the message. */
  readonly maxRestarts: number;
}

/** What follows when a worker or the trainer is lost: what it had is settled, and the run stalls where none is left. */
export class LostChildren {
  readonly #parts: LostChildrenParts;

  constructor(parts: LostChildrenParts) {
    this.#parts = parts;
  }

  /** `retryMs` is when it is started again, null when it was given up. */
  trainer(reason: string, retryMs: number | null): void {
    const { trainer, journal, life, maxRestarts } = this.#parts;
    if (retryMs === null) {
      life.stall('trainer-given-up', trainer.name, `${reason}; given up after ${maxRestarts} restarts`);
    } else {
      const next = `starting it again in ${retryMs} ms from the last good state`;
      journal.event('warning', 'trainer-died', trainer.name, `${reason}; ${next}`);
    }
  }

  worker(worker: number, loss: WorkerLoss): void {
    const { workers, dispatcher, intake, samples, journal, life } = this.#parts;
    const name = workers.name(worker);
    const lost = settleLostWorker(worker, loss, {
      dispatcher,
      intake,
      host: workers.hostName(worker),
      onRetried: (ms) => samples.addRetried(ms),
    });
    const asked = loss.retryMs === null ? 'worker-removed' : 'worker-restarted';
    if (loss.asked) journal.event('info', asked, name, describeLoss(loss, lost));
    else {
      const level = loss.retryMs === null ? 'error' : 'warning';
      journal.event(level, 'worker-died', name, describeLoss(loss, lost));
    }
    if (workers.dead.length === workers.size) {
      life.stall('workers-given-up', name, `no worker is left: ${loss.reason}`);
    }
  }
}
