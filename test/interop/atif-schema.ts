import { z } from 'zod';

/**
 * ATIF-v1.7 as RFC 0001 of the Harbor framework states it (https://harborframework.com/docs/trajectory-format), as far as text
 * goes: no images, no subagents. Unknown fields are refused, as the reference models do.
 */
const extra = z.record(z.string(), z.unknown()).optional();
const count = z.int().nonnegative().optional();

const toolCall = z.strictObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  extra,
});
const observation = z.strictObject({
  results: z.array(
    z.strictObject({ source_call_id: z.string().optional(), content: z.string().optional(), extra }),
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
  message: z.string(),
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

export const atifSchema = z
  .strictObject({
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
  })
  .superRefine(({ steps }, context) => {
    for (const [index, one] of steps.entries()) {
      if (one.step_id !== index + 1) {
        context.addIssue({ code: 'custom', path: ['steps', index, 'step_id'], message: 'counts from 1' });
      }
      const calls = one.source === 'agent' ? (one.tool_calls ?? []) : [];
      for (const { source_call_id: source } of one.observation?.results ?? []) {
        if (source === undefined || calls.some(({ tool_call_id: id }) => id === source)) continue;
        context.addIssue({ code: 'custom', path: ['steps', index], message: `no call ${source}` });
      }
    }
  });
