import { parse } from 'yaml';
import { LabError } from '../domain/error.ts';
import { KNOB_NAMES } from '../domain/knob.ts';
import { isRecord } from '../domain/table.ts';
import type { ConfigPath } from './source.ts';

/** A value given on the command line: it wins over the file. */
export interface Override {
  readonly path: ConfigPath;
  readonly value: unknown;
}

/** Reads `clip=0.1` (a knob) or `sampling.slots=512` (any key); the value is YAML. Throws `usage` on anything else. */
export function parseOverride(text: string): Override {
  const equals = text.indexOf('=');
  const key = text.slice(0, equals).trim();
  if (equals < 1 || key === '') {
    throw new LabError('usage', {
      message: `"${text}" is not an assignment; wanted key=value, as in clip=0.1`,
      hint: 'the name of a config file goes before --set',
    });
  }
  let value: unknown;
  try {
    value = parse(text.slice(equals + 1));
  } catch (thrown) {
    throw new LabError('usage', { message: `the value of "${text}" is not valid YAML`, cause: thrown });
  }
  const isKnob = KNOB_NAMES.some((name) => name === key);
  const parts = isKnob ? ['knobs', key] : key.split('.');
  return { path: parts.map((part) => (/^\d+$/u.test(part) ? Number(part) : part)), value };
}

/** A copy of plain data with the overrides set. Lists that the data leaves out are begun from the default ones. */
export function applyOverrides(
  raw: Record<string, unknown>,
  overrides: readonly Override[],
  defaults: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const result = structuredClone(raw);
  for (const { path, value } of overrides) {
    const [first] = path;
    if (typeof first === 'string' && path.length > 1 && result[first] === undefined) {
      const fallback = defaults[first];
      result[first] = Array.isArray(fallback) ? structuredClone(fallback) : {};
    }
    setAt(result, path, value);
  }
  return result;
}

function setAt(root: Record<string, unknown>, path: ConfigPath, value: unknown): void {
  let container: unknown = root;
  for (const [depth, key] of path.entries()) {
    const last = depth === path.length - 1;
    if (Array.isArray(container) && typeof key === 'number' && key < container.length) {
      if (last) container[key] = value;
      container = container[key];
    } else if (isRecord(container)) {
      if (last) define(container, String(key), value);
      else if (!Object.hasOwn(container, key)) define(container, String(key), {});
      container = container[key];
    } else {
      const missing = path.slice(0, depth + 1).join('.');
      throw new LabError('usage', { message: `${path.join('.')} cannot be set: there is no ${missing}` });
    }
  }
}

/** Defines rather than assigns, so that a key named `__proto__` is only an unknown key. */
function define(container: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(container, key, { value, enumerable: true, writable: true, configurable: true });
}
