import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyDecoder } from '../../views/keys.ts';
import { MOST_PASTED, type Paste } from '../../views/paste.ts';

function decode(...chunks: string[]): (string | Paste)[] {
  const decoder = new KeyDecoder();
  return [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.flush()];
}

describe('KeyDecoder', () => {
  it('takes a held key that arrives in one read as several presses', () => {
    expect(decode('jjj')).toEqual(['j', 'j', 'j']);
    expect(decode('\u001B[B\u001B[B\u001BOA')).toEqual(['down', 'down', 'up']);
  });

  it('hands reports of the mouse over, and takes them for no keys', () => {
    const reports: unknown[] = [];
    const decoder = new KeyDecoder((report) => reports.push(report));
    const keys = decoder.push(
      'j\u001B[<0;12;7M\u001B[<0;12;7m\u001B[<65;1;1Mk\u001B[<64;300;1M\u001B[<2;1;1M',
    );
    expect(keys).toEqual(['j', 'k']);
    expect(reports).toEqual([
      { kind: 'click', row: 6 },
      { kind: 'wheel', by: 1 },
      { kind: 'wheel', by: -1 },
    ]);
  });

  it('puts a sequence that is cut between two reads together', () => {
    expect(decode('\u001B', '[', '6', '~x')).toEqual(['pgdn', 'x']);
  });

  it('takes an Escape that nothing follows as the Escape key', () => {
    const decoder = new KeyDecoder();
    expect(decoder.push('\u001B')).toEqual([]);
    expect(decoder.patienceMs).toBe(25);
    expect(decoder.flush()).toEqual(['escape']);
    expect(decoder.patienceMs).toBeNull();
  });

  it('keeps the key typed right after Escape', () => {
    expect(decode('\u001Bq')).toEqual(['escape', 'q']);
    expect(decode('\u001B\u001B')).toEqual(['escape', 'escape']);
    expect(decode('\u001B[')).toEqual(['escape', '[']);
  });

  it('names space, enter, tab, backspace and control keys', () => {
    expect(decode(' \r\t\u001B[Z\u007F\u0003')).toEqual([
      'space',
      'enter',
      'tab',
      'shift-tab',
      'backspace',
      'ctrl-c',
    ]);
  });

  it('swallows mouse reports, focus reports and function keys', () => {
    expect(decode('\u001B[<0;10;10M\u001B[I\u001B[15~k')).toEqual(['k']);
  });

  it('gives the same keys however the input is cut into reads', () => {
    const piece = fc.constantFrom('j', ' ', '\u001B[A', '\u001B[5~', '\u001BOB', '\u001B', '文', '\r', '[');
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.array(fc.nat(40), { maxLength: 6 }),
        (pieces, cuts) => {
          const text = pieces.join('');
          const places = [...new Set(cuts.filter((cut) => cut < text.length)), 0, text.length].toSorted(
            (a, b) => a - b,
          );
          const chunks = places.slice(1).map((end, index) => text.slice(places[index], end));
          expect(decode(...chunks)).toEqual(decode(text));
        },
      ),
    );
  });

  it('hands a paste over as one text, in its order among the keys, whatever stands in it', () => {
    const text = 'q\r\u001B[Aj\u001B[31m 文\u0003';
    expect(decode(`/\u001B[200~${text}\u001B[201~\r`)).toEqual([
      '/',
      { text, length: text.length, isCut: false },
      'enter',
    ]);
  });

  it('puts a paste together however it is cut into reads, also within the marks', () => {
    const sent = '\u001B[200~stop\u001B[20 the run\u001B[201~j';
    for (let cut = 1; cut < sent.length; cut += 1) {
      const decoder = new KeyDecoder();
      const typed = [sent.slice(0, cut), sent.slice(cut)].flatMap((chunk) => decoder.push(chunk));
      expect(typed).toEqual([{ text: 'stop\u001B[20 the run', length: 16, isCut: false }, 'j']);
      expect(decoder.patienceMs).toBeNull();
    }
  });

  it('keeps the beginning of a very long paste, and counts all of it', () => {
    const [paste] = decode('\u001B[200~', 'x'.repeat(MOST_PASTED), 'y'.repeat(50_000), '\u001B[201~');
    expect(paste).toEqual({ text: 'x'.repeat(MOST_PASTED), length: MOST_PASTED + 50_000, isCut: false });
  });

  it('gives a paste up that has lost its end, and takes what comes of it later for no keys', () => {
    const decoder = new KeyDecoder();
    expect(decoder.push('\u001B[200~rm -rf')).toEqual([]);
    expect(decoder.patienceMs).toBeGreaterThan(500);
    expect(decoder.flush()).toEqual([{ text: 'rm -rf', length: 6, isCut: true }]);
    expect(decoder.push('S'.repeat(40))).toEqual([]);
    expect(decoder.push('y\u001B[201~k')).toEqual([
      { text: `${'S'.repeat(40)}y`, length: 41, isCut: true },
      'k',
    ]);
    expect(decoder.push('S'.repeat(40)).length).toBe(40);

    expect(decoder.push('\u001B[200~again')).toEqual([]);
    expect(decoder.flush().length).toBe(1);
    expect(decoder.push('jk')).toEqual(['j', 'k']);
  });
});
