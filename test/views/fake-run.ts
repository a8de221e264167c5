import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EpisodeBody, type EpisodeSummary, NO_STAGES } from '../../src/domain/episode.ts';
import { LabError } from '../../src/domain/error.ts';
import { FAILURE_TYPES, failureTrust } from '../../src/domain/failure.ts';
import { episodeId } from '../../src/domain/id.ts';
import { checkKnob, initialKnobs, KNOB_NAMES, type KnobValues } from '../../src/domain/knob.ts';
import type { WorkerSlots } from '../../src/domain/pipeline.ts';
import type {
  ChildStatus,
  IterationMetrics,
  KnobChange,
  Preview,
  RunEvent,
  RunManifest,
  RunStatus,
} from '../../src/domain/run.ts';
import { NO_TOOLS } from '../../src/domain/tool.ts';
import type { ControlRequest } from '../../src/protocol/control.ts';
import { ControlServer } from '../../src/run/control-server.ts';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import {
  createRunDirectory,
  lockRun,
  type RunPaths,
  runPaths,
  writeManifest,
} from '../../src/store/run-directory.ts';
import type { SessionOptions } from '../../views/session.ts';

/** A fixed moment, so that frames are the same every time. */
export const START = Date.UTC(2026, 10, 30, 12, 0, 0);

export function manifestOf(change: Partial<RunManifest> = {}): RunManifest {
  return {
    format: 1,
    id: 'demo-1',
    name: 'demo',
    createdAt: START,
    labVersion: '0.1.0',
    seed: 1,
    state: 'running',
    reason: null,
    attempt: 1,
    socket: '/nonexistent/control.sock',
    pid: process.pid,
    parent: null,
    ...change,
  };
}

export function eventOf(change: Partial<RunEvent> = {}): RunEvent {
  return {
    time: START,
    level: 'info',
    kind: 'started',
    subject: 'run',
    message: 'started',
    episodes: [],
    ...change,
  };
}

export function changeOf(change: Partial<KnobChange> = {}): KnobChange {
  return {
    time: START,
    who: 'ann@box',
    knob: 'clip',
    from: 0.2,
    to: 0.22,
    iteration: 20,
    minibatch: 3,
    undo: false,
    ...change,
  };
}

/** What every preview of the fake run says. */
export const PREVIEW: Preview = {
  iteration: 41,
  minibatches: 8,
  samples: 4096,
  now: { clipFraction: 0.241, kl: 0.0211 },
  wouldBe: { clipFraction: 0.2134, kl: 0.0242 },
};

export function childOf(change: Partial<ChildStatus> = {}): ChildStatus {
  return {
    role: 'worker',
    index: 0,
    host: 'local',
    pid: 1234,
    state: 'ready',
    restarts: 0,
    silentMs: 20,
    slots: 7000,
    busySlots: 6990,
    rssMiB: 900,
    provider: 'cpu',
    resources: { cpu: 0.97, openFiles: 41, tempBytes: 2_097_152 },
    drain: null,
    ...change,
  };
}

export function statusOf(change: Partial<RunStatus> = {}): RunStatus {
  return {
    id: 'demo-1',
    name: 'demo',
    state: 'running',
    reason: null,
    pid: process.pid,
    time: START,
    attempt: 1,
    iteration: 41,
    policyVersion: 41,
    activity: 'sampling',
    elapsedS: 185,
    limitS: 600,
    episodes: 12_345,
    envSteps: 230_000,
    envStepsPerS: 52_100,
    voidEpisodes: 12,
    queuedSteps: 1000,
    batchSteps: 8000,
    knobs: initialKnobs(),
    scheduled: [],
    undoable: null,
    children: [childOf(), childOf({ role: 'trainer', slots: 0, busySlots: 0, rssMiB: 300, resources: null })],
    batching: { rows: 212, capacity: 256, waitMs: 3.1, windowMs: 4, inferenceMs: 3.6 },
    pressure: { level: 'none', bytes: 4_000_000, softBytes: 400_000_000, hardBytes: 500_000_000, trail: [] },
    stages: [{ stage: 'step', ageMs: 12, p99Ms: 30, subject: 'worker 0@local, slot 12', count: 40 }],
    retried: 0,
    stall: null,
    waste: { useful: 900, stale: 20, void: 5, truncated: 60, retried: 0 },
    audits: 210,
    leaks: [],
    alerts: [],
    store: null,
    own: [],
    hosts: [],
    setup: null,
    ...change,
  };
}

