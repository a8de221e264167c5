import { errorText, errorWithHint, LabError } from '../domain/error.ts';
import { duration } from '../domain/figure-text.ts';
import type { HostSpec } from '../domain/host.ts';
import { nearest } from '../domain/nearest.ts';
import type { ChildStatus, DrainEnd } from '../domain/run.ts';
import type { Catalog } from '../domain/task.ts';
import type { WorkerAction } from '../protocol/control.ts';
import type { RunPaths } from '../store/run-directory.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Journal } from './journal.ts';
import type { Lifecycle } from './lifecycle.ts';
import { noChanges, readWorkerChanges, type WorkerChanges, writeWorkerChanges } from './worker-changes.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface WorkerDeskParts {
  readonly workers: Pick<
    WorkerPool,
    'places' | 'name' | 'add' | 'startWorker' | 'setResting' | 'restart' | 'remove'
  >;
  readonly dispatcher: Pick<Dispatcher, 'inFlightAt' | 'setCatalog'>;
  readonly journal: Pick<Journal, 'command' | 'event' | 'log'>;
  readonly life: Pick<Lifecycle, 'fail' | 'refuseEnding'>;
  readonly paths: Pick<RunPaths, 'root'>;
  /** All hosts of the config. */
  readonly hosts: readonly HostSpec[];
  /** Those of the config's workers together. */
  readonly slots: number;
}

/** A worker that gets no new episodes. */
interface Draining {
  readonly end: DrainEnd;
  readonly who: string;
  readonly since: number;
  /** It rests when it has been started anew. */
  readonly restAfter: boolean;
  /** Its last episode is in, and that was told. */
  done: boolean;
}

type Command = (who: string, workers: readonly number[], now: boolean) => void;

/**
 * What people do with workers: drains them, starts them anew, adds and removes some. What was drained, added and removed is
 * kept beside the run's config, so that it outlives a lost worker, a pause and the run's process.
 */
