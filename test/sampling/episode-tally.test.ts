import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { EnvironmentDefinition, StepResult } from '../../envs/contract.ts';
import { type EpisodeSummary, episodeSummarySchema } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { Observation } from '../../src/domain/space.ts';
import type { ToolUse } from '../../src/domain/tool.ts';
import { EpisodeTally } from '../../src/sampling/episode-tally.ts';
import type { SampleRow } from '../../src/sampling/sample-buffer.ts';
import { Slot } from '../../src/sampling/slot.ts';
import { createObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import { episodeSummary } from '../support/summary.ts';
import { settingsOf } from '../support/worker-settings.ts';

const OBSERVATION: Observation = { lines: ['task wait'], legal: ['noop'], candidates: [] };

/** An environment whose n-th step runs the n-th tool, and which ends after the last. */
function definitionOf(
  uses: readonly (ToolUse | undefined)[],
  tags: readonly string[] | undefined,
  latencyMs: number,
): EnvironmentDefinition {
  return {
    catalog: { env: 'tools', version: '1', maxSteps: 10, families: [{ name: 'only', train: 1, heldOut: 1 }] },
    createTask: (ref) => ({
      ...ref,
      seed: 1,
      difficulty: 1,
      text: 'wait',
      params: {},
      ...(tags && { tags }),
    }),
    create: () => {
      let taken = 0;
      return {
        reset: () => OBSERVATION,
        step: () => {
          const tool = uses[taken++];
          const result: StepResult = {
            observation: OBSERVATION,
            components: {},
            terminated: taken === uses.length,
            success: taken === uses.length,
            failure: null,
            effective: true,
            tool,
          };
          return latencyMs === 0 ? result : wait(latencyMs, result);
        },
        getState: () => taken,
        fullReset: () => undefined,
        close: () => undefined,
      };
    },
  };
}

async function play(
  uses: readonly (ToolUse | undefined)[],
  options: { readonly tags?: readonly string[]; readonly latencyMs?: number; readonly paceMs?: number } = {},
): Promise<EpisodeSummary> {
  const policy = policySpecSchema.parse({ kind: 'text' });
  const layout = actionLayout(policy);
  let summary: EpisodeSummary | null = null;
  const slot = new Slot(
    {
      settings: settingsOf({
        host: 'here',
        env: { name: 'tools', options: {} },
        policy,
        maxSteps: 10,
        stepTimeoutMs: 10_000,
        episodeTimeoutMs: 100_000,
      }),
      definition: definitionOf(uses, options.tags, options.latencyMs ?? 0),
      layout,
      lifeline: { begin: () => undefined, end: () => undefined },
      stepPace: { ms: options.paceMs ?? 0 },
      onFinished: (_slot, episode) => (summary = episode.summary),
      onReady: () => undefined,
    },
    0,
  );
  const task = { env: 'tools', family: 'only', split: 'held_out', index: 0 } as const;
  slot.begin({ id: episodeId(1), task, seed: 1, phase: 'eval', mode: 'sampled', iteration: 1, attempt: 1 });
  const row: SampleRow = {
    row: 0,
    observations: createObservationArrays(policy, 1),
    logProbabilities: new Float32Array(layout.size),
    action: 0,
    value: 0,
    policyVersion: 1,
  };
  for (let step = 0; step < uses.length; step++) {
    await expect.poll(() => slot.state).toBe('ready');
    slot.act(
      {
        action: { type: 'noop', argument: null },
        probability: 1,
        value: 0,
        entropy: 0,
        policyVersion: 1,
      },
      row,
    );
  }
  await expect.poll(() => summary).not.toBeNull();
  return episodeSummarySchema.parse(summary);
}

test('tools are counted, all together and by name, with their lengths where they are known', async () => {
  const uses = [
    { name: 'move', ok: true },
    undefined,
    { name: 'search', ok: false, ms: 1.5 },
    { name: 'search', ok: true, ms: 2 },
  ];
  const { tools, tags } = await play(uses, { tags: ['reading', 'long'] });
  expect(tools).toEqual({
    calls: 3,
    failed: 1,
    byName: { move: { calls: 1, failed: 0 }, search: { calls: 2, failed: 1, ms: 3.5 } },
  });
  expect(tags).toEqual(['reading', 'long']);
});

test('an episode of many tools names the first 32 of them, and counts all', () => {
  const tally = new EpisodeTally();
  tally.begin();
  for (let n = 0; n < 40; n++) tally.tool({ name: `tool ${n}`, ok: false });
  tally.tool({ name: 'tool 3', ok: true });
  const { calls, failed, byName } = tally.tools();
  expect({ calls, failed, names: Object.keys(byName).length }).toEqual({ calls: 41, failed: 40, names: 32 });
  expect(byName['tool 3']).toEqual({ calls: 2, failed: 1 });
  tally.begin();
  expect(tally.tools()).toEqual({ calls: 0, failed: 0, byName: {} });
});

test('stages: answers that are waited for are in the step, those given at once at the pace of the slice', async () => {
  const waited = await play([undefined, undefined], { latencyMs: 30 });
  expect(waited.stages.stepMs).toBeGreaterThanOrEqual(58);
  const { stages } = await play([undefined, undefined, undefined], { paceMs: 0.25 });
  expect(stages.stepMs).toBe(0.75);
  expect(stages.resetMs).toBeGreaterThanOrEqual(0);
});

test.each<[string, unknown]>([
  ['a tool without a name', { ok: true }],
  ['a tool that neither worked nor failed', { name: 'move', ok: 'yes' }],
  ['a length below 0', { name: 'move', ok: true, ms: -1 }],
  ['a tool that is a word', 'move'],
])('%s fails the episode, with the reason', async (_, tool) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the types forbid, modules of users do
  const summary = await play([tool as ToolUse]);
  expect(summary).toMatchObject({ failure: 'env_crash', trust: 'void' });
  expect(summary.failureDetail).toMatch(/as tool|as name|as ok|as ms|of a step/u);
});

test.each<[string, unknown]>([
  ['no list', 'reading'],
  ['a tag that is a number', [1]],
  ['too many', Array.from({ length: 17 }, () => 'tag')],
  ['a tag that is too long', ['x'.repeat(65)]],
])('tags that are %s fail the episode', async (_, tags) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the types forbid, modules of users do
  const summary = await play([], { tags: tags as string[] });
  expect(summary).toMatchObject({ failure: 'env_crash', tags: [] });
  expect(summary.failureDetail).toContain('tags of createTask');
});

test('a summary of before has none of it', () => {
  const { tags: _tags, tools: _tools, stages: _stages, ...before } = episodeSummary();
  const { tags, tools, stages } = episodeSummarySchema.parse(before);
  expect({ tags, tools, stages }).toEqual({
    tags: [],
    tools: { calls: 0, failed: 0, byName: {} },
    stages: { resetMs: 0, stepMs: 0, inferenceMs: 0 },
  });
});
