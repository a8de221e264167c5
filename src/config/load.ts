import { LabError } from '../domain/error.ts';
import { KNOB_NAMES, KNOBS } from '../domain/knob.ts';
import { isRecord, recordOf } from '../domain/table.ts';
import { findImpossible, type Problem } from './budgets.ts';
import { fillCores } from './cores.ts';
import { explainIssue } from './explain.ts';
import { applyOverrides, type Override } from './overrides.ts';
import { type Config, configSchema } from './schema.ts';
import { type ConfigPath, type ConfigSource, parseSource, valueAt } from './source.ts';

export interface LoadOptions {
  /** Name of the file, for messages and origins. */
  readonly file: string;
  readonly overrides?: readonly Override[];
  /** Memory of this machine in MiB, to refuse what cannot fit; null or absent: not checked. */
  readonly memoryMiB?: number | null;
  /** Cores of this machine, to share among workers and the trainer what the config leaves open; null or absent: a default. */
  readonly cores?: number | null;
}

/** Where each value comes from, by dotted path of the value: `default`, `FILE:LINE` or `command line`. */
export type Origins = ReadonlyMap<string, string>;

export interface LoadedConfig {
  readonly config: Config;
  readonly origins: Origins;
}

const MOST_PROBLEMS = 8;

/**
 * A complete config from YAML text (null: all defaults) and overrides. Throws `config-invalid`, naming for each problem
 * the file and line, the key, the value got and what would be right.
 */
export function loadConfig(text: string | null, options: LoadOptions): LoadedConfig {
  const { file, overrides = [], memoryMiB = null, cores = null } = options;
  const source: ConfigSource = text === null ? { raw: {}, line: () => null } : parseSource(text, file);
  const defaults = configSchema.parse({});
  const given = applyOverrides(source.raw, overrides, defaults);
  const raw = cores === null ? given : fillCores(given, { cores, memoryMiB }, defaults.sampling.overlap);
  const parsed = configSchema.safeParse(raw);
  const origin = (path: ConfigPath): string => originOf(path, { source, overrides, file });
  if (!parsed.success) {
    const beside = defaultsLike(raw);
    throw refusal(
      parsed.error.issues.flatMap((issue) => explainIssue(issue, raw, beside)),
      origin,
      file,
    );
  }
  const config = parsed.data;
  const impossible = [...scheduledKnobs(config, overrides), ...findImpossible(config, memoryMiB)];
  if (impossible.length > 0) throw refusal(impossible, origin, file);
  return { config, origins: new Map(leafPaths(config).map((path) => [path.join('.'), origin(path)])) };
}

/** A knob set on the command line whose schedule would set it again before the next update. */
function scheduledKnobs({ schedule }: Config, overrides: readonly Override[]): Problem[] {
  return overrides.flatMap(({ path, value }) => {
    const [first, name] = path;
    const knob = KNOB_NAMES.find((known) => first === 'knobs' && known === name);
    if (knob === undefined || schedule[knob] === undefined) return [];
    const instead = `--set "schedule.${knob}.points=[[0, ${String(value)}]]"`;
    return [{ path, message: `follows schedule.${knob}, which would set it again: wanted ${instead}` }];
  });
}

/** A working config with the same kind of policy, with every schedule and an alert: its keys are what a refused one may have. */
function defaultsLike(raw: Record<string, unknown>): Config {
  const features = valueAt(raw, ['policy', 'kind']) === 'features';
  return configSchema.parse({
    policy: features ? { kind: 'features', features: 1 } : {},
    alerts: [
      { name: 'all-keys', filter: '', among: '', metric: 'kl', last: 1, withinS: 1, above: 1, below: 1 },
    ],
    schedule: recordOf(KNOB_NAMES, (name) => ({ points: [[0, KNOBS[name].initial]] })),
  });
}

/** Paths of all values: scalars, lists of scalars, and empty containers. */
export function leafPaths(value: unknown, path: ConfigPath = []): ConfigPath[] {
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
    return value.flatMap((item: unknown, index) => leafPaths(item, [...path, index]));
  }
  if (isRecord(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, inner]) => leafPaths(inner, [...path, key]));
  }
  return [path];
}

interface OriginSources {
  readonly source: ConfigSource;
  readonly overrides: readonly Override[];
  readonly file: string;
}

function originOf(path: ConfigPath, { source, overrides, file }: OriginSources): string {
  const overridden = overrides.some((override) =>
    override.path.every((key, index) => String(key) === String(path[index])),
  );
  if (overridden) return 'command line';
  const line = source.line(path);
  return line === null ? 'default' : `${file}:${line}`;
}

function refusal(problems: readonly Problem[], origin: (path: ConfigPath) => string, file: string): LabError {
  const lines = problems
    .slice(0, MOST_PROBLEMS)
    .map(({ path, message }) => `${nearestOrigin(path, origin, file)}: ${path.join('.')}: ${message}`);
  if (problems.length > MOST_PROBLEMS) lines.push(`and ${problems.length - MOST_PROBLEMS} more`);
  return new LabError('config-invalid', {
    message: lines.join('\n'),
    hint: 'all keys and their defaults: agentrl-lab config',
  });
}

/** A missing or defaulted value is reported at the nearest key above it that was written. */
function nearestOrigin(path: ConfigPath, origin: (path: ConfigPath) => string, file: string): string {
  for (let length = path.length; length > 0; length--) {
    const found = origin(path.slice(0, length));
    if (found !== 'default') return found;
  }
  return file;
}