export class WorkerDesk {
  readonly #parts: WorkerDeskParts;
  readonly #draining = new Map<number, Draining>();
  readonly #configured: number;
  #changes: WorkerChanges;
  readonly #commands: Readonly<Record<WorkerAction, Command>> = {
    drain: (who, workers) => {
      for (const worker of workers) this.#drain(worker, who, 'rest');
    },
    undrain: (who, workers) => {
      for (const worker of workers) this.#undrain(worker, who);
    },
    restart: (who, workers, now) => {
      for (const worker of workers) this.#restart(worker, who, now);
    },
    remove: (who, workers, now) => this.#removeAll(workers, who, now),
  };

  /** Takes up what earlier attempts left: to be made before the workers start. */
  constructor(parts: WorkerDeskParts) {
    this.#parts = parts;
    this.#configured = parts.workers.places.length;
    this.#changes = noChanges(this.#configured);
    this.#takeUp();
  }

  /**
   * Does this with these workers; returns their names. Throws `usage` for a target that there is none of, `run-not-live` when the
   * run is ending.
   */
  act(
    who: string,
    command: { readonly action: WorkerAction; readonly targets: readonly string[]; readonly now: boolean },
  ): string[] {
    this.#parts.life.refuseEnding();
    const { action, targets, now } = command;
    const workers = [...new Set(targets.flatMap((target) => this.#find(target)))];
    const names = workers.map((worker) => this.#parts.workers.name(worker));
    this.#commands[action](who, workers, now);
    this.tick(Date.now());
    this.#keep();
    return names;
  }

  /** Adds a worker to a host of the config; returns its name. Throws `usage` for another host, `run-not-live` as above. */
  add(who: string, hostName: string, slots: number | null): string {
    const { workers, hosts, journal, life } = this.#parts;
    life.refuseEnding();
    const host = hosts.find(({ name }) => name === hostName);
    if (host === undefined)
      throw unknownTarget(
        hostName,
        'a host of this run',
        hosts.map(({ name }) => name),
      );
    const many = slots ?? Math.ceil(this.#parts.slots / Math.max(1, this.#configured));
    const worker = workers.add(host, many);
    this.#changes = { ...this.#changes, added: [...this.#changes.added, { host: host.name, slots: many }] };
    const name = workers.name(worker);
    journal.command(who, 'worker-added', name, `another worker with ${many} slots`);
    workers.startWorker(worker);
    this.#keep();
    return name;
  }

  /** A worker is up, and says what its environment offers: the same as the others, or it has no place in the run. */
  admit(worker: number, catalog: Catalog): boolean {
    try {
      this.#parts.dispatcher.setCatalog(catalog);
      return true;
    } catch (thrown) {
      this.refuse(worker, 'workers-disagree', errorWithHint(thrown));
      return false;
    }
  }

  /** A worker can never work: an added one leaves, and of the others that ends the run. */
  refuse(worker: number, kind: string, reason: string): void {
    const { workers, journal, life } = this.#parts;
    const name = workers.name(worker);
    const isLast = workers.places.every((place) => place.worker === worker);
    if (worker < this.#configured || isLast) {
      life.fail(kind, kind === 'workers-disagree' ? 'run' : name, reason);
      return;
    }
    journal.event('error', kind, name, `${reason}; it leaves the run`);
    this.#leave(worker);
    this.#keep();
  }

  /** A worker of the pool's status, with what is to become of it. */
  withDrain(child: ChildStatus): ChildStatus {
    const draining = this.#draining.get(child.index);
    if (draining === undefined) return child;
    const left = this.#parts.dispatcher.inFlightAt(child.index);
    return { ...child, drain: { end: draining.end, left } };
  }

  /** To be called a few times a second: goes on with workers that have nothing left. */
  tick(now: number): void {
    for (const [worker, draining] of this.#draining) {
      if (draining.done || this.#parts.dispatcher.inFlightAt(worker) > 0) continue;
      draining.done = true;
      const { end, since, who } = draining;
      const name = this.#parts.workers.name(worker);
      this.#parts.journal.event(
        'info',
        'drained',
        name,
        `nothing is in flight, after ${duration(now - since)}`,
      );
      if (end === 'leave') {
        this.#leave(worker);
        this.#keep();
      }
      if (end === 'restart') this.#startAnew(worker, draining.restAfter, `was restarted by ${who}`, true);
    }
  }

  // Commands ---------------------------------------------------------------------------------------------------------

  #drain(worker: number, who: string, end: DrainEnd): void {
    const { workers, journal, dispatcher } = this.#parts;
    const before = this.#draining.get(worker);
    if (before?.end === end) return;
    const restAfter = end === 'restart' && before?.end === 'rest';
    this.#draining.set(worker, { end, who, since: Date.now(), restAfter, done: false });
    workers.setResting(worker, true);
    const left = dispatcher.inFlightAt(worker);
    journal.command(who, DRAIN_KINDS[end], workers.name(worker), `${DRAIN_TEXTS[end]} (${left} in flight)`);
  }

  #undrain(worker: number, who: string): void {
    const { workers, journal } = this.#parts;
    if (!this.#draining.delete(worker)) return;
    workers.setResting(worker, false);
    journal.command(who, 'undrain', workers.name(worker), 'gets episodes again');
  }

  #restart(worker: number, who: string, now: boolean): void {
    const { workers, journal, dispatcher } = this.#parts;
    if (!now) {
      this.#drain(worker, who, 'restart');
      return;
    }
    const left = dispatcher.inFlightAt(worker);
    const restAfter = this.#draining.get(worker)?.end === 'rest';
    journal.command(who, 'restart', workers.name(worker), `is started anew at once (${left} in flight)`);
    this.#startAnew(worker, restAfter, `was restarted by ${who}`, false);
  }

  #removeAll(leaving: readonly number[], who: string, now: boolean): void {
    const { workers, journal } = this.#parts;
    if (workers.places.every(({ worker }) => leaving.includes(worker) || this.#isLeaving(worker))) {
      throw new LabError('usage', {
        message: 'a run keeps one worker at least',
        hint: 'drain it instead, or add another one first',
      });
    }
    for (const worker of leaving) {
      if (!now) {
        this.#drain(worker, who, 'leave');
        continue;
      }
      journal.command(who, 'remove', workers.name(worker), 'leaves at once');
      this.#leave(worker);
    }
  }

  #isLeaving(worker: number): boolean {
    return this.#draining.get(worker)?.end === 'leave';
  }

  #startAnew(worker: number, restAfter: boolean, reason: string, isIdle: boolean): void {
    const { workers } = this.#parts;
    const draining = this.#draining.get(worker);
    this.#draining.delete(worker);
    if (restAfter)
      this.#draining.set(worker, { ...(draining ?? NOBODY), end: 'rest', restAfter: false, done: true });
    workers.setResting(worker, restAfter);
    workers.restart(worker, reason, isIdle);
  }

  #leave(worker: number): void {
    this.#draining.delete(worker);
    this.#changes = { ...this.#changes, removed: [...this.#changes.removed, worker] };
    void this.#parts.workers.remove(worker);
  }

  // Targets and what is kept -----------------------------------------------------------------------------------------

  /** Numbers of the workers that a target stands for. */
  #find(target: string): number[] {
    const { workers } = this.#parts;
    const { places } = workers;
    const found = places.filter(
      ({ worker, host }) =>
        [String(worker), `worker ${worker}`, workers.name(worker)].includes(target) || host === target,
    );
    if (found.length > 0) return found.map(({ worker }) => worker);
    const known = [...places.map(({ worker }) => String(worker)), ...new Set(places.map(({ host }) => host))];
    throw unknownTarget(target, 'a worker or host with workers', known);
  }

  #takeUp(): void {
    const { workers, hosts, journal, paths } = this.#parts;
    let kept: WorkerChanges | null = null;
    try {
      kept = readWorkerChanges(paths);
    } catch (thrown) {
      journal.event(
        'warning',
        'workers-reset',
        'run',
        `${errorText(thrown)}; the workers are those of the config`,
      );
    }
    if (kept === null) return;
    const missing = kept.added.filter(({ host }) => !hosts.some(({ name }) => name === host));
    if (kept.configured !== this.#configured || missing.length > 0) {
      const why = 'the config has other workers or hosts than when some were drained, added or removed';
      journal.event('warning', 'workers-reset', 'run', `${why}: that is forgotten`);
      return;
    }
    if (!isSound(kept)) {
      const why = 'workers.json names workers that there are not, or leaves none';
      journal.event('warning', 'workers-reset', 'run', `${why}: it is forgotten`);
      return;
    }
    this.#changes = kept;
    for (const { host, slots } of kept.added) {
      const spec = hosts.find(({ name }) => name === host);
      if (spec !== undefined) workers.add(spec, slots);
    }
    for (const worker of kept.removed) void workers.remove(worker);
    for (const worker of kept.drained) {
      workers.setResting(worker, true);
      this.#draining.set(worker, { ...NOBODY, end: 'rest', restAfter: false, done: true });
    }
  }

  #keep(): void {
    const drained = [...this.#draining].filter(([, { end, restAfter }]) => end === 'rest' || restAfter);
    this.#changes = { ...this.#changes, drained: drained.map(([worker]) => worker) };
    try {
      writeWorkerChanges(this.#parts.paths, this.#changes);
    } catch (thrown) {
      // It is done; only the next attempt will not know of it.
      this.#parts.journal.log(`the workers' state could not be kept: ${errorText(thrown)}`);
    }
  }
}

/** Every number is a worker's, and one is left at least: with none the run would wait for ever. */
function isSound({ configured, added, removed, drained }: WorkerChanges): boolean {
  const places = configured + added.length;
  return [...removed, ...drained].every((worker) => worker < places) && new Set(removed).size < places;
}

const NOBODY = { who: '', since: 0 } as const;

const DRAIN_KINDS: Readonly<Record<DrainEnd, string>> = {
  rest: 'drain',
  restart: 'restart',
  leave: 'remove',
};
const DRAIN_TEXTS: Readonly<Record<DrainEnd, string>> = {
  rest: 'gets no new episodes',
  restart: 'is started anew when it has nothing left',
  leave: 'leaves when it has nothing left',
};

function unknownTarget(target: string, wanted: string, known: readonly string[]): LabError {
  const like = nearest(target, known);
  return new LabError('usage', {
    message: `"${target}" is not ${wanted}`,
    hint: like === null ? `there are: ${known.join(', ')}` : `did you mean ${like}?`,
  });
}
