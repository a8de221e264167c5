import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRunDirectory, runPaths, writeManifest } from '../../src/store/run-directory.ts';
import { saveFilter } from '../../src/store/saved-filters.ts';
import { lineWidth } from '../../views/line.ts';
import { drawScreen } from '../../views/screen.ts';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { appendEpisodes, childOf, eventOf, FakeRun, manifestOf, statusOf } from './fake-run.ts';
import { BLOCK, BRAILLE, PLAIN } from './looks.ts';

let fake: FakeRun;
let session: Session;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 40, episodes: 120 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  await session.run?.poll();
  await until(() => session.client !== null && session.list.view.rows.length > 0);
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

/** Waits for what the session does by itself; the test's own limit ends it. */
/** The rows below the filter line and its hint. */
function below(): string[] {
  return screen().slice(screen().findIndex((line) => line.startsWith('/ ')) + 2);
}

/** What was asked for beside the drawing is there. */
function settled(): boolean {
  const counted = session.screen !== 'episodes' || session.facets.view.facets !== null;
  return counted && session.completion?.view.isAsking !== true;
}

const { press, screen } = driverOf(() => session);

const SCREENS: Readonly<Record<string, readonly string[]>> = {
  overview: [],
  'proposed knobs': [']', '}'],
  suggestions: ['/', 'f', 'tab', 'tab'],
  'filter line': ['/', 'b', 'a', 'd', ':', '1', 'enter'],
  replay: ['enter', 'j'],
  help: ['?'],
  'stop question': ['S'],
  runs: ['r'],
  episodes: ['3'],
  pipeline: ['7'],
  events: ['8'],
  palette: [':', 'k', 'n'],
  columns: ['3', 'C'],
  note: ['N', 'x'],
  bulk: ['3', 'V', 'B'],
  diff: ['m', 'j', 'd'],
};

describe('every screen', () => {
  for (const [name, keys] of Object.entries(SCREENS)) {
    for (const [columns, rows] of [
      [80, 24],
      [120, 40],
      [200, 50],
      [40, 10],
      [61, 15],
      [20, 5],
      [1, 1],
    ] as const) {
      it(`fits ${columns}x${rows}: ${name}`, async () => {
        session.resize({ columns: 120, rows: 40 });
        press(...keys);
        await until(settled);
        session.resize({ columns, rows });
        for (const look of [BRAILLE, BLOCK, PLAIN]) {
          const lines = drawScreen(session, look);
          expect(lines.length).toBeLessThanOrEqual(rows);
          // Every row is drawn, but for the text that the terminal is too small.
          expect(lines.length === rows || columns < 40 || rows < 10).toBe(true);
          for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
        }
      });
    }
  }
});

describe('without unicode', () => {
  it.each(Object.entries(SCREENS))('draws %s in ASCII only', async (_, keys) => {
    session.resize({ columns: 120, rows: 40 });
    press(...keys);
    await until(settled);
    // Agents may write other scripts; everything of our own is ASCII.
    const text = screen(PLAIN).join('\n').replaceAll('文件', '');
    // oxlint-disable-next-line no-control-regex -- that is the point
    expect(text).toMatch(/^[\u0000-\u007F]*$/u);
  });
});

