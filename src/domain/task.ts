import { z } from 'zod';

/** `held_out` tasks share neither seeds nor vocabulary with training tasks. */
export const SPLITS = ['train', 'held_out'] as const;
export type Split = (typeof SPLITS)[number];

/** Names a task without its content: what the scheduler hands out. */
export const taskRefSchema = z.object({
  env: z.string(),
  family: z.string(),
  split: z.enum(SPLITS),
  /** Number of the task within its family and split, from 0. */
  index: z.int().nonnegative(),
});
export type TaskRef = Readonly<z.infer<typeof taskRefSchema>>;

/** A task: its reference plus what the environment made of it. */
export interface Task extends TaskRef {
  /** Seed from which the task's content was generated. */
  readonly seed: number;
  /** 1 (easy) upwards; within a family, or across families where the environment says so. */
  readonly difficulty: number;
  /** What else there is to say of the task, in words to group by; at most 16, each of at most 64 characters. */
  readonly tags?: readonly string[];
  /** What the agent is asked to do, one line. */
  readonly text: string;
  /** Whatever the environment needs to set the task up; plain JSON. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** Names of the agents of an episode that has several. */
const agentsSchema = z
  .array(z.string().min(1).max(64))
  .min(2)
  .max(8)
  .refine((names) => new Set(names).size === names.length, 'two agents have the same name');

/** What an environment offers, announced by workers: the run process itself never loads an environment. */
export const catalogSchema = z.object({
  env: z.string(),
  version: z.string(),
  maxSteps: z.int().positive(),
  /** The task is to last: an episode that is cut short after `maxSteps` steps or more has succeeded. */
  lasting: z.boolean().optional(),
  /** Its episodes have these agents, who act one at a time; absent: one agent, without a name. */
  agents: agentsSchema.optional(),
  families: z
    .array(z.object({ name: z.string(), train: z.int().nonnegative(), heldOut: z.int().nonnegative() }))
    .min(1),
});
export type Catalog = Readonly<z.infer<typeof catalogSchema>>;

/** `workbench/move_rename/train/17`. */
export function formatTaskRef(ref: TaskRef): string {
  return `${ref.env}/${ref.family}/${ref.split}/${ref.index}`;
}
