import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/domain/run.ts';
import { EventLog } from '../../views/event-log.ts';
import { eventOf, START } from './fake-run.ts';

/** A run's events, which says how many were read. */
function source(): { events(limit: number): RunEvent[]; add(count: number): void; readonly read: number } {
  const all: RunEvent[] = [];
  let read = 0;
  return {
    add(count) {
      for (let n = 0; n < count; n += 1)
        all.unshift(
          eventOf({ time: START + Math.floor(all.length / 4), message: `event ${all.length % 3}` }),
        );
    },
    events(limit) {
      const found = all.slice(0, limit);
      read += found.length;
      return found;
    },
    get read() {
      return read;
    },
  };
}

describe('the log of events', () => {
  it('has all of them, and reads again only what a few new ones need', () => {
    const run = source();
    const log = new EventLog();
    log.refresh(run, [], 10);
    expect(log.total).toBe(0);
    for (const count of [400, 0, 1, 7, 49, 300, 2]) {
      run.add(count);
      const before = run.read;
      log.refresh(run, [], 10);
      expect(run.read - before).toBeLessThanOrEqual(count < 50 ? 50 : 5000);
      expect(log.events).toEqual(run.events(5000));
    }
  });

  it('of another run has nothing of the one before', () => {
    const [one, other] = [source(), source()];
    one.add(60);
    other.add(3);
    const log = new EventLog();
    log.refresh(one, [], 10);
    log.clear();
    log.refresh(other, [], 10);
    expect(log.events).toEqual(other.events(10));
  });
});
