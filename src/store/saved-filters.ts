import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { LabError, systemErrorCode } from '../domain/error.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { parseFilter, type SavedFilters } from './filter.ts';
import { reasonText, storeError } from './store-error.ts';

const nameSchema = z.string().regex(/^[A-Za-z0-9_][\w-]{0,63}$/u);
const fileSchema = z.record(nameSchema, z.string());

/** Where the filters that were saved for the runs of a directory stand: a JSON object of texts by name. */
function filtersPath(runsDirectory: string): string {
  return join(runsDirectory, 'filters.json');
}

/** The filters saved for the runs of a directory, by name. Throws `filter-invalid` when the file is not as it should be. */
export function readSavedFilters(runsDirectory: string): SavedFilters {
  const path = filtersPath(runsDirectory);
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'ENOENT') return new Map();
    throw storeError(thrown, 'read the saved filters', path);
  }
  try {
    return new Map(Object.entries(fileSchema.parse(JSON.parse(content))));
  } catch (thrown) {
    throw new LabError('filter-invalid', {
      message: `the saved filters cannot be read (${path}): ${reasonText(thrown)}`,
      hint: 'the file is a JSON object of filters by name, as in {"stuck": "behaviour:loop steps>20"}; mend or remove it',
      cause: thrown,
    });
  }
}

/** Saves a filter under a name, in place of the one that had it. Throws `filter-invalid` for what would not read back. */
export function saveFilter(runsDirectory: string, name: string, text: string): void {
  if (!nameSchema.safeParse(name).success) {
    throw new LabError('filter-invalid', {
      message: `"${name}" is no name for a filter: it takes letters, digits, - and _, at most 64`,
      hint: "e.g. agentrl-lab filter save stuck 'behaviour:loop steps>20'",
    });
  }
  const saved = new Map(readSavedFilters(runsDirectory)).set(name, text);
  // What it says, and that it does not stand for itself.
  parseFilter(`@${name}`, saved);
  write(runsDirectory, saved);
}

/** Forgets a saved filter. Throws `filter-invalid` when there is none of that name. */
export function removeFilter(runsDirectory: string, name: string): void {
  const saved = new Map(readSavedFilters(runsDirectory));
  if (!saved.delete(name)) {
    throw new LabError('filter-invalid', {
      message: `no filter is saved as "${name}"`,
      hint: 'list them with: agentrl-lab filter ls',
    });
  }
  write(runsDirectory, saved);
}

function write(runsDirectory: string, saved: SavedFilters): void {
  writeFileAtomic(filtersPath(runsDirectory), `${JSON.stringify(Object.fromEntries(saved), null, 2)}\n`);
}
