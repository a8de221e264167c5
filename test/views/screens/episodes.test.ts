import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FacetDesk, type FacetView } from '../../../views/facet-desk.ts';
import { lineWidth } from '../../../views/line.ts';
import { drawScreen } from '../../../views/screen.ts';
import { Session } from '../../../views/session.ts';
import { drawFacetPanel } from '../../../views/widgets/facet-panel.ts';
import { driverOf, until } from '../driver.ts';
import { FakeRun } from '../fake-run.ts';
import { BRAILLE, PLAIN, textOf } from '../looks.ts';

const FACETS: NonNullable<FacetView['facets']> = {
  count: 1000,
  failures: [
    { value: null, count: 600 },
    { value: 'max_steps', count: 300 },
    { value: 'gave_up', count: 60 },
    { value: 'env_crash', count: 40 },
  ],
  families: [{ value: 'evil\u001B[2J', count: 1000 }],
  hosts: [{ value: 'local', count: 1000 }],
  behaviours: [{ value: 'loop', count: 60 }],
  iterations: Array.from({ length: 20 }, (_, band) => ({ from: band * 2, to: band * 2 + 2, count: 50 })),
  rewards: [
    { from: -0.5, to: 0, count: 1 },
    { from: 0, to: 0.5, count: 959 },
  ],
  withoutReward: 40,
};
const NEW: FacetView = { facets: FACETS, isOld: false, problem: null };

function panel(rows: number, view = NEW): string[] {
  return textOf(drawFacetPanel(view, 38, rows, PLAIN)).map((line) => line.trimEnd());
}

/** Waits for what the session does by itself; the test's own limit ends it. */
describe('the panel of counts', () => {
  it('has each value with its count and a bar where there is room', () => {
    const lines = panel(40);
    expect(lines.slice(0, 7)).toEqual([
      'outcome',
      '  success                 600 --------',
      '  max_steps               300 ----',
      '  gave_up                  60 -',
      '  env_crash                40 -',
      'family',
      String.raw`  evil\e[2J             1,000 --------`,
    ]);
    expect(lines).not.toContain('host');
    expect(lines).toContain('  2..3                     50 --------');
    expect(lines).toContain('  -0.5..0                   1 -');
    expect(lines).toContain('  none                     40 -');
    expect(lines.at(-1)).toBe('');
  });

  it.each([4, 6, 9, 12, 16, 24])(
    'counts every episode once in each way on %d rows, or leaves the way out',
    (rows) => {
      const lines = panel(rows);
      expect(lines).toHaveLength(rows);
      const sums = new Map<string, number>();
      let title = '';
      for (const line of lines) {
        if (!line.startsWith(' ')) title = line;
        const count = /(?<count>[\d,]+) -*$/u.exec(line)?.groups?.['count'];
        if (count !== undefined) sums.set(title, (sums.get(title) ?? 0) + Number(count.replaceAll(',', '')));
      }
      for (const way of ['outcome', 'family', 'iteration']) {
        expect([undefined, FACETS.count]).toContain(sums.get(way));
      }
    },
  );

  it('has what was seen in the episodes, and no single host', () => {
    const lines = panel(40);
    expect(lines).toContain('behaviour');
    expect(lines).not.toContain('host');
  });

  it('says one number where a band is narrower than what is written of it', () => {
    const rewards = [{ from: 0.25, to: 0.2500001, count: 9 }];
    const iterations = [{ from: 7, to: 8, count: 9 }];
    const lines = panel(40, { ...NEW, facets: { ...FACETS, iterations, rewards, withoutReward: 0 } });
    expect(lines.filter((line) => line.endsWith(' 9 --------')).map((line) => line.split(' ')[2])).toEqual([
      '7',
      '0.25',
    ]);
  });

  it('says what it waits for, and why it cannot count', () => {
    expect(panel(3, { facets: null, isOld: false, problem: null })[0]).toBe('counting');
    expect(panel(30, { ...NEW, isOld: true })[0]).toBe('outcome  searching');
    expect(panel(3, { facets: null, isOld: false, problem: 'no index' })[0]).toBe('no index');
  });
});

