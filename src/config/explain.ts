import type { z } from 'zod';
import { nearest } from '../domain/nearest.ts';
import { isRecord } from '../domain/table.ts';
import type { Problem } from './budgets.ts';
import { type ConfigPath, valueAt } from './source.ts';

/** What one of zod's issues means, in words: one problem for each unknown key, one for any other issue. */
export function explainIssue(issue: z.core.$ZodIssue, raw: unknown, defaults: unknown): Problem[] {
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: `unknown key${suggestKey(path, key, defaults)}`,
    }));
  }
  if (issue.code === 'custom') return [{ path, message: issue.message }];
  if (issue.code === 'invalid_key') return [{ path, message: `a name takes ${innerMessage(issue.issues)}` }];
  const value = valueAt(raw, path);
  return [{ path, message: `got ${describe(value)}, wanted ${wanted(issue)}${like(issue, value)}` }];
}

function wanted(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.map(String).join(' or ');
    case 'too_small':
      return wantedMinimum(issue);
    case 'too_big':
      return issue.inclusive === false
        ? `less than ${String(issue.maximum)}`
        : `${String(issue.maximum)} or less`;
    case 'invalid_union':
      return kindsOf(issue).join(' or ') || issue.message;
    case 'not_multiple_of':
    case 'invalid_format':
    case 'invalid_element':
    case 'invalid_key':
    case 'unrecognized_keys':
    case 'custom':
      return issue.message;
  }
}

/** The names that a key which tells kinds apart may have. */
function kindsOf(issue: z.core.$ZodIssue): string[] {
  const options: unknown = 'options' in issue ? issue.options : [];
  return Array.isArray(options) ? options.filter((option) => typeof option === 'string') : [];
}

function wantedMinimum({ origin, minimum, inclusive }: z.core.$ZodIssueTooSmall): string {
  if (origin === 'array') return `${String(minimum)} items or more`;
  if (origin === 'string') return 'some text';
  return inclusive === false ? `more than ${String(minimum)}` : `${String(minimum)} or more`;
}

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'keys and values',
  record: 'keys and values',
  array: 'a list',
};

function like(issue: z.core.$ZodIssue, value: unknown): string {
  if (typeof value !== 'string') return '';
  const near = nearest(value, issue.code === 'invalid_value' ? issue.values.map(String) : kindsOf(issue));
  return near === null ? '' : `; did you mean "${near}"?`;
}

function innerMessage(issues: readonly z.core.$ZodIssue[]): string {
  return issues[0]?.message ?? 'text';
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function suggestKey(path: ConfigPath, key: string, defaults: unknown): string {
  // Every item of a list has the keys of the first default one.
  const place = path.map((part) => (typeof part === 'number' ? 0 : part));
  const here = valueAt(defaults, place);
  const known = isRecord(here) ? Object.keys(here) : [];
  const near = nearest(key, known);
  if (near !== null) return `; did you mean "${near}"?`;
  const elsewhere = findKey(defaults, key, []);
  if (elsewhere !== null) return `; there is one at ${elsewhere}`;
  return known.length === 0 ? '' : `; known here: ${known.join(', ')}`;
}

function findKey(value: unknown, key: string, path: readonly string[]): string | null {
  if (!isRecord(value)) return null;
  if (Object.hasOwn(value, key)) return [...path, key].join('.');
  for (const [name, inner] of Object.entries(value)) {
    const found = findKey(inner, key, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}
