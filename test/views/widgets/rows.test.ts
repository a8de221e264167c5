import { describe, expect, it } from 'vitest';
import type { KnobChange, RunStatus } from '../../../src/domain/run.ts';
import type { EpisodeListView } from '../../../views/episode-list.ts';
import { KnobDesk, type KnobDeskView } from '../../../views/knob-desk.ts';
import type { PreviewState } from '../../../views/knob-proposal.ts';
import { drawListHead, drawListRows, drawListTitle } from '../../../views/widgets/episode-table.ts';
import { drawFooter, drawMessageRow } from '../../../views/widgets/footer.ts';
import { drawKnobRow } from '../../../views/widgets/knob-row.ts';
import { changeOf, PREVIEW, START, statusOf, summaryOf } from '../fake-run.ts';
import { BRAILLE, PLAIN, textOf } from '../looks.ts';

const LIST: EpisodeListView = {
  rows: [summaryOf(12), summaryOf(11), summaryOf(10)],
  top: 0,
  selected: 1,
  total: 12,
  following: true,
  fresh: 0,
  counts: { success: 4, max_steps: 5, env_crash: 3 },
  filterText: '',
  failure: null,
  isSearching: false,
  error: null,
};

function trimmed(lines: Parameters<typeof textOf>[0]): string[] {
  return textOf(lines).map((line) => line.trimEnd());
}

function draw(width: number): string[] {
  return trimmed([drawListHead(width, BRAILLE), ...drawListRows(LIST, { width, rows: 4 }, BRAILLE)]);
}

function firstRow(list: EpisodeListView): string | undefined {
  return trimmed(drawListRows(list, { width: 60, rows: 2 }, BRAILLE))[0];
}

describe('the episode list', () => {
  it('shows as many columns as fit and a pointer at the selected row', () => {
    expect(draw(80)).toMatchInlineSnapshot(`
      [
        "  episode   outcome            reward  steps   iter  policy family",
        "  e12       success             0.250      2      1      v4 move_rename",
        "› e11       env_crash            void      2      1      v4 move_rename",
        "  e10       gave_up             0.250      2      1      v4 move_rename",
        "",
      ]
    `);
    expect(draw(40)).toMatchInlineSnapshot(`
      [
        "  episode   outcome            reward",
        "  e12       success             0.250",
        "› e11       env_crash            void",
        "  e10       gave_up             0.250",
        "",
      ]
    `);
  });

  it('says what it filters and how often each outcome occurs', () => {
    const filtered = { ...LIST, failure: 'max_steps', filterText: 'steps>20' } as const;
    expect(trimmed([drawListTitle(filtered, 110, BRAILLE)])).toMatchInlineSnapshot(`
      [
        "episodes 12  following  only max_steps  filter steps>20                    max_steps 5  success 4  env_crash 3",
      ]
    `);
  });

  it('counts what came in since it stopped following', () => {
    const moved = { ...LIST, following: false, fresh: 128, counts: {} };
    expect(trimmed([drawListTitle(moved, 40, BRAILLE)])).toEqual(['episodes 12  +128 new (g)']);
  });

  it('says why it is empty', () => {
    const empty = { ...LIST, rows: [], total: 0 };
    expect(firstRow(empty)).toBe('  no episode has finished yet');
    expect(firstRow({ ...empty, failure: 'gave_up' })).toBe('  no episode matches; Esc clears the filter');
    expect(firstRow({ ...empty, error: 'lab.db is locked' })).toBe('  lab.db is locked');
  });
});

/** The knobs of a desk that nobody has used. */
function idle(change: Partial<RunStatus> = {}, changes: readonly KnobChange[] = []): KnobDeskView {
  return desk().view(statusOf(change), changes);
}

async function nobody(): Promise<never> {
  return await Promise.reject(new Error('nobody is asked'));
}

function silent(): void {
  throw new Error('nothing is said');
}

function desk(): KnobDesk {
  return new KnobDesk(
    { set: nobody, undo: nobody, preview: nobody },
    { attempt: silent, say: silent, changed: silent },
  );
}

