import type { RewardPart } from '../domain/reward.ts';
import { formatAction } from '../domain/space.ts';
import type { ToolUse } from '../domain/tool.ts';
import type { Verdict } from '../protocol/compare.ts';
import type { ExecutedCall, ExecutedStep, Execution } from '../protocol/replay.ts';
import { notesOf } from './notes.ts';
import type { RecordedExecution } from './recorded.ts';

export { VERDICTS, type Verdict } from '../protocol/compare.ts';

/** Whether the execution came to the same. */
export function isSame(verdict: Verdict): boolean {
  return verdict === 'identical' || verdict === 'cosmetic';
}

/** What two executions may differ in, and who is to blame for it. */
const BLAME = {
  /** It is another agent's turn. */
  agent: 'environment drift',
  observation: 'environment drift',
  candidates: 'environment drift',
  action: 'policy drift',
  /** A call of a tool that was not made before. */
  call: 'environment drift',
  tool: 'tool drift',
  effect: 'environment drift',
  reward: 'environment drift',
  state: 'environment drift',
  end: 'environment drift',
  length: 'environment drift',
} as const satisfies Record<string, Verdict>;
export type DifferenceKind = keyof typeof BLAME;

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
  /** All there are, by step; up to the first action that differs. */
  readonly differences: readonly Difference[];
  /** Policy versions that acted for others, how far probabilities differ, and times; a line each. */
  readonly notes: readonly string[];
}

/** Recorded numbers have six decimals. */
const TOLERANCE = 1e-6;
/** ISO dates, times of day, and durations: what differs each time without meaning anything. */
const CLOCKS = /\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?|\b\d+(?:\.\d+)?\s?(?:ms|s)\b/gu;
const BLANKS = /[\s\p{Cc}\p{Cf}]+/gu;

/** Compares an execution with the record, step by step. */
export function compareExecutions(recorded: RecordedExecution, executed: Execution): Comparison {
  const differences = [...stepDifferences(recorded, executed)];
  const isParted = differences.some(({ kind }) => kind === 'action');
  if (!isParted) differences.push(...endDifferences(recorded, executed));
  const notes = notesOf(recorded, executed);
  const { broken } = executed;
  // After another action the environment has not been where it was recorded.
  if (broken !== null && recorded.end !== null && !isParted) {
    const reason = `the environment failed in ${broken.stage} at step ${executed.steps.length + 1}: ${broken.reason}`;
    return { verdict: 'broken', reason, differences, notes };
  }
  const first = differences.find(({ cosmetic }) => !cosmetic) ?? differences[0];
  if (first === undefined) {
    const how = recorded.end === null ? 'the same as far as it is recorded' : 'the same';
    const steps = recorded.steps.length;
    const reason = `${how}, in ${steps} ${steps === 1 ? 'step' : 'steps'}`;
    return { verdict: 'identical', reason, differences, notes };
  }
  const reason = `${first.kind} at step ${first.step}: ${first.recorded} became ${first.executed}`;
  return { verdict: first.cosmetic ? 'cosmetic' : BLAME[first.kind], reason, differences, notes };
}

function* stepDifferences(recorded: RecordedExecution, executed: Execution): Generator<Difference> {
  yield* callDifferences(executed.calls, 0);
  for (const [index, before] of recorded.steps.entries()) {
    const after = executed.steps[index];
    const step = index + 1;
    if (after === undefined) {
      // The call that the environment failed of.
      yield* callDifferences(executed.calls, step);
      return;
    }
    yield* difference('agent', step, agentText(before.agent), agentText(after.agent));
    yield* textDifference(step, before.lines, after.lines);
    yield* difference('candidates', step, candidatesText(before), candidatesText(after));
    if (formatAction(before.action) !== formatAction(after.action)) {
      yield* difference('action', step, actionText(before), actionText(after, before));
      return;
    }
    yield* callDifferences(executed.calls, step);
    if (recorded.lacksTools !== true)
      yield* difference('tool', step, toolText(before.tool), toolText(after.tool));
    yield* difference('effect', step, effectText(before), effectText(after));
    if (!sameParts(before, after)) yield* difference('reward', step, partsText(before), partsText(after));
    if (before.state !== undefined && after.state !== undefined)
      yield* difference('state', step, before.state, after.state);
  }
}

