import { beforeEach, describe, expect, it } from 'vitest';
import { Histogram } from '../../src/domain/histogram.ts';
import type { ChildStatus } from '../../src/domain/run.ts';
import type { SlotDrift, SlotRebuild, WorkerReport } from '../../src/protocol/worker.ts';
import type { Situation } from '../../src/run/flow.ts';
import { PipelineKeeper, type PipelineMoment } from '../../src/run/pipeline-keeper.ts';
import type { LongCall } from '../../src/run/worker-pool.ts';

const TICK_MS = 200;

/** A run of two workers and a trainer in simulated time, whose events are kept. */
class Simulation {
  now = 1_000_000;
  readonly events: string[] = [];
  readonly children: ChildStatus[] = [child('worker', 0), child('worker', 1)];
  readonly trainerLink = { name: 'trainer@local', moves: 0, status: () => child('trainer', 0) };
  calls: (LongCall | null)[] = [null, null];
  readonly intake: { newestWrite: { ms: number; endedAt: number } | null } = { newestWrite: null };
  readonly queue: { oldest: { count: number; since: number } | null } = { oldest: null };
  moment: PipelineMoment = { situation: situation(), held: false, iteration: 3, policyVersion: 2 };
  /** Steps of each worker between two reports; null: it does not report. */
  steps: (number | null)[] = [100, 100];
  policyVersion = 2;
  /** Workers that are given no episodes. */
  resting: number[] = [];
  drifts: SlotDrift[] = [];
  rebuilds: SlotRebuild[] = [];
  readonly keeper = new PipelineKeeper({
    workers: {
      status: () => this.children,
      longCalls: () => this.calls,
      name: (worker) => `worker ${worker}@local`,
      isResting: (worker) => this.resting.includes(worker),
    },
    trainer: this.trainerLink,
    journal: {
      event: (_level, kind, subject, message) => this.events.push(`${kind} ${subject}: ${message}`),
    },
    stepTimeoutMs: 10_000,
    batchSteps: 512,
    queue: this.queue,
    intake: this.intake,
  });

  run(ms: number): void {
    for (const end = this.now + ms; this.now < end; ) {
      this.now += TICK_MS;
      for (const [worker, steps] of this.steps.entries()) {
        if (steps !== null) this.keeper.report(worker, this.#report(steps), this.now);
      }
      this.keeper.tick(this.moment, this.now, 0);
    }
  }

  get stall(): string | null {
    return this.keeper.status(this.now).stall?.message ?? null;
  }

  set(change: Partial<Situation>, more: Partial<PipelineMoment> = {}): void {
    this.moment = { ...this.moment, ...more, situation: { ...this.moment.situation, ...change } };
  }

  #report(steps: number): WorkerReport {
    const seen = new Histogram();
    const reset = new Histogram();
    if (steps > 0) seen.add(2, steps);
    if (steps > 0) reset.add(1, 10);
    const waits = steps > 0 ? { ageMs: 0, count: 0, slot: null } : { ageMs: 4000, count: 16, slot: 3 };
    return {
      wallMs: 500,
      waitMs: 0,
      gatherMs: 0,
      lateMs: 0,
      freeMs: 0,
      windowMs: 0,
      steps,
      inferenceCalls: 1,
      encodeMs: 0,
      inferenceMs: 0,
      stepMs: 0,
      recordMs: 0,
      idleMs: 0,
      busySlots: 16,
      rssMiB: 1,
      watch: {
        stages: [
          { stage: 'step', ...waits, seen: seen.take() },
          { stage: 'reset', ageMs: 0, count: 0, slot: null, seen: reset.take() },
        ],
        policyVersion: this.policyVersion,
        resources: { cpu: 0.5, openFiles: 20, tempBytes: 0 },
        drifts: this.drifts,
        rebuilds: this.rebuilds,
      },
    };
  }
}

function child(role: ChildStatus['role'], index: number): ChildStatus {
  return {
    role,
    index,
    host: 'local',
    pid: 1,
    state: 'ready',
    restarts: 0,
    silentMs: 100,
    slots: 16,
    busySlots: 16,
    rssMiB: 1,
    provider: 'cpu',
    resources: null,
    drain: null,
  };
}

