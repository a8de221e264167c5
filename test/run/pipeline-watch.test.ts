import { describe, expect, it, test } from 'vitest';
import type { PipelineStage } from '../../src/domain/pipeline.ts';
import { type PipelineView, PipelineWatch, type WorkerView } from '../../src/run/pipeline-watch.ts';

const P99: Partial<Record<PipelineStage, number>> = {
  step: 20,
  reset: 5,
  update: 30_000,
  store: 4,
  broadcast: 500,
};

function look(change: Partial<PipelineView>, p99: Partial<Record<PipelineStage, number>> = P99) {
  const watch = new PipelineWatch({ stepTimeoutMs: 60_000, p99: (stage) => p99[stage] ?? null });
  return watch.look({
    goal: 'samples',
    goalMs: 100_000,
    iteration: 12,
    held: false,
    updateMs: null,
    updateStillMs: 0,
    batchWaits: false,
    trainer: { name: 'trainer@local', state: 'ready', silentMs: 400 },
    workers: [worker(0), worker(1)],
    behind: null,
    write: { ms: 3, agoMs: 10 },
    ...change,
  });
}

/** A worker that is well. */
function worker(index: number, change: Partial<WorkerView> = {}): WorkerView {
  return {
    name: `worker ${index}@local`,
    state: 'ready',
    resting: false,
    silentMs: 300,
    idleMs: 200,
    call: null,
    stages: [],
    ...change,
  };
}

const stuck = (index: number, ms: number, stage = 'step'): WorkerView =>
  worker(index, { idleMs: ms, call: { stage, slot: 1411, ms } });
const waiting = (index: number, ms: number): WorkerView =>
  worker(index, { idleMs: ms, stages: [{ stage: 'step', ageMs: ms, count: 9, slot: 7 }] });

describe('a stall is named by who waits for whom', () => {
  test.each<[string, Partial<PipelineView>, PipelineStage, string]>([
    [
      'every worker stuck in a step',
      { workers: [stuck(0, 9000), stuck(1, 41_000), stuck(2, 5000)] },
      'step',
      'update 12 waits for samples: 3 workers stuck in step, slot 1411, 41 s',
    ],
    [
      'one of two stuck in a reset',
      { workers: [stuck(0, 4000, 'reset'), worker(1)] },
      'reset',
      '1 of 2 workers gives nothing: worker 0@local stuck in reset, slot 1411, 4 s',
    ],
    [
      'an environment that does not come to its end when closed',
      { workers: [stuck(0, 4000, 'close')] },
      'step',
      'update 12 waits for samples: worker 0@local stuck in close, slot 1411, 4 s',
    ],
    [
      'every environment waited for, in the evaluation',
      { goal: 'evaluation', workers: [waiting(0, 9000), waiting(1, 8000)] },
      'step',
      'the evaluation waits for episodes: 2 workers waiting for a step in every slot, the oldest in slot 7, 9 s',
    ],
    [
      'a silent worker while the others are held',
      { held: true, updateMs: 1000, workers: [worker(0, { idleMs: 9000 }), worker(1, { silentMs: 3300 })] },
      'step',
      '1 of 2 workers gives nothing: worker 1@local silent, 3 s',
    ],
    [
      'a silent trainer in an update',
      { updateMs: 4000, trainer: { name: 'trainer@local', state: 'ready', silentMs: 3900 } },
      'update',
      'update 12 waits for the trainer: trainer@local silent, 4 s',
    ],
    [
      'a silent trainer while sampling goes on',
      { trainer: { name: 'trainer@local', state: 'ready', silentMs: 3100 } },
      'update',
      'update 12 waits for the trainer: trainer@local silent, 3 s',
    ],
    [
      'a trainer that does not come up for its batch',
      { batchWaits: true, trainer: { name: 'trainer@local', state: 'restarting', silentMs: 25_000 } },
      'update',
      'update 12 waits for the trainer: trainer@local is restarting, 25 s',
    ],
    [
      'an update far slower than the others',
      { updateMs: 91_000 },
      'update',
      'update 12 takes 91 s; 99 % take 30 s at most',
    ],
    [
      'a slow store',
      { write: { ms: 2600, agoMs: 300 } },
      'store',
      'update 12 waits for samples: the store, whose newest write took 3 s',
    ],
    [
      'workers that are not acknowledged',
      {
        workers: [
          worker(0, { idleMs: 5000, stages: [{ stage: 'store', ageMs: 5200, count: 3, slot: null }] }),
        ],
      },
      'store',
      'update 12 waits for samples: worker 0@local waiting for the store to take episodes, 5 s',
    ],
    [
      'workers without tasks',
      {
        workers: [
          worker(0, { idleMs: 4000, stages: [{ stage: 'claim', ageMs: 4000, count: 16, slot: null }] }),
        ],
      },
      'claim',
      'update 12 waits for samples: worker 0@local waiting for tasks, 4 s',
    ],
    [
      'a pause that does not come about',
      { goal: 'pause', workers: [stuck(0, 4000)] },
      'step',
      'the pause waits for the episodes in flight: worker 0@local stuck in step, slot 1411, 4 s',
    ],
    [
      'processes that do not start',
      { goal: 'start', goalMs: 21_000, workers: [worker(0), worker(1, { state: 'starting' })] },
      'claim',
      'the run waits for its processes: worker 1@local is starting, 21 s',
    ],
    [
      'weights that do not arrive',
      { behind: { name: 'worker 0@local', policyVersion: 5, ageMs: 9500 } },
      'broadcast',
      'worker 0@local waits for policy version 5, 10 s',
    ],
  ])('%s', (_what, change, stage, message) => {
    expect(look(change)).toMatchObject({ stage, message });
  });

  it('blames what the run waits for now, not what it will need later', () => {
    const silent = { name: 'trainer@local', state: 'ready', silentMs: 9000 } as const;
    expect(look({ trainer: silent, workers: [stuck(0, 5000)] })?.stage).toBe('step');
    expect(look({ trainer: silent, workers: [stuck(0, 5000)], batchWaits: true })?.stage).toBe('update');
    expect(look({ trainer: silent, workers: [stuck(0, 5000)], updateMs: 100 })?.stage).toBe('update');
  });

  it('blames what is stuck before what only waits, and the oldest of them', () => {
    const both = look({ workers: [waiting(0, 50_000), stuck(1, 4000), stuck(2, 6000)] });
    expect(both?.message).toMatch(/2 workers stuck in step, slot 1411, 6 s/u);
    expect(both?.ageMs).toBe(6000);
  });
});

