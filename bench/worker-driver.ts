import type { Assignment } from '../src/domain/episode.ts';
import { hostSpecSchema } from '../src/domain/host.ts';
import { episodeId } from '../src/domain/id.ts';
import { deriveSeed } from '../src/domain/random.ts';
import type { Catalog } from '../src/domain/task.ts';
import { spawnChild } from '../src/hosts/spawn.ts';
import { connect } from '../src/protocol/connection.ts';
import { fromWorkerMessages, unpackEpisode } from '../src/protocol/episode-message.ts';
import type { Attachments } from '../src/protocol/frame.ts';
import {
  type FromWorker,
  type ToWorker,
  type WorkerReport,
  type WorkerSettings,
} from '../src/protocol/worker.ts';
import { cpuSeconds } from '../src/run/process-figures.ts';

/** Drives one real worker process as the run process would: for benchmarks. */
export interface DrivenWorker {
  readonly catalog: Catalog;
  /** Steps reported so far, and where the time went, summed over the reports. */
  totals(): WorkerReport;
  /** Episodes delivered so far. */
  episodes(): number;
  resetTotals(): void;
  /** CPU time of its process so far, in s; null where the system does not say. */
  cpuSeconds(): number | null;
  /** Acknowledges so many bytes, where that was left to the caller. */
  ack(bytes: number): void;
  stop(): Promise<void>;
}

/** What reports can be summed over. */
export type ReportSum = Exclude<keyof WorkerReport, 'measure' | 'watch' | 'audits'>;

type EpisodeMessage = Extract<FromWorker, { type: 'episode' }>;

const ZERO: WorkerReport = {
  wallMs: 0,
  steps: 0,
  inferenceCalls: 0,
  encodeMs: 0,
  inferenceMs: 0,
  stepMs: 0,
  recordMs: 0,
  idleMs: 0,
  waitMs: 0,
  gatherMs: 0,
  lateMs: 0,
  freeMs: 0,
  windowMs: 0,
  busySlots: 0,
  rssMiB: 0,
};

/** Each has every so manieth number for its episodes. */
const MAX_WORKERS = 64;

/**
 * Starts a worker with these weights, and keeps it supplied with training tasks. Episodes are acknowledged once `onEpisode`
 * returns, or by the caller, with `ack`. `only`: the one family that tasks are taken from; null: all in turn.
 */
export async function driveWorker(
  settings: WorkerSettings,
  weights: Uint8Array,
  onEpisode: (message: EpisodeMessage, attachments: Attachments) => void = () => undefined,
  acknowledged: 'at once' | 'by caller' = 'at once',
  only: string | null = null,
): Promise<DrivenWorker> {
  const host = hostSpecSchema.parse({ name: 'local' });
  const child = spawnChild(host, 'worker', {
    onStderrLine: (line) => process.stderr.write(`worker ${settings.worker}: ${line}\n`),
  });
  let totals = ZERO;
  let episodes = 0;
  let sequence = 0;
  const ready = deferred<Catalog>();
  let catalog: Catalog | null = null;
  const next = (count: number): Assignment[] =>
    Array.from({ length: count }, () => {
      const n = sequence++;
      const families = (catalog?.families ?? []).filter(({ name }) => only === null || name === only);
      const family = families[n % families.length]!;
      return {
        // Workers may share one store.
        id: episodeId(n * MAX_WORKERS + settings.worker + 1),
        task: {
          env: settings.env.name,
          family: family.name,
          split: 'train',
          index: Math.floor(n / families.length) % family.train,
        },
        seed: deriveSeed(settings.worker, n),
        phase: 'train',
        mode: 'sampled',
        iteration: 1,
        attempt: 1,
      };
    });
  const connection = connect<FromWorker, ToWorker>({
    input: child.stdout,
    output: child.stdin,
    schema: fromWorkerMessages,
    unpack: unpackEpisode,
    onMessage: (message, attachments) => {
      if (message.type === 'hello') connection.send({ type: 'start', settings });
      if (message.type === 'ready') {
        catalog = message.catalog;
        connection.send({ type: 'weights', policyVersion: 0 }, { weights });
        connection.send({ type: 'go' });
        ready.resolve(catalog);
      }
      if (message.type === 'claim') connection.send({ type: 'dispatch', episodes: next(message.count) });
      if (message.type === 'episode') {
        episodes++;
        onEpisode(message, attachments);
        if (acknowledged === 'at once') connection.send({ type: 'ack', bytes: message.bytes });
      }
      if (message.type === 'report') totals = addReports(totals, message.report);
    },
    onClose: (error) => {
      if (error !== null) ready.reject(error);
    },
  });
  return {
    catalog: await ready.promise,
    totals: () => totals,
    episodes: () => episodes,
    resetTotals: () => {
      totals = ZERO;
      episodes = 0;
    },
    cpuSeconds: () => (child.pid === null ? null : cpuSeconds(child.pid)),
    ack: (bytes) => connection.send({ type: 'ack', bytes }),
    stop: async () => {
      connection.send({ type: 'stop' });
      connection.close();
      await child.exited;
    },
  };
}

function addReports(a: WorkerReport, b: WorkerReport): WorkerReport {
  return {
    wallMs: a.wallMs + b.wallMs,
    steps: a.steps + b.steps,
    inferenceCalls: a.inferenceCalls + b.inferenceCalls,
    encodeMs: a.encodeMs + b.encodeMs,
    inferenceMs: a.inferenceMs + b.inferenceMs,
    stepMs: a.stepMs + b.stepMs,
    recordMs: a.recordMs + b.recordMs,
    idleMs: a.idleMs + b.idleMs,
    waitMs: a.waitMs + b.waitMs,
    gatherMs: a.gatherMs + b.gatherMs,
    lateMs: a.lateMs + b.lateMs,
    freeMs: a.freeMs + b.freeMs,
    windowMs: b.windowMs,
    busySlots: b.busySlots,
    rssMiB: Math.max(a.rssMiB, b.rssMiB),
  };
}

/** A promise with its handles: Promise.withResolvers is newer than Node 20. */
function deferred<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
} {
  const handles: { resolve?: (value: T) => void; reject?: (reason: Error) => void } = {};
  const promise = new Promise<T>((resolve, reject) => {
    handles.resolve = resolve;
    handles.reject = reject;
  });
  return {
    promise,
    resolve: (value) => handles.resolve?.(value),
    reject: (reason) => handles.reject?.(reason),
  };
}