describe('FacetDesk', () => {
  const all = { kind: 'all', parts: [] } as const;
  const some = { kind: 'flag', flags: ['eval'] } as const;

  it('asks for another filter at once, for the same one when it is old, and drops what came too late', async () => {
    const desk = new FacetDesk();
    const asked: { resolve: (found: typeof FACETS) => void }[] = [];
    const search = {
      facets: async () => await new Promise<typeof FACETS>((resolve) => void asked.push({ resolve })),
    };
    const changed = new Promise<void>((resolve) => {
      desk.refresh(search, all, 0, () => expect.unreachable('the filter has changed'));
      desk.refresh(search, all, 1999, resolve);
      desk.refresh(search, some, 1999, resolve);
    });
    expect(asked).toHaveLength(2);
    asked[0]?.resolve({ ...FACETS, count: 1 });
    asked[1]?.resolve(FACETS);
    await changed;
    expect(desk.view).toEqual(NEW);
    desk.refresh(search, some, 3998, () => null);
    expect(asked).toHaveLength(2);
    desk.refresh(search, some, 3999, () => null);
    expect(asked).toHaveLength(3);
    expect(desk.view.isOld).toBe(false);
    desk.refresh(search, all, 4000, () => null);
    expect(desk.view).toEqual({ ...NEW, isOld: true });
  });

  it('says why the index cannot be read', async () => {
    const desk = new FacetDesk();
    await new Promise<void>((resolve) => {
      const search = { facets: async () => await Promise.reject(new Error('no index')) };
      desk.refresh(search, all, 0, resolve);
    });
    expect(desk.view).toEqual({ facets: null, isOld: false, problem: 'no index' });
  });
});

describe('the screen of episodes', () => {
  let fake: FakeRun;
  let session: Session;

  beforeEach(async () => {
    fake = await FakeRun.start({ iterations: 4, episodes: 120 });
    session = new Session(fake.sessionOptions);
    session.open('demo-1');
    session.resize({ columns: 120, rows: 40 });
    await session.run?.poll();
    await until(() => session.list.view.rows.length > 0);
    press('3');
    await until(() => session.facets.view.facets !== null);
  });

  afterEach(async () => {
    session.close();
    await fake.remove();
  });

  const { press, screen } = driverOf(() => session);

  it('has the list over the whole height and the counts beside it', () => {
    const lines = screen();
    expect(lines).toHaveLength(40);
    expect(lines[3]).toMatch(/^episodes 120 .*│ outcome$/u);
    expect(lines[5]).toMatch(/^› e120 .*move_rename .*│ +max_steps +8 /u);
    expect(lines[37]).toMatch(/^ {2}e88 /u);
    expect(lines.at(-1)).toMatch(/^\? help {2}Esc back {2}\/ filter/u);
    session.resize({ columns: 119, rows: 40 });
    expect(screen().join('\n')).not.toContain('outcome     │');
    expect(drawScreen(session, BRAILLE).every((line) => lineWidth(line) === 119)).toBe(true);
  });

  it('counts the episodes of the filter, and clears it before it goes back', async () => {
    press('/', ...Array.from('id<=30 fail:max_steps'), 'enter');
    expect(screen()[3]).toMatch(/│ outcome {2}searching$/u);
    await until(() => !session.facets.view.isOld);
    expect(session.facets.view.facets?.count).toBe(session.list.view.total);
    expect(screen()[4]).toMatch(/│ +max_steps +2 ─{8}$/u);
    press('escape');
    expect(session.screen).toBe('episodes');
    expect(session.list.view.filterText).toBe('');
    press('escape');
    expect(session.screen).toBe('overview');
  });

  it('moves by its own pages, opens the replay, and comes back to it', () => {
    press('J');
    expect(session.list.selected?.id).toBe('e87');
    press('enter');
    expect(session.screen).toBe('replay');
    press('q');
    expect(session.screen).toBe('episodes');
    press('m');
    expect(session.marked).toBe('e87');
    press('j', 'd');
    expect(session.screen).toBe('diff');
    press('q', '3');
    expect(session.screen).toBe('overview');
  });
});
