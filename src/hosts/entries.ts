import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Process entries, relative to this file. In dist/ they end in .js; run from source, in .ts. */
const ENTRIES = {
  run: '../run/main',
  worker: '../sampling/main',
  trainer: '../../trainer/main',
  devices: '../../trainer/devices/main',
  export: '../../trainer/export/main',
  sql: '../cli/sql-process',
} as const;
export type EntryName = keyof typeof ENTRIES;

const fromSource = import.meta.url.endsWith('.ts');

/** The file of a process entry. */
export function entryPath(entry: EntryName): string {
  return fileURLToPath(new URL(ENTRIES[entry] + (fromSource ? '.ts' : '.js'), import.meta.url));
}

/** Program and arguments that start an entry on this machine; from source, Node is given the tsx loader. */
export function entryCommand(entry: EntryName): readonly [string, ...string[]] {
  const path = entryPath(entry);
  if (!fromSource) return [process.execPath, path];
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return [process.execPath, '--import', loader, path];
}
