const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `980 B`, `12.3 MiB`, `1.40 GiB`: three digits that matter; `--` for what is no number. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return '--';
  let [value, unit] = [bytes, 0];
  // What would be written as 1000 or more goes up a unit.
  while (value >= 999.5 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? Math.round(value) : threeDigits(value)} ${UNITS[unit] ?? ''}`;
}

/** Never in exponent form, which is what `toPrecision` makes of the largest unit's thousands. */
function threeDigits(value: number): string {
  return value >= 999.5 ? String(Math.round(value)) : value.toPrecision(3);
}

/** `full in 45 min`, `full in 9 h`, `full in 12 days`: of a forecast in seconds. */
export function formatForecast(seconds: number): string {
  if (seconds < 5400) return `full in ${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `full in ${Math.round(seconds / 3600)} h`;
  return `full in ${Math.round(seconds / 86_400)} days`;
}
