import { z } from 'zod';
import { ERROR_CODES } from '../domain/error.ts';
import { knobNameSchema } from '../domain/knob.ts';

/** Client → run process, one JSON object a line on the control socket. `who` is recorded: `user@host`. */
export const controlRequestSchema = z.discriminatedUnion('command', [
  z.object({ id: z.int(), command: z.literal('status') }),
  /** What is in every slot of every worker. */
  z.object({ id: z.int(), command: z.literal('slots') }),
  z.object({ id: z.int(), command: z.literal('pause'), who: z.string(), now: z.boolean() }),
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
    error: z.object({ code: z.enum(ERROR_CODES), message: z.string(), hint: z.string().nullable() }),
  }),
]);
export type ControlReply = Readonly<z.infer<typeof controlReplySchema>>;
