import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { LabError } from '../domain/error.ts';
import { isRecord } from '../domain/table.ts';

export type ConfigPath = readonly (string | number)[];

/** A config file as it was written. */
export interface ConfigSource {
  /** Plain values, not yet checked; `{}` for an empty file. */
  readonly raw: Record<string, unknown>;
  /** The line, from 1, of the key or list item at this path; null when the file does not have it. */
  line(path: ConfigPath): number | null;
}

/** Reads YAML. Throws `config-invalid` with file, line and column on syntax errors, and when it is not a mapping. */
export function parseSource(text: string, file: string): ConfigSource {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new LabError('config-invalid', {
      message: `${file}:${line}:${col}: not valid YAML: ${error.message}`,
      hint: 'indent with spaces; put text with ":" or "#" in quotes',
    });
  }
  const raw = toPlain(document, file);
  return {
    raw,
    line: (path) => {
      const offset = keyOffset(document.contents, path);
      return offset === null ? null : lineCounter.linePos(offset).line;
    },
  };
}

function toPlain(document: ReturnType<typeof parseDocument>, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    // The limit on aliases keeps a small file from growing into a huge value.
    value = document.toJS({ maxAliasCount: 100 });
  } catch (thrown) {
    throw new LabError('config-invalid', { message: `${file}:1: too many aliases`, cause: thrown });
  }
  if (value === null || value === undefined) return {};
  if (!isRecord(value)) {
    const got = Array.isArray(value) ? 'a list' : JSON.stringify(value);
    throw new LabError('config-invalid', {
      message: `${file}:1: the file holds ${got}; wanted keys and values, as in "seed: 1"`,
    });
  }
  return value;
}

/** The value at a path of plain data, or undefined. */
export function valueAt(data: unknown, path: ConfigPath): unknown {
  let value = data;
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)];
    else if (isRecord(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return value;
}

function keyOffset(root: unknown, path: ConfigPath): number | null {
  let node: unknown = root;
  let offset: number | null = null;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key));
      if (pair === undefined) return null;
      offset = isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
      node = pair.value;
    } else if (isNode(node) && 'items' in node && Array.isArray(node.items)) {
      const item: unknown = node.items[Number(key)];
      if (!isNode(item)) return null;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else {
      return null;
    }
  }
  return offset;
}
