import type { ThemeName } from '../src/domain/display.ts';
import { isFinal, type RunEvent } from '../src/domain/run.ts';
import type { Execution } from '../src/replay/execution.ts';
import type { Fork, ForkPlan } from '../src/replay/fork.ts';
import type { CompareApart } from '../src/replay/long-comparison.ts';
import type { ReplayMode } from '../src/replay/modes.ts';
import type { ControlClient } from '../src/run/control-client.ts';
import type { SavedFilters } from '../src/store/filter.ts';
import type { RunReader } from '../src/store/queries.ts';
import { Reading } from '../src/store/reading.ts';
import { listRuns, type RunListing, runPaths } from '../src/store/run-directory.ts';
import { readSavedFilters } from '../src/store/saved-filters.ts';
import { hasEpisodes } from './alarms.ts';
import { ChartView } from './chart-view.ts';
import type { EpisodeDiff } from './episode-diff.ts';
import { EpisodeList } from './episode-list.ts';
import { EventLog } from './event-log.ts';
import { FacetDesk } from './facet-desk.ts';
import type { FilterCompletion } from './filter-completion.ts';
import type { ForkDesk } from './fork-desk.ts';
import { HostTree } from './host-tree.ts';
import { type KeyContext, type Screen } from './key-binding.ts';
import { KnobDesk } from './knob-desk.ts';
import { planOverview, type Size } from './layout.ts';
import { lineOf } from './line-editor.ts';
import { LineHistory } from './line-history.ts';
import { LiveRun, type RunSources, runSources } from './live-run.ts';
import { LongDiff } from './long-diff.ts';
import type { Look } from './look.ts';
import { MarksDesk } from './marks-desk.ts';
import type { Menu, Prompt } from './menu.ts';
import type { Palette } from './palette.ts';
import { Player } from './player.ts';
import { Remember } from './remember.ts';
import type { ReplayCursor } from './replay-cursor.ts';
import type { RunComparison } from './run-comparison.ts';
import { RunsDesk } from './runs-desk.ts';
import type { ConfirmModel } from './screens/confirm.ts';
import { episodesHeight, hasFacetPanel } from './screens/episodes.ts';
import { eventsHeight } from './screens/events.ts';
import { hostsHeight } from './screens/hosts.ts';
import { problemText, TOAST_MS, type Toast } from './toast.ts';
import type { LineInput } from './widgets/input-line.ts';

/** What the app works on. */
export interface SessionOptions {
  readonly runsDirectory: string;
  /** Starts a new run in the background and resolves to its id. */
  readonly startRun: () => Promise<string>;
  /** Does an episode of a run again, with its recorded actions unless it says otherwise. */
  readonly reexecute: (runId: string, episodeId: string, mode?: ReplayMode) => Promise<Execution>;
  /** Compares episodes that are too long to be read between two frames. */
  readonly compare: CompareApart;
  /** Goes on from a step of an episode in another way. */
  readonly fork: (runId: string, episodeId: string, plan: ForkPlan) => Promise<Fork>;
  /** Versions of a run's policy whose weights are there, the newest first. */
  readonly keptPolicies: (runId: string) => readonly number[];
  /** Data of a run; those of the run directory unless a test says otherwise. */
  readonly openSources?: (runId: string) => RunSources;
  readonly listRuns?: () => RunListing[];
  /** Does what a verb of the command line does, in a process of its own; resolves with the values that it prints as JSON. */
  readonly verb: (words: readonly string[]) => Promise<unknown[]>;
}

/** A question, and what happens on yes. */
export interface Question extends Omit<ConfirmModel, 'keys'> {
  readonly onYes: () => void;
}

/** The screens that lie under everything else. */
export type MainScreen =
  | 'overview'
  | 'episodes'
  | 'hosts'
  | 'pipeline'
  | 'events'
  | 'diff'
  | 'replay'
  | 'runs'
  | 'compare';

