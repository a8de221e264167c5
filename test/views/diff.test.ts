import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordedExecution } from '../../src/replay/recorded.ts';
import { lineWidth } from '../../views/line.ts';
import { drawScreen } from '../../views/screen.ts';
import { Session, type SessionOptions } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun } from './fake-run.ts';
import { BRAILLE, COLOUR, PLAIN } from './looks.ts';

let fake: FakeRun;
let session: Session;
let reexecute: SessionOptions['reexecute'];

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 4, episodes: 130 });
  reexecute = fake.sessionOptions.reexecute;
  session = new Session({ ...fake.sessionOptions, reexecute: async (...ids) => await reexecute(...ids) });
  session.open('demo-1');
  session.resize({ columns: 120, rows: 30 });
  await until(() => session.client !== null && session.list.view.rows.length > 0);
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

const { press, screen } = driverOf(() => session);

describe('comparing two episodes', () => {
  it('takes the marked one and the one in front', () => {
    press('m', 'j', 'd');
    expect(session.screen).toBe('diff');
    expect(screen()[0]).toMatch(/^two episodes {2}\w+\/\w+\/\d+/u);
    expect(screen()[2]).toMatch(/e130 {2}iteration .*e129 {2}iteration/u);
    press('escape', 'enter', 'd');
    expect(session.screen).toBe('diff');
    press('q');
    expect(session.screen).toBe('replay');
  });

  it('takes the mark away again', () => {
    press('m', 'm');
    expect(session.marked).toBeNull();
    expect(session.toast?.text).toBe('e130 is no longer marked');
  });

  it('without a mark takes the newest try of the same task before it, looked for beside the drawing', async () => {
    press('d');
    expect(session.screen).toBe('overview');
    await until(() => session.screen === 'diff');
    // Every hundredth episode is of the same task.
    expect(session.diff?.left.title).toMatch(/^e30 /u);
    expect(session.diff?.right.title).toMatch(/^e130 /u);
  });

  it('says so where the task was not tried before', async () => {
    press('G');
    await until(() => session.list.selected?.id === 'e1');
    press('d');
    await until(() => session.toast !== null);
    expect(session.diff).toBeNull();
    expect(session.toast?.text).toBe(
      'e1 is the first try of its task; mark another episode with m, then press d here',
    );
  });

  it('is not shown to who has gone elsewhere while the other was looked for', async () => {
    press('d', 'j');
    await session.run?.search.close();
    press('k');
    expect(session.diff).toBeNull();
    expect(session.screen).toBe('overview');
  });

  it('keeps the comparison for 5, and says so where there is none', () => {
    press('5');
    expect(session.toast?.text).toContain('nothing has been compared yet');
    press('m', 'j', 'd', 'escape', '5');
    expect(session.screen).toBe('diff');
  });
});

describe('an episode that is done again', () => {
  it('is told of to who has gone elsewhere meanwhile, and kept for 5', async () => {
    reexecute = async (_run, id) => {
      const stored = session.run?.reader?.episode(id);
      if (stored === undefined) throw new Error('no reader');
      return { ...recordedExecution(stored), broken: null, calls: [], envVersion: '1' };
    };
    press('x', '8');
    await until(() => session.diff !== null);
    expect(session.screen).toBe('events');
    expect(session.toast?.text).toMatch(/^e\d+ done again: identical: .*; 5 shows it$/u);
    press('5');
    expect(session.screen).toBe('diff');
  });

  it('is shown beside its record with the verdict', async () => {
    reexecute = async (_run, id) => {
      const stored = session.run?.reader?.episode(id);
      if (stored === undefined) throw new Error('no reader');
      return { ...recordedExecution(stored), broken: null, calls: [], envVersion: '1' };
    };
    press('x');
    await until(() => session.screen === 'diff');
    expect(screen()[0]).toMatch(/^an episode and its re-execution/u);
    expect(screen()[1]).toMatch(/^ identical {2}the same, in \d+ steps?/u);
    press('n');
    expect(session.toast?.text).toBe('no difference further down');
  });

  it('shows within the line what has changed, without colour too, and jumps to it', async () => {
    reexecute = async (_run, id) => {
      const stored = session.run?.reader?.episode(id);
      if (stored === undefined) throw new Error('no reader');
      const recorded = recordedExecution(stored);
      const finalLines = ['something else happened'];
      return { ...recorded, finalLines, broken: null, calls: [], envVersion: '1' };
    };
    press('x');
    await until(() => session.screen === 'diff');
    expect(screen()[1]).toMatch(/^ environment drift {2}observation at step \d+/u);
    expect(session.diff?.rows.row(session.diff.cursor.selected)?.same).toBe(false);
    expect(screen(PLAIN).join('\n')).toMatch(/\{\+something else happened\+\}/u);
    press('v');
    expect(screen()[2]).toMatch(/^- e130 .*\+ e130 done again/u);
    press('g', 'n');
    expect(session.diff?.rows.row(session.diff.cursor.selected)?.same).toBe(false);
  });

  it('may be one by its policy, whose stand-in is named', async () => {
    let asked: string | undefined;
    reexecute = async (_run, id, mode) => {
      asked = mode;
      const stored = session.run?.reader?.episode(id);
      if (stored === undefined) throw new Error('no reader');
      const recorded = recordedExecution(stored);
      const steps = recorded.steps.map((step) => ({
        ...step,
        decision: { policyVersion: 999, probability: 0.5, value: 0, recordedProbability: 0.5 },
      }));
      return { ...recorded, steps, broken: null, calls: [], envVersion: '1' };
    };
    press('X');
    await until(() => session.screen === 'diff');
    expect(asked).toBe('policy');
    expect(session.diff?.right.title).toMatch(/^e\d+ done again by its policy$/u);
    expect(session.toast?.text).toMatch(
      /^identical: .*; policy v999 acted for v\d+, whose weights are not kept/u,
    );
  });

  it('says why it could not be', async () => {
    reexecute = async () => await Promise.reject(new Error('there is no environment module'));
    press('x');
    await until(() => session.toast?.tone === 'bad');
    expect(session.toast?.text).toBe('there is no environment module');
    expect(session.screen).toBe('overview');
  });
});

it('fits every size in both layouts', () => {
  press('m', 'j', 'd');
  for (const size of [
    { columns: 40, rows: 10 },
    { columns: 80, rows: 24 },
    { columns: 200, rows: 50 },
  ]) {
    for (const look of [BRAILLE, COLOUR, PLAIN]) {
      session.resize(size);
      press('v');
      const lines = drawScreen(session, look);
      expect(lines).toHaveLength(size.rows);
      expect(lines.map(lineWidth).every((width) => width <= size.columns)).toBe(true);
    }
  }
});
