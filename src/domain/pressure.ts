import { mebibytes } from './figure-text.ts';
import type { Pressure } from './pipeline.ts';

/** One line: how much waits for an update, and what that does to the samplers; null while nothing holds them up. */
export function describePressure({ level, bytes, softBytes, hardBytes }: Pressure): string | null {
  if (level === 'none') return null;
  const waiting = `${mebibytes(bytes)} of samples wait for an update`;
  return level === 'hard'
    ? `samplers stand still: ${waiting}, the limit is ${mebibytes(hardBytes)}`
    : `samplers are slowed down: ${waiting}, they slow down at ${mebibytes(softBytes)} and stop at ${mebibytes(hardBytes)}`;
}
