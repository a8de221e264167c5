import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { workbench } from '../../envs/workbench/definition.ts';
import { type EpisodeBody, resolveLines } from '../../src/domain/episode.ts';
import { deriveSeed } from '../../src/domain/random.ts';
import { PENALTIES } from '../../src/rewards/penalties.ts';
import type { StoredEpisode } from '../../src/store/queries.ts';
import { Lab, LabRun, TINY } from '../support/lab-run.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/** Runs to the end, and gives every episode that was stored. */
async function finished(config: object): Promise<{ run: LabRun; episodes: StoredEpisode[] }> {
  const file = lab.write('lab.yaml', config);
  const before = new Set(readdirSync(lab.runs));
  const { code, stderr } = await lab.cli('run', file, '--headless');
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const id = readdirSync(lab.runs).find((name) => !before.has(name))!;
  const run = new LabRun(lab, id);
  const episodes = run.read((reader) => run.episodes('').map(({ id: each }) => reader.episode(each)));
  return { run, episodes };
}

/** Of every episode by its id: all but the clock. */
function hashes(episodes: readonly StoredEpisode[]): Map<string, string> {
  return new Map(
    episodes.map(({ summary, body }) => {
      const { startedAt: _startedAt, wallMs: _wallMs, stages: _stages, ...rest } = summary;
      return [
        summary.id,
        createHash('sha256')
          .update(JSON.stringify([rest, body]))
          .digest('hex'),
      ];
    }),
  );
}

/** Newest weights of a run. */
function weights({ paths }: LabRun): Buffer {
  const newest = readdirSync(paths.checkpoints)
    .filter((name) => name.startsWith('it-'))
    .toSorted()
    .at(-1)!;
  return readFileSync(join(paths.checkpoints, newest, 'weights.f32'));
}

const ALONE = {
  ...TINY,
  sampling: { slots: 24, slice: 10, batchSteps: 384, overlap: false },
  trainer: { threads: 2 },
  stop: { minutes: null, iterations: 4 },
  hosts: [{ name: 'local', workers: 1 }],
};

it('two runs of one seed with one worker are the same: every episode, every evaluation, the weights', async () => {
  const first = await finished(ALONE);
  const second = await finished(ALONE);
  expect(first.episodes.length).toBeGreaterThan(100);
  // Episodes that began under one policy and ended under another: where the trainer came in counts too.
  expect(first.episodes.some(({ summary }) => summary.firstPolicyVersion < summary.policyVersion)).toBe(true);
  expect(hashes(second.episodes)).toEqual(hashes(first.episodes));
  const evaluations = [first, second].map(({ run }) => run.read((reader) => reader.evaluations()));
  expect(evaluations[0]).not.toEqual([]);
  expect(evaluations[1]).toEqual(evaluations[0]);
  expect(weights(second.run).equals(weights(first.run))).toBe(true);
  const other = await finished({ ...ALONE, seed: 2, stop: { minutes: null, iterations: 1 } });
  const known = new Set(hashes(first.episodes).values());
  expect([...hashes(other.episodes).values()].filter((hash) => known.has(hash))).toEqual([]);
});

it('with many workers each episode is what its task, seed and actions make of a new environment', async () => {
  const { episodes } = await finished({ ...TINY, stop: { minutes: null, iterations: 3 } });
  const played = episodes.filter(({ summary }) => summary.trust === 'valid');
  expect(new Set(played.map(({ summary }) => summary.worker)).size).toBe(2);
  expect(played.length).toBeGreaterThan(100);
  for (const { summary, body } of played) {
    expect({ id: summary.id, ...(await again(summary, body)) }).toEqual({ id: summary.id, ...stored(body) });
  }
});

/** What a stored episode shows of its environment. */
function stored(body: EpisodeBody) {
  return {
    seen: [...body.steps.map(({ observation }) => observation), body.finalObservation].map((indices) =>
      resolveLines(body, indices),
    ),
    candidates: body.steps.map(({ candidates }) => body.candidateSets[candidates]),
    effective: body.steps.map(({ effective }) => effective),
    components: body.steps.map(({ parts }) =>
      Object.fromEntries(parts.filter(({ name }) => !isPenalty(name)).map(({ name, raw }) => [name, raw])),
    ),
  };
}

/** The same of its actions taken again. */
async function again({ task, seed }: StoredEpisode['summary'], body: EpisodeBody) {
  const environment = workbench.create({});
  let observation = await environment.reset(workbench.createTask(task), deriveSeed(seed, 'environment'));
  const result: ReturnType<typeof stored> = { seen: [], candidates: [], effective: [], components: [] };
  for (const { action } of body.steps) {
    result.seen.push([...observation.lines]);
    result.candidates.push([...observation.candidates]);
    const step = await environment.step(action);
    result.effective.push(step.effective);
    const paid = Object.entries(step.components).filter(([, raw]) => raw !== 0);
    result.components.push(Object.fromEntries(paid));
    observation = step.observation;
  }
  result.seen.push([...observation.lines]);
  return result;
}

/** Of the lab's own, beside what the environment says. */
function isPenalty(name: string): boolean {
  return PENALTIES.some((penalty) => penalty === name);
}
