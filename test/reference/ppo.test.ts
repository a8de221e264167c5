import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const SCRIPT = 'test/reference/ppo_reference.py';
/** Of the largest absolute value of each list of numbers. */
const TOLERANCE = 1e-9;

/** What the script prints now; null without a Python that has PyTorch. In CI that is a failure, not a reason to skip. */
function printed(): string | null {
  for (const python of ['/usr/bin/python3', 'python3']) {
    const { status, error, stdout, stderr } = spawnSync(python, [SCRIPT], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    if (status === 0) return stdout;
    if (error === undefined && !stderr.includes("No module named 'torch'")) throw new Error(stderr);
  }
  if (process.env['CI']) throw new Error('there is no Python with PyTorch: apt-get install python3-torch');
  return null;
}

/** Where two JSON values differ. */
function differences(actual: unknown, expected: unknown, path = ''): string[] {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (actual.length !== expected.length) return [`${path}: ${actual.length} for ${expected.length}`];
    if (isNumbers(expected) && isNumbers(actual)) {
      const largest = Math.max(...expected.map(Math.abs), Number.MIN_VALUE);
      const far = expected.findIndex(
        (value, i) => !(Math.abs((actual[i] ?? NaN) - value) <= TOLERANCE * largest),
      );
      return far < 0 ? [] : [`${path}[${far}]: ${actual[far]} for ${expected[far]}`];
    }
    return expected.flatMap((value, i) => differences(actual[i], value, `${path}[${i}]`));
  }
  if (isRecord(expected) && isRecord(actual)) {
    const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...names].flatMap((name) => differences(actual[name], expected[name], `${path}.${name}`));
  }
  if (typeof expected === 'number' && typeof actual === 'number')
    return differences([actual], [expected], path);
  return actual === expected ? [] : [`${path}: ${String(actual)} for ${String(expected)}`];
}

function isNumbers(value: unknown[]): value is number[] {
  return value.every((each) => typeof each === 'number');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

test('the reference is what PyTorch computes now', { timeout: 60_000 }, (context) => {
  const text = printed();
  if (text === null) return context.skip('there is no Python with PyTorch here');
  const now: unknown = JSON.parse(text);
  const stored: unknown = JSON.parse(readFileSync('test/reference/ppo-reference.json', 'utf8'));
  if (!isRecord(now) || !isRecord(stored)) throw new Error('the reference is no object');
  // Who made it may differ; what was made may not.
  expect(differences({ ...now, made: null }, { ...stored, made: null })).toEqual([]);
});

test('a changed reference is noticed', () => {
  const stored = { a: [1, 2e-3], b: { c: 'x' }, d: [[1], [2]] };
  expect(differences(stored, stored)).toEqual([]);
  expect(differences({ ...stored, a: [1, 2.00001e-3] }, stored)).toEqual(['.a[1]: 0.00200001 for 0.002']);
  expect(differences({ ...stored, d: [[1], [2, 3]] }, stored)).toEqual(['.d[1]: 2 for 1']);
  expect(differences({ a: stored.a, d: stored.d }, stored)).toEqual(['.b: undefined for [object Object]']);
});
