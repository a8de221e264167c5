import { dirname } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { errorText, LabError } from '../src/domain/error.ts';
import type { KnobValues } from '../src/domain/knob.ts';
import {
  type Evaluation,
  type IterationMetrics,
  isFinal,
  type KnobChange,
  type Preview,
  type RunEvent,
  type RunManifest,
  type RunStatus,
} from '../src/domain/run.ts';
import { type ControlClient, connectControl } from '../src/run/control-client.ts';
import { type EpisodeSearch, openEpisodeSearch } from '../src/store/episode-search.ts';
import { openRunReader, type RunReader } from '../src/store/queries.ts';
import type { Reading } from '../src/store/reading.ts';
import { isRunLive, type RunPaths, readManifest, runPaths } from '../src/store/run-directory.ts';
import { addAlarms, addTurns } from './alarms.ts';
import { IterationHistory } from './iteration-history.ts';
import { SCHEDULE } from './knob-desk.ts';
import { type IterationSpan, ParentCurve } from './parent-curve.ts';
import type { RunCurves } from './run-curves.ts';

/** Ms between two looks at the run: four a second show a dead child well within a second. */
const POLL_MS = 250;
/** Older iterations are read for so many ms at a time: less than half a frame. */
const SLICE_MS = 6;
const EVENTS_SHOWN = 50;
const EVALUATIONS_SHOWN = 50;
/** Events of before that are looked through for alarms when a run is opened. */
const EVENTS_BEFORE = 5000;

/** `connecting` until the first answer, `live` while it answers, `gone` when nobody listens any more. */
type Connection = 'connecting' | 'live' | 'gone';

/** What is known of a run at one moment. A new object whenever anything may have changed. */
export interface RunSnapshot {
  readonly manifest: RunManifest;
  readonly connection: Connection;
  /** The run's last answer; it stays when the run goes, with its age in `statusAt`. */
  readonly status: RunStatus | null;
  /** When `status` arrived, ms since the epoch; 0 before the first. */
  readonly statusAt: number;
  /** When this snapshot was made. */
  readonly now: number;
  /** Ascending by iteration: the newest, all of them in a run that is not very long. */
  readonly iterations: readonly IterationMetrics[];
  /** The figures of all iterations that were read; those of `iterations` where it is left out. */
  readonly curves?: RunCurves;
  /** Share of the iterations before `iterations` that was read; all of them where it is left out. */
  readonly olderRead?: number;
  /** Those of the newest. */
  readonly evaluations: readonly Evaluation[];
  /** Oldest first. */
  readonly knobChanges: readonly KnobChange[];
  /** Newest first. */
  readonly events: readonly RunEvent[];
  /** Those that somebody may want to come back to (`isAlarm`), however long ago; newest first. */
  readonly alarms: readonly RunEvent[];
  /** What was done to the run or happened to its processes, for the charts; newest first. */
  readonly turns: readonly RunEvent[];
  /** Of the run that this one was branched from, ascending; empty without one, or when it cannot be read. */
  readonly parentIterations: readonly IterationMetrics[];
  /** Why the database cannot be read, or null. */
  readonly storeError: string | null;
}

/** Where a live run's data come from. */
export interface RunSources {
  readManifest(): RunManifest;
  /** A process holds the run's lock. */
  isLive(): boolean;
  openReader(): RunReader;
  /** Opens the run's index for questions that are answered beside the drawing. */
  openSearch(): EpisodeSearch;
  /** Opens another run of the same runs directory; throws what opening it throws. */
  openSibling(runId: string): RunReader;
  /** Iterations of such a run, read beside the drawing. */
  readSibling(runId: string, span: IterationSpan): Promise<readonly IterationMetrics[]>;
  connect(manifest: RunManifest): Promise<ControlClient>;
  now(): number;
}

/** The sources of a run on disk; `reading` reads what would hold up the drawing. */
export function runSources(paths: RunPaths, reading: Pick<Reading, 'iterations'>): RunSources {
  const sibling = (runId: string): RunPaths => runPaths(dirname(paths.root), runId);
  return {
    readManifest: () => readManifest(paths),
    isLive: () => isRunLive(paths),
    openReader: () => openRunReader(paths),
    openSearch: () => openEpisodeSearch(paths),
    openSibling: (runId) => openRunReader(sibling(runId)),
    readSibling: async (runId, span) => await reading.iterations(sibling(runId), span),
    connect: connectControl,
    now: Date.now,
  };
}

