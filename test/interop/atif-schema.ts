import { z } from 'zod';

/**
 * ATIF-v1.7, RFC 0001 of the Harbor framework (https://harborframework.com/docs/trajectory-format), with all that its reference
 * models check: unknown fields are refused, some belong to agents alone, references can be resolved.
 */
const extra = z.record(z.string(), z.unknown()).optional();
const count = z.int().nonnegative().optional();

const content = z.union([
  z.string(),
  z.array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text'), text: z.string() }),
      z.strictObject({
        type: z.literal('image'),
        source: z.strictObject({
          media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
          path: z.string(),
        }),
      }),
    ]),
  ),
]);

const toolCall = z.strictObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  extra,
});

/** A session is a run, not a document: it alone names no trajectory. */
const subagentRef = z
  .strictObject({
    trajectory_id: z.string().optional(),
    session_id: z.string().optional(),
    trajectory_path: z.string().optional(),
    extra,
  })
  .refine(({ trajectory_id: id, trajectory_path: path }) => id !== undefined || path !== undefined);

const observation = z.strictObject({
  results: z.array(
    z.strictObject({
      source_call_id: z.string().optional(),
      content: content.optional(),
      subagent_trajectory_ref: z.array(subagentRef).optional(),
      extra,
    }),
  ),
});

const metrics = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  cost_usd: z.number().optional(),
  prompt_token_ids: z.array(z.int()).optional(),
  completion_token_ids: z.array(z.int()).optional(),
  logprobs: z.array(z.number()).optional(),
  extra,
});

const shared = {
  step_id: z.int().positive(),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  message: content,
  observation: observation.optional(),
  is_copied_context: z.boolean().optional(),
  llm_call_count: count,
  extra,
};
/** Only an agent's step has these. */
const agentOnly = {
  model_name: z.string().optional(),
  reasoning_effort: z.union([z.string(), z.number()]).optional(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(toolCall).optional(),
  metrics: metrics.optional(),
};
const step = z.discriminatedUnion('source', [
  z.strictObject({ ...shared, source: z.literal('system') }),
  z.strictObject({ ...shared, source: z.literal('user') }),
  z.strictObject({ ...shared, source: z.literal('agent'), ...agentOnly }),
]);
type Step = z.infer<typeof step>;

const trajectory = z.strictObject({
  schema_version: z.literal('ATIF-v1.7'),
  session_id: z.string().optional(),
  trajectory_id: z.string().optional(),
  agent: z.strictObject({
    name: z.string(),
    version: z.string(),
    model_name: z.string().optional(),
    tool_definitions: z.array(z.record(z.string(), z.unknown())).optional(),
    extra,
  }),
  steps: z.array(step).min(1),
  notes: z.string().optional(),
  final_metrics: z
    .strictObject({
      total_prompt_tokens: count,
      total_completion_tokens: count,
      total_cached_tokens: count,
      total_cost_usd: z.number().optional(),
      total_steps: count,
      extra,
    })
    .optional(),
  continued_trajectory_ref: z.string().optional(),
  extra,
  get subagent_trajectories() {
    return z.array(trajectory).optional();
  },
});
type Trajectory = z.infer<typeof trajectory>;

/** What is wrong with a step at a place, from 0. */
function stepProblems(one: Step, index: number): string[] {
  const calls = one.source === 'agent' ? (one.tool_calls ?? []) : [];
  const known = new Set(calls.map(({ tool_call_id: id }) => id));
  const sources = (one.observation?.results ?? []).flatMap(({ source_call_id: source }) => source ?? []);
  const isSilent = one.source === 'agent' && one.llm_call_count === 0;
  return [
    ...(one.step_id === index + 1 ? [] : [`step ${index + 1} is numbered ${one.step_id}`]),
    ...(known.size === calls.length ? [] : [`step ${index + 1} has two calls of one id`]),
    ...sources
      .filter((source) => !known.has(source))
      .map((source) => `step ${index + 1} has no call ${source}`),
    ...(isSilent && (one.metrics ?? one.reasoning_content) !== undefined
      ? [`step ${index + 1} asked no model and has its metrics`]
      : []),
  ];
}

function problemsOf({ steps, subagent_trajectories: subagents = [], ...rest }: Trajectory): string[] {
  const ids = subagents.map(({ trajectory_id: id }) => id);
  const total = rest.final_metrics?.total_steps;
  return [
    ...steps.flatMap(stepProblems),
    ...(ids.includes(undefined) || new Set(ids).size < ids.length ? ['subagents need ids of their own'] : []),
    // Another number would have to be explained.
    ...(total === undefined || total === steps.length || rest.notes !== undefined
      ? []
      : [`${total} steps in all, and ${steps.length} are there`]),
    ...subagents.flatMap(problemsOf),
  ];
}

export const atifSchema = trajectory.superRefine((document, context) => {
  for (const message of problemsOf(document)) context.addIssue({ code: 'custom', message });
});
