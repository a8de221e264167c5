import { z } from 'zod';
import { ACTION_TYPES, type ActionType, ARGUMENT_TYPES, type ArgumentType } from './space.ts';

/**
 * The shape of the policy: agreed between trainer and workers, fixed for a run.
 *
 * An observation becomes `sentences` × `tokens` hashed words: the task line fills the first `taskSentences`, the newest
 * lines fill the rest, oldest first. Actions are one flat list: a block of argument slots for each type that takes an
 * argument, then one entry for each type that does not. The joint log-probability of an entry is
 * log p(type) + log p(argument | type), so a sampler draws once.
 */
export const policySpecSchema = z.strictObject({
  vocabulary: z.int().min(64).max(65536).default(4096),
  embedding: z.int().min(4).max(1024).default(64),
  hidden: z.int().min(4).max(2048).default(64),
  sentences: z.int().min(2).max(64).default(8),
  taskSentences: z.int().min(1).max(8).default(2),
  tokens: z.int().min(4).max(128).default(16),
  /** Most candidates an observation may offer for each type of action. */
  argumentSlots: z
    .strictObject({
      read: z.int().positive().max(256).default(6),
      select_tool: z.int().positive().max(256).default(6),
      input: z.int().positive().max(256).default(12),
    })
    .prefault({}),
});
export type PolicySpec = Readonly<z.infer<typeof policySpecSchema>>;

/** Hashed tokens that describe one candidate: see trainer/policy/tokenizer. */
export const CANDIDATE_TOKENS = 7;

export interface ActionLayout {
  /** Number of argument slots in all. */
  readonly slots: number;
  /** First flat index and length of the block of each type that takes an argument. */
  readonly blocks: Readonly<Record<ArgumentType, { readonly start: number; readonly length: number }>>;
  /** Flat index of each type that takes none. */
  readonly bare: Readonly<Record<Exclude<ActionType, ArgumentType>, number>>;
  /** Length of the flat list. */
  readonly size: number;
}

/** Where each action stands in the flat list. */
export function actionLayout(spec: PolicySpec): ActionLayout {
  let next = 0;
  const block = (type: ArgumentType): { start: number; length: number } => {
    const start = next;
    next += spec.argumentSlots[type];
    return { start, length: spec.argumentSlots[type] };
  };
  const blocks = { read: block('read'), select_tool: block('select_tool'), input: block('input') };
  const slots = next;
  return {
    slots,
    blocks,
    bare: { confirm: slots, submit: slots + 1, noop: slots + 2 },
    size: slots + ACTION_TYPES.length - ARGUMENT_TYPES.length,
  };
}
