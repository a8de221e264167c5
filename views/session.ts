import { isFinal, type RunEvent } from '../src/domain/run.ts';
import type { ReplayMode } from '../src/replay/acting.ts';
import type { Execution } from '../src/replay/execution.ts';
import type { Fork, ForkPlan } from '../src/replay/fork.ts';
import type { ControlClient } from '../src/run/control-client.ts';
import type { SavedFilters } from '../src/store/filter.ts';
import type { RunReader } from '../src/store/queries.ts';
import { listRuns, type RunListing, runPaths } from '../src/store/run-directory.ts';
import { readSavedFilters } from '../src/store/saved-filters.ts';
import { ChartView } from './chart-view.ts';
import type { EpisodeDiff } from './episode-diff.ts';
import { EpisodeList } from './episode-list.ts';
import { EventLog } from './event-log.ts';
import { FacetDesk } from './facet-desk.ts';
import type { FilterCompletion } from './filter-completion.ts';
import type { ForkDesk } from './fork-desk.ts';
import { type KeyContext, type Screen } from './key-binding.ts';
import { KnobDesk } from './knob-desk.ts';
import { planOverview, type Size } from './layout.ts';
import { LiveRun, type RunSources, runSources } from './live-run.ts';
import type { Palette } from './palette.ts';
import type { ReplayCursor } from './replay-cursor.ts';
import type { ConfirmModel } from './screens/confirm.ts';
import { episodesHeight, hasFacetPanel } from './screens/episodes.ts';
import { eventsHeight } from './screens/events.ts';
import { problemText, TOAST_MS, type Toast } from './toast.ts';
import type { LineInput } from './widgets/input-line.ts';

/** What the app works on. */
export interface SessionOptions {
  readonly runsDirectory: string;
  /** Starts a new run in the background and resolves to its id. */
  readonly startRun: () => Promise<string>;
  /** Does an episode of a run again, with its recorded actions unless it says otherwise. */
  readonly reexecute: (runId: string, episodeId: string, mode?: ReplayMode) => Promise<Execution>;
  /** Goes on from a step of an episode in another way. */
  readonly fork: (runId: string, episodeId: string, plan: ForkPlan) => Promise<Fork>;
  /** Data of a run; those of the run directory unless a test says otherwise. */
  readonly openSources?: (runId: string) => RunSources;
  readonly listRuns?: () => RunListing[];
}

/** A question, and what happens on yes. */
export interface Question extends Omit<ConfirmModel, 'keys'> {
  readonly onYes: () => void;
}

/** The screens that lie under everything else. */
export type MainScreen = 'overview' | 'episodes' | 'pipeline' | 'events' | 'diff' | 'replay' | 'runs';

/** The screens with the episode list. */
const LISTING: ReadonlySet<MainScreen> = new Set(['overview', 'episodes']);

/** Everything the screen shows and the keys act on. Tells its listeners after every change. */
export class Session {
  readonly options: SessionOptions;
  readonly list = new EpisodeList(() => this.changed());
  charts = new ChartView();
  /** Of the open run. */
  knobs: KnobDesk | null = null;
  /** The event whose episodes were shown last, and the filter that shows them. */
  shownEvent: { readonly event: RunEvent; readonly filter: string } | null = null;
  run: LiveRun | null = null;
  runId: string | null = null;
  screen: MainScreen = 'runs';
  /** Where `goBack` goes, the newest last. */
  #history: MainScreen[] = [];
  readonly events = new EventLog();
  /** How the list's episodes are distributed, for the screen of episodes. */
  readonly facets = new FacetDesk();
  palette: Palette | null = null;
  /** Rows of the pipeline above the window. */
  pipelineScroll = 0;
  help: { readonly scroll: number } | null = null;
  question: Question | null = null;
  filterInput: LineInput | null = null;
  /** What may be typed in the filter line, once that was asked for. */
  completion: FilterCompletion | null = null;
  replay: ReplayCursor | null = null;
  /** The question of what to do instead at a step of the replay. */
  fork: ForkDesk | null = null;
  /** The comparison that was shown last. */
  diff: EpisodeDiff | null = null;
  /** Id of the episode that others are compared with. */
  marked: string | null = null;
  runs: RunListing[] = [];
  runsError: string | null = null;
  selectedRun = 0;
  starting = false;
  size: Size = { columns: 80, rows: 24 };
  /** Set when the user has asked to leave. */
  quitting = false;
  #toast: Toast | null = null;
  #toastTimer: NodeJS.Timeout | null = null;
  #version = 0;
  readonly #listeners = new Set<() => void>();

  constructor(options: SessionOptions) {
    this.options = options;
  }

