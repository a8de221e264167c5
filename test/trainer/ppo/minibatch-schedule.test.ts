import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { initialKnobs, type KnobValues } from '../../../src/domain/knob.ts';
import { createRandom } from '../../../src/domain/random.ts';
import { MinibatchSchedule } from '../../../trainer/ppo/minibatch-schedule.ts';

const knobs = (epochs: number, minibatch: number): KnobValues => ({ ...initialKnobs(), epochs, minibatch });

function drain(schedule: MinibatchSchedule, values: KnobValues): number[][] {
  const all: number[][] = [];
  while (schedule.hasNext(values)) all.push([...schedule.next(values)]);
  return all;
}

describe('minibatches', () => {
  test('cover the batch once a pass, but for a last one that would not be full', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 4 }),
        (count, size, epochs) => {
          const schedule = new MinibatchSchedule(count, createRandom(1));
          const values = knobs(epochs, size);
          const each = Math.min(size, count);
          const perPass = Math.floor(count / each);
          expect(schedule.total(values)).toBe(epochs * perPass);
          const all = drain(schedule, values);
          expect(all).toHaveLength(epochs * perPass);
          for (let pass = 0; pass < epochs; pass++) {
            const seen = all.slice(pass * perPass, (pass + 1) * perPass).flat();
            expect(new Set(seen).size).toBe(perPass * each);
          }
        },
      ),
    );
  });

  test('a batch smaller than a minibatch is one', () => {
    expect(drain(new MinibatchSchedule(3, createRandom(1)), knobs(2, 16)).map((rows) => rows.length)).toEqual(
      [3, 3],
    );
  });

  test('are in the order that the stream says', () => {
    const [a, b, c] = [1, 1, 2].map((seed) =>
      drain(new MinibatchSchedule(20, createRandom(seed)), knobs(2, 5)),
    );
    expect(a).toEqual(b);
    expect(a).not.toEqual(c);
  });

  test('follow the knobs in the middle of an update', () => {
    const schedule = new MinibatchSchedule(12, createRandom(1));
    expect(schedule.next(knobs(3, 4))).toHaveLength(4);
    expect(schedule.next(knobs(3, 6))).toHaveLength(6);
    // Two are left of the first pass, too few for either size.
    expect(schedule.hasNext(knobs(1, 6))).toBe(false);
    expect(schedule.hasNext(knobs(2, 6))).toBe(true);
    expect(schedule.next(knobs(2, 6))).toHaveLength(6);
    expect(schedule.epoch).toBe(1);
  });
});
