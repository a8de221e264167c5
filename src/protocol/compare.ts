import { z } from 'zod';
import { failureSchema } from './failure.ts';
import { helloSchema } from './version.ts';

/**
 * What an execution came to beside the record. `identical`: the same, step by step · `cosmetic`: texts differ in blanks,
 * invisible characters, dates and times only, and nothing else does · of the rest, by what differed first: `environment drift`:
 * the environment answered differently · `tool drift`: a tool came to something else · `policy drift`: the policy took another
 * action · `broken`: the environment threw, hung or ended its process where it had not.
 */
export const VERDICTS = [
  'identical',
  'cosmetic',
  'environment drift',
  'tool drift',
  'policy drift',
  'broken',
] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Two stored episodes of a run, or one and what it comes to when it is done again. */
const questionSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('episodes'), left: z.string(), right: z.string() }),
  z.object({ kind: z.literal('again'), id: z.string(), mode: z.enum(['actions', 'policy']) }),
]);
export type ComparisonQuestion = Readonly<z.infer<typeof questionSchema>>;

/**
 * Screen → the process that compares long episodes: one question. It stands apart because reading hundreds of thousands of steps
 * takes seconds and much memory, and so that it can be given up.
 */
export const toComparerSchema = z.object({
  type: z.literal('compare'),
  /** The runs directory, and a run in it. */
  runs: z.string(),
  run: z.string(),
  question: questionSchema,
});
export type ToComparer = Readonly<z.infer<typeof toComparerSchema>>;

export const fromComparerSchema = z.discriminatedUnion('type', [
  helloSchema,
  /** The next rows, as attachments `packed` and `same` (src/replay/aligned-rows.ts); so many of all steps are compared. */
  z.object({ type: z.literal('rows'), step: z.int().nonnegative(), of: z.int().nonnegative() }),
  /** All rows were sent. */
  z.object({
    type: z.literal('compared'),
    outcome: z
      .object({
        verdict: z.enum(VERDICTS),
        reason: z.string(),
        notes: z.array(z.string()),
      })
      .nullable(),
  }),
  failureSchema,
]);
export type FromComparer = Readonly<z.infer<typeof fromComparerSchema>>;
