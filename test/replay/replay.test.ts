import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Environment, EnvironmentDefinition, StepResult } from '../../envs/contract.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import { createRandom } from '../../src/domain/random.ts';
import { type Action, takesArgument } from '../../src/domain/space.ts';
import type { Execution, ExecutionRequest } from '../../src/protocol/replay.ts';
import { type Comparison, compareExecutions } from '../../src/replay/compare.ts';
import { executeEpisode } from '../../src/replay/execute.ts';

const TASK = { env: 'workbench', family: 'ordered', split: 'train', index: 3 } as const;

function request(actions: readonly Action[]): ExecutionRequest {
  const env = { name: 'workbench', options: {} };
  return {
    env,
    task: TASK,
    seed: 7,
    actions: [...actions],
    acting: null,
    calls: [],
    liveTools: false,
    rewards: DEFAULT_REWARDS,
    stepTimeoutMs: 200,
  };
}

/** What an agent that does anything legal did: a run of the environment that chooses as it goes. */
async function recorded(steps: number): Promise<Execution> {
  const random = createRandom(3);
  const actions: Action[] = [];
  for (let step = 0; step < steps; step++) {
    const soFar = await executeEpisode(workbench, request(actions));
    if (soFar.end?.terminated === true) break;
    // The offer after these actions is in the observation before the next one: ask with one more.
    const probe = await executeEpisode(workbench, request([...actions, { type: 'noop', argument: null }]));
    const { candidates = [] } = probe.steps.at(-1) ?? {};
    const arguable = candidates.filter(({ type }) => takesArgument(type));
    const pick = arguable[random.integer(Math.max(1, arguable.length))];
    actions.push(
      pick === undefined ? { type: 'noop', argument: null } : { type: pick.type, argument: pick.text },
    );
  }
  return await executeEpisode(workbench, request(actions));
}

/** The Workbench with its answers changed from step `from` on. */
function altered(
  change: (result: StepResult, step: number) => StepResult | Promise<StepResult>,
): EnvironmentDefinition {
  return {
    ...workbench,
    create: (options): Environment => {
      const inner = workbench.create(options);
      let step = 0;
      return {
        reset: (task, seed) => inner.reset(task, seed),
        step: (action) => {
          step++;
          const result = inner.step(action);
          if (result instanceof Promise) throw new Error('the Workbench answers at once here');
          return change(result, step);
        },
        getState: () => inner.getState(),
        fullReset: () => inner.fullReset(),
        close: () => inner.close(),
      };
    },
  };
}

async function replayed(change: Parameters<typeof altered>[0]): Promise<Comparison> {
  const record = await recorded(8);
  const actions = record.steps.map(({ action }) => action);
  return compareExecutions(record, await executeEpisode(altered(change), request(actions)));
}

function withLine(result: StepResult, row: number, change: (line: string) => string): StepResult {
  const lines = result.observation.lines.map((line, index) => (index === row ? change(line) : line));
  return { ...result, observation: { ...result.observation, lines } };
}

