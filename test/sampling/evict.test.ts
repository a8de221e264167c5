import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { EnvironmentDefinition, StepResult } from '../../envs/contract.ts';
import { waiting } from '../../envs/waiting/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import type { Assignment } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { FromWorker, SlotRebuild } from '../../src/protocol/worker.ts';
import { TempDirectories } from '../../src/sampling/temp-directories.ts';
import { SamplingWorker } from '../../src/sampling/worker.ts';
import { settingsOf } from '../support/worker-settings.ts';

const LIMIT = 2 ** 20;
const policy = policySpecSchema.parse({ vocabulary: 256, embedding: 8, hidden: 8 });

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'agentrl-evict-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

/** Writes more than the limit when an episode has ended or, `early`, at its first step, which is never answered. */
function hoarding(early: boolean, built: () => void): EnvironmentDefinition {
  return {
    ...waiting,
    create: (options, resources) => {
      built();
      const environment = waiting.create(options);
      const step = environment.step.bind(environment);
      const fill = (): void =>
        writeFileSync(join(resources?.tempDirectory() ?? root, 'log'), Buffer.alloc(LIMIT + 1));
      environment.step = (action) => {
        const result = step(action);
        if (result instanceof Promise) throw new Error('it must answer at once');
        if (early || result.terminated) fill();
        return early ? new Promise<StepResult>(() => undefined) : result;
      };
      return environment;
    },
  };
}

function assignment(n: number): Assignment {
  const task = { env: 'waiting', family: 'short', split: 'train', index: n } as const;
  return {
    id: episodeId(n),
    task,
    seed: n,
    phase: 'train',
    mode: 'sampled',
    iteration: 1,
    attempt: 1,
  };
}

/** Has a worker with one slot do an episode, looks for slots over their limits, and has it do another one. */
async function twoEpisodes(early: boolean) {
  const failures: (string | null)[] = [];
  let builds = 0;
  const settings = settingsOf({ env: { name: 'waiting', options: { latencyMs: 0 } }, policy, maxSteps: 20 });
  const worker = await SamplingWorker.create({
    settings: {
      ...settings,
      actor: 'random',
      rewards: DEFAULT_REWARDS,
      unackedBytes: 2 ** 24,
      limits: { memoryMiB: null, hostWorkers: 1, slotTempBytes: LIMIT, openFiles: 1000 },
    },
    definition: hoarding(early, () => builds++),
    lifeline: { begin: () => undefined, end: () => undefined },
    directories: new TempDirectories(root),
    send: (message: FromWorker) => {
      if (message.type === 'episode') failures.push(message.summary.failure);
    },
  });
  const rebuilds: SlotRebuild[] = [];
  worker.go();
  for (const n of [1, 2]) {
    worker.dispatch([assignment(n)]);
    await vi.waitUntil(
      () => {
        if (early || failures.length === n) worker.checkDeadlines();
        return failures.length === n;
      },
      { timeout: 20_000 },
    );
    rebuilds.push(...(worker.report().watch?.rebuilds ?? []));
  }
  await worker.stop();
  return { rebuilds, failures, builds };
}

it('a slot found over its limit between two episodes is built anew, and that is told', async () => {
  const { rebuilds, failures, builds } = await twoEpisodes(false);
  const reason = 'its temporary directory holds 2 MiB, the limit is 1';
  expect(rebuilds).toContainEqual({ slot: 0, reason });
  expect(failures).not.toContain('sandbox_error');
  expect(builds).toBe(2);
});

it('a slot found over its limit in an episode is told of by the episode alone', async () => {
  const { rebuilds, failures } = await twoEpisodes(true);
  expect(failures).toEqual(['sandbox_error', 'sandbox_error']);
  expect(rebuilds).toEqual([]);
});
