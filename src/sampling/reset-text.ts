import { createHash } from 'node:crypto';
import type { ResetDifference } from '../domain/leak.ts';
import type { Observation } from '../domain/space.ts';
import { stableJson } from '../domain/stable-json.ts';

/** What an environment shows and holds right after a reset, as lines that are compared. */
export interface ResetText {
  readonly observation: readonly string[];
  readonly state: readonly string[];
  readonly sha256: string;
}

/** Lines around the first difference that are told: so many before it, and in all. */
const LINES_BEFORE = 1;
const LINES_TOLD = 6;
/** Characters of a line that are told. */
const LINE_CHARACTERS = 160;

/** `state` is what `getState` gave. Throws when that is nothing that JSON can carry. */
export function resetText(
  { lines, legal, candidates, features, agent }: Observation,
  state: unknown,
): ResetText {
  const text = {
    // As JSON, so that blanks and control characters can be told apart.
    observation: [
      ...lines.map((line) => JSON.stringify(line)),
      `legal ${stableJson(legal)}`,
      ...candidates.map((candidate) => `candidate ${stableJson(candidate)}`),
      ...(agent === undefined ? [] : [`agent ${stableJson(agent)}`]),
      ...(features === undefined ? [] : [`features ${stableJson(features)}`]),
    ],
    state: stableJson(state, 1).split('\n'),
  };
  const sha256 = createHash('sha256').update(JSON.stringify(text)).digest('hex');
  return { ...text, sha256 };
}

type Difference = Pick<ResetDifference, 'part' | 'line' | 'recycled' | 'fresh'>;

/** Where two begin to differ, the observation first; null when they are the same. */
export function firstDifference(recycled: ResetText, fresh: ResetText): Difference | null {
  if (recycled.sha256 === fresh.sha256) return null;
  for (const part of ['observation', 'state'] as const) {
    const [ours, theirs] = [recycled[part], fresh[part]];
    const length = Math.max(ours.length, theirs.length);
    for (let at = 0; at < length; at++) {
      if (ours[at] === theirs[at]) continue;
      return { part, line: at + 1, recycled: side(recycled, ours, at), fresh: side(fresh, theirs, at) };
    }
  }
  return null;
}

function side(
  { sha256 }: ResetText,
  lines: readonly string[],
  at: number,
): { sha256: string; line: string | null; text: string } {
  const from = Math.max(0, at - LINES_BEFORE);
  const told = lines.slice(from, from + LINES_TOLD).map((line) => cut(line));
  const before = from > 0 ? ['…'] : [];
  const after = from + LINES_TOLD < lines.length ? ['…'] : [];
  const line = lines[at];
  return {
    sha256,
    line: line === undefined ? null : cut(line),
    text: [...before, ...told, ...after].join('\n'),
  };
}

function cut(line: string): string {
  return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS - 1)}…` : line;
}
