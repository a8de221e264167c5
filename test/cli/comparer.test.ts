import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findEnvironment } from '../../envs/registry.ts';
import { compareApart } from '../../src/cli/comparer.ts';
import { replayGround, requestOf } from '../../src/cli/reexecute.ts';
import type { EpisodeBody } from '../../src/domain/episode.ts';
import type { Execution } from '../../src/protocol/replay.ts';
import { executeEpisode } from '../../src/replay/execute.ts';
import type { ComparisonQuestion, LongComparison } from '../../src/replay/long-comparison.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { summaryOf, type TemporaryRuns, temporaryRuns } from '../store/fixture.ts';

const STEPS = 6000;
const CHANGED = 4500;

let runs: TemporaryRuns;

/** An environment that goes on and on. */
const WALK = `
const LOOK = (at) => ({ lines: ['task walk on', 'at ' + at], legal: ['noop', 'confirm'], candidates: [] });
export const environment = {
  catalog: { env: 'walk', version: '1', maxSteps: ${STEPS}, families: [{ name: 'on', train: 10, heldOut: 10 }] },
  createTask: (ref) => ({ ...ref, seed: 1, difficulty: 1, text: 'walk on', params: {} }),
  create: () => {
    let at = 0;
    return {
      reset: () => LOOK((at = 0)),
      step: (action) => {
        at += action.type === 'noop' ? 0 : 1;
        return { observation: LOOK(at), components: {}, terminated: false, success: false, failure: null, effective: true };
      },
      getState: () => ({ at }), fullReset: () => undefined, close: () => undefined,
    };
  },
};`;

/** The record of an execution in which one line of one step was another, unless that is null. */
function bodyOf({ steps, finalLines }: Execution, changed: number | null): EpisodeBody {
  const lines = new Map<string, number>();
  const place = (text: string): number => {
    const known = lines.get(text) ?? lines.size;
    lines.set(text, known);
    return known;
  };
  const body = steps.map((step, index) => ({
    observation: step.lines.map((line, row) => place(index === changed && row === 1 ? 'nowhere' : line)),
    candidates: 0,
    action: step.action,
    probability: 0.5,
    value: 0,
    entropy: 1,
    policyVersion: 1,
    effective: step.effective,
    reward: step.reward,
    parts: step.parts,
  }));
  const finalObservation = (finalLines ?? []).map(place);
  return { lines: [...lines.keys()], candidateSets: [[]], steps: body, finalObservation };
}

beforeAll(async () => {
  runs = temporaryRuns();
  const paths = runs.run();
  const module = join(runs.directory, 'walk.mjs');
  writeFileSync(module, WALK);
  writeFileSync(paths.config, `env: { name: ${JSON.stringify(module)} }\n`);
  const task = { env: 'walk', family: 'on', split: 'train', index: 1 } as const;
  const change = { task, steps: STEPS, terminated: false, truncated: true, success: false } as const;
  const summary = (sequence: number): ReturnType<typeof summaryOf> =>
    summaryOf(sequence, { ...change, failure: 'max_steps' });
  const actions = Array.from({ length: STEPS }, (_, step) => ({
    type: step % 3 === 0 ? ('noop' as const) : ('confirm' as const),
    argument: null,
  }));
  const empty: EpisodeBody = { lines: [], candidateSets: [], steps: [], finalObservation: [] };
  const request = requestOf({ summary: summary(1), body: empty }, replayGround(paths), 'actions');
  const execution = await executeEpisode(await findEnvironment(module), { ...request, actions });
  const store = openRunStore(paths);
  for (const [index, changed] of [null, CHANGED].entries()) {
    const body = Buffer.from(JSON.stringify(bodyOf(execution, changed)));
    store.appendEpisodes([{ summary: summary(index + 1), body }]);
  }
  store.close();
});

afterAll(() => runs.remove());

async function compared(
  question: ComparisonQuestion,
  onProgress: (step: number, of: number) => void = () => undefined,
  signal = new AbortController().signal,
): Promise<LongComparison | null> {
  return await compareApart(runs.directory, 'run', question, { onProgress, signal });
}

describe('long episodes compared in a process of their own', () => {
  it('are told of while they are read, and show where they differ', async () => {
    const told: number[] = [];
    const found = await compared({ kind: 'episodes', left: 'e1', right: 'e2' }, (step, of) => {
      told.push(step);
      expect(of).toBe(STEPS);
    });
    expect(told.length).toBeGreaterThan(3);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(told.at(-1)).toBe(STEPS);
    expect(found?.outcome).toBeNull();
    const first = found?.rows.nextDifferent(-1, 1) ?? -1;
    expect(found?.rows.row(first)).toMatchObject({ step: CHANGED + 1, kind: 'sees', right: 'nowhere' });
  });

  it('may be an episode and what it comes to now', async () => {
    const other = await compared({ kind: 'again', id: 'e2', mode: 'actions' });
    expect(other?.outcome).toMatchObject({
      verdict: 'environment drift',
      reason: expect.stringContaining(`observation at step ${CHANGED + 1}: "nowhere" became`),
    });
    expect(other?.rows.differences).toBeGreaterThan(0);
  });

  it('are given up in the middle, or before they begin', async () => {
    const giveUp = new AbortController();
    let told = 0;
    const onProgress = (): void => {
      told += 1;
      giveUp.abort();
    };
    expect(
      await compared({ kind: 'episodes', left: 'e1', right: 'e2' }, onProgress, giveUp.signal),
    ).toBeNull();
    expect(told).toBe(1);
    const again = { kind: 'again', id: 'e1', mode: 'actions' } as const;
    expect(await compared(again, onProgress, giveUp.signal)).toBeNull();
  });

  it('say what is wrong with one', async () => {
    await expect(compared({ kind: 'episodes', left: 'e1', right: 'e9' })).rejects.toMatchObject({
      code: 'episode-not-found',
      message: 'no episode "e9": there are e1 to e2',
    });
  });
});