function situation(): Situation {
  return {
    state: 'running',
    hardPaused: false,
    ending: null,
    evaluating: false,
    updating: false,
    trainerReady: true,
    queuedSteps: 0,
    queuedBytes: 0,
  };
}

let run: Simulation;
beforeEach(() => {
  run = new Simulation();
  run.run(2000);
});

describe('a stall', () => {
  it('is an event when it begins and when it ends, once each, and its age grows meanwhile', () => {
    run.steps = [0, 0];
    run.run(2800);
    expect(run.stall).toBeNull();
    run.run(1000);
    expect(run.stall).toMatch(
      /^update 3 waits for samples: 2 workers waiting for a step in every slot, the oldest in slot 3/u,
    );
    run.run(5000);
    expect(run.events).toHaveLength(1);
    run.steps = [100, 100];
    run.run(1000);
    expect(run.stall).toBeNull();
    expect(run.events).toEqual([
      expect.stringMatching(/^stall step: update 3 waits/u),
      expect.stringMatching(/^stall-over step: it lasted [5-9] s: update 3 waits/u),
    ]);
  });

  it('is told of a worker that is inside of one call, from what its watching thread says', () => {
    run.steps = [null, 100];
    run.calls = [{ stage: 'step', slot: 11, since: run.now }, null];
    run.run(4000);
    expect(run.stall).toBe('1 of 2 workers gives nothing: worker 0@local stuck in step, slot 11, 4 s');
    const { stages } = run.keeper.status(run.now);
    expect(stages).toMatchObject([
      { stage: 'step', subject: 'worker 0@local, slot 11', ageMs: 4000, count: 1 },
    ]);
  });

  it('is told of a slow store, although nothing can be told while it writes', () => {
    run.now += 2500;
    run.intake.newestWrite = { ms: 2480, endedAt: run.now };
    run.keeper.tick(run.moment, run.now, 2700);
    run.run(400);
    expect(run.stall).toBe('update 3 waits for samples: the store, whose newest write took 2 s');
    run.run(6000);
    expect(run.stall).toBeNull();
  });

  it('is told of the first update when it stays at one minibatch, but for time in which the run was paused', () => {
    run.set({ updating: true });
    run.run(50_000);
    run.trainerLink.moves++;
    run.run(50_000);
    run.set({ hardPaused: true });
    run.run(50_000);
    run.set({ hardPaused: false });
    run.run(9000);
    expect(run.stall).toBeNull();
    run.run(2000);
    expect(run.stall).toMatch(/^update 3 does not get on: trainer@local at one minibatch, 6\d s$/u);
    run.trainerLink.moves++;
    run.run(200);
    expect(run.stall).toBeNull();
  });

  it('is told of weights that a worker does not take over', () => {
    run.set({}, { policyVersion: 3 });
    run.run(12_000);
    expect(run.stall).toMatch(/^worker 0@local waits for policy version 3, \d+ s$/u);
    expect(run.keeper.status(run.now).stages).toMatchObject([{ stage: 'broadcast', count: 2 }]);
    run.policyVersion = 3;
    run.run(400);
    expect(run.stall).toBeNull();
  });
});

describe('no stall is', () => {
  it('a suspended machine: every clock begins again', () => {
    run.set({ updating: true });
    run.run(1000);
    run.now += 3_600_000;
    run.calls = [{ stage: 'step', slot: 1, since: run.now - 3_600_000 }, null];
    run.keeper.tick(run.moment, run.now, 3_600_000);
    run.run(400);
    run.calls = [null, null];
    run.run(2000);
    expect(run.keeper.status(run.now).stages).toMatchObject([{ stage: 'update', ageMs: 3200 }]);
    run.set({ updating: false });
    run.run(2000);
    expect(run.events).toEqual([]);
  });

  it('a pause in the middle of an update, however long, nor what comes after it', () => {
    for (let update = 4; update < 9; update++) {
      run.set({ updating: true }, { iteration: update });
      run.run(2000);
      run.set({ updating: false });
      run.run(1000);
    }
    run.set({ updating: true }, { iteration: 9 });
    run.run(1000);
    run.set({ hardPaused: true, state: 'paused' }, { held: true });
    run.steps = [0, 0];
    run.run(600_000);
    run.set({ hardPaused: false, state: 'running' });
    run.run(1000);
    run.set({ updating: false }, { held: false });
    run.run(2000);
    run.steps = [100, 100];
    run.run(2000);
    expect(run.events).toEqual([]);
  });

  it('a worker that died and is started again: what it said before is forgotten', () => {
    run.steps = [0, 100];
    run.run(2000);
    run.children[0] = { ...child('worker', 0), state: 'restarting' };
    run.steps = [null, 100];
    run.run(6000);
    run.children[0] = child('worker', 0);
    run.run(1000);
    run.steps = [100, 100];
    run.run(1000);
    expect(run.events).toEqual([]);
  });
});

