import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemErrorCode } from '../../src/domain/error.ts';
import { BEHAVIOUR_NAMES, FAILURE_TYPES } from '../../src/domain/failure.ts';
import { type Filter, formatFilter, parseFilter } from '../../src/store/filter.ts';
import { CHOICE_FIELD_NAMES, FLAG_NAMES, NUMBER_FIELD_NAMES } from '../../src/store/filter-tree.ts';
import { filters } from './filter-arbitrary.ts';

function where(text: string): Filter['where'] {
  return parseFilter(text).where;
}

describe('reading', () => {
  it('nothing matches everything, newest first', () => {
    const everything = { where: { kind: 'all', parts: [] }, sort: { field: 'id', descending: true } };
    for (const text of ['', '   ', '*']) expect(parseFilter(text)).toEqual(everything);
  });

  it.each<[string, object]>([
    ['fail:premature_submit', { kind: 'choice', field: 'fail', values: ['premature_submit'] }],
    ['FAIL:Any', { kind: 'choice', field: 'fail', values: ['any'] }],
    ['failure=none,gave_up', { kind: 'choice', field: 'fail', values: ['none', 'gave_up'] }],
    ['family:"a b",c', { kind: 'choice', field: 'family', values: ['a b', 'c'] }],
    ['steps>20', { kind: 'compare', field: 'steps', comparison: '>', value: 20 }],
    ['reward<-0.5', { kind: 'compare', field: 'reward', comparison: '<', value: -0.5 }],
    ['policy:>=120', { kind: 'compare', field: 'policy', comparison: '>=', value: 120 }],
    ['iter:40..60', { kind: 'range', field: 'iter', from: 40, to: 60 }],
    ['reward:-1..-.5', { kind: 'range', field: 'reward', from: -1, to: -0.5 }],
    ['steps:..9', { kind: 'compare', field: 'steps', comparison: '<=', value: 9 }],
    ['steps:9..', { kind: 'compare', field: 'steps', comparison: '>=', value: 9 }],
    ['worker:1,2,1', { kind: 'numbers', field: 'worker', values: [1, 2] }],
    ['id:e12', { kind: 'numbers', field: 'id', values: [12] }],
    ['id:e12,E14,e12', { kind: 'numbers', field: 'id', values: [12, 14] }],
    ['id:e10..e20', { kind: 'range', field: 'id', from: 10, to: 20 }],
    ['age<10m', { kind: 'compare', field: 'age', comparison: '<', value: 600_000 }],
    ['age:90s..1.5h', { kind: 'range', field: 'age', from: 90_000, to: 5_400_000 }],
    ['age>3D', { kind: 'compare', field: 'age', comparison: '>', value: 259_200_000 }],
    ['stage.step>2s', { kind: 'compare', field: 'stage.step', comparison: '>', value: 2000 }],
    ['stage.reset:0', { kind: 'numbers', field: 'stage.reset', values: [0] }],
    [
      'tool.Save-as.v2.failed>3',
      { kind: 'compare', field: 'tool.Save-as.v2.failed', comparison: '>', value: 3 },
    ],
    ['TOOL.open.MS<20ms', { kind: 'compare', field: 'tool.open.ms', comparison: '<', value: 20 }],
    ['detail:"no space",Timeout', { kind: 'choice', field: 'detail', values: ['no space', 'Timeout'] }],
    ['age:250ms', { kind: 'numbers', field: 'age', values: [250] }],
    [
      'started>2026-11-30T14:05',
      { kind: 'compare', field: 'started', comparison: '>', value: new Date(2026, 10, 30, 14, 5).getTime() },
    ],
    [
      'started<2026-11-30',
      { kind: 'compare', field: 'started', comparison: '<', value: new Date(2026, 10, 30).getTime() },
    ],
    ['tool.failed>3', { kind: 'compare', field: 'tool.failed', comparison: '>', value: 3 }],
    ['part.Goal-1:>0', { kind: 'compare', field: 'part.Goal-1', comparison: '>', value: 0 }],
    ['ended:void,truncated', { kind: 'choice', field: 'ended', values: ['void', 'truncated'] }],
    ['tag:"long form"', { kind: 'choice', field: 'tag', values: ['long form'] }],
    ['stage:none', { kind: 'choice', field: 'stage', values: ['none'] }],
    ['split:heldout,TRAIN', { kind: 'choice', field: 'split', values: ['held_out', 'train'] }],
    ['is:held_out', { kind: 'flag', flags: ['heldout'] }],
    ['is:heldout,success', { kind: 'flag', flags: ['heldout', 'success'] }],
    ['-is:void', { kind: 'not', part: { kind: 'flag', flags: ['void'] } }],
    ['--is:void', { kind: 'flag', flags: ['void'] }],
    ['"say \\"hi\\""', { kind: 'text', text: 'say "hi"' }],
    ['orders', { kind: 'text', text: 'orders' }],
    ['"or"', { kind: 'text', text: 'or' }],
  ])('%s', (text, tree) => {
    expect(where(text)).toEqual(tree);
  });

  it('and binds closer than or, brackets closer still', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((text) => ({ kind: 'text', text }));
    expect(where('a b or c')).toEqual({ kind: 'any', parts: [{ kind: 'all', parts: [a, b] }, c] });
    expect(where('a (b OR c)')).toEqual({ kind: 'all', parts: [a, { kind: 'any', parts: [b, c] }] });
    expect(where('-(a b)')).toEqual({ kind: 'not', part: { kind: 'all', parts: [a, b] } });
  });

  it('takes the order from wherever it stands', () => {
    expect(parseFilter('sort:-reward is:eval')).toEqual(parseFilter('is:eval sort:-reward'));
    expect(parseFilter('sort:iteration').sort).toEqual({ field: 'iter', descending: false });
  });
});