describe('the overview', () => {
  it('shows everything at 80x24', () => {
    expect(screen().slice(0, 4)).toMatchInlineSnapshot(`
      [
        "demo-1  RUNNING                       iteration 41 · 3m05s/10m00s · data <1s old",
        "env steps/s 52.1k sampling     success train 83.7%   held-out 74.4%   void 0.1%",
        "workers 1/1  trainer ok   slots busy 6,990/7,000   memory 1,200 MiB",
        "env steps/s ─ 53k                       KL ─ 0.0291 ┄ clipped 13.6%  target 0.02",
      ]
    `);
    expect(screen().slice(11, 22)).toMatchInlineSnapshot(`
      [
        "[ ] clip 0.2   { } KL coefficient 0.05   - + learning rate 0.001",
        "episodes 120  following              success 40  max_steps 8  premature_submit 8",
        "  episode   outcome            reward  steps   iter  policy family",
        "› e120      success             0.250      2      1      v4 move_rename",
        "  e119      wrong_result        0.250      2      1      v4 move_rename",
        "  e118      premature_submit    0.250      2      1      v4 move_rename",
        "  e117      success             0.250      2      1      v4 move_rename",
        "  e116      wall_clock          0.250      2      1      v4 move_rename",
        "  e115      max_steps           0.250      2      1      v4 move_rename",
        "  e114      success             0.250      2      1      v4 move_rename",
        "  e113      tool_error           void      2      1      v4 move_rename",
      ]
    `);
    expect(screen()[23]).toMatchInlineSnapshot(
      `"? help  q quit  Space pause/resume  / filter  f failure type  Enter open  1 runs"`,
    );
  });

  it('is drawn below the smallest size as a text, and quits from there', () => {
    session.resize({ columns: 30, rows: 5 });
    expect(screen().join(' ')).toBe('Terminal too small: 30x5, needs 40x10. The run goes on. q quits.');
    press('j', 'S');
    expect(session.question).toBeNull();
    press('q');
    expect(session.quitting).toBe(true);
  });

  it('tells within two looks that a worker restarts', async () => {
    fake.status = statusOf({
      children: [childOf({ state: 'restarting', restarts: 1 }), childOf({ role: 'trainer' })],
    });
    await until(() => screen()[2]?.includes('worker 0@local restarting') === true);
    expect(screen()[2]).toMatch(/^ ! workers 0\/1 {2}trainer ok: worker 0@local restarting/u);
  });

  it('tells that the run process is gone, and refuses keys with the reason', async () => {
    await fake.die();
    await until(() => screen()[2]?.includes('the run process is gone') === true);
    press('space');
    expect(session.toast?.text).toBe('Space does nothing now: the run does not answer');
    press('S');
    expect(session.question).toBeNull();
  });
});

