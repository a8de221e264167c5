import type { ExecutedStep, Execution } from '../protocol/replay.ts';
import type { RecordedExecution } from './recorded.ts';

/**
 * What an execution came to beside the record. `identical`: the same, step by step · `cosmetic`: texts differ in blanks,
 * invisible characters, dates and times only, and nothing else does · `drift`: the environment answered differently ·
 * `broken`: it threw, hung or ended its process where it had not.
 */
export const VERDICTS = ['identical', 'cosmetic', 'drift', 'broken'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What two executions may differ in. */
export type DifferenceKind = 'observation' | 'candidates' | 'effect' | 'reward' | 'end' | 'length';

export interface Difference {
  readonly kind: DifferenceKind;
  /** From 1; the observation after the last step is of the step after it. */
  readonly step: number;
  readonly recorded: string;
  readonly executed: string;
  readonly cosmetic: boolean;
}

export interface Comparison {
  readonly verdict: Verdict;
  /** One line. */
  readonly reason: string;
  /** All there are, by step. */
  readonly differences: readonly Difference[];
}

/** Recorded numbers have six decimals. */
const TOLERANCE = 1e-6;
/** ISO dates, times of day, and durations: what differs each time without meaning anything. */
const CLOCKS = /\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?|\b\d+(?:\.\d+)?\s?(?:ms|s)\b/gu;
const BLANKS = /[\s\p{Cc}\p{Cf}]+/gu;

/** Compares an execution with the record, step by step. */
export function compareExecutions(recorded: RecordedExecution, executed: Execution): Comparison {
  const differences = [...stepDifferences(recorded, executed), ...endDifferences(recorded, executed)];
  const { broken } = executed;
  if (broken !== null && recorded.end !== null) {
    const reason = `the environment failed in ${broken.stage} at step ${executed.steps.length + 1}: ${broken.reason}`;
    return { verdict: 'broken', reason, differences };
  }
  const first = differences.find(({ cosmetic }) => !cosmetic) ?? differences[0];
  if (first === undefined) {
    const how = recorded.end === null ? 'the same as far as it is recorded' : 'the same';
    const steps = recorded.steps.length;
    return {
      verdict: 'identical',
      reason: `${how}, in ${steps} ${steps === 1 ? 'step' : 'steps'}`,
      differences,
    };
  }
  const reason = `${first.kind} at step ${first.step}: ${first.recorded} became ${first.executed}`;
  return { verdict: first.cosmetic ? 'cosmetic' : 'drift', reason, differences };
}

function* stepDifferences(recorded: RecordedExecution, executed: Execution): Generator<Difference> {
  for (const [index, before] of recorded.steps.entries()) {
    const after = executed.steps[index];
    const step = index + 1;
    if (after === undefined) return;
    yield* textDifference(step, before.lines, after.lines);
    yield* difference('candidates', step, candidatesText(before), candidatesText(after));
    yield* difference('effect', step, effectText(before), effectText(after));
    if (!sameParts(before, after))
      yield {
        kind: 'reward',
        step,
        recorded: partsText(before),
        executed: partsText(after),
        cosmetic: false,
      };
  }
}

function* endDifferences(recorded: RecordedExecution, executed: Execution): Generator<Difference> {
  const step = recorded.steps.length + 1;
  if (executed.broken !== null) return;
  if (executed.steps.length < recorded.steps.length) {
    yield {
      kind: 'length',
      step: executed.steps.length + 1,
      recorded: `${recorded.steps.length} steps`,
      executed: `the end after ${executed.steps.length}`,
      cosmetic: false,
    };
    return;
  }
  if (recorded.finalLines !== null && recorded.end !== null) {
    yield* textDifference(step, recorded.finalLines, executed.finalLines ?? []);
  }
  if (recorded.end !== null) yield* difference('end', step, endText(recorded.end), endText(executed.end));
}

function* difference(
  kind: DifferenceKind,
  step: number,
  recorded: string,
  executed: string,
): Generator<Difference> {
  if (recorded !== executed) yield { kind, step, recorded, executed, cosmetic: false };
}

/** The first line that differs; one that matters before one that does not. */
function* textDifference(
  step: number,
  before: readonly string[],
  after: readonly string[],
): Generator<Difference> {
  let found: Difference | null = null;
  for (let row = 0; row < Math.max(before.length, after.length); row++) {
    const [recorded, executed] = [before[row], after[row]];
    if (recorded === executed) continue;
    const cosmetic = recorded !== undefined && executed !== undefined && plain(recorded) === plain(executed);
    if (found !== null && (cosmetic || !found.cosmetic)) continue;
    found = { kind: 'observation', step, recorded: quoted(recorded), executed: quoted(executed), cosmetic };
  }
  if (found !== null) yield found;
}

/** The text without what differs each time and means nothing. */
function plain(text: string): string {
  return text.replaceAll(CLOCKS, '#').replaceAll(BLANKS, ' ').trim();
}

function quoted(line: string | undefined): string {
  return line === undefined ? 'no line' : JSON.stringify(line);
}

function candidatesText({ candidates }: ExecutedStep): string {
  return candidates.map(({ type, text }) => `${type} ${JSON.stringify(text)}`).join(', ');
}

function effectText({ effective }: ExecutedStep): string {
  return effective ? 'an effect' : 'no effect';
}

function sameParts(before: ExecutedStep, after: ExecutedStep): boolean {
  const by = new Map(after.parts.map((part) => [part.name, part]));
  if (before.parts.length !== after.parts.length || !close(before.reward, after.reward)) return false;
  return before.parts.every(({ name, raw, paid }) => {
    const other = by.get(name);
    return other !== undefined && close(raw, other.raw) && close(paid, other.paid);
  });
}

function close(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a));
}

function partsText({ reward, parts }: ExecutedStep): string {
  const named = parts.map(({ name, paid }) => `${name} ${rounded(paid)}`);
  return [rounded(reward), ...named].join(' ');
}

function rounded(value: number): string {
  return String(Math.round(value * 1e6) / 1e6);
}

function endText(end: Execution['end']): string {
  if (end === null || !end.terminated) return 'no end';
  return end.success ? 'success' : (end.failure ?? 'failure');
}