/** A row of metrics that looks like a run which learns. */
export function metricsOf(iteration: number, change: Partial<IterationMetrics> = {}): IterationMetrics {
  const share = 1 - Math.exp(-iteration / 15);
  return {
    iteration,
    policyVersion: iteration,
    attempt: 1,
    time: START + iteration * 4000,
    elapsedS: iteration * 4,
    episodes: iteration * 300,
    envSteps: iteration * 6000,
    envStepsPerS: 50_000 + 4000 * Math.sin(iteration),
    batchEpisodes: 300,
    batchSteps: 6000,
    reward: share - 0.2,
    success: share * 0.9,
    voidShare: 0.001,
    truncatedShare: 0.1,
    meanSteps: 20,
    heldOutSuccess: iteration < 5 ? null : share * 0.8,
    heldOutByFamily: {},
    heldOutGreedy: null,
    heldOutGreedyByFamily: {},
    kl: 0.02 + 0.01 * Math.sin(iteration / 2),
    klK1: 0.019,
    klK3: 0.0213,
    klCoefficient: 0.05,
    learningRate: 0.001,
    entropyCoefficient: 0.01,
    clipFraction: 0.1 + 0.05 * Math.cos(iteration / 3),
    entropy: 2,
    policyLoss: 0,
    valueLoss: 0.1,
    explainedVariance: 0.5,
    gradientNorm: 1,
    staleness: 0.5,
    stalest: 2,
    staleCounts: [6000, 1800, 200],
    components: { progress: 0.6 * share, step: -0.1, success: share },
    queuedBytes: 3_000_000,
    staleSteps: 0,
    staleEpisodes: 0,
    staleS: 0,
    heldS: 0,
    minibatches: 36,
    stoppedEarly: false,
    sampleS: 2,
    updateS: 1.8,
    evalS: 0.2,
    ...change,
  };
}

/** The n-th episode: outcomes take turns, every third one succeeds. */
export function summaryOf(sequence: number, change: Partial<EpisodeSummary> = {}): EpisodeSummary {
  const failure = sequence % 3 === 0 ? null : (FAILURE_TYPES[sequence % FAILURE_TYPES.length] ?? null);
  const trust = failureTrust(failure);
  return {
    id: episodeId(sequence),
    task: { env: 'workbench', family: 'move_rename', split: 'train', index: sequence % 100 },
    seed: sequence,
    phase: 'train',
    mode: 'sampled',
    iteration: 1 + Math.floor(sequence / 300),
    attempt: 1,
    taskSeed: 7,
    difficulty: 2,
    host: 'local',
    worker: 0,
    slot: sequence % 7000,
    firstPolicyVersion: 3,
    policyVersion: 4,
    steps: 2,
    startedAt: START,
    wallMs: 120,
    terminated: failure === null,
    truncated: failure !== null,
    success: failure === null,
    failure,
    failureDetail: failure === null ? null : 'limit 2',
    failureStage: null,
    trust,
    reward: trust === 'void' ? null : 0.25,
    components: { progress: 0.2, submit: 0.05 },
    behaviours: sequence % 5 === 0 ? ['loop'] : [],
    tags: [],
    tools: NO_TOOLS,
    stages: NO_STAGES,
    ...change,
  };
}

/** Two steps; one line is hostile: it tries to clear the screen, and has wide characters. */
function bodyOf(): EpisodeBody {
  const step = {
    candidates: 0,
    effective: true,
    probability: 0.873,
    value: 0.33,
    entropy: 0.41,
    policyVersion: 4,
    reward: 0.1,
    parts: [{ name: 'progress', raw: 1, weighted: 0.1, paid: 0.1 }],
  };
  return {
    lines: ['task: rename notes.txt', 'screen: empty', 'evil \u001B[2J\u001B]0;title\u0007 文件', 'done'],
    candidateSets: [[{ type: 'input', text: 'notes.txt', kind: 'file' }]],
    steps: [
      { ...step, observation: [0, 1], action: { type: 'input', argument: 'notes.txt' } },
      {
        ...step,
        observation: [0, 2],
        action: { type: 'submit', argument: null },
        effective: false,
        reward: -0.05,
        parts: [],
      },
    ],
    finalObservation: [0, 3],
  };
}

export function appendEpisodes(store: RunStore, from: number, to: number): void {
  const body = Buffer.from(JSON.stringify(bodyOf()));
  const batch = [];
  for (let sequence = from; sequence <= to; sequence += 1) batch.push({ summary: summaryOf(sequence), body });
  store.appendEpisodes(batch);
}