it('knows how long each stage usually takes', () => {
  for (let update = 4; update < 8; update++) {
    run.queue.oldest = { count: 10, since: run.now };
    run.run(600);
    run.set({ updating: true }, { iteration: update });
    run.queue.oldest = null;
    run.run(2000);
    run.set({ updating: false });
    run.run(200);
  }
  run.set({ updating: true }, { iteration: 8 });
  run.queue.oldest = { count: 7, since: run.now };
  run.run(200);
  const { stages } = run.keeper.status(run.now);
  const usual = Object.fromEntries(stages.map(({ stage, p99Ms }) => [stage, Math.round((p99Ms ?? 0) / 100)]));
  expect(usual['update']).toBeGreaterThan(18);
  expect(usual['update']).toBeLessThan(24);
  expect(usual['queue']).toBeGreaterThan(4);
  expect(stages.find(({ stage }) => stage === 'update')).toMatchObject({ subject: 'update 8', count: 1 });
  expect(stages.find(({ stage }) => stage === 'queue')).toMatchObject({ count: 7, ageMs: 200 });
});

it('tells of a slot that uses far more than its peers', () => {
  run.drifts = [{ slot: 5, figure: 'tempBytes', value: 64 * 2 ** 20, median: 0 }];
  run.run(TICK_MS);
  expect(run.events).toContain(
    "slot-drift worker 0@local, slot 5: 64.0 MiB in its temporary directory; the median of its worker's slots: 0.0 MiB",
  );
});

it('tells of slots that were rebuilt between two episodes, of a worker once a minute', () => {
  const reason = 'its temporary directory holds 600 MiB, the limit is 512';
  run.rebuilds = [
    { slot: 5, reason },
    { slot: 6, reason },
  ];
  run.steps = [100, null];
  run.run(60_000);
  run.run(TICK_MS);
  expect(run.events.filter((event) => event.startsWith('slot-rebuilt'))).toEqual([
    `slot-rebuilt worker 0@local, slot 5: rebuilt between two episodes: ${reason}`,
    `slot-rebuilt worker 0@local, slot 5: rebuilt between two episodes: ${reason}; 599 more since the last one`,
  ]);
});

function drift(slot: number, figure: SlotDrift['figure']): SlotDrift {
  return { slot, figure, value: 80, median: 2 };
}

it('of a worker and a figure it tells once a minute, and how many drifts it left out', () => {
  run.drifts = [drift(5, 'openFiles'), drift(6, 'openFiles'), drift(7, 'cpuMs')];
  run.steps = [100, null];
  run.run(60_000);
  const told = (): string[] => run.events.filter((event) => event.startsWith('slot-drift'));
  expect(told()).toEqual([
    expect.stringMatching(/^slot-drift worker 0@local, slot 5: 80 open files [^;]*; [^;]*$/u),
    expect.stringMatching(/^slot-drift worker 0@local, slot 7: 0.1 s of CPU time [^;]*; [^;]*$/u),
  ]);
  run.run(TICK_MS);
  // Of 300 reports two slots each, without the one that was told.
  expect(told().slice(2)).toEqual([
    expect.stringMatching(/^slot-drift worker 0@local, slot 5: .*; 599 more since the last one$/u),
    expect.stringMatching(/^slot-drift worker 0@local, slot 7: .*; 299 more since the last one$/u),
  ]);
  run.steps = [null, 100];
  run.run(TICK_MS);
  expect(told().slice(4)).toEqual([
    expect.stringContaining('worker 1@local, slot 5'),
    expect.stringContaining('worker 1@local, slot 7'),
  ]);
});
