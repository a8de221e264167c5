import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initialKnobs } from '../../src/domain/knob.ts';
import type { SlotUse, WorkerSlots } from '../../src/domain/pipeline.ts';
import type { RunManifest, RunState, RunStatus } from '../../src/domain/run.ts';
import type { ControlRequest } from '../../src/protocol/control.ts';
import { ControlServer } from '../../src/run/control-server.ts';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import {
  createRunDirectory,
  lockRun,
  type RunPaths,
  readManifest,
  runPaths,
  writeManifest,
} from '../../src/store/run-directory.ts';

/** A live run without children: real directory, lock, store and control socket, held by the test itself. */
export interface FakeRun {
  readonly id: string;
  readonly directory: string;
  readonly paths: RunPaths;
  readonly store: RunStore;
  /** Requests received, `status` left out. */
  readonly requests: ControlRequest[];
  setState(state: RunState, reason?: string | null): void;
  /** The run process ends in this state; null: it dies without a word. */
  end(state: RunState | null, reason?: string | null): Promise<void>;
  remove(): Promise<void>;
}

export async function startFakeRun(id = 'demo-1', attempt = 1): Promise<FakeRun> {
  const directory = mkdtempSync(join(tmpdir(), 'agentrl-cli-'));
  const paths = runPaths(directory, id);
  createRunDirectory(paths);
  const manifest: RunManifest = {
    format: 1,
    id,
    name: 'demo',
    createdAt: Date.now(),
    labVersion: '0.1.0',
    seed: 1,
    state: 'running',
    reason: null,
    attempt,
    socket: join(paths.root, 'control.sock'),
    pid: null,
    parent: null,
  };
  writeManifest(paths, manifest);
  const lock = lockRun(paths);
  const store = openRunStore(paths);
  const requests: ControlRequest[] = [];
  let live = true;
  const setState = (state: RunState, reason: string | null = null): void =>
    writeManifest(paths, { ...readManifest(paths), state, reason });
  const end = async (state: RunState | null, reason: string | null = null): Promise<void> => {
    if (!live) return;
    live = false;
    if (state !== null) setState(state, reason);
    store.close();
    await server.close();
    lock.release();
  };
  const server = new ControlServer(manifest.socket, async (request) => {
    if (request.command === 'status') return statusOf(readManifest(paths));
    requests.push(request);
    if (request.command === 'stop') setTimeout(() => void end('stopped', 'asked to'), 20);
    return answerOf(request);
  });
  await server.listen();
  return {
    id,
    directory,
    paths,
    store,
    requests,
    setState,
    end,
    remove: async () => {
      await end(null);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** One worker that answers, and one that is stuck. */
const SLOTS: readonly WorkerSlots[] = [
  {
    worker: 'worker 0@local',
    slots: [
      slotUse({ slot: 0, stage: 'ready', steps: 9, cpu: 0.25 }),
      slotUse({
        slot: 1,
        stage: 'step',
        waitMs: 41_000,
        ageMs: 52_400,
        steps: 4,
        tempBytes: 3 * 2 ** 20,
        openFiles: 2,
      }),
      slotUse({ slot: 2, stage: 'free', episode: null, ageMs: null, steps: null }),
    ],
    stuck: null,
  },
  { worker: 'worker 1@local', slots: null, stuck: { slot: 7, stage: 'step', ms: 5200 } },
];

function slotUse(change: Partial<SlotUse>): SlotUse {
  const episode = { episode: 'e17', ageMs: 120, steps: 3 };
  const use = { cpu: 0, tempBytes: 0, openFiles: 0 };
  return { slot: 0, stage: 'ready', waitMs: null, ...episode, ...use, ...change };
}

/** What a run would answer, had it a trainer: knobs come from 0.2, and their schedule is at 0.3. */
function answerOf(request: ControlRequest): unknown {
  const change = (knob: string, to: number, undo = false): object => {
    const who = 'who' in request ? request.who : '';
    return { time: Date.now(), who, knob, from: 0.2, to, iteration: 7, minibatch: 3, undo };
  };
  switch (request.command) {
    case 'slots':
      return SLOTS;
    case 'set':
      return Object.entries(request.knobs).map(([knob, to]) => change(knob, to));
    case 'schedule':
      return request.knobs.map((knob) => change(knob, 0.3));
    case 'undo':
      return change('clip', 0.1, true);
    case 'preview':
      return {
        iteration: 7,
        minibatches: 1,
        samples: 512,
        now: { clipFraction: 0.1, kl: 0.01 },
        wouldBe: { clipFraction: 0.25, kl: 0.0123 },
      };
    case 'status':
    case 'pause':
    case 'resume':
    case 'stop':
    case 'checkpoint':
      return null;
    case 'workers':
      return request.targets;
    case 'add_worker':
      return `worker 2@${request.host}`;
    case 'pin':
      return true;
  }
}

function statusOf({ id, name, state, reason, attempt }: RunManifest): RunStatus {
  return {
    id,
    name,
    state,
    reason,
    attempt,
    pid: process.pid,
    time: Date.now(),
    iteration: 1,
    policyVersion: 1,
    activity: 'sampling',
    elapsedS: 60,
    limitS: 600,
    episodes: 100,
    envSteps: 2000,
    envStepsPerS: 5000,
    voidEpisodes: 0,
    queuedSteps: 100,
    batchSteps: 8192,
    knobs: initialKnobs(),
    scheduled: [],
    undoable: null,
    children: [],
    batching: null,
    pressure: { level: 'soft', bytes: 2 ** 20, softBytes: 2 ** 20, hardBytes: 2 ** 21, trail: [] },
    stages: [],
    retried: 0,
    stall: null,
    waste: { useful: 90, stale: 6, void: 1, truncated: 2, retried: 1 },
    audits: 0,
    leaks: [],
    store: null,
    alerts: [],
    own: [],
    hosts: [],
    setup: null,
  };
}
