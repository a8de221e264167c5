import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Override } from '../config/overrides.ts';
import { errorText, LabError } from '../domain/error.ts';

/**
 * Loads a config file, null for the defaults, with the overrides of the command line. The path of an environment module
 * becomes absolute. Throws `config-invalid`.
 */
export function loadConfigFile(file: string | null, overrides: readonly Override[]): LoadedConfig {
  const text = file === null ? null : readConfig(file);
  const loaded = loadConfig(text, {
    file: file ?? 'defaults',
    overrides,
    memoryMiB: memoryMiB(),
    cores: availableParallelism(),
  });
  const { config, origins } = loaded;
  if (!/^\.{0,2}\//u.test(config.env.name)) return loaded;
  const inFile = file !== null && origins.get('env.name') !== 'command line';
  const name = resolve(inFile ? dirname(file) : '.', config.env.name);
  return { config: { ...config, env: { ...config.env, name } }, origins };
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
export function memoryMiB(): number {
  const limit = process.constrainedMemory();
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor(bytes / (1024 * 1024));
}