/** Answers of tools in a step that are not the recorded ones. */
function* callDifferences(calls: readonly ExecutedCall[], step: number): Generator<Difference> {
  for (const call of calls) {
    if (call.step !== step || call.same) continue;
    const kind = call.from === 'nowhere' ? 'call' : 'tool';
    const recorded = call.from === 'nowhere' ? 'no such call' : `${call.tool} ${call.recorded ?? 'nothing'}`;
    const executed = call.from === 'nowhere' ? `a call of ${call.tool}` : (call.executed ?? 'nothing');
    yield* difference(kind, Math.max(1, step), recorded, executed);
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
  if (recorded.end !== null && executed.steps.length > recorded.steps.length) {
    yield {
      kind: 'length',
      step,
      recorded: `the end after ${recorded.steps.length}`,
      executed: `${executed.steps.length} steps`,
      cosmetic: false,
    };
    return;
  }
  if (recorded.finalLines !== null && recorded.end !== null) {
    yield* difference('agent', step, agentText(recorded.finalAgent), agentText(executed.finalAgent));
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

function agentText(agent: string | undefined): string {
  return agent ?? 'nobody by name';
}

function candidatesText({ candidates }: ExecutedStep): string {
  return candidates.map(({ type, text }) => `${type} ${JSON.stringify(text)}`).join(', ');
}

function toolText(tool: ToolUse | undefined): string {
  if (tool === undefined) return 'no tool';
  const times = tool.attempts === undefined || tool.attempts === 1 ? '' : ` in ${tool.attempts} attempts`;
  return `${tool.name} ${tool.ok ? 'done' : 'failed'}${times}`;
}

function actionText({ action, decision }: ExecutedStep, other?: ExecutedStep): string {
  const text = formatAction(action);
  if (decision === undefined) return text;
  if (other === undefined) return `${text} (${percent(decision.probability)})`;
  const was = decision.recordedProbability;
  const rest =
    was === null
      ? `${formatAction(other.action)} is not on offer`
      : `${formatAction(other.action)} has ${percent(was)}`;
  return `${text} (${percent(decision.probability)}; ${rest}), by policy v${decision.policyVersion}`;
}

function percent(probability: number): string {
  return `${(100 * probability).toFixed(2)}%`;
}

function effectText({ effective }: ExecutedStep): string {
  return effective ? 'an effect' : 'no effect';
}

function sameParts(before: ExecutedStep, after: ExecutedStep): boolean {
  const by = new Map(after.parts.map((part) => [paidKey(part), part]));
  if (before.parts.length !== after.parts.length || !close(before.reward, after.reward)) return false;
  if (new Set(before.parts.map(paidKey)).size !== by.size) return false;
  return before.parts.every((part) => {
    const other = by.get(paidKey(part));
    return other !== undefined && close(part.raw, other.raw) && close(part.paid, other.paid);
  });
}

/** What is paid, and to whom, where that is not the agent that acted. */
function paidKey({ name, agent }: RewardPart): string {
  return agent === undefined ? name : `${name} to ${agent}`;
}

function close(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a));
}

function partsText({ reward, parts }: ExecutedStep): string {
  const named = parts.map((part) => `${paidKey(part)} ${rounded(part.paid)}`);
  return [rounded(reward), ...named].join(' ');
}

function rounded(value: number): string {
  return String(Math.round(value * 1e6) / 1e6);
}

function endText(end: Execution['end']): string {
  if (end === null || !end.terminated) return 'no end';
  return end.success ? 'success' : (end.failure ?? 'failure');
}
