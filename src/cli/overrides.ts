import { type Override, parseOverride } from '../config/overrides.ts';

/** Options that change the config, shared by `run`, `branch`, `resume` and `config`. */
export interface OverrideOptions {
  readonly minutes?: number;
  readonly iterations?: number;
  readonly seed?: number;
  readonly name?: string;
  readonly set?: readonly string[];
}

/** The overrides that options stand for, in the order of precedence. */
export function overridesOf(options: OverrideOptions): Override[] {
  const overrides = (options.set ?? []).map(parseOverride);
  const add = (path: readonly string[], value: unknown): void => {
    if (value !== undefined) overrides.push({ path, value });
  };
  add(['stop', 'minutes'], options.minutes);
  add(['stop', 'iterations'], options.iterations);
  add(['seed'], options.seed);
  add(['name'], options.name);
  return overrides;
}
