import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSavedFilters, removeFilter, saveFilter } from '../../src/store/saved-filters.ts';
import { type TemporaryRuns, temporaryRuns } from './fixture.ts';

let runs: TemporaryRuns;
beforeEach(() => {
  runs = temporaryRuns();
});
afterEach(() => runs.remove());

describe('saved filters', () => {
  it('are kept, replaced and forgotten by name', () => {
    expect([...readSavedFilters(runs.directory)]).toEqual([]);
    saveFilter(runs.directory, 'stuck', 'behaviour:loop');
    saveFilter(runs.directory, 'worse', '@stuck steps>20');
    saveFilter(runs.directory, 'stuck', 'behaviour:tool_thrash');
    expect([...readSavedFilters(runs.directory)]).toEqual([
      ['stuck', 'behaviour:tool_thrash'],
      ['worse', '@stuck steps>20'],
    ]);
    removeFilter(runs.directory, 'stuck');
    expect([...readSavedFilters(runs.directory).keys()]).toEqual(['worse']);
  });

  it.each<[string, string, RegExp]>([
    ['a b', 'is:eval', /"a b" is no name for a filter/u],
    ['', 'is:eval', /"" is no name/u],
    ['x', 'fial:any', /unknown field "fial"/u],
    ['x', '@x', /stands for itself/u],
    ['x', '@y', /no filter is saved as "y"/u],
  ])('%j for %j is refused, and nothing is written', (name, text, message) => {
    saveFilter(runs.directory, 'old', 'is:eval');
    const before = readFileSync(join(runs.directory, 'filters.json'), 'utf8');
    expect(() => saveFilter(runs.directory, name, text)).toThrow(
      expect.objectContaining({ code: 'filter-invalid', message: expect.stringMatching(message) }),
    );
    expect(readFileSync(join(runs.directory, 'filters.json'), 'utf8')).toBe(before);
  });

  it('that are not there cannot be forgotten', () => {
    expect(() => removeFilter(runs.directory, 'x')).toThrow(/no filter is saved as "x"/u);
  });

  it.each(['{', '[]', '{"a b": "is:eval"}', '{"a": 1}'])(
    'in a file of %s are refused, naming it',
    (content) => {
      writeFileSync(join(runs.directory, 'filters.json'), content);
      expect(() => readSavedFilters(runs.directory)).toThrow(/saved filters cannot be read .*filters\.json/u);
    },
  );
});
