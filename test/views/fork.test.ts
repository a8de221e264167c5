import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatAction } from '../../src/domain/space.ts';
import type { Fork, ForkPlan } from '../../src/replay/fork.ts';
import { lineWidth } from '../../views/line.ts';
import { drawScreen } from '../../views/screen.ts';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun } from './fake-run.ts';
import { BRAILLE, PLAIN } from './looks.ts';

let fake: FakeRun;
let session: Session;
let asked: ForkPlan[];
let answer: (plan: ForkPlan) => Promise<Fork>;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 2, episodes: 20 });
  asked = [];
  answer = async (plan) => await Promise.resolve(forkFrom(plan));
  session = new Session({
    ...fake.sessionOptions,
    keptPolicies: () => [40, 30],
    fork: async (_run, _episode, plan) => {
      asked.push(plan);
      return await answer(plan);
    },
  });
  session.open('demo-1');
  session.resize({ columns: 100, rows: 30 });
  await until(() => session.client !== null && session.list.view.rows.length > 0);
  press('enter', 'F');
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

function forkFrom(plan: ForkPlan): Fork {
  return {
    plan,
    was: { type: 'noop', argument: null },
    original: { success: false, failure: 'max_steps', reward: 0.5, steps: 30 },
    versions: [7],
    outcomes: [{ success: true, failure: null, reward: 1.2, steps: 6 }],
    successShare: 1,
    reward: [1, 1, 1.2, 1.2, 1.2],
    steps: [6, 6, 6, 6, 6],
    failures: [],
    brokenBy: null,
    drift: null,
  };
}

const { press, type, screen } = driverOf(() => session);

describe('F on a step of a replay', () => {
  it('asks what is done instead: what the policy draws, or any of what was on offer', () => {
    const episode = session.replay?.episode;
    expect(screen()[0]).toMatch(new RegExp(`^fork ${episode?.summary.id} at step 1  `, 'u'));
    expect(screen()[3]).toMatch(/what the policy draws$/u);
    const was = session.replay?.steps.step(0)?.action;
    expect(was).toBeDefined();
    expect(screen().filter((line) => line.endsWith('as it was'))).toEqual([
      expect.stringContaining(was === undefined ? '' : formatAction(was)),
    ]);
  });

  it('does what is chosen, and shows how that ends', async () => {
    press('down', 'down', 'k', 'enter');
    const chosen = session.fork?.choices[1];
    const plan = { step: 1, action: chosen?.action, version: null, count: 20, maxSteps: null };
    expect(asked).toEqual([plan]);
    await until(() => session.fork?.busy === null);
    const text = screen().join('\n');
    expect(text).toContain(`from step 1: ${chosen?.text} instead of noop, then 1 continuation, policy v7`);
    expect(text).toContain('1 of 1 succeeded');
    press('enter');
    expect(asked).toHaveLength(2);
  });

  it('says what it does meanwhile, does one thing at a time, and says why something could not be done', async () => {
    const pending: { fail?: (error: Error) => void } = {};
    answer = async () => await new Promise((_resolve, reject) => (pending.fail = reject));
    press('enter', 'enter');
    expect(screen().join('\n')).toContain('trying what the policy draws');
    expect(asked).toHaveLength(1);
    pending.fail?.(new Error('no weights of the policy are kept'));
    await until(() => session.fork?.busy === null);
    expect(screen().join('\n')).toContain('no weights of the policy are kept');
  });

  it('has the likeliest of what might be done first, and what is not known last', () => {
    const known = (session.fork?.choices ?? []).slice(1).map(({ probability }) => probability ?? -1);
    expect(known.length).toBeGreaterThan(2);
    expect(known).toEqual(known.toSorted((a, b) => b - a));
    expect(screen()[4]).toMatch(/^ +[\d.]+% /u);
  });

  it('goes on by another policy, other times, to another limit', () => {
    expect(screen()[1]).toContain('then the policy of that time goes on, 20 times; nothing is stored');
    press('v');
    expect(screen().join('\n')).toMatch(/v40 +the newest that is kept\n +v30 *\n/u);
    press('down', 'enter', 'n');
    type('0');
    press('enter');
    expect(screen().at(-2)).toMatch(/^"0" is no whole number from 1 to 1000: 0_$/u);
    press('ctrl-u');
    type('5');
    press('enter', 's');
    type('30');
    press('enter');
    expect(screen()[1]).toContain('then policy v40 goes on, 5 times, to step 30 at most; nothing is stored');
    press('enter');
    expect(asked).toEqual([{ step: 1, action: null, version: 40, count: 5, maxSteps: 30 }]);
  });

  it('goes by pages and to the ends of what might be done', () => {
    press('G');
    expect(session.fork?.selected).toEqual(session.fork?.choices.at(-1));
    press('pgup', 'g');
    expect(session.fork?.cursor.selected).toBe(0);
  });

  it('goes back to the replay', () => {
    press('escape');
    expect(session.fork).toBeNull();
    expect(session.screen).toBe('replay');
  });

  it('has nothing to ask where there is no step', () => {
    press('escape', 'G', 'F');
    expect(session.fork).toBeNull();
    expect(session.toast?.text).toContain('there is no step here');
  });

  it('fits every size', () => {
    for (const size of [
      { columns: 40, rows: 10 },
      { columns: 80, rows: 24 },
      { columns: 200, rows: 50 },
    ]) {
      session.resize(size);
      for (const look of [BRAILLE, PLAIN]) {
        const lines = drawScreen(session, look);
        expect(lines).toHaveLength(size.rows);
        expect(lines.every((line) => lineWidth(line) <= size.columns)).toBe(true);
      }
    }
  });
});
