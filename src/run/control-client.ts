import { createConnection, type Socket } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { z } from 'zod';
import { errorText, LabError } from '../domain/error.ts';
import type { KnobName } from '../domain/knob.ts';
import { type WorkerSlots, workerSlotsSchema } from '../domain/pipeline.ts';
import {
  type KnobChange,
  knobChangeSchema,
  type Preview,
  previewSchema,
  type RunManifest,
  type RunStatus,
  runStatusSchema,
} from '../domain/run.ts';
import { type ControlRequest, controlReplySchema, type WorkerAction } from '../protocol/control.ts';
import { receivedError } from '../protocol/failure.ts';
import { readSocketLines } from '../protocol/lines.ts';

export type { WorkerAction };

/** A client of one live run. Every call fails with `run-not-live` once the run is gone. */
export interface ControlClient {
  status(): Promise<RunStatus>;
  /** What is in every slot of every worker, or of those with these numbers. */
  slots(workers?: readonly number[]): Promise<WorkerSlots[]>;
  /** Drains, undrains, restarts or removes workers; a target is a number, a name or a host. Resolves with the names. */
  workers(action: WorkerAction, targets: readonly string[], now: boolean): Promise<string[]>;
  /** Adds a worker to a host, with so many slots or as many as the others have; resolves with its name. */
  addWorker(host: string, slots: number | null): Promise<string>;
  /** Soft: episodes in flight are finished first. `now`: every slot stays where it is. */
  pause(now: boolean): Promise<void>;
  /** Begins to bring the run to rest with nothing in flight and all of it in a checkpoint: see the status for when it is. */
  quiesce(): Promise<void>;
  resume(): Promise<void>;
  /** Asks the run to write a checkpoint and end; it has not ended yet when this returns. */
  stop(): Promise<void>;
  /** Resolves when the trainer has said at which minibatch the new values apply. */
  set(knobs: Readonly<Partial<Record<KnobName, number>>>): Promise<KnobChange[]>;
  /** Lets the config's schedule move knobs again. Throws `usage` for one that has none. */
  schedule(knobs: readonly KnobName[]): Promise<KnobChange[]>;
  /** Puts back what the newest turn of a knob by a person changed. Throws `usage` when there is none. */
  undo(): Promise<KnobChange>;
  /** What knobs would do, computed on the newest update's samples; may wait for an update in progress. */
  preview(knobs: Readonly<Partial<Record<KnobName, number>>>): Promise<Preview>;
  /** Has the run write a checkpoint now; resolves with its name. */
  checkpoint(): Promise<string>;
  /** Pins an episode, or lets it go; resolves with whether that changed anything. */
  pin(episode: string, pinned: boolean): Promise<boolean>;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 2000;
const REPLY_TIMEOUT_MS = 10_000;
/** It stands behind an update in progress. */
const PREVIEW_TIMEOUT_MS = 120_000;

type Command = ControlRequest extends infer Request
  ? Request extends ControlRequest
    ? Omit<Request, 'id'>
    : never
  : never;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: LabError) => void;
  readonly timer: NodeJS.Timeout;
}

/** Connects to a run's control socket. Throws `run-not-live` when nobody listens there. */
export async function connectControl(manifest: RunManifest): Promise<ControlClient> {
  const socket = await openSocket(manifest);
  const waiting = new Map<number, Waiting>();
  let sequence = 0;
  const who = `${userName()}@${hostname()}`;

  const failAll = (reason: string): void => {
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer);
      reject(notLive(manifest.id, reason));
    }
    waiting.clear();
  };
  socket.on('close', () => failAll('it closed the connection'));
  socket.on('error', (error) => failAll(error.message));
  readSocketLines(socket, (line) => settle(waiting, line));

  const request = async (command: Command, timeoutMs = REPLY_TIMEOUT_MS): Promise<unknown> => {
    if (socket.destroyed) throw notLive(manifest.id, 'the connection is closed');
    const id = ++sequence;
    return await new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(notLive(manifest.id, `no answer to "${command.command}" within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      waiting.set(id, { resolve, reject, timer });
      socket.write(`${JSON.stringify({ id, ...command })}\n`);
    });
  };

  return {
    status: async () => runStatusSchema.parse(await request({ command: 'status' })),
    slots: async (workers) => {
      const command = {
        command: 'slots',
        ...(workers === undefined ? {} : { workers: [...workers] }),
      } as const;
      return z.array(workerSlotsSchema).parse(await request(command));
    },
    workers: async (action, targets, now) => {
      const names = await request({ command: 'workers', who, action, targets: [...targets], now });
      return z.array(z.string()).parse(names);
    },
    addWorker: async (host, slots) =>
      z.string().parse(await request({ command: 'add_worker', who, host, slots })),
    pause: async (now) => void (await request({ command: 'pause', who, now, quiesce: false })),
    quiesce: async () => void (await request({ command: 'pause', who, now: false, quiesce: true })),
    resume: async () => void (await request({ command: 'resume', who })),
    stop: async () => void (await request({ command: 'stop', who })),
    set: async (knobs) => z.array(knobChangeSchema).parse(await request({ command: 'set', who, knobs })),
    schedule: async (knobs) =>
      z.array(knobChangeSchema).parse(await request({ command: 'schedule', who, knobs: [...knobs] })),
    undo: async () => knobChangeSchema.parse(await request({ command: 'undo', who })),
    preview: async (knobs) =>
      previewSchema.parse(await request({ command: 'preview', knobs }, PREVIEW_TIMEOUT_MS)),
    checkpoint: async () => z.string().parse(await request({ command: 'checkpoint', who })),
    pin: async (episode, pinned) =>
      z.boolean().parse(await request({ command: 'pin', who, episode, pinned })),
    close: () => void socket.destroy(),
  };
}

function settle(waiting: Map<number, Waiting>, line: string): void {
  let reply: z.infer<typeof controlReplySchema>;
  try {
    reply = controlReplySchema.parse(JSON.parse(line));
  } catch {
    // A reply that cannot be read leaves its request to the timeout.
    return;
  }
  const entry = reply.id === null ? undefined : waiting.get(reply.id);
  if (reply.id === null || entry === undefined) return;
  waiting.delete(reply.id);
  clearTimeout(entry.timer);
  if (reply.ok) entry.resolve(reply.result);
  else entry.reject(receivedError(reply.error));
}

async function openSocket(manifest: RunManifest): Promise<Socket> {
  return await new Promise<Socket>((resolve, reject) => {
    const socket = createConnection(manifest.socket);
    const fail = (reason: string): void => {
      socket.destroy();
      reject(notLive(manifest.id, reason));
    };
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => fail('its control socket does not answer'));
    socket.once('error', (error) => fail(errorText(error)));
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

function notLive(id: string, reason: string): LabError {
  return new LabError('run-not-live', {
    message: `run ${id} does not answer: ${reason}`,
    hint: `start it again from its last checkpoint with: agentrl-lab resume ${id}`,
  });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