describe('keys of the overview', () => {
  it('shows what a clip knob would do before it is sent, and sends it on Enter', async () => {
    press(']', ']');
    expect(screen()[11]).toBe('[ ] clip 0.2 → 0.24?  asking the trainer');
    expect(screen().at(-1)).toMatch(/^Enter set now {2}Esc drop {2}/u);
    await until(() => !screen()[11]?.includes('asking'));
    expect(screen()[11]).toBe(
      '[ ] clip 0.2 → 0.24?  clipped 24.1% → 21.3%  KL 0.0211 → 0.0242  on update 41',
    );
    expect(fake.requests).toMatchObject([{ command: 'preview', knobs: { clip: 0.24 } }]);
    fake.knobDelayMs = 50;
    press('enter');
    expect(screen()[11]).toContain('[ ] clip 0.2 → 0.24   { }');
    await until(() => session.toast !== null);
    expect(session.toast?.text).toBe('clip 0.2 → 0.24 from iteration 41, minibatch 3');
    expect(fake.requests.slice(1)).toMatchObject([{ command: 'set', knobs: { clip: 0.24 } }]);
    expect(session.screen).toBe('overview');
    await until(() => session.run?.snapshot().knobChanges.length === 1);
    await until(() =>
      screen()
        .slice(3, 11)
        .every((line) => line.includes('┊') || !line.startsWith('      │')),
    );
  });

  it('sends a proposed knob by itself when the keys rest', async () => {
    press('}');
    await until(() => fake.knobs.kl === 0.075);
    expect(fake.requests.map(({ command }) => command)).toEqual(['preview', 'set']);
    expect(session.front).toBe('overview');
  });

  it('says why there is no preview, and sends all the same', async () => {
    fake.previewRefused = 'no update was made yet';
    press(']');
    await until(() => screen()[11]?.includes('no preview: no update was made yet') === true);
    await until(() => session.toast !== null);
    expect(session.toast?.text).toBe(
      'clip 0.2 → 0.22 from iteration 41, minibatch 3 (no preview: no update was made yet)',
    );
  });

  it('drops a proposed knob on Escape and on u, without touching the filter', async () => {
    press('/', ...Array.from('steps>1'), 'enter', ']', 'escape');
    expect(screen()[11]).toContain('[ ] clip 0.2   {');
    expect(session.list.view.filterText).toBe('steps>1');
    press(']', '}', 'u');
    expect(session.front).toBe('overview');
    // Moved there and back is no change either.
    press(']', '[');
    expect(session.front).toBe('overview');
    press('escape');
    expect(session.list.view.filterText).toBe('');
    await session.run?.poll();
    expect(fake.requests).toEqual([]);
  });

  it('sends several proposed knobs together, with one preview of all', async () => {
    press(']', '}');
    await until(() => fake.requests.length === 1);
    press('enter');
    await until(() => fake.knobs.clip === 0.22);
    const knobs = { clip: 0.22, kl: 0.075 };
    expect(fake.requests).toMatchObject([
      { command: 'preview', knobs },
      { command: 'set', knobs },
    ]);
  });

  it('asks again for values that were moved while the trainer thought about others', async () => {
    const gate = new EventEmitter();
    fake.previewGate = once(gate, 'open');
    press(']');
    await until(() => fake.requests.length === 1);
    press(']');
    gate.emit('open');
    await until(() => screen()[11]?.includes('clipped') === true);
    expect(fake.requests).toMatchObject([{ knobs: { clip: 0.22 } }, { knobs: { clip: 0.24 } }]);
    press('escape');
  });

  it('turns knobs without a preview at once, and takes back what is still on its way', async () => {
    fake.knobDelayMs = 50;
    press('tab', '+', 'u');
    await until(() => session.toast?.text.startsWith('undone: ') === true);
    expect(session.toast?.text).toBe('undone: value coefficient 0.75 → 0.5 from iteration 41, minibatch 3');
    expect(fake.requests).toMatchObject([{ command: 'set', knobs: { value: 0.75 } }, { command: 'undo' }]);
    expect(fake.knobs.value).toBe(0.5);
  });

  it('takes back what was turned before this screen was opened, by anybody', async () => {
    press(']', 'enter');
    await until(() => fake.knobs.clip === 0.22);
    session.close();
    session = new Session(fake.sessionOptions);
    session.open('demo-1');
    await until(() => session.keyContext.canUndo);
    press('u');
    await until(() => fake.knobs.clip === 0.2);
    await until(() => !session.keyContext.canUndo);
    press('u');
    expect(session.toast?.text).toBe('u does nothing now: no change of a knob is left to take back');
  });

  it('sends what is proposed when the screen is left with q, and not with Ctrl-C', async () => {
    press(']', 'ctrl-c');
    await session.run?.poll();
    expect(fake.requests).toEqual([]);
    press(']', 'q');
    session.close();
    await until(() => fake.requests.length > 0);
    expect(fake.requests).toMatchObject([{ command: 'set', knobs: { clip: 0.22 } }]);
  });

  it('shows the episodes of events with o, the newest event first, and says which', async () => {
    expect(session.keyContext.eventEpisodes).toBe(false);
    const kind = 'update-rolled-back';
    const subject = 'trainer';
    fake.store.appendEvent(eventOf({ kind: 'kl-stop', subject, message: 'update 9', episodes: ['e5'] }));
    // After every row of metrics, whenever this test runs.
    const time = Date.UTC(2100, 0, 1);
    fake.store.appendEvent(
      eventOf({ time, kind, subject, level: 'error', message: 'update 11', episodes: ['e14', 'e12'] }),
    );
    await until(() => session.keyContext.eventEpisodes);
    expect(screen()[2]).toBe(' ! o: episodes; update 11');
    expect(screen()[22]).toMatch(/ERROR trainer: update 11 .* o its 2 episodes$/u);
    press('f', 'o');
    await until(() => !session.list.view.isSearching);
    expect(session.list.view.rows.map(({ id }) => id)).toEqual(['e14', 'e12']);
    expect(screen()[12]).toContain('filter id:e14,e12');
    expect(session.toast?.text).toBe('update 11');
    press('o');
    await until(() => !session.list.view.isSearching);
    expect(session.list.view.rows.map(({ id }) => id)).toEqual(['e5']);
    press('o');
    expect(session.list.view.filterText).toBe('id:e14,e12');
    press('escape', 'o');
    expect(session.list.view.filterText).toBe('id:e14,e12');
  });

  it('calls an alert out while it holds, and o shows the episodes that it is about', async () => {
    const name = 'stuck';
    const filter = 'fail:gave_up id:e1..e9';
    const message = '4 of 9 episodes match fail:gave_up; above 3';
    fake.store.appendEvent(eventOf({ kind: 'alert', level: 'warning', subject: name, message, filter }));
    fake.status = { ...fake.status, alerts: [{ name, since: Date.now(), message, filter }] };
    await until(() => session.keyContext.eventEpisodes);
    await until(() => screen().some((line) => line.includes('alert stuck')));
    expect(screen()[2]).toBe(` ! o: episodes; alert stuck: ${message}`);
    press('o');
    expect(session.list.view.filterText).toBe(filter);
    // That it is over is news, but `o` goes on to what began.
    const over = 'over after 3 s';
    fake.store.appendEvent(eventOf({ kind: 'alert', subject: name, message: over, filter: 'id:e1' }));
    fake.status = { ...fake.status, alerts: [] };
    await until(() => !screen().some((line) => line.includes('alert stuck')));
    press('escape', 'o');
    expect(session.list.view.filterText).toBe(filter);
    press('e');
    await until(() => session.events.events.some((event) => event.message === over));
    expect(screen().join('\n')).toContain('over after 3 s');
    press('enter');
    expect(session.list.view.filterText).toBe('id:e1');
  });

  it('says that a knob is at its end instead of sending', async () => {
    fake.knobs = { ...fake.knobs, clip: 1 };
    await until(() => session.run?.snapshot().status?.knobs.clip === 1);
    press(']');
    await until(() => session.toast !== null);
    expect(session.toast?.text).toBe('clip stays 1: it is the greatest it takes');
    expect(fake.requests).toEqual([]);
  });

  it('pauses and resumes with space', async () => {
    press('space');
    await until(() => session.run?.snapshot().manifest.state === 'pausing');
    expect(screen()[0]).toContain('PAUSING');
    press('space');
    await until(() => session.run?.snapshot().manifest.state === 'running');
    press('P');
    await until(() => session.run?.snapshot().manifest.state === 'paused');
    expect(fake.requests.map(({ command }) => command)).toEqual(['pause', 'resume', 'pause']);
  });

  it('asks before it stops the run, with Cancel in focus', async () => {
    press('S');
    expect(screen().join('\n')).toContain('2 processes, 6,990 episodes in flight');
    expect(screen().join('\n')).toContain('› [ Cancel ]');
    press('enter');
    expect(session.question).toBeNull();
    expect(fake.requests).toEqual([]);
    press('S', 'tab', 'enter');
    await until(() => fake.requests.length === 1);
    expect(fake.requests[0]).toMatchObject({ command: 'stop' });
  });

  it('shows an error of the filter with a caret under its column', async () => {
    session.resize({ columns: 80, rows: 24 });
    press('/', ...Array.from('steps>1 stpes>2'), 'enter');
    const at = screen().findIndex((line) => line.startsWith('/ steps>1 stpes>2'));
    expect(screen().slice(at + 2, at + 5)).toEqual([
      'filter, column 9: unknown field "stpes"; did you mean steps?',
      '  steps>1 stpes>2',
      '          ^',
    ]);
    press('ctrl-u', ...Array.from('fail:max_steps'), 'enter');
    expect(session.filterInput).toBeNull();
    await until(() => !session.list.view.isSearching);
    expect(session.list.view.rows.length).toBeGreaterThan(0);
    expect(session.list.view.rows.every(({ failure }) => failure === 'max_steps')).toBe(true);
    press('escape');
    expect(session.list.view.filterText).toBe('');
  });

  it('takes filters by the name that they are saved under, and points at a name that there is none of', async () => {
    saveFilter(fake.runsDirectory, 'limits', 'fail:max_steps');
    press('/', ...Array.from('@limits id<60'), 'enter');
    await until(() => !session.list.view.isSearching);
    expect(session.list.view.filterText).toBe('@limits id<60');
    expect(session.list.view.rows.every(({ failure }) => failure === 'max_steps')).toBe(true);
    expect(session.list.view.total).toBeGreaterThan(0);
    press('/', 'ctrl-u', ...Array.from('id<9 @limit'), 'enter');
    const at = screen().findIndex((line) => line.startsWith('/ id<9 @limit'));
    expect(screen().slice(at + 2, at + 5)).toEqual([
      'filter, column 6: no filter is saved as "limit"; did you mean @limits?',
      '  id<9 @limit',
      '       ^',
    ]);
  });

  it('suggests with Tab what may follow, with how many episodes that matches, and takes it over', async () => {
    session.resize({ columns: 120, rows: 40 });
    saveFilter(fake.runsDirectory, 'limits', 'fail:max_steps');
    press('/', ...Array.from('id<=60 f'), 'tab');
    await until(settled);
    expect(below()[0]).toMatch(/^ {2}fail: +failure type; any, none$/u);
    expect(session.filterInput?.text).toBe('id<=60 f');
    press('tab');
    expect(session.filterInput?.text).toBe('id<=60 fail:');
    expect(below()[0]).toMatch(/^› fail:/u);
    press('shift-tab');
    const last = session.completion?.view.suggestions.at(-1)?.text;
    expect(session.filterInput?.text).toBe(`id<=60 ${last}`);
    press('tab', 'm');
    await until(settled);
    expect(session.filterInput?.text).toBe('id<=60 fail:m');
    expect(below()[0]).toMatch(/^ {2}max_steps +4$/u);
    press('tab', 'enter');
    await until(() => !session.list.view.isSearching);
    expect(session.list.view).toMatchObject({ filterText: 'id<=60 fail:max_steps', total: 4 });
    expect(session.completion).toBeNull();
    press('/', 'ctrl-u', '@', 'tab', 'tab');
    await until(settled);
    expect(session.filterInput?.text).toBe('@limits');
    expect(below()[0]).toMatch(/^› @limits +8 {2}fail:max_steps$/u);
    press('tab', 'backspace', 'z');
    await until(settled);
    expect(below()[0]).toBe('  nothing is known to follow here');
  });

  it('suggests what may stand at the cursor, and brings accepted filters back', async () => {
    session.resize({ columns: 120, rows: 40 });
    press('/', ...Array.from('fail:g id<=60'), 'home', 'ctrl-right', 'tab', 'tab');
    await until(settled);
    expect(session.filterInput).toMatchObject({ text: 'fail:gave_up id<=60', cursor: 12 });
    press('ctrl-w', ...Array.from('is:f'), 'tab', 'tab');
    await until(settled);
    expect(session.filterInput).toMatchObject({ text: 'is:failed id<=60', cursor: 9 });
    press('enter', '/', 'ctrl-u', ...Array.from('id<5'), 'enter', '/', 'ctrl-u', 'x', 'up', 'up');
    expect(session.filterInput).toMatchObject({ text: 'is:failed id<=60', cursor: 16 });
    press('down', 'down');
    expect(session.filterInput).toMatchObject({ text: 'x', cursor: 1 });
    press('up', 'enter');
    expect(session.list.view.filterText).toBe('id<5');
  });

  it('says why nothing can be suggested, and suggests nothing for the events', async () => {
    await session.run?.search.close();
    press('/', 'f', 'tab');
    await until(settled);
    expect(screen().join('\n')).toMatch(/\n {2}could not read the index/u);
    press('escape', '8', '/', 'tab');
    expect(session.toast?.text).toBe('Tab does nothing now: nothing can be suggested here');
    expect(session.completion).toBeNull();
  });

  it('says so when the saved filters cannot be read, and goes on with others', () => {
    writeFileSync(join(fake.runsDirectory, 'filters.json'), '{');
    press('/', ...Array.from('@limits'), 'enter');
    expect(screen().join('\n')).toContain('the saved filters cannot be read');
    press('ctrl-u', ...Array.from('id<9'), 'enter');
    expect(session.list.view.filterText).toBe('id<9');
  });

  it('types spaces and erases in the filter line, and leaves it with Escape', () => {
    press('/', 'a', 'space', '文', 'backspace', 'q');
    expect(session.filterInput?.text).toBe('a q');
    press('escape');
    expect(session.filterInput).toBeNull();
    expect(session.quitting).toBe(false);
  });

  it('goes through failure types with f, the most frequent first', () => {
    press('f');
    expect(session.list.view.failure).toBe('sandbox_error');
    expect(screen().join('\n')).toContain('only sandbox_error');
  });

  it('keeps the list still once the user moves, and says what is new', async () => {
    press('j', 'j');
    appendEpisodes(fake.store, 121, 248);
    await until(() => session.list.view.fresh === 128);
    expect(screen().join('\n')).toContain('+128 new (g)');
    expect(session.list.selected?.id).toBe('e118');
    press('g');
    await until(() => session.list.selected?.id === 'e248');
    expect(session.list.view).toMatchObject({ following: true, selected: 0, fresh: 0 });
  });

  it('leaves the run going when it quits', () => {
    press('q');
    expect(session.quitting).toBe(true);
    expect(fake.requests).toEqual([]);
  });
});

