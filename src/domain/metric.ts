import { iterationMetricsSchema } from './run.ts';
import { keysOf } from './table.ts';

/** `heldOutSuccess` → `held_out_success`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}

/** Every metric of an iteration: the field that holds it, and the name by which people ask for it. */
export const METRICS = keysOf(iterationMetricsSchema.shape).map((field) => ({
  field,
  column: snakeCase(field),
}));

/** Names of the metrics that are numbers, flags as 0 and 1: all but those by family. */
export const METRIC_NAMES = METRICS.map(({ column }) => column).filter(
  (column) => !column.includes('by_family'),
);