/** A run on disk with a control socket that answers, without processes: what the screen sees of a live run. */
export class FakeRun {
  readonly runsDirectory: string;
  readonly paths: RunPaths;
  readonly store: RunStore;
  readonly requests: ControlRequest[] = [];
  /** Verbs of the command line that were asked for, and what they answer. */
  readonly verbs: (readonly string[])[] = [];
  verbAnswer: readonly unknown[] = [];
  status: RunStatus;
  knobs: KnobValues = initialKnobs();
  /** How long the trainer takes to take a knob over, ms. */
  knobDelayMs = 0;
  /** Why there is no preview, or null. */
  previewRefused: string | null = null;
  /** Held back, previews are answered when this resolves. */
  previewGate: Promise<unknown> = Promise.resolve();
  /** What every question for slots is answered. */
  slots: WorkerSlots[] = [];
  readonly #turns: KnobChange[] = [];
  readonly #server: ControlServer;
  readonly #lock: { release(): void };

  private constructor(runsDirectory: string, socket: string) {
    this.runsDirectory = runsDirectory;
    this.paths = runPaths(runsDirectory, 'demo-1');
    createRunDirectory(this.paths);
    writeManifest(this.paths, manifestOf({ socket }));
    this.#lock = lockRun(this.paths);
    this.store = openRunStore(this.paths);
    this.status = statusOf();
    this.#server = new ControlServer(socket, async (request) => this.#answer(request));
  }

  static async start(fill: { iterations: number; episodes: number }): Promise<FakeRun> {
    const runsDirectory = mkdtempSync(join(tmpdir(), 'lab-views-'));
    const run = new FakeRun(runsDirectory, join(runsDirectory, 's'));
    for (let iteration = 1; iteration <= fill.iterations; iteration += 1) {
      run.store.appendIteration(metricsOf(iteration));
    }
    run.store.appendEvent(eventOf());
    if (fill.episodes > 0) appendEpisodes(run.store, 1, fill.episodes);
    await run.#server.listen();
    return run;
  }

  /** What a session on this run needs; nothing starts or is done again by itself. */
  get sessionOptions(): SessionOptions {
    return {
      runsDirectory: this.runsDirectory,
      startRun: async () => 'demo-1',
      reexecute: async () => await Promise.reject(new Error('not in this test')),
      compare: async () => await Promise.reject(new Error('not in this test')),
      fork: async () => await Promise.reject(new Error('not in this test')),
      keptPolicies: () => [],
      verb: async (words) => {
        this.verbs.push(words);
        return await Promise.resolve([...this.verbAnswer]);
      },
    };
  }

  /** The run process dies without a word: the manifest still says "running". */
  async die(): Promise<void> {
    await this.#server.close();
    this.#lock.release();
  }

  async remove(): Promise<void> {
    await this.die().catch(() => null);
    this.store.close();
    rmSync(this.runsDirectory, { recursive: true, force: true });
  }

  async #answer(request: ControlRequest): Promise<unknown> {
    if (request.command !== 'status') this.requests.push(request);
    if (request.command === 'set') return await this.#set(request.knobs, request.who);
    if (request.command === 'undo') return this.#undo(request.who);
    if (request.command !== 'preview') return this.#answerRun(request);
    await this.previewGate;
    if (this.previewRefused !== null) throw new LabError('usage', { message: this.previewRefused });
    return PREVIEW;
  }

  #answerRun(request: ControlRequest): unknown {
    const { command } = request;
    if (command === 'status') {
      return { ...this.status, knobs: this.knobs, undoable: this.#turns.at(-1) ?? null };
    }
    if (command === 'pause') this.status = { ...this.status, state: request.now ? 'paused' : 'pausing' };
    if (command === 'resume') this.status = { ...this.status, state: 'running' };
    if (command === 'workers') return request.targets;
    if (command === 'add_worker') return `worker 1@${request.host}`;
    if (command === 'pin') return true;
    return command === 'slots' ? this.slots : null;
  }

  async #set(knobs: Partial<KnobValues>, who: string): Promise<KnobChange[]> {
    await new Promise((resolve) => setTimeout(resolve, this.knobDelayMs));
    const changes = KNOB_NAMES.flatMap((knob): KnobChange[] => {
      const to = knobs[knob];
      if (to === undefined) return [];
      checkKnob(knob, to);
      const { iteration } = this.status;
      return [changeOf({ who, knob, from: this.knobs[knob], to, iteration })];
    });
    if (changes.length === 0) throw new LabError('knob-invalid', { message: 'no knob was given' });
    for (const change of changes) this.store.appendKnobChange(change);
    this.#turns.push(...changes);
    this.knobs = { ...this.knobs, ...knobs };
    return changes;
  }

  #undo(who: string): KnobChange {
    const last = this.#turns.pop();
    if (last === undefined) throw new LabError('usage', { message: 'there is nothing to undo' });
    const { knob, from: to, to: from } = last;
    const change = changeOf({ who, knob, from, to, iteration: this.status.iteration, undo: true });
    this.store.appendKnobChange(change);
    this.knobs = { ...this.knobs, [knob]: to };
    return change;
  }
}