  /** Changes whenever anything may have changed. */
  get version(): number {
    return this.#version;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Draws again. */
  changed(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  /** What keys act on just now: the question, the filter line or help when they lie over the screen. */
  get front(): Screen {
    if (this.question !== null) return 'confirm';
    if (this.palette !== null) return 'palette';
    if (this.fork !== null) return 'fork';
    if (this.filterInput !== null) return 'filter';
    if (this.help !== null) return 'help';
    return this.screen === 'overview' && this.knobs?.proposing === true ? 'knob' : this.screen;
  }

  get keyContext(): KeyContext {
    const snapshot = this.run?.snapshot() ?? null;
    const dead = snapshot?.connection === 'gone' && !isFinal(snapshot.manifest.state);
    return {
      hasRun: snapshot !== null,
      live: this.client !== null,
      state: snapshot === null || dead ? null : snapshot.manifest.state,
      rows: this.#rows(),
      canUndo: this.knobs?.sending === true || (snapshot?.status?.undoable ?? null) !== null,
      completes: LISTING.has(this.screen),
      hasDiff: this.diff !== null,
      eventEpisodes: snapshot?.alarms.some(({ episodes }) => episodes.length > 0) ?? false,
    };
  }

  #rows(): number {
    if (this.screen === 'runs') return this.runs.length + 1;
    return this.screen === 'events' ? this.events.events.length : this.list.view.rows.length;
  }

  /** Shows a screen; `goBack` comes back to the one before. */
  goTo(screen: MainScreen): void {
    if (screen === this.screen) return;
    this.#history = [...this.#history.filter((before) => before !== this.screen), this.screen];
    this.screen = screen;
    this.#refresh();
  }

  /** Shows the screen that the user came from: the overview of the open run when there is none. */
  goBack(): void {
    this.screen = this.#history.pop() ?? (this.run === null ? 'runs' : 'overview');
    this.#refresh();
  }

  /** The connection to the open run, or null while it does not answer. */
  get client(): ControlClient | null {
    return this.run?.client ?? null;
  }

  get toast(): Toast | null {
    return this.#toast;
  }

  /** Shows a message for a few seconds. */
  say(text: string, tone: Toast['tone'] = 'plain'): void {
    this.#toast = { text, tone, until: Date.now() + TOAST_MS };
    if (this.#toastTimer !== null) clearTimeout(this.#toastTimer);
    this.#toastTimer = setTimeout(() => {
      this.#toast = null;
      this.changed();
    }, TOAST_MS);
    // A message must not keep a closed app alive.
    this.#toastTimer.unref();
    this.changed();
  }

  /** Runs something that talks to the run; what goes wrong becomes a message. */
  attempt(work: () => Promise<string | null>): void {
    work().then(
      (text) => (text === null ? this.changed() : this.say(text, 'good')),
      (thrown: unknown) => this.say(problemText(thrown), 'bad'),
    );
    this.changed();
  }

  /** Opens a run on the overview. Throws what reading its manifest throws. */
  open(runId: string): void {
    const openSources =
      this.options.openSources ?? ((id) => runSources(runPaths(this.options.runsDirectory, id)));
    const run = new LiveRun(openSources(runId));
    // Before the connection to the run that it was meant for is closed.
    this.knobs?.commit();
    this.run?.close();
    this.run = run;
    this.runId = runId;
    this.screen = 'overview';
    this.#history = [];
    this.charts = new ChartView();
    this.events.clear();
    this.facets.clear();
    this.palette = null;
    this.diff = null;
    this.marked = null;
    this.replay = null;
    this.fork = null;
    this.question = null;
    this.completion = null;
    this.shownEvent = null;
    this.knobs = new KnobDesk(run, this);
    this.list.clear();
    run.subscribe(() => this.#refresh());
    run.start();
    this.changed();
  }

  /** The filters that are saved just now. Throws `filter-invalid` when their file cannot be read. */
  savedFilters(): SavedFilters {
    return readSavedFilters(this.options.runsDirectory);
  }

  /** Shows the list of runs. */
  showRuns(): void {
    this.goTo('runs');
    try {
      this.runs = (this.options.listRuns ?? (() => listRuns(this.options.runsDirectory)))();
      this.runsError = null;
    } catch (thrown) {
      this.runs = [];
      this.runsError = problemText(thrown);
    }
    const current = this.runs.findIndex(({ id }) => id === this.runId);
    this.selectedRun = current + 1;
    this.changed();
  }

  resize(size: Size): void {
    if (size.columns === this.size.columns && size.rows === this.size.rows) return;
    this.size = size;
    this.#refresh();
  }

  /** Reads what the screen in front shows. */
  reread(): void {
    const reader = this.run?.reader ?? null;
    if (reader !== null) this.#read(reader);
  }

  close(): void {
    if (this.#toastTimer !== null) clearTimeout(this.#toastTimer);
    this.knobs?.drop();
    this.run?.close();
    this.#listeners.clear();
  }

  #refresh(): void {
    const { size } = this;
    this.list.resize(this.screen === 'episodes' ? episodesHeight(size) : planOverview(size).listRows);
    this.reread();
    this.changed();
  }

  #read(reader: RunReader): void {
    if (this.run !== null) this.list.refresh(this.run.search, Date.now());
    // After the list: what is asked first is answered first.
    if (this.screen === 'episodes' && hasFacetPanel(this.size)) this.#refreshFacets();
    if (this.screen !== 'events') return;
    const changes = this.run?.snapshot().knobChanges ?? [];
    this.events.refresh(reader, changes, eventsHeight(this.size));
  }

  #refreshFacets(): void {
    const search = this.run?.search;
    if (search === undefined) return;
    this.facets.refresh(search, this.list.where, Date.now(), () => this.changed());
  }
}
