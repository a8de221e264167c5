import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CHECKPOINT_FORMAT } from '../../src/run/checkpoint.ts';
import { keepPolicy, listPolicies } from '../../src/run/policy-shelf.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'policy-shelf-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const weights = (version: number): Uint8Array => Uint8Array.of(version, 1, 2, 3);

test('the newest policies are kept, the newest first, and come back as they were', () => {
  for (const version of [8, 16, 24, 100]) keepPolicy(directory, version, weights(version), 3);
  const kept = listPolicies(directory);
  expect(kept.map(({ version }) => version)).toEqual([100, 24, 16]);
  for (const { version, load } of kept) expect(Uint8Array.from(load())).toEqual(weights(version));
});

test('a version that is come to again after a resume takes the place of the one before', () => {
  keepPolicy(directory, 8, weights(1), 5);
  keepPolicy(directory, 8, weights(2), 5);
  keepPolicy(directory, 80, weights(3), 5);
  const kept = listPolicies(directory);
  expect(kept.map(({ version }) => version)).toEqual([80, 8]);
  expect(Uint8Array.from(kept[1]?.load() ?? [])).toEqual(weights(2));
});

test('weights that are damaged or gone are refused when they are wanted, and other files are left alone', () => {
  keepPolicy(directory, 8, weights(8), 5);
  keepPolicy(directory, 16, weights(16), 5);
  const shelf = join(directory, 'policies');
  writeFileSync(join(shelf, 'notes.txt'), 'mine');
  const [newest = '', oldest = ''] = readdirSync(shelf)
    .filter((name) => name.endsWith('.f32'))
    .toSorted()
    .toReversed();
  const kept = listPolicies(directory);
  writeFileSync(join(shelf, newest), 'other');
  rmSync(join(shelf, oldest));
  expect(() => kept[0]?.load()).toThrowError('its checksum does not match');
  expect(() => kept[1]?.load()).toThrowError('cannot be read');
  keepPolicy(directory, 24, weights(24), 1);
  expect(readdirSync(shelf)).toContain('notes.txt');
});

test('there is none where nothing was kept, and a damaged checkpoint is passed over', () => {
  expect(listPolicies(join(directory, 'none'))).toEqual([]);
  mkdirSync(join(directory, 'it-00000010'));
  writeFileSync(join(directory, 'it-00000010', 'state.json'), '{');
  expect(listPolicies(directory)).toEqual([]);
});

test('the policy of a checkpoint counts, unless its format is another: it would act otherwise than it did', () => {
  const state = { trainer: { policyVersion: 10 }, files: { weights: { sha256: '00' } } };
  mkdirSync(join(directory, 'it-00000010'));
  for (const [format, versions] of [
    [CHECKPOINT_FORMAT, [10]],
    [CHECKPOINT_FORMAT - 1, []],
  ] as const) {
    writeFileSync(join(directory, 'it-00000010', 'state.json'), JSON.stringify({ format, ...state }));
    expect(listPolicies(directory).map(({ version }) => version)).toEqual(versions);
  }
});