/**
 * Follows one run: asks its process how it is, reads what was stored since the last look, reconnects when the run is
 * started again. Tells its listeners after every look.
 */
export class LiveRun {
  readonly #sources: RunSources;
  readonly #listeners = new Set<() => void>();
  #snapshot: RunSnapshot;
  /** Answers questions of the run's episodes without holding up the drawing. */
  readonly search: EpisodeSearch;
  #client: ControlClient | null = null;
  #reader: RunReader | null = null;
  #timer: NodeJS.Timeout | null = null;
  #polling = false;
  #closed = false;
  /** Changes of knobs since the run was last asked how it is: its answer may be older than they are. */
  #taken: readonly KnobChange[] = [];
  /** How many changes of knobs were read so far. */
  #knobsRead = 0;
  readonly #parent: ParentCurve | null;
  #history = new IterationHistory();
  #readingOlder = false;

  /** Throws what reading the manifest throws: `run-not-found`, `run-too-new`, `config-invalid`. */
  constructor(sources: RunSources) {
    this.#sources = sources;
    this.search = sources.openSearch();
    this.#snapshot = {
      manifest: sources.readManifest(),
      connection: 'connecting',
      status: null,
      statusAt: 0,
      now: sources.now(),
      iterations: [],
      evaluations: [],
      knobChanges: [],
      events: [],
      alarms: [],
      turns: [],
      parentIterations: [],
      storeError: null,
    };
    const { parent } = this.#snapshot.manifest;
    this.#parent =
      parent === null
        ? null
        : new ParentCurve({
            branched: parent.iteration,
            open: () => sources.openSibling(parent.run),
            read: async (span) => await sources.readSibling(parent.run, span),
          });
  }

  readonly snapshot = (): RunSnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** The connection to the run, or null while it does not answer. */
  get client(): ControlClient | null {
    return this.#client;
  }

  /** The run's database, or null while it cannot be opened. */
  get reader(): RunReader | null {
    return this.#reader;
  }

  /** Looks at the run now and then every POLL_MS. */
  start(): void {
    this.#timer ??= setInterval(() => void this.poll(), POLL_MS);
    void this.poll();
  }

  /** One look. A look that is still waiting for the run's answer is not doubled, but the clock goes on. */
  async poll(): Promise<void> {
    if (this.#closed) return;
    if (this.#polling) return this.#publish({});
    this.#polling = true;
    try {
      const asked = await this.#askStatus();
      if (!this.#closed) this.#publish({ ...asked, ...this.#readStore(asked.status ?? null) });
    } finally {
      this.#polling = false;
    }
  }

  /**
   * Turns knobs; resolves when the trainer has taken them over. The snapshot has the new values from then on, not only
   * from the next look on: the next press of a key goes on from them. Rejects with what the run answers.
   */
  async set(knobs: Partial<KnobValues>): Promise<readonly KnobChange[]> {
    const changes = await this.#connected().set(knobs);
    this.#take(changes);
    return changes;
  }

  /** Puts the newest change of a knob by a person back; the snapshot has the value from then on. Rejects as `set` does. */
  async undo(): Promise<KnobChange> {
    const change = await this.#connected().undo();
    this.#take([change]);
    return change;
  }

  /** What knobs would do to the newest update. Rejects with the reason where nobody can say. */
  async preview(knobs: Partial<KnobValues>): Promise<Preview> {
    return await this.#connected().preview(knobs);
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#client?.close();
    this.#reader?.close();
    this.#parent?.close();
    void this.search.close();
    this.#client = null;
    this.#reader = null;
    this.#listeners.clear();
  }

  #connected(): ControlClient {
    if (this.#client === null) throw new LabError('run-not-live', { message: 'the run does not answer' });
    return this.#client;
  }

  #take(changes: readonly KnobChange[]): void {
    const { status } = this.#snapshot;
    this.#taken = [...this.#taken, ...changes];
    if (status !== null && !this.#closed) this.#publish({ status });
  }

  #withTaken(status: RunStatus): RunStatus {
    const values = Object.fromEntries(this.#taken.map(({ knob, to }) => [knob, to]));
    // What an undo leaves to be put back, the next answer says; until then one press more than there is to undo is refused
    // by the run.
    const newest = this.#taken.findLast(({ undo }) => !undo);
    return { ...status, knobs: { ...status.knobs, ...values }, undoable: newest ?? status.undoable };
  }

  #publish(change: Partial<RunSnapshot>): void {
    const status = change.status ? { status: this.#withTaken(change.status) } : {};
    this.#snapshot = { ...this.#snapshot, ...change, ...status, now: this.#sources.now() };
    for (const listener of this.#listeners) listener();
  }

  async #askStatus(): Promise<Partial<RunSnapshot>> {
    try {
      if (this.#client === null) {
        const client = await this.#sources.connect(this.#sources.readManifest());
        if (this.#closed) client.close();
        else this.#client = client;
      }
      this.#taken = [];
      const status = await this.#client?.status();
      if (status === undefined) return {};
      const { state, reason, attempt } = status;
      const manifest = { ...this.#snapshot.manifest, state, reason, attempt };
      return { manifest, status, statusAt: this.#sources.now(), connection: 'live' };
    } catch {
      // Whatever went wrong on the socket, the manifest and the lock say what became of the run.
      this.#client?.close();
      this.#client = null;
      return this.#lost();
    }
  }

  /** What the run directory says of a run that does not answer. */
  #lost(): Partial<RunSnapshot> {
    try {
      const manifest = this.#sources.readManifest();
      const coming = !isFinal(manifest.state) && this.#sources.isLive();
      return { manifest, connection: coming ? 'connecting' : 'gone' };
    } catch (thrown) {
      return { connection: 'gone', storeError: errorText(thrown) };
    }
  }

  #readStore(status: RunStatus | null): Partial<RunSnapshot> {
    try {
      const before = this.#snapshot;
      const opened = this.#reader === null;
      this.#reader ??= this.#sources.openReader();
      const reader = this.#reader;
      if (opened) this.#history = new IterationHistory();
      this.#history.refresh(reader, status === null ? Number.MAX_SAFE_INTEGER : status.iteration - 1);
      const changed = this.#history.rows !== before.iterations || opened;
      void this.#readOlder(reader);
      if (opened) this.#knobsRead = 0;
      const turned = reader.knobChanges(this.#knobsRead);
      const turnedBefore = opened ? [] : before.knobChanges;
      this.#knobsRead += turned.length;
      const reached = this.#history.rows.at(-1)?.iteration ?? 0;
      const events = reader.events(opened ? EVENTS_BEFORE : EVENTS_SHOWN);
      return {
        ...this.#iterations(),
        evaluations: changed ? reader.evaluations(EVALUATIONS_SHOWN) : before.evaluations,
        knobChanges: turned.length === 0 ? turnedBefore : tellingChanges([...turnedBefore, ...turned]),
        events: events.slice(0, EVENTS_SHOWN),
        alarms: addAlarms(before.alarms, events),
        turns: addTurns(before.turns, events),
        parentIterations: this.#parent?.iterations(this.#sources.now(), reached) ?? before.parentIterations,
        storeError: null,
      };
    } catch (thrown) {
      this.#reader?.close();
      this.#reader = null;
      return { storeError: errorText(thrown) };
    }
  }

  #iterations(): Pick<RunSnapshot, 'iterations' | 'curves' | 'olderRead'> {
    const { rows, curves, olderRead } = this.#history;
    return { iterations: rows, curves, olderRead };
  }

  /** Reads the older iterations of a long run in slices, with a breath for keys and frames after each. */
  async #readOlder(reader: RunReader): Promise<void> {
    if (this.#readingOlder) return;
    this.#readingOlder = true;
    let shownAt = performance.now();
    try {
      while (!this.#closed && reader === this.#reader && this.#history.readOlder(reader, SLICE_MS)) {
        await breathe();
        if (performance.now() - shownAt < POLL_MS) continue;
        shownAt = performance.now();
        this.#publish(this.#iterations());
      }
    } catch (thrown) {
      if (!this.#closed) this.#publish({ storeError: errorText(thrown) });
    } finally {
      this.#readingOlder = false;
    }
  }
}

/**
 * Changes of knobs without those of the schedule, but for the newest of each knob: it makes one at every update, and nothing
 * is shown of them but where they lead.
 */
function tellingChanges(changes: readonly KnobChange[]): readonly KnobChange[] {
  const newest = new Map(changes.map((change, index) => [change.knob, change.who === SCHEDULE ? index : -1]));
  return changes.filter(({ knob, who }, index) => who !== SCHEDULE || newest.get(knob) === index);
}