describe('the replay', () => {
  beforeEach(() => {
    session.resize({ columns: 100, rows: 18 });
    press('j', 'enter');
  });

  it('shows a step in full, hostile text made visible', () => {
    press('j');
    expect(screen().slice(0, 16)).toMatchInlineSnapshot(`
      [
        "episode e119    wrong_result    reward 0.25   steps 2   workbench/move_rename/train/19   iteration 1",
        "terminated: submitted, and the result is not what was asked: limit 2",
        "paid   progress 0.2   submit 0.05",
        "       1  input "notes.t…    +0.1│step 2/2   policy version v4   probability 87.3%   value 0.33",
        "›      2  submit            -0.05│entropy 0.41   reward -0.05   candidates 1   no effect",
        "     end  final observation      │action  submit",
        "                                 │observation before the action (+ is new)",
        "                                 │  task: rename notes.txt",
        "                                 │+ evil \\e[2J\\e]0;title\\x07 文件",
        "                                 │",
        "                                 │",
        "                                 │",
        "                                 │",
        "                                 │",
        "                                 │",
        "                                 │",
      ]
    `);
  });

  it('ends with what was seen last', () => {
    press('G');
    expect(screen()[3]).toContain('end after 2 steps: terminated: submitted, and the result is not');
    expect(screen().join('\n')).toContain('+ done');
  });

  it('goes to the next and the previous episode of the list, and back to it', () => {
    expect(session.replay?.episode.summary.id).toBe('e119');
    press('n');
    expect(session.replay?.episode.summary.id).toBe('e118');
    press('p', 'p');
    expect(session.replay?.episode.summary.id).toBe('e120');
    press('p');
    expect(session.toast?.text).toBe('this is the first episode of the list');
    press('q');
    expect(session.screen).toBe('overview');
    expect(session.list.selected?.id).toBe('e120');
  });

  it('scrolls the details of a step no further than its end', () => {
    session.resize({ columns: 60, rows: 10 });
    expect(screen().join('\n')).toContain('more lines');
    press('J', 'J', 'J', 'J', 'J');
    expect(screen().join('\n')).toContain('screen: empty');
    expect(screen().join('\n')).not.toContain('more lines');
    press('K', 'K', 'K', 'K', 'K');
    expect(session.replay?.scroll).toBe(0);
  });
});

