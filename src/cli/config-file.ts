import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Override } from '../config/overrides.ts';
import { errorText, LabError } from '../domain/error.ts';

/** Loads a config file, null for the defaults, with the overrides of the command line. Throws `config-invalid`. */
export function loadConfigFile(file: string | null, overrides: readonly Override[]): LoadedConfig {
  const text = file === null ? null : readConfig(file);
  return loadConfig(text, { file: file ?? 'defaults', overrides, memoryMiB: memoryMiB() });
}

function readConfig(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new LabError('config-invalid', {
      message: `cannot read the config ${file}: ${errorText(thrown)}`,
      hint: 'a config to start from: agentrl-lab config > lab.yaml',
      cause: thrown,
    });
  }
}

/** What this machine, or the container we are in, lets us have. */
function memoryMiB(): number {
  const limit = process.constrainedMemory();
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor(bytes / (1024 * 1024));
}
