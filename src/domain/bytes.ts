/** `980 B`, `12.3 MiB`, `1.40 GiB`: three digits that matter. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : value.toPrecision(3)} ${units[unit] ?? ''}`;
}

/** `full in 45 min`, `full in 9 h`, `full in 12 days`: of a forecast in seconds. */
export function formatForecast(seconds: number): string {
  if (seconds < 5400) return `full in ${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `full in ${Math.round(seconds / 3600)} h`;
  return `full in ${Math.round(seconds / 86_400)} days`;
}