/** Ms after which a long episode can be opened without waiting for the thread that reads it. */
const WARM_AFTER_MS = 1500;

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
  /** Hosts, processes and slots of the open run. */
  readonly hosts = new HostTree();
  palette: Palette | null = null;
  menu: Menu | null = null;
  prompt: Prompt | null = null;
  /** What people have said of the open run's episodes. */
  marks: MarksDesk | null = null;
  /** Ids of the episodes that bulk actions are about; empty: all that match. */
  readonly selection = new Set<string>();
  /** Names of the columns of the episode list; null: by the width. */
  columns: readonly string[] | null = null;
  /** How the episodes are distributed is shown where there is room. */
  showsFacets = true;
  /** Rows of the pipeline above the window. */
  pipelineScroll = 0;
  help: { readonly scroll: number } | null = null;
  question: Question | null = null;
  filterInput: LineInput | null = null;
  /** What was accepted in the filter line before. */
  readonly lines = new LineHistory();
  /** What may be typed in the filter line, once that was asked for. */
  completion: FilterCompletion | null = null;
  replay: ReplayCursor | null = null;
  /** The question of what to do instead at a step of the replay. */
  fork: ForkDesk | null = null;
  /** Plays the replay. */
  readonly player = new Player(() => this.#playStep());
  /** Reads what would hold up the drawing. */
  readonly reading = new Reading();
  /** The comparison that was shown last. */
  diff: EpisodeDiff | null = null;
  /** The comparison of long episodes that goes on. */
  readonly longDiff = new LongDiff(() => this.changed());
  /** Id of the episode that others are compared with. */
  marked: string | null = null;
  /** What the list of runs shows beside the manifests. */
  readonly runsDesk = new RunsDesk(this.reading, () => this.changed());
  /** The runs that were compared last. */
  comparison: RunComparison | null = null;
  runs: RunListing[] = [];
  runsError: string | null = null;
  selectedRun = 0;
  starting = false;
  size: Size = { columns: 80, rows: 24 };
  /** Chosen here, in place of what the terminal or an option says. */
  theme: ThemeName | null = null;
  /** Set when the user has asked to leave. */
  quitting = false;
  /** Set when the user has asked for the shell. */
  #suspending = false;
  #remember: Remember | null = null;
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

  /** The screen is to be left to the shell for a while. */
  suspend(): void {
    this.#suspending = true;
    this.changed();
  }

  /** Whether that was asked for since it was last asked about. */
  takeSuspension(): boolean {
    const asked = this.#suspending;
    this.#suspending = false;
    return asked;
  }

  /** Draws again. */
  changed(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  /** The look with the theme chosen here. */
  themed(look: Look): Look {
    const { theme } = this;
    return theme === null || look.colour === null ? look : { ...look, colour: { ...look.colour, theme } };
  }

  /** What keys act on just now: the question, the filter line or help when they lie over the screen. */
  get front(): Screen {
    if (this.question !== null) return 'confirm';
    if (this.prompt !== null) return 'prompt';
    if (this.menu !== null) return 'menu';
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
      isSearching: LISTING.has(this.screen) && this.list.view.isSearching,
      canUndo: this.knobs?.sending === true || (snapshot?.status?.undoable ?? null) !== null,
      completes: LISTING.has(this.screen),
      hasReplay: this.replay !== null,
      hasDiff: this.diff !== null,
      eventEpisodes: snapshot?.alarms.some(hasEpisodes) ?? false,
    };
  }

  #rows(): number {
    if (this.screen === 'runs') return this.runs.length + 1;
    if (this.screen === 'hosts') return this.hosts.rows.length;
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
    return this.#toast ?? this.longDiff.toast;
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

  /** Takes the message away before its time. */
  hush(): void {
    this.#toast = null;
  }

  /** Asks for a line. */
  ask(prompt: Omit<Prompt, 'problem' | 'cursor'>): void {
    this.prompt = { ...prompt, ...lineOf(prompt.text), problem: null };
  }

  /** Takes the line that was asked for; one that is refused stays, with the reason. */
  answerPrompt(): void {
    const { prompt } = this;
    if (prompt === null) return;
    this.prompt = null;
    try {
      prompt.onAccept(prompt.text);
    } catch (thrown) {
      this.prompt = { ...prompt, problem: problemText(thrown) };
    }
  }

  /** Runs something that talks to the run; what goes wrong becomes a message. */
  attempt(work: () => Promise<string | null>): void {
    work().then(
      (text) => (text === null ? this.changed() : this.say(text, 'good')),
      (thrown: unknown) => this.say(problemText(thrown), 'bad'),
    );
    this.changed();
  }

  /** Opens a run as it was left, at first on the overview. Throws what reading its manifest throws. */
  open(runId: string): void {
    const openSources =
      this.options.openSources ??
      ((id) => runSources(runPaths(this.options.runsDirectory, id), this.reading));
    const run = new LiveRun(openSources(runId));
    // Before the connection to the run that it was meant for is closed.
    this.knobs?.commit();
    this.#remember?.leave();
    this.run?.close();
    this.run = run;
    this.runId = runId;
    this.screen = 'overview';
    this.#history = [];
    this.charts = new ChartView();
    this.events.clear();
    this.facets.clear();
    this.hosts.clear();
    this.palette = null;
    this.menu = null;
    this.prompt = null;
    this.selection.clear();
    this.marks = new MarksDesk(runPaths(this.options.runsDirectory, runId), (problem) =>
      problem === null ? this.changed() : this.say(problemText(problem), 'bad'),
    );
    this.longDiff.cancel();
    this.diff = null;
    this.marked = null;
    this.replay = null;
    this.fork = null;
    this.question = null;
    this.completion = null;
    this.shownEvent = null;
    this.knobs = new KnobDesk(run, this);
    this.list.clear();
    this.columns = null;
    this.showsFacets = true;
    this.#remember = new Remember(this, runId);
    this.#remember.restore();
    // Not at once: the run is to be on the screen first.
    setTimeout(() => this.reading.warm(), WARM_AFTER_MS).unref();
    run.subscribe(() => this.#refresh());
    run.start();
    this.changed();
  }

  /** The filters that are saved just now, and `@pinned` and `@noted`. Throws `filter-invalid` when their file cannot be read. */
  savedFilters(): SavedFilters {
    const marked = this.marks?.filters ?? [];
    return new Map([...marked, ...readSavedFilters(this.options.runsDirectory)]);
  }

  /** Shows the list of runs. */
  showRuns(): void {
    this.goTo('runs');
    this.#listRuns();
    const current = this.runs.findIndex(({ id }) => id === this.runId);
    this.selectedRun = current + 1;
    this.runsDesk.watch(() => {
      if (this.screen !== 'runs') return false;
      // The pointer stays on its run.
      const under = this.runs[this.selectedRun - 1]?.id;
      this.#listRuns();
      if (under !== undefined) this.selectedRun = this.runs.findIndex(({ id }) => id === under) + 1;
      this.changed();
      return true;
    });
    this.changed();
  }

  #listRuns(): void {
    try {
      this.runs = (this.options.listRuns ?? (() => listRuns(this.options.runsDirectory)))();
      this.runsError = null;
    } catch (thrown) {
      this.runs = [];
      this.runsError = problemText(thrown);
    }
    this.runsDesk.refresh(this.runs);
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
    this.#remember?.leave();
    if (this.#toastTimer !== null) clearTimeout(this.#toastTimer);
    this.knobs?.drop();
    this.run?.close();
    this.player.stop();
    this.longDiff.cancel();
    this.runsDesk.close();
    void this.reading.close();
    this.#listeners.clear();
  }

  #playStep(): boolean {
    const before = this.replay?.position;
    if (this.screen === 'replay') this.replay?.move(1);
    this.changed();
    return this.replay?.position !== before;
  }

  /** Remembers how the open run is looked at: the program is about to end. */
  keepView(): void {
    this.#remember?.leave();
  }

  /** The screens from which this one was come to, and itself, the newest last. */
  get within(): readonly MainScreen[] {
    return [...this.#history, this.screen];
  }

  #refresh(): void {
    this.#remember?.tick(Date.now());
    const { size } = this;
    this.list.resize(this.screen === 'episodes' ? episodesHeight(size) : planOverview(size).listRows);
    this.reread();
    if (this.screen === 'hosts') this.#refreshHosts();
    this.changed();
  }

  #read(reader: RunReader): void {
    if (this.run !== null) this.list.refresh(this.run.search, Date.now());
    this.marks?.refresh(Date.now());
    // After the list: what is asked first is answered first.
    if (this.screen === 'episodes' && this.showsFacets && hasFacetPanel(this.size)) this.#refreshFacets();
    if (this.screen !== 'events') return;
    const changes = this.run?.snapshot().knobChanges ?? [];
    this.events.refresh(reader, changes, eventsHeight(this.size));
  }

  #refreshHosts(): void {
    this.#refreshTree();
    void this.#askSlots();
  }

  #refreshTree(): void {
    this.hosts.refresh(this.run?.snapshot().status ?? null, hostsHeight(this.size));
  }

  async #askSlots(): Promise<void> {
    const { client, run } = this;
    if (client === null) return;
    const isNews = await this.hosts.ask(async (workers) => await client.slots(workers), Date.now());
    if (!isNews || this.run !== run) return;
    this.#refreshTree();
    this.changed();
  }

  #refreshFacets(): void {
    const search = this.run?.search;
    if (search === undefined) return;
    this.facets.refresh(search, this.list.where, Date.now(), () => this.changed());
  }
}
