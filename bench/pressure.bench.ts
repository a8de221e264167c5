import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunStatus } from '../src/domain/run.ts';
import { type ControlClient, connectControl } from '../src/run/control-client.ts';
import { readManifest, runPaths } from '../src/store/run-directory.ts';
import { type Benchmark, sleep } from './benchmark.ts';

/** Steps of 4.5 KiB and small limits: a queue without a limit would take several times the bound within a minute. */
const CONFIG = {
  name: 'pressure',
  policy: { embedding: 16, hidden: 32, vocabulary: 512, sentences: 16, tokens: 128 },
  sampling: { slots: 64, batchSteps: 512, queueMiB: 16, unackedMiB: 4, ahead: 1000, softShare: 0.5 },
  knobs: { minibatch: 128 },
  trainer: { threads: 1 },
  guard: { kl: 0, entropy: 0 },
  evaluation: { every: 1000, episodes: 0 },
  supervision: { heartbeatMs: 600_000 },
  stop: { minutes: null },
  hosts: [{ name: 'local', workers: 2 }],
};
const SLOW = {
  ...CONFIG,
  sampling: { ...CONFIG.sampling, maxStaleness: 4 },
  knobs: { minibatch: 16, epochs: 20, kl_limit: 0, lr: 0.000_01 },
};
/** docs/FLOW.md, "Memory": the queue, what two workers may have under way at both ends of a pipe, the batch in update. */
const BOUND_MIB = 16 + 2 * 4 + 2 * 2 * 4 + 2.5;
const POLL_MS = 250;

/** How much more memory run process and workers take while the trainer does not keep up, for a minute each. */
export const pressure: Benchmark = {
  name: 'pressure',
  measures: 'memory of run and workers with a trainer that stands still, and one that is ten times too slow',
  async run({ seconds, say }) {
    const length = Math.max(60, seconds);
    say(`a trainer that stands still for ${length} s`);
    const stopped = await withRun(CONFIG, async (run) => {
      const trainer = pidsOf(await run.status(), 'trainer')[0] ?? 0;
      process.kill(trainer, 'SIGSTOP');
      try {
        return await watch(run, length);
      } finally {
        process.kill(trainer, 'SIGCONT');
      }
    });
    say(`a trainer that is ten times too slow, for ${length} s`);
    const slow = await withRun(SLOW, async (run) => await watch(run, length));
    return {
      figures: {
        stoppedGrowthMiB: stopped.growthMiB,
        slowGrowthMiB: slow.growthMiB,
        boundMiB: BOUND_MIB,
        stoppedQueueMiB: stopped.queueMiB,
        slowQueueMiB: slow.queueMiB,
        slowStaleS: slow.staleS,
        slowUsefulS: slow.usefulS,
      },
      conditions: { seconds: length },
    };
  },
};

interface Watched {
  /** Most memory beyond that at the start. */
  readonly growthMiB: number;
  readonly queueMiB: number;
  /** Slot-seconds. */
  readonly staleS: number;
  readonly usefulS: number;
}

async function watch(run: ControlClient, seconds: number): Promise<Watched> {
  let status = await run.status();
  const before = memoryMiB(status);
  let [growthMiB, queueMiB] = [0, 0];
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await sleep(POLL_MS)) {
    status = await run.status();
    growthMiB = Math.max(growthMiB, memoryMiB(status) - before);
    queueMiB = Math.max(queueMiB, (status.pressure?.bytes ?? 0) / 2 ** 20);
  }
  return { growthMiB, queueMiB, staleS: status.waste?.stale ?? 0, usefulS: status.waste?.useful ?? 0 };
}

/** Starts a run, hands it over when it has trained twice, and ends it. */
async function withRun<T>(config: object, use: (run: ControlClient) => Promise<T>): Promise<T> {
  const runs = mkdtempSync(join(tmpdir(), 'agentrl-bench-'));
  const file = join(runs, 'lab.yaml');
  writeFileSync(file, JSON.stringify(config));
  const lab = (...args: readonly string[]): string =>
    execFileSync('node', ['dist/src/cli/main.js', ...args, '--runs', join(runs, 'runs')], {
      encoding: 'utf8',
    });
  try {
    const id = lab('run', file, '--detach').trim();
    const client = await connectControl(readManifest(runPaths(join(runs, 'runs'), id)));
    try {
      while ((await client.status()).iteration < 2) await sleep(POLL_MS);
      return await use(client);
    } finally {
      client.close();
      lab('stop', id);
    }
  } finally {
    rmSync(runs, { recursive: true, force: true });
  }
}

function pidsOf({ children }: RunStatus, role: 'worker' | 'trainer'): number[] {
  return children.filter((child) => child.role === role).flatMap(({ pid }) => pid ?? []);
}

/** Resident memory of the run process and its workers. */
function memoryMiB(status: RunStatus): number {
  return [status.pid, ...pidsOf(status, 'worker')].reduce((sum, pid) => {
    const kib = /^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return sum + Number(kib) / 1024;
  }, 0);
}