describe('an episode that is done again', () => {
  it('comes out the same, state and all', async () => {
    const record = await recorded(8);
    expect(record.steps).toHaveLength(8);
    const again = await executeEpisode(workbench, request(record.steps.map(({ action }) => action)));
    expect(again).toEqual(record);
    expect(again.steps.every(({ state }) => /^[0-9a-f]{16}$/u.test(state ?? ''))).toBe(true);
    expect(compareExecutions(record, again)).toEqual({
      verdict: 'identical',
      reason: 'the same, in 8 steps',
      differences: [],
      notes: [],
    });
  });

  it('has drifted where an observation says something else, and names the first such line', async () => {
    const { verdict, reason, differences } = await replayed((result, step) =>
      step >= 3 ? withLine(result, 0, (line) => `${line} twice`) : result,
    );
    expect(verdict).toBe('environment drift');
    expect(reason).toMatch(/^observation at step 4: "(.*)" became "\1 twice"$/u);
    expect(differences[0]?.step).toBe(4);
    // Every later observation differs too, the last one included.
    expect(differences.map(({ step }) => step)).toEqual([4, 5, 6, 7, 8, 9]);
  });

  it.each([
    ['blanks', (line: string) => `${line.replace(' ', '  ')} `],
    ['escape sequences', (line: string) => `\u200B${line}`],
  ])('differs cosmetically where only %s do', async (_what, change) => {
    const { verdict, differences } = await replayed((result) => withLine(result, 0, change));
    expect(verdict).toBe('cosmetic');
    expect(differences.length).toBeGreaterThan(0);
  });

  it('differs cosmetically where only times do, and not where other numbers do', async () => {
    const record = await recorded(3);
    const at = (text: string): Execution => ({ ...record, finalLines: [text] });
    const verdict = (before: string, after: string): string =>
      compareExecutions(at(before), at(after)).verdict;
    expect(verdict('done at 12:03:44 in 31 ms', 'done at 09:00:01 in 2.5 ms')).toBe('cosmetic');
    expect(verdict('saved 2026-11-30', 'saved 2026-12-01')).toBe('cosmetic');
    expect(verdict('3 files', '4 files')).toBe('environment drift');
    expect(verdict('one line', 'another line')).toBe('environment drift');
  });

  it('says what matters before what does not, though it comes later', async () => {
    const { verdict, reason } = await replayed((result, step) => {
      const blank = withLine(result, 0, (line) => `${line} `);
      return step === 5 ? { ...blank, effective: !blank.effective } : blank;
    });
    expect(verdict).toBe('environment drift');
    expect(reason).toMatch(/^effect at step 5: (?:an|no) effect became (?:an|no) effect$/u);
  });

  it('has drifted where it is paid otherwise', async () => {
    const { verdict, differences } = await replayed((result, step) =>
      step === 2 ? { ...result, components: { ...result.components, progress: 5 } } : result,
    );
    expect(verdict).toBe('environment drift');
    expect(differences.map(({ kind }) => kind)).toEqual(['reward']);
    expect(differences[0]?.executed).toMatch(/progress/u);
  });

  it('has drifted where other arguments are on offer', async () => {
    const { differences } = await replayed((result, step) => {
      const { candidates } = result.observation;
      const fewer = { ...result.observation, candidates: candidates.slice(1) };
      return step === 1 && candidates.length > 0 ? { ...result, observation: fewer } : result;
    });
    expect(differences.map(({ kind, step }) => [kind, step])).toEqual([['candidates', 2]]);
  });

  it('has drifted where it ends earlier', async () => {
    const { verdict, reason } = await replayed((result, step) =>
      step === 4 ? { ...result, terminated: true, success: true, failure: null } : result,
    );
    expect(verdict).toBe('environment drift');
    expect(reason).toBe('length at step 5: 8 steps became the end after 4');
  });

  it('has drifted where it ends otherwise', async () => {
    const { reason } = await replayed((result, step) =>
      step === 8 ? { ...result, terminated: true, success: false, failure: 'gave_up' } : result,
    );
    expect(reason).toBe('end at step 9: no end became gave_up');
  });

  it('is broken where the environment throws, hangs, or refuses the task', async () => {
    const throws = await replayed((result, step) => {
      if (step === 3) throw new Error('the disk is gone');
      return result;
    });
    expect(throws).toMatchObject({
      verdict: 'broken',
      reason: 'the environment failed in step at step 3: the disk is gone',
    });
    const hangs = await replayed(async (result, step) => {
      if (step === 2) await wait(60_000, null, { ref: false });
      return result;
    });
    expect(hangs.reason).toBe(
      'the environment failed in step at step 2: no answer from the environment within 200 ms',
    );
    const lost = await executeEpisode(workbench, { ...request([]), task: { ...TASK, family: 'none' } });
    expect(lost.broken?.stage).toBe('task');
  });

  it('of a void record is compared as far as that goes', async () => {
    const record = await recorded(4);
    const actions = record.steps.map(({ action }) => action);
    const comparison = compareExecutions(
      { ...record, end: null },
      await executeEpisode(workbench, request(actions)),
    );
    expect(comparison.reason).toBe('the same as far as it is recorded, in 4 steps');
  });
});
