import type { ExecutedStep, Execution } from '../protocol/replay.ts';
import type { RecordedExecution } from './recorded.ts';

/** Probabilities are recorded to six decimals. */
const TOLERANCE = 2e-6;

/** What is to be said of an execution beside its differences: policies that acted for others, probabilities, times. */
export function notesOf(recorded: RecordedExecution, executed: Execution): string[] {
  const pairs = pairsOf(recorded, executed);
  return [...policyNotes(pairs), ...timeNotes(pairs, executed)];
}

type Pair = readonly [ExecutedStep, ExecutedStep];

/** Steps beside each other, as far as the actions are the same. */
function pairsOf(recorded: RecordedExecution, executed: Execution): Pair[] {
  const pairs: Pair[] = [];
  for (const [index, before] of recorded.steps.entries()) {
    const after = executed.steps[index];
    if (after === undefined) break;
    pairs.push([before, after]);
    if (before.action.type !== after.action.type || before.action.argument !== after.action.argument) break;
  }
  return pairs;
}

function* policyNotes(pairs: readonly Pair[]): Generator<string> {
  const swapped = new Map<string, number>();
  let farthest = 0;
  for (const [{ decision: was }, { decision: is }] of pairs) {
    if (was === undefined || is === undefined) continue;
    if (was.policyVersion !== is.policyVersion) {
      const text = `policy v${is.policyVersion} acted for v${was.policyVersion}, whose weights are not kept`;
      swapped.set(text, (swapped.get(text) ?? 0) + 1);
    }
    const of = is.recordedProbability;
    if (of !== null) farthest = Math.max(farthest, Math.abs(of - was.probability));
  }
  for (const [text, steps] of swapped) yield `${text} (${steps} ${steps === 1 ? 'step' : 'steps'})`;
  if (farthest > TOLERANCE)
    yield `probabilities of recorded actions differ by ${farthest.toPrecision(2)} at most`;
}

function* timeNotes(pairs: readonly Pair[], { calls }: Execution): Generator<string> {
  const timed = pairs.flatMap(([{ ms: was }, { ms: is }]) =>
    was === undefined || is === undefined ? [] : [[was, is] as const],
  );
  if (timed.length > 0) yield `steps that were waited for took ${times(timed)}`;
  const live = calls.flatMap(({ recordedMs, ms }) =>
    recordedMs === null || ms === null ? [] : [[recordedMs, ms] as const],
  );
  if (live.length > 0) yield `calls of tools that were made again took ${times(live)}`;
}

function times(pairs: readonly (readonly [number, number])[]): string {
  const sum = (side: 0 | 1): number => Math.round(pairs.reduce((all, pair) => all + pair[side], 0));
  return `${sum(0)} ms then and ${sum(1)} ms now, ${pairs.length} in all`;
}
