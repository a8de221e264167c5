import { describe, expect, it } from 'vitest';
import { episodeId } from '../../src/domain/id.ts';
import { describeWaste, largestWaste } from '../../src/domain/waste.ts';
import { Scheduler } from '../../src/run/scheduler.ts';
import { WasteMeter } from '../../src/run/waste-meter.ts';
import { episodeSummary } from '../support/summary.ts';

const plain = episodeSummary({ wallMs: 1000 });
const cut = { ...plain, truncated: true, terminated: false, success: false };

describe('what became of the time of episodes', () => {
  it('has each second in one part', () => {
    const meter = new WasteMeter();
    for (const episode of [plain, plain, plain, cut, { ...plain, trust: 'void', wallMs: 500 } as const]) {
      meter.addStored(episode);
    }
    meter.addRetried(250);
    expect(meter.waste).toEqual({ useful: 3, stale: 0, void: 0.5, truncated: 1, retried: 0.25 });
    meter.addLeftOut(plain);
    meter.addLeftOut(cut);
    expect(meter.waste).toEqual({ useful: 2, stale: 2, void: 0.5, truncated: 0, retried: 0.25 });
  });

  it('takes an episode that succeeded by lasting until its limit for useful', () => {
    const meter = new WasteMeter();
    meter.addStored({ ...cut, success: true });
    expect(meter.waste).toMatchObject({ useful: 1, truncated: 0 });
  });

  it('names the largest part that was of no use', () => {
    const waste = { useful: 90, stale: 1, void: 6, truncated: 2, retried: 1 };
    expect(largestWaste(waste)).toEqual({ kind: 'void', share: 0.06 });
    expect(describeWaste(waste)).toBe(
      '90.0 % of the sampling time was of use; most of the rest, 6.0 %: void: nothing could be scored',
    );
    expect(describeWaste({ ...waste, stale: 60 })).toContain('left out of batches as too old or too many');
  });

  it('has nothing to name where nothing was wasted, or nothing was done', () => {
    const none = { useful: 0, stale: 0, void: 0, truncated: 0, retried: 0 };
    expect(largestWaste(none)).toBeNull();
    expect(describeWaste(none)).toBe('no episode yet');
    expect(describeWaste({ ...none, useful: 4 })).toBe('100.0 % of the sampling time was of use');
  });
});

describe('the time that is lost with a worker', () => {
  const task = { env: 'workbench', family: 'reference', split: 'train', index: 0 } as const;

  it('is that since its training episodes were given out, by a clock that stands while nothing moves', () => {
    let now = 0;
    const scheduler = new Scheduler(1, 0, () => now);
    const plan = { task, phase: 'train', mode: 'sampled', iteration: 1 } as const;
    scheduler.assign(plan, 0);
    now = 10;
    scheduler.assign(plan, 0);
    scheduler.assign({ ...plan, phase: 'eval' }, 0);
    scheduler.assign(plan, 1);
    now = 12;
    expect(scheduler.spentS(0)).toBe(14);
    scheduler.complete(episodeId(1), 0);
    expect(scheduler.spentS(0)).toBe(2);
    scheduler.lose(0);
    expect(scheduler.spentS(0)).toBe(0);
    now = 20;
    scheduler.reassign(1, 'train');
    now = 21;
    expect(scheduler.spentS(1)).toBe(12);
  });
});