describe('refusing', () => {
  it('shows the column and what may have been meant', () => {
    expect(() => parseFilter('is:eval fail:prematur_submit')).toThrow(
      expect.objectContaining({
        code: 'filter-invalid',
        message: [
          'filter, column 14: unknown value "prematur_submit"; did you mean premature_submit?',
          '  is:eval fail:prematur_submit',
          '               ^',
        ].join('\n'),
        hint: expect.stringContaining('gave_up'),
      }),
    );
  });

  it.each<[string, number, string]>([
    ['fial:any', 1, 'unknown field "fial"; did you mean fail?'],
    ['fail:timeout', 6, 'unknown value "timeout"'],
    ['fail:max', 6, 'did you mean max_steps?'],
    ['is:held', 4, 'did you mean heldout?'],
    ['behaviour:loops', 11, 'did you mean loop?'],
    ['https://x', 1, 'unknown field "https"'],
    ['fail:', 6, 'a value is wanted after "fail"'],
    ['fail: any', 6, 'a value is wanted'],
    ['fail:any,', 10, 'a value is wanted'],
    ['fail>any', 1, 'cannot be compared with >; did you mean fail:any?'],
    ['steps:many', 7, 'steps takes a number, got "many"'],
    ['steps:1e999', 7, 'takes a number'],
    ['age<10', 5, 'age takes a length of time, got "10"'],
    ['age<10x', 5, 'takes a length of time'],
    ['age:2h..90m', 5, 'age:2h..90m is empty: 2h is more than 90m; did you mean age:90m..2h?'],
    ['started>yesterday', 9, 'started takes a day or a time'],
    ['started>2026-13-45', 9, 'started takes a day or a time'],
    ['part.>1', 1, 'unknown field "part."'],
    ['tool.fail>1', 1, 'did you mean tool.failed'],
    ['stage.step>2', 12, 'stage.step takes a length of time, got "2"'],
    ['tool.open.fails>1', 1, 'unknown field "tool.open.fails"'],
    ['@', 1, 'no filter is saved as ""'],
    ['@nothing', 1, 'no filter is saved as "nothing"'],
    ['steps:5..2', 7, 'did you mean steps:2..5?'],
    ['steps:..', 7, 'has no end'],
    ['steps>1,2', 9, 'takes one value'],
    ['steps:1..x', 10, 'got "x"'],
    ['sort:stesp', 6, 'did you mean steps?'],
    ['sort:steps sort:id', 12, 'a second sort'],
    ['(sort:steps a)', 2, 'belongs to the whole filter'],
    ['-sort:steps', 2, 'belongs to the whole filter'],
    ['(a', 1, 'a ( without its )'],
    ['a)', 2, 'a ) without its ('],
    ['()', 2, 'a term is wanted in the brackets'],
    ['a or', 5, 'a term is wanted on each side of "or"'],
    ['or a', 1, 'a term is wanted on each side of "or"'],
    ['a or or b', 5, 'a term is wanted'],
    ['a or sort:id', 5, 'a term is wanted'],
    ['- a', 1, 'nothing to negate'],
    ['"open', 1, 'a quote that is not closed'],
    ['""', 1, 'a text to search for is wanted'],
  ])('%s', (text, column, message) => {
    const error = captured(() => parseFilter(text));
    expect(error).toMatch(new RegExp(`^filter, column ${column}: `, 'u'));
    expect(error.split('\n')[0]).toContain(message);
  });

  it('keeps the caret under the place in long and odd texts', () => {
    const text = `${'a\t'.repeat(100)}fail:x`;
    const error = captured(() => parseFilter(text));
    const [, shown = '', caret = ''] = error.split('\n');
    expect(shown.slice(caret.indexOf('^'))).toBe('x');
    expect(shown).not.toContain('\t');
  });

  it('bounds length, terms and depth', () => {
    expect(() => parseFilter('a'.repeat(4001))).toThrow(/longer than 4000/u);
    expect(() => parseFilter('a '.repeat(201))).toThrow(/more than 200 terms/u);
    expect(() => parseFilter(`${'('.repeat(60)}a${')'.repeat(60)}`)).toThrow(/deeper than 50/u);
    expect(() => parseFilter(`${'-'.repeat(60)}a`)).toThrow(/deeper than 50/u);
  });

  it('never fails in another way, whatever the text', () => {
    const piece = fc.constantFrom(
      'fail',
      'is',
      ':',
      '>',
      '=',
      '-',
      '(',
      ')',
      'or',
      ' ',
      '"',
      '\\',
      ',',
      '..',
      'e1',
      '*',
      'sort',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (text) => {
          expect(codeOf(() => parseFilter(text))).toMatch(/^(?:fine|filter-invalid)$/u);
        },
      ),
    );
  });
});

