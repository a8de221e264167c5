import { z } from 'zod';

/** What a schedule's points are counted in: iterations, running minutes, or training env steps of the run. */
export const SCHEDULE_UNITS = ['iterations', 'minutes', 'steps'] as const;

/** A knob's value over the course of a run. */
export const scheduleSchema = z.strictObject({
  unit: z.enum(SCHEDULE_UNITS).default('iterations'),
  /** Between two points: a straight line, half a cosine wave, or the earlier point's value. */
  shape: z.enum(['linear', 'cosine', 'step']).default('linear'),
  /** [when, value], in order; before the first point the first value holds, after the last the last. */
  points: z.array(z.tuple([z.number().nonnegative(), z.number()])).min(1),
});
export type Schedule = Readonly<z.infer<typeof scheduleSchema>>;

/** The value of a schedule at a time, in the schedule's unit. */
export function scheduledValue({ shape, points }: Schedule, at: number): number {
  const next = points.findIndex(([when]) => when > at);
  const before = points[next < 0 ? points.length - 1 : Math.max(0, next - 1)];
  const after = points[next];
  if (before === undefined) return Number.NaN;
  if (after === undefined || next === 0 || shape === 'step') return before[1];
  const part = (at - before[0]) / (after[0] - before[0]);
  const way = shape === 'linear' ? part : (1 - Math.cos(Math.PI * part)) / 2;
  return before[1] + way * (after[1] - before[1]);
}
