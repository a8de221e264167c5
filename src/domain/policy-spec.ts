import { z } from 'zod';
import { ACTION_TYPES, type ActionType, ARGUMENT_TYPES, type ArgumentType } from './space.ts';

/** What every policy has: how many candidates an observation may offer for each type of action. */
function argumentSlots(read: number, selectTool: number, input: number, minimum: 0 | 1) {
  const slots = (initial: number): z.ZodDefault<z.ZodInt> => z.int().min(minimum).max(256).default(initial);
  return z
    .strictObject({ read: slots(read), select_tool: slots(selectTool), input: slots(input) })
    .prefault({});
}

const textPolicySchema = z.strictObject({
  kind: z.literal('text').default('text'),
  vocabulary: z.int().min(64).max(65536).default(4096),
  embedding: z.int().min(4).max(1024).default(64),
  hidden: z.int().min(4).max(2048).default(64),
  sentences: z.int().min(2).max(64).default(8),
  taskSentences: z.int().min(1).max(8).default(2),
  tokens: z.int().min(4).max(128).default(16),
  argumentSlots: argumentSlots(6, 6, 12, 1),
});

const featuresPolicySchema = z.strictObject({
  kind: z.literal('features'),
  /** Numbers in one observation. */
  features: z.int().min(1).max(65536),
  /** Newest observations of the episode that the policy sees; 1 is the newest alone. */
  window: z.int().min(1).max(1024).default(1),
  /** How it reads them: `mlp` all at once, `gru` one after another. */
  network: z.enum(['mlp', 'gru']).default('mlp'),
  hidden: z.int().min(4).max(2048).default(64),
  argumentSlots: argumentSlots(0, 0, 4, 0),
});

/**
 * The shape of the policy: agreed between trainer and workers, fixed for a run.
 *
 * `text`: an observation becomes `sentences` × `tokens` hashed words: the task line fills the first `taskSentences`, the
 * newest lines fill the rest, oldest first. `features`: it is its numbers, with those of the `window` − 1 before it.
 *
 * Actions are one flat list: a block of argument slots for each type that takes an argument, then one entry for each type
 * that does not. A sampler draws once from the joint distribution over that list.
 */
export const policySpecSchema = z.discriminatedUnion('kind', [textPolicySchema, featuresPolicySchema]);
export type PolicySpec = Readonly<z.infer<typeof policySpecSchema>>;
export type TextPolicySpec = Readonly<z.infer<typeof textPolicySchema>>;
export type FeaturesPolicySpec = Readonly<z.infer<typeof featuresPolicySchema>>;

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

/** Name of a tensor that an observation can be encoded into. */
export type ObservationTensorName = 'tokens' | 'candidates' | 'features' | 'mask';

/** One of a policy's inputs. */
export interface ObservationTensor {
  readonly name: ObservationTensorName;
  /** Element type in messages and buffers of samples; models take u16 as i32 and u8 as f32. */
  readonly element: 'u8' | 'u16' | 'f32';
  /** Of one observation. */
  readonly shape: readonly number[];
  /** Elements of one observation. */
  readonly width: number;
  /** Bytes of one observation in a message. */
  readonly bytes: number;
}

const ELEMENT_BYTES = { u8: 1, u16: 2, f32: 4 } as const;

/**
 * What an observation is encoded into. `tokens` [sentences, tokens] · `candidates` [slots, CANDIDATE_TOKENS] · `features`
 * [window, features], oldest first, with one more number each that says 1 where there was an observation when the window is
 * longer than 1 · `mask` [A], 1 where the flat action is legal.
 */
export function observationTensors(spec: PolicySpec): readonly ObservationTensor[] {
  const { slots, size } = actionLayout(spec);
  const tensor = (
    name: ObservationTensorName,
    element: ObservationTensor['element'],
    ...shape: number[]
  ): ObservationTensor => {
    const width = shape.reduce((all, dim) => all * dim, 1);
    return { name, element, shape, width, bytes: ELEMENT_BYTES[element] * width };
  };
  const mask = tensor('mask', 'u8', size);
  if (spec.kind === 'text') {
    const candidates = tensor('candidates', 'u16', slots, CANDIDATE_TOKENS);
    return [tensor('tokens', 'u16', spec.sentences, spec.tokens), candidates, mask];
  }
  const numbers = spec.features + (spec.window > 1 ? 1 : 0);
  return [tensor('features', 'f32', spec.window, numbers), mask];
}
