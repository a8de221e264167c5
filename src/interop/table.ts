/** How a value is stored where a format has types. `time` is ms since the epoch. */
export type CellType = 'text' | 'integer' | 'number' | 'flag' | 'time' | 'texts' | 'parts' | 'bytes';

/** One share of a step's reward, as `rewardPartSchema` has it. */
interface Part {
  readonly name: string;
  readonly raw: number;
  readonly weighted: number;
  readonly paid: number;
}

export type Cell = string | number | boolean | null | readonly string[] | readonly Part[] | Uint8Array;

/** A column: its name, its type and its value in a row. */
export interface TableColumn<Row> {
  readonly name: string;
  readonly type: CellType;
  readonly value: (row: Row) => Cell;
}

/** Takes rows one after the other. Nothing is complete before `close`. */
export interface TableWriter<Row> {
  write(row: Row): void;
  close(): void;
}

/** `2026-11-30T08:22:01.250Z`. */
export function isoTime(time: number): string {
  return new Date(time).toISOString();
}
