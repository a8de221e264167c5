import { z } from 'zod';
import { knobNameSchema } from '../domain/knob.ts';
import { MOST_SLOTS } from '../domain/slot-limit.ts';
import { sentErrorSchema } from './failure.ts';

/** What can be done with a worker that is there. */
export const WORKER_ACTIONS = ['drain', 'undrain', 'restart', 'remove'] as const;
export type WorkerAction = (typeof WORKER_ACTIONS)[number];

/** Client → run process, one JSON object a line on the control socket. `who` is recorded: `user@host`. */
export const controlRequestSchema = z.discriminatedUnion('command', [
  z.object({ id: z.int(), command: z.literal('status') }),
  /** What is in every slot of every worker, or of those with these numbers. */
  z.object({ id: z.int(), command: z.literal('slots'), workers: z.array(z.int().nonnegative()).optional() }),
  /** `now`: every slot stays where it is; `quiesce`: nothing in flight, and all of it in a checkpoint. */
  z.object({
    id: z.int(),
    command: z.literal('pause'),
    who: z.string(),
    now: z.boolean(),
    quiesce: z.boolean().default(false),
  }),
  z.object({ id: z.int(), command: z.literal('resume'), who: z.string() }),
  z.object({ id: z.int(), command: z.literal('stop'), who: z.string() }),
  z.object({
    id: z.int(),
    command: z.literal('set'),
    who: z.string(),
    knobs: z.partialRecord(knobNameSchema, z.number()),
  }),
  /** Lets the config's schedule move knobs again that somebody has turned. */
  z.object({
    id: z.int(),
    command: z.literal('schedule'),
    who: z.string(),
    knobs: z.array(knobNameSchema).min(1),
  }),
  /** Puts the newest change of a knob by a person back. */
  z.object({ id: z.int(), command: z.literal('undo'), who: z.string() }),
  /** What knobs would do, without turning them. */
  z.object({
    id: z.int(),
    command: z.literal('preview'),
    knobs: z.partialRecord(knobNameSchema, z.number()),
  }),
  z.object({ id: z.int(), command: z.literal('checkpoint'), who: z.string() }),
  /**
   * What shall become of workers: `drain` gives them no new episodes, `undrain` gives them some again, `restart` starts them anew
   * and `remove` ends them for good, both when what they have is finished, or with `now` at once. A target is a worker's number
   * or name, or a host for all of its workers.
   */
  z.object({
    id: z.int(),
    command: z.literal('workers'),
    who: z.string(),
    action: z.enum(WORKER_ACTIONS),
    targets: z.array(z.string()).min(1),
    now: z.boolean(),
  }),
  /** Another worker on a host, with so many slots; null: as many as the others have. */
  z.object({
    id: z.int(),
    command: z.literal('add_worker'),
    who: z.string(),
    host: z.string(),
    slots: z.int().positive().max(MOST_SLOTS).nullable(),
  }),
  /** Keeps the steps of an episode whatever the budget, or lets it go again. */
  z.object({
    id: z.int(),
    command: z.literal('pin'),
    who: z.string(),
    episode: z.string(),
    pinned: z.boolean(),
  }),
]);
export type ControlRequest = Readonly<z.infer<typeof controlRequestSchema>>;

/** Run process → client. */
export const controlReplySchema = z.discriminatedUnion('ok', [
  z.object({ id: z.int(), ok: z.literal(true), result: z.unknown() }),
  z.object({
    id: z.int().nullable(),
    ok: z.literal(false),
    error: sentErrorSchema,
  }),
]);
export type ControlReply = Readonly<z.infer<typeof controlReplySchema>>;
