import { percent } from '../domain/figure-text.ts';

/** `1:05`, `1:02:03`: a length of time given in seconds. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : twoDigits(part))).join(':');
}

/** `1,234,567`. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** `1 iteration`, `2,000 steps`: `unit` in the singular, and its plural where that is more than an "s". */
export function formatAmount(count: number, unit: string, plural = `${unit}s`): string {
  return `${formatCount(count)} ${Math.round(count) === 1 ? unit : plural}`;
}

/** `950`, `12.3k`, `4.56M`: three digits that matter. */
export function formatShort(value: number): string {
  if (value < 1000) return String(Math.round(value));
  const [scaled, unit] = value < 999_500 ? [value / 1000, 'k'] : [value / 1_000_000, 'M'];
  return `${scaled.toPrecision(3)}${unit}`;
}

/** `93.5 %` of a rate in [0, 1]; `–` for none. */
export function formatRate(rate: number | null): string {
  return rate === null ? '–' : percent(rate);
}

/** A number with few digits: `0.0123`, `-1.5`; `–` for none. */
export function formatNumber(value: number | null, digits = 3): string {
  return value === null ? '–' : String(Number(value.toPrecision(digits)));
}

/** `2026-11-30 08:22`, local time, of ms since the epoch. */
export function formatTime(time: number): string {
  const date = new Date(time);
  const day = [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join('-');
  return `${day} ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

export interface Column<Row> {
  readonly title: string;
  readonly align: 'left' | 'right';
  readonly cell: (row: Row) => string;
}

/** Rows under their titles, columns as wide as their widest cell, two spaces apart. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const grid = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ cell }) => cell(row))),
  ];
  const widths = columns.map((_, column) => Math.max(...grid.map((cells) => cells[column]?.length ?? 0)));
  return grid.map((cells) =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return columns[column]?.align === 'right' ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
