import type { RunManifest } from '../src/domain/run.ts';
import { untrusted } from './line.ts';

/** Text for numbers that are not there: before the first iteration, or NaN. */
export const MISSING = '--';

/** `1,234,567`. */
export function formatCount(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : MISSING;
}

/** Three significant digits with k or M: `950`, `52.1k`, `1.23M`. */
export function formatRate(value: number): string {
  if (!Number.isFinite(value)) return MISSING;
  const size = Math.abs(value);
  if (size >= 999_500) return `${threeDigits(value / 1e6)}M`;
  if (size >= 999.5) return `${threeDigits(value / 1e3)}k`;
  return threeDigits(value);
}

/** Three significant digits, in exponent form where that is shorter: `0.0123`, `12.3`, `3e-5`. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return MISSING;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 0.0005 || size >= 1e6) return value.toExponential(1).replace('.0e', 'e').replace('e+', 'e');
  return String(Number(value.toPrecision(3)));
}

/** Three decimals, so that the points of a column stand below each other; as `formatNumber` where that is too long. */
export function formatDecimal(value: number): string {
  return Math.abs(value) < 1000 ? value.toFixed(3).replace(/^-(?=[0.]+$)/u, '') : formatNumber(value);
}

/** A share in [0, 1] as `87.5%`, or `--` where there is none. */
export function formatShare(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return MISSING;
  const percent = value * 100;
  return `${percent > 0 && percent < 99.95 ? percent.toFixed(1) : String(Math.round(percent))}%`;
}

/** Milliseconds as `0.42 ms`, `12 ms`, `1.3 s`, and from a minute on as a duration. */
export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) return MISSING;
  if (ms < 1000) return `${threeDigits(Math.round(ms * 100) / 100)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : formatDuration(ms / 1000);
}

/** Seconds as `42s`, `3m05s`, `2h07m`, `3d04h`. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return MISSING;
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return pair(whole, 60, 'm', 's');
  if (whole < 86_400) return pair(Math.floor(whole / 60), 60, 'h', 'm');
  return pair(Math.floor(whole / 3600), 24, 'd', 'h');
}

/** `demo-1@120`: a run and its iteration that another was branched from. */
export function formatBranchPoint(parent: NonNullable<RunManifest['parent']>): string {
  return `${untrusted(parent.run)}@${parent.iteration}`;
}

/** Wall-clock time of day `14:03:59`, of ms since the epoch, in local time. */
export function formatClock(time: number): string {
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
}

function pair(value: number, base: number, big: string, small: string): string {
  return `${Math.floor(value / base)}${big}${twoDigits(value % base)}${small}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

function threeDigits(value: number): string {
  return String(Number(value.toPrecision(3)));
}