describe('no stall is', () => {
  test.each<[string, Partial<PipelineView>]>([
    ['a run that moves', {}],
    ['a run that rests', { goal: 'nothing', workers: [stuck(0, 90_000)], updateMs: 9e6 }],
    [
      'a start that takes its time',
      { goal: 'start', goalMs: 15_000, workers: [worker(0, { state: 'starting' })] },
    ],
    [
      'an update of the usual length',
      { updateMs: 30_000, held: true, workers: [worker(0, { idleMs: 30_000 })] },
    ],
    [
      'idle workers while an update is under way',
      { updateMs: 20_000, workers: [worker(0, { idleMs: 20_000 })] },
    ],
    ['held workers', { held: true, workers: [worker(0, { idleMs: 60_000 })] }],
    ['a worker without tasks beside one that works', { workers: [worker(0, { idleMs: 60_000 }), worker(1)] }],
    ['slots that wait beside a worker that moves', { workers: [waiting(0, 20_000), worker(1)] }],
    [
      'a worker that is being started again',
      { workers: [worker(0, { state: 'restarting', silentMs: 5000 })] },
    ],
    [
      'a long call that still gives signs of life',
      { workers: [worker(0, { call: { stage: 'step', slot: 1, ms: 2500 } })] },
    ],
    ['a store that was slow a while ago', { write: { ms: 9000, agoMs: 9000 } }],
    [
      'a worker that was given up',
      { workers: [worker(0, { state: 'dead', silentMs: 1e6, idleMs: 1e6 }), worker(1)] },
    ],
  ])('%s', (_what, change) => {
    expect(look(change)).toBeNull();
  });

  it('steps that always take long: three times their 99th percentile is', () => {
    expect(look({ workers: [waiting(0, 25_000)] }, { step: 10_000, reset: 5 })).toBeNull();
    expect(look({ workers: [stuck(0, 25_000)] }, { step: 10_000, reset: 5 })).toBeNull();
    expect(look({ workers: [stuck(0, 31_000)] }, { step: 10_000, reset: 5 })?.stage).toBe('step');
  });

  it('the first step of an environment of which nothing is known, for ten seconds', () => {
    expect(look({ workers: [stuck(0, 9900)] }, {})).toBeNull();
    expect(look({ workers: [stuck(0, 10_100)] }, {})).not.toBeNull();
  });

  it('the first update, however long, while it gets from one minibatch to the next', () => {
    expect(look({ updateMs: 900_000, updateStillMs: 59_000 }, {})).toBeNull();
    expect(look({ updateMs: 900_000, updateStillMs: 61_000 }, {})).toEqual({
      stage: 'update',
      message: 'update 12 does not get on: trainer@local at one minibatch, 61 s',
      ageMs: 61_000,
    });
  });
});
