import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AlertRule, alertRuleSchema } from '../../src/domain/alert.ts';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { type AlertNews, AlertWatch } from '../../src/run/alert-watch.ts';
import { CountWindow, TimeWindow } from '../../src/run/alert-window.ts';
import { metricsOf, summaryOf } from '../store/fixture.ts';

const START = 1_790_000_000_000;

function ruleOf(rule: Partial<AlertRule>): AlertRule {
  return alertRuleSchema.parse({ name: 'a', cooldownS: 0, ...rule });
}

function failed(sequence: number): EpisodeSummary {
  return summaryOf(sequence, { success: false, failure: 'gave_up' });
}

/** Stores episodes, `F` for one that gave up, a second apart; what was told, with the second. */
function play(watch: AlertWatch, letters: string, from = 0): { at: number; news: AlertNews }[] {
  return letters.split('').flatMap((letter, index) => {
    const at = from + index;
    if (letter !== '.') watch.episode(letter === 'F' ? failed(at + 1) : summaryOf(at + 1), START + at * 1000);
    return watch.settle(START + at * 1000, true).map((news) => ({ at, news }));
  });
}

function turns(watch: AlertWatch, letters: string): string[] {
  return play(watch, letters).map(({ at, news }) => `${news.begins ? 'begins' : 'ends'} at ${at}`);
}

describe('an alert on episodes', () => {
  it('begins when the newest ones pass a share, says which, and ends when they do not', () => {
    const watch = new AlertWatch([ruleOf({ name: 'stuck', filter: 'fail:gave_up', last: 10, above: '30%' })]);
    const told = play(watch, 'SSSSSSSSFFFFSSSSSSSSSS');
    expect(told.map(({ at }) => at)).toEqual([11, 18]);
    expect(told[0]?.news).toEqual({
      name: 'stuck',
      begins: true,
      message: '40.0 %, 4 of 10 episodes among the newest 10 match fail:gave_up; above 30.0 %',
      filter: 'fail:gave_up id:e3..e12',
    });
    expect(told[1]?.news).toMatchObject({
      begins: false,
      message:
        'over after 7 s, at most 40.0 %: now 30.0 %, 3 of 10 episodes among the newest 10 match fail:gave_up; above 30.0 %',
      filter: 'fail:gave_up id:e3..e19',
    });
    expect(watch.status()).toEqual([]);
  });

  it('has a status while it holds', () => {
    const watch = new AlertWatch([ruleOf({ filter: 'fail:any', last: 4, above: 1 })]);
    play(watch, 'FF');
    expect(watch.status()).toMatchObject([{ name: 'a', since: START + 1000, filter: 'fail:any id:e1..e2' }]);
  });

  it('does not wait for a full window when enough match whatever the rest will be', () => {
    expect(turns(new AlertWatch([ruleOf({ filter: 'fail:any', last: 10, above: '30%' })]), 'FFFF')).toEqual([
      'begins at 3',
    ]);
    expect(turns(new AlertWatch([ruleOf({ filter: 'fail:any', last: 10, above: 3 })]), 'FSFFF')).toEqual([
      'begins at 4',
    ]);
  });

  it('below a limit needs a full window, and shows those that do not match', () => {
    const watch = new AlertWatch([
      ruleOf({ filter: 'is:success', among: 'is:train', last: 5, below: '60%' }),
    ]);
    expect(play(watch, 'FFFFF')).toMatchObject([
      {
        at: 4,
        news: {
          message: '0.0 %, 0 of 5 episodes with is:train among the newest 5 match is:success; below 60.0 %',
          filter: 'is:train -is:success id:e1..e5',
        },
      },
    ]);
  });

  it('counts in its share only the episodes among which it is taken', () => {
    const watch = new AlertWatch([
      ruleOf({ filter: 'fail:any', among: 'family:ordered', last: 2, above: '50%' }),
    ]);
    play(watch, 'FFFFFF');
    expect(watch.status()).toEqual([]);
  });

  it('over a time forgets what is older, and needs so many for a share', () => {
    const count = new AlertWatch([ruleOf({ filter: 'fail:any', withinS: 10, above: 2 })]);
    expect(turns(count, 'FFF............')).toEqual(['begins at 2', 'ends at 10']);
    const share = new AlertWatch([ruleOf({ filter: 'fail:any', withinS: 100, above: '50%' })]);
    expect(turns(share, 'F'.repeat(25))).toEqual(['begins at 19']);
  });

  it('says that too few came only when the time has passed, and does not count a rest', () => {
    const rule = ruleOf({ filter: '*', withinS: 10, below: 3 });
    expect(turns(new AlertWatch([rule]), '.'.repeat(12))).toEqual(['begins at 10']);
    const resting = new AlertWatch([rule]);
    play(resting, 'SSSSSSSSSSSS');
    // An hour's pause: the window stands still.
    for (let at = 12; at < 3600; at += 1) expect(resting.settle(START + at * 1000, false)).toEqual([]);
    expect(resting.settle(START + 3_600_000, true)).toEqual([]);
    expect(play(resting, '.........', 3601).map(({ at }) => at - 3600)).toEqual([6]);
  });

  it('does not begin again before its cooldown is over', () => {
    const flapping = 'FSSFSSFSSFSSFSSFSS';
    const told = turns(
      new AlertWatch([ruleOf({ filter: 'fail:any', last: 1, above: 0, cooldownS: 7 })]),
      flapping,
    );
    expect(told).toEqual(['begins at 0', 'ends at 1', 'begins at 9', 'ends at 10']);
  });
});

