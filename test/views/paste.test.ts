import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MOST_PASTED, onOneLine, type Paste } from '../../views/paste.ts';
import { takePaste } from '../../views/paste-actions.ts';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun } from './fake-run.ts';

function pasteOf(text: string, more: Partial<Paste> = {}): Paste {
  return { text, length: text.length, isCut: false, ...more };
}

describe('onOneLine', () => {
  it('leaves out what a terminal would obey, and makes one line of several', () => {
    expect(onOneLine('\r\nfail:loop\r\n\tsteps>3\n')).toBe('fail:loop steps>3');
    expect(
      onOneLine('a\u001B[2Jb\u001B]0;title\u0007c\u001B]8;;x\u001B\\d\u001BMe\u0000\u0007f\u009Bg'),
    ).toBe('abcdefg');
    expect(onOneLine('文 👩‍👩‍👦 é')).toBe('文 👩‍👩‍👦 é');
  });

  it('never holds a control character', () => {
    const piece = fc.constantFrom(
      '\u001B',
      '[',
      ']',
      '0',
      '~',
      'm',
      '\u0007',
      '\n',
      '\r',
      ' ',
      'x',
      '\u009B',
      '\uD800',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        expect(onOneLine(pieces.join(''))).not.toMatch(/[\p{Cc}\p{Cs}]/u);
      }),
    );
  });
});

describe('a paste on the screen', () => {
  let fake: FakeRun;
  let session: Session;

  beforeEach(async () => {
    fake = await FakeRun.start({ iterations: 4, episodes: 30 });
    session = new Session(fake.sessionOptions);
    session.open('demo-1');
    session.resize({ columns: 120, rows: 40 });
    await session.run?.poll();
    // A run that has not said how it is cannot be stopped from the screen.
    await until(() => session.client !== null && (session.run?.snapshot().status ?? null) !== null);
  });

  afterEach(async () => {
    session.close();
    await fake.remove();
  });

  const { press, screen } = driverOf(() => session);

  it.each(['2', '3', '6', '7', '8', '1'])('does nothing on screen %s but say so', (key) => {
    press(key);
    const { screen: before, front } = session;
    takePaste(session, pasteOf('S\ry'));
    expect(session.toast?.text).toBe('pasted 3 characters: nothing to paste into');
    expect([session.screen, session.front]).toEqual([before, front]);
    takePaste(session, pasteOf('q'));
    expect(session.toast?.text).toBe('pasted 1 character: nothing to paste into');
    expect(session.quitting).toBe(false);
  });

  it('does not answer a question', () => {
    press('S');
    takePaste(session, pasteOf('y'));
    expect(session.question?.title).toBe('Stop run demo-1?');
    expect(fake.requests).toEqual([]);
  });

  it('goes into the filter line where the cursor is, and is not accepted by its line end', () => {
    press('/', 'a', 'b', 'left');
    takePaste(session, pasteOf('fail:loop\nsteps>3\r'));
    expect(session.filterInput).toMatchObject({ text: 'afail:loop steps>3b', cursor: 18 });
  });

  it('goes into a line that is asked for, and into the palette, whose pointer goes back to the first', () => {
    press('1', 'n');
    takePaste(session, pasteOf('run.yaml clip=0.1\n'));
    expect(screen().at(-2)).toContain(': run.yaml clip=0.1_');
    press('escape', '2', ':', 'down', 'down');
    takePaste(session, pasteOf('quiesce'));
    expect(session.palette?.selected?.name).toBe('quiesce');
  });

  it('says when a paste broke off, or was too long to be kept', () => {
    press('/');
    takePaste(session, pasteOf('fail', { isCut: true }));
    expect(session.toast).toMatchObject({ text: 'the paste broke off after 4 characters', tone: 'bad' });
    takePaste(session, pasteOf('x'.repeat(MOST_PASTED), { length: 52_311 }));
    expect(session.toast?.text).toBe('the first 10,000 characters of 52,311 were pasted');
    expect(session.filterInput?.text.length).toBe(MOST_PASTED + 4);
  });
});