describe('help', () => {
  it('lists the keys of the screen below it, with the reason where one does nothing', async () => {
    await fake.die();
    await until(() => session.run?.snapshot().connection === 'gone');
    session.resize({ columns: 110, rows: 40 });
    press('?');
    const text = screen().join('\n');
    expect(text).toContain(
      'Space             pause (episodes in flight are finished first), or resume (not now: the run does not answer)',
    );
    expect(text).not.toContain('next episode of the filtered list');
    press('escape');
    expect(session.help).toBeNull();
  });

  it('explains the keys of a knob that shows its preview, and the signs of the overview', () => {
    session.resize({ columns: 120, rows: 100 });
    press('?');
    const text = screen().join('\n');
    expect(text).toContain('while a knob shows its preview: set it now');
    expect(text).toMatch(/↗ ↘ ~ +behind a knob: the config's schedule moves it/u);
    expect(text).toMatch(/┇ +through the charts: an update was rolled back/u);
  });

  it('scrolls on a small screen no further than its end', () => {
    session.resize({ columns: 40, rows: 10 });
    press('?', 'G');
    const { scroll } = session.help ?? { scroll: -1 };
    press('j');
    expect(session.help?.scroll).toBe(scroll);
    press('g');
    expect(session.help?.scroll).toBe(0);
  });
});

describe('the list of runs', () => {
  it('opens a run, and goes back to the one that was open', () => {
    press('r');
    expect(screen()[4]).toMatch(/^› demo-1 +running \(live\)/u);
    press('r');
    expect(session.screen).toBe('overview');
    press('r', 'enter');
    expect(session.screen).toBe('overview');
  });

  it('says what a run was branched from', () => {
    const paths = runPaths(fake.runsDirectory, 'second');
    createRunDirectory(paths);
    writeManifest(paths, manifestOf({ id: 'second', parent: { run: 'demo-1', iteration: 12 } }));
    press('r');
    expect(screen().some((line) => / second .* {2}of demo-1@12$/u.test(line))).toBe(true);
    session.resize({ columns: 120, rows: 40 });
    expect(screen().some((line) => / second .* {2}branch of demo-1@12$/u.test(line))).toBe(true);
  });

  it('starts the demo run and opens it', async () => {
    press('r', 'k', 'enter');
    await until(() => session.screen === 'overview' && !session.starting);
    expect(session.toast?.text).toBe('run demo-1 has started');
  });

  it('says why a run could not be started', async () => {
    session.close();
    session = new Session({
      ...fake.sessionOptions,
      startRun: async () => await Promise.reject(new Error('no space left')),
    });
    session.showRuns();
    press('enter');
    expect(screen()[3]).toContain('starting a run');
    await until(() => session.toast !== null);
    expect(screen().join('\n')).toContain('! no space left');
    expect(session.starting).toBe(false);
    press('q');
    expect(session.quitting).toBe(true);
  });

  it('calls a run dead whose process is gone', async () => {
    await fake.die();
    press('r');
    expect(screen()[4]).toMatch(/^› demo-1 +dead/u);
  });
});