describe('an alert on a metric', () => {
  it('compares the mean of the newest iterations that have it', () => {
    const watch = new AlertWatch([
      ruleOf({ name: 'kl', metric: 'kl', last: 2, above: 0.05 }),
      ruleOf({ name: 'held-out', metric: 'held_out_success', below: '50%' }),
    ]);
    const step = (iteration: number, kl: number, heldOutSuccess: number | null): string[] => {
      watch.iteration(metricsOf(iteration, { kl, heldOutSuccess }));
      return watch
        .settle(START + iteration, true)
        .map(({ name, begins, message, filter }) => `${name} ${begins ? '+' : '-'} ${message} | ${filter}`);
    };
    expect(step(1, 0.2, null)).toEqual([]);
    expect(step(2, 0.04, 0.25)).toEqual([
      'kl + kl is 0.12 (mean of 2 iterations); above 0.05 | iter:1..2',
      'held-out + held_out_success is 25.0 %; below 50.0 % | iter:2..2',
    ]);
    expect(step(3, 0.04, 0.75)).toEqual([
      'kl - over after 1 ms, at most 0.12: now kl is 0.04 (mean of 2 iterations); above 0.05 | iter:1..3',
      'held-out - over after 1 ms, at least 25.0 %: now held_out_success is 75.0 %; below 50.0 % | iter:2..3',
    ]);
  });
});

describe('windows', () => {
  const episodes = fc.array(fc.record({ sequence: fc.nat(999), matches: fc.boolean(), wait: fc.nat(400) }), {
    maxLength: 120,
  });

  it('of a number have the counts of the newest', () => {
    fc.assert(
      fc.property(episodes, fc.integer({ min: 1, max: 30 }), (all, size) => {
        const window = new CountWindow(size);
        for (const { sequence, matches } of all) window.add(sequence, matches);
        const newest = all.slice(-size);
        expect(window.total).toBe(newest.length);
        expect(window.matched).toBe(newest.filter(({ matches }) => matches).length);
        const numbers = newest.map(({ sequence }) => sequence);
        expect(window.span()).toEqual(
          numbers.length === 0 ? null : { first: Math.min(...numbers), last: Math.max(...numbers) },
        );
      }),
    );
  });

  it('of a time have the counts of the last, to a hundredth of it', () => {
    fc.assert(
      fc.property(episodes, fc.nat(3000), (all, later) => {
        const window = new TimeWindow(2000);
        let now = 0;
        const placed = all.map(({ sequence, matches, wait }) => {
          now += wait;
          window.add(sequence, matches, now);
          return { at: now, matches };
        });
        now += later;
        window.advance(now);
        const [surely, atMost] = [1980, 2000].map((ms) => placed.filter(({ at }) => at > now - ms));
        expect(window.total).toBeGreaterThanOrEqual(surely?.length ?? 0);
        expect(window.total).toBeLessThanOrEqual(atMost?.length ?? 0);
        expect(window.matched).toBeLessThanOrEqual(atMost?.filter(({ matches }) => matches).length ?? 0);
      }),
    );
  });
});