describe('a saved filter', () => {
  const saved = new Map([
    ['stuck', 'behaviour:loop or steps>20'],
    ['worst', 'is:failed sort:reward'],
    ['both', '@stuck @worst'],
    ['one', '@other'],
    ['other', 'is:eval -@one'],
    ['wrong', 'fial:any'],
  ]);
  const read = (text: string): string => formatFilter(parseFilter(text, saved));

  it.each<[string, string]>([
    ['@stuck', 'behaviour:loop or steps>20'],
    ['is:eval @stuck', 'is:eval (behaviour:loop or steps>20)'],
    ['-@stuck', '-(behaviour:loop or steps>20)'],
    ['@worst', 'is:failed sort:reward'],
    ['(@stuck) is:eval @worst', '(behaviour:loop or steps>20) is:eval is:failed sort:reward'],
    ['@both', '(behaviour:loop or steps>20) is:failed sort:reward'],
    ['"@stuck"', '"@stuck"'],
  ])('%s stands for %s', (text, meaning) => {
    expect(read(text)).toBe(meaning);
  });

  it.each<[string, RegExp]>([
    ['is:eval @stuk', /^filter, column 9: no filter is saved as "stuk"; did you mean @stuck\?/u],
    ['@one', /^filter, column 10: @one stands for itself: @one → @other → @one/u],
    ['@worst sort:id', /^filter, column 8: a second sort/u],
    ['sort:id @worst', /^filter, column 9: a second sort/u],
    ['-@worst', /^filter, column 2: sort belongs to the whole filter/u],
    ['@wrong', /^filter, column 1: unknown field "fial"/u],
  ])('%s is refused', (text, message) => {
    expect(captured(() => read(text))).toMatch(message);
  });
});

describe('printing', () => {
  it('gives a text that reads as the same filter', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(parseFilter(formatFilter(filter))).toEqual(filter);
      }),
      {
        numRuns: 500,
      },
    );
  });

  it.each(['', 'fail:any', '(a or b) sort:-reward', 'is:eval -(a b)', 'id:e1..e9', '* or is:eval', '-*'])(
    'settles: %s',
    (text) => {
      const once = formatFilter(parseFilter(text));
      expect(formatFilter(parseFilter(once))).toBe(once);
    },
  );
});

it('docs/FILTER.md names every field, flag and value', () => {
  const page = readFileSync('docs/FILTER.md', 'utf8');
  const fields = [...CHOICE_FIELD_NAMES, ...NUMBER_FIELD_NAMES].map((field) => `\`${field}\``);
  const values = [...FLAG_NAMES.map((flag) => `is:${flag}`), ...FAILURE_TYPES, ...BEHAVIOUR_NAMES];
  for (const name of [...fields, ...values]) expect(page, `${name} is missing`).toContain(name);
});

function codeOf(act: () => unknown): string {
  try {
    act();
    return 'fine';
  } catch (thrown) {
    return systemErrorCode(thrown) ?? String(thrown);
  }
}

function captured(act: () => unknown): string {
  try {
    act();
  } catch (thrown) {
    return String(thrown instanceof Error ? thrown.message : thrown);
  }
  throw new Error('nothing was thrown');
}