describe('the knob row', () => {
  it('shows the knobs with keys first, the selected one with - and +, then the others', () => {
    expect(trimmed([drawKnobRow(idle(), 80, BRAILLE)])).toMatchInlineSnapshot(`
      [
        "[ ] clip 0.2   { } KL coefficient 0.05   - + learning rate 0.001",
      ]
    `);
    const other = desk();
    other.select(1);
    expect(trimmed([drawKnobRow(other.view(statusOf(), []), 80, BRAILLE)])).toMatchInlineSnapshot(`
      [
        "[ ] clip 0.2   { } KL coefficient 0.05   - + value coefficient 0.5",
      ]
    `);
  });

  it('shows a value on its way beside the one in use', () => {
    const view = idle();
    const knobs = view.knobs.map((knob) => (knob.name === 'clip' ? { ...knob, pending: 0.22 } : knob));
    expect(trimmed([drawKnobRow({ ...view, knobs }, 24, BRAILLE)])).toEqual(['[ ] clip 0.2 → 0.22']);
    expect(trimmed([drawKnobRow({ ...view, knobs }, 24, PLAIN)])).toEqual(['[ ] clip 0.2 > 0.22']);
  });

  it('marks knobs that the schedule moves, and where to', () => {
    const moved = { who: 'schedule', knob: 'lr', from: 0.001, to: 0.0009 } as const;
    const view = idle({ scheduled: ['lr', 'clip'] }, [changeOf(moved), changeOf({ knob: 'lr', to: 5 })]);
    expect(trimmed([drawKnobRow(view, 80, BRAILLE)])).toEqual([
      '[ ] clip 0.2 ~   { } KL coefficient 0.05   - + learning rate 0.001 ↘',
    ]);
    expect(trimmed([drawKnobRow(view, 80, PLAIN)])[0]).toContain('learning rate 0.001 ~');
    const up = idle({ scheduled: ['lr'] }, [changeOf({ ...moved, to: 0.002 })]);
    expect(trimmed([drawKnobRow(up, 80, BRAILLE)])[0]).toContain('learning rate 0.001 ↗');
  });

  it('shows a proposed value alone, with what it would do', () => {
    const { knobs } = idle();
    const proposed = knobs.map((knob) => (knob.name === 'clip' ? { ...knob, proposed: 0.22 } : knob));
    const row = (preview: PreviewState, width: number, look = BRAILLE): string | undefined =>
      trimmed([drawKnobRow({ knobs: proposed, preview }, width, look)])[0];
    const known = { kind: 'known', preview: PREVIEW } as const;
    expect(row(known, 80)).toBe(
      '[ ] clip 0.2 → 0.22?  clipped 24.1% → 21.3%  KL 0.0211 → 0.0242  on update 41',
    );
    expect(row(known, 40, PLAIN)).toBe('clip 0.2 > 0.22?  clipped 24.1% > 21.3%');
    expect(row({ kind: 'asking' }, 80)).toBe('[ ] clip 0.2 → 0.22?  asking the trainer');
    const refused = { kind: 'refused', reason: 'no update was made yet, and so on and on' } as const;
    expect(row(refused, 60)).toBe('[ ] clip 0.2 → 0.22?  no preview: no update was made yet, a…');
  });
});

describe('the message row', () => {
  const event = {
    time: START,
    level: 'warning',
    kind: 'worker-died',
    subject: 'worker 0@local',
    message: 'killed by SIGKILL',
    episodes: [] as string[],
  } as const;

  it('shows the newest event with its level in words', () => {
    const [row] = trimmed([drawMessageRow({ toast: null, event, now: START }, 80, BRAILLE)]);
    expect(row).toMatch(/^\d\d:\d\d:\d\d WARNING worker 0@local: killed by SIGKILL$/u);
  });

  it('says with which key the episodes of an event are shown, however long its message is', () => {
    const named = { ...event, message: 'm'.repeat(90), episodes: ['e12', 'e14'] };
    const [row] = trimmed([drawMessageRow({ toast: null, event: named, now: START }, 80, BRAILLE)]);
    expect(row).toMatch(/m… o its 2 episodes$/u);
  });

  it('shows the message of the app before it', () => {
    const toast = { text: 'clip 0.2 → 0.22', tone: 'good', until: START } as const;
    expect(trimmed([drawMessageRow({ toast, event, now: START }, 80, PLAIN)])).toEqual(['clip 0.2 > 0.22']);
    const bad = { ...toast, text: 'no', tone: 'bad' } as const;
    expect(trimmed([drawMessageRow({ toast: bad, event, now: START }, 80, PLAIN)])).toEqual(['! no']);
  });
});

describe('the footer', () => {
  it('leaves out keys that do nothing just now', () => {
    const live = {
      hasRun: true,
      live: true,
      state: 'running',
      rows: 3,
      canUndo: false,
      completes: false,
      isSearching: false,
      hasReplay: false,
      hasDiff: false,
      eventEpisodes: false,
    } as const;
    expect(trimmed([drawFooter('overview', live, 80, BRAILLE)])).toMatchInlineSnapshot(`
      [
        "? help  q quit  Space pause/resume  / filter  f failure type  Enter open  1 runs",
      ]
    `);
    expect(
      trimmed([drawFooter('overview', { ...live, live: false, state: 'stopped' }, 80, BRAILLE)]),
    ).toMatchInlineSnapshot(`
      [
        "? help  q quit  / filter  f failure type  Enter open  1 runs  c charts",
      ]
    `);
  });
});
