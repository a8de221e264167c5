import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { episodeSequence } from '../../src/domain/id.ts';
import { describePressure } from '../../src/domain/pressure.ts';
import type { RunStatus } from '../../src/domain/run.ts';
import { kill, Lab, type LabRun, TINY } from '../support/lab-run.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

const MIB = 2 ** 20;

/** Resident memory in MiB. */
function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}

/** The run process and its workers together. */
function memoryMiB(): number {
  return ['run', 'worker'].reduce((sum, role) => {
    const pids = lab.pids(role === 'run' ? 'run' : 'worker');
    return sum + pids.reduce((all, pid) => all + residentMiB(pid), 0);
  }, 0);
}

/** Statuses of the next so many ms. */
async function watch(run: LabRun, ms: number): Promise<RunStatus[]> {
  const statuses: RunStatus[] = [];
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) {
    const status = await run.tryStatus();
    if (status !== null) statuses.push(status);
  }
  return statuses;
}

/** Every step that may be trained on was trained on, left out, or waits. Every number given out is stored, once. */
function expectNothingLost(run: LabRun, { queuedSteps, episodes }: RunStatus): void {
  const stored = run.episodes();
  const numbers = stored.map(({ id }) => episodeSequence(id)).toSorted((one, other) => one - other);
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1));
  const training = stored.filter(({ phase }) => phase === 'train');
  expect(training).toHaveLength(episodes);
  const trainable = training.filter(({ trust }) => trust === 'valid');
  const rows = run.read((reader) => reader.iterations());
  const used = rows.reduce((sum, row) => sum + row.batchSteps + row.staleSteps, 0);
  expect(used + queuedSteps).toBe(trainable.reduce((sum, { steps }) => sum + steps, 0));
}

async function rest(run: LabRun): Promise<RunStatus> {
  await (await run.client()).pause(false);
  return await run.until('paused', ({ state }) => state === 'paused');
}

describe('a trainer that stands still', () => {
  /** Steps of 4.5 KiB, so that a queue without a limit would be seen in the memory within seconds. */
  const config = {
    ...TINY,
    policy: { ...TINY.policy, sentences: 16, tokens: 128 },
    sampling: {
      slots: 64,
      batchSteps: 512,
      queueMiB: 16,
      unackedMiB: 4,
      ahead: 1000,
      softShare: 0.5,
      maxStaleness: 1000,
    },
    evaluation: { every: 1000, episodes: 0 },
    supervision: { heartbeatMs: 600_000 },
  };
  /** The queue, what two workers may have under way at both ends of a pipe, the batch in update; and what garbage may take. */
  const BOUND_MIB = 16 + 2 * 4 + 2 * 2 * 4 + 2.5 + 24;

  it('slows samplers down, then stops them within the stated memory, and nothing is lost', async () => {
    const run = await lab.run(config);
    await run.untilIteration(2);
    const before = memoryMiB();
    kill(lab.pid('trainer'), 'SIGSTOP');
    const soft = await run.until('samplers that slow down', ({ pressure }) => pressure?.level === 'soft');
    expect(soft.pressure!.bytes).toBeGreaterThanOrEqual(8 * MIB);
    const hard = await run.until('samplers that stop', ({ pressure }) => pressure?.level === 'hard');
    expect(describePressure(hard.pressure!)).toMatch(
      /^samplers stand still: 1[67]\.\d MiB of samples wait for an update, the limit is 16\.0 MiB$/u,
    );
    // What was under way has arrived after the first of these seconds.
    const statuses = (await watch(run, 4500)).slice(20);
    const counts = new Set(statuses.map(({ episodes }) => episodes));
    expect(counts.size).toBe(1);
    expect(statuses.at(-1)!.envStepsPerS).toBe(0);
    expect(Math.max(...statuses.map(({ pressure }) => pressure!.bytes))).toBeLessThan(20 * MIB);
    expect(memoryMiB() - before).toBeLessThan(BOUND_MIB);
    kill(lab.pid('trainer'), 'SIGCONT');
    const { iteration } = hard;
    await run.untilIteration(iteration + 3);
    const status = await rest(run);
    expect(status.children.every(({ restarts }) => restarts === 0)).toBe(true);
    expect(run.events().filter(({ kind }) => kind.startsWith('samples-'))).toEqual([]);
    const row = run.read((reader) => reader.iterations()).find((each) => each.iteration === iteration + 1)!;
    expect(row.heldS).toBeGreaterThan(3);
    expectNothingLost(run, status);
  });
});

describe('a trainer that is ten times too slow', () => {
  it('gets batches that are not too old; what is, is left out and counted, and little of it waits', async () => {
    const run = await lab.run({
      ...TINY,
      sampling: { slots: 32, batchSteps: 512, ahead: 4, maxStaleness: 1 },
      knobs: { minibatch: 16, epochs: 20, kl_limit: 0, lr: 0.000_01 },
      guard: { kl: 0, entropy: 0 },
      evaluation: { every: 1000, episodes: 0 },
    });
    const seen: RunStatus[] = [];
    await run.until('updates', (status) => {
      seen.push(status);
      return status.iteration >= 3;
    });
    const { softBytes, hardBytes } = seen[0]!.pressure!;
    // Episodes in flight when samplers are stopped: of each of 32 slots one at most, of 30 steps of 741 bytes.
    const bytes = seen.map(({ pressure }) => pressure!.bytes);
    expect(Math.max(...bytes)).toBeGreaterThan(softBytes);
    expect(Math.max(...bytes)).toBeLessThan(hardBytes + 32 * 30 * 741);
    const rows = run.read((reader) => reader.iterations());
    const sum = (of: (row: (typeof rows)[number]) => number): number =>
      rows.reduce((all, row) => all + of(row), 0);
    expect(rows.every(({ stalest }) => stalest <= 1)).toBe(true);
    expect(sum(({ staleSteps }) => staleSteps)).toBeGreaterThan(0);
    expect(sum(({ staleEpisodes }) => staleEpisodes)).toBeGreaterThan(0);
    expect(sum(({ heldS }) => heldS) / sum(({ updateS }) => updateS)).toBeGreaterThan(0.3);
    const { message } = await run.untilEvent('samples-stale');
    expect(message).toMatch(
      /^\d+ episodes with \d+ steps and \d+\.\d s of sampling were left out of batches: a step/u,
    );
    // What is left out is in the row of the update that it was left out of.
    await run.untilUpdating();
    const status = await rest(run);
    expect(status.waste!.stale).toBeGreaterThan(0);
    expect(status.waste!.stale).toBeCloseTo(
      run.read((reader) => reader.iterations()).reduce((all, { staleS }) => all + staleS, 0),
    );
    expectNothingLost(run, status);
  });
});
