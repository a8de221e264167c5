import { z } from 'zod';

/** Everything an agent can do. The first three take an argument, chosen among the observation's candidates. */
export const ACTION_TYPES = ['read', 'select_tool', 'input', 'confirm', 'submit', 'noop'] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

export const ARGUMENT_TYPES = ['read', 'select_tool', 'input'] as const satisfies readonly ActionType[];
export type ArgumentType = (typeof ARGUMENT_TYPES)[number];

/** Whether an action of this type needs an argument. */
export function takesArgument(type: ActionType): type is ArgumentType {
  return type === 'read' || type === 'select_tool' || type === 'input';
}

export const candidateSchema = z.object({
  type: z.enum(ARGUMENT_TYPES),
  /** What the agent would pass, and what is searched for in the observation's lines. */
  text: z.string(),
  /** What sort of thing it is: `file`, `directory`, `tool`, `value`, … */
  kind: z.string(),
});
export type Candidate = Readonly<z.infer<typeof candidateSchema>>;

/** What the agent sees before a step. */
export interface Observation {
  /** One sentence a line: first the task, then the state of the screen, then the last turns, oldest first. */
  readonly lines: readonly string[];
  readonly legal: readonly ActionType[];
  /** Legal arguments of the legal types that take one. */
  readonly candidates: readonly Candidate[];
  /** Numeric features, for environments that have them. */
  readonly features?: readonly number[];
  /** Who sees it, and acts next: one of the catalog's `agents`. Absent where an episode has one agent. */
  readonly agent?: string;
}

export const actionSchema = z.object({
  type: z.enum(ACTION_TYPES),
  argument: z.string().nullable(),
});
export type Action = Readonly<z.infer<typeof actionSchema>>;

/** `input "notes.txt"`, `confirm`. */
export function formatAction(action: Action): string {
  return action.argument === null ? action.type : `${action.type} "${action.argument}"`;
}
