import type { StepResult } from '../../envs/contract.ts';
import { errorText, LabError } from '../domain/error.ts';
import { TERMINATED_FAILURES } from '../domain/failure.ts';
import { ACTION_TYPES, ARGUMENT_TYPES, type Candidate, type Observation } from '../domain/space.ts';
import type { Task } from '../domain/task.ts';

/*
 * What an environment answers is looked at before anything is made of it: one that is of the wrong shape must fail its own
 * episode, not the worker. By hand where every step passes: a schema would cost as much as the step.
 */

const LEGAL: ReadonlySet<unknown> = new Set(ACTION_TYPES);
const FAILURES: ReadonlySet<unknown> = new Set([...TERMINATED_FAILURES, null, undefined]);
const WITH_ARGUMENT: ReadonlySet<unknown> = new Set(ARGUMENT_TYPES);
/** Tags of a task, and characters of one, or of a tool's name. */
const MAX_TAGS = 16;
const MAX_NAME = 64;

/** Throws `environment-invalid` unless it is a task. */
export function checkTask(task: Task): void {
  const value = asRecord(task, 'createTask');
  const { seed, difficulty, tags } = value;
  if (!Number.isSafeInteger(seed) || Number(seed) < 0) throw wrong('createTask', 'seed', seed);
  if (!Number.isFinite(difficulty)) throw wrong('createTask', 'difficulty', difficulty);
  if (tags !== undefined && !areTags(tags)) throw wrong('createTask', 'tags', tags);
}

/**
 * Throws `environment-invalid` unless it is an observation. Environments hand out the same set of candidates while nothing
 * changes: the one `known` is right.
 */
export function checkObservation(observation: Observation, known: readonly Candidate[] | null = null): void {
  const { lines, legal, candidates } = asRecord(observation, 'an observation');
  if (!isArrayOf(lines, isText)) throw wrong('an observation', 'lines', lines);
  if (!isArrayOf(legal, isActionType)) throw wrong('an observation', 'legal', legal);
  if (!Array.isArray(candidates)) throw wrong('an observation', 'candidates', candidates);
  if (candidates === known || isArrayOf(candidates, isCandidate)) return;
  const odd = candidates.findIndex((candidate) => !isCandidate(candidate));
  throw wrong('an observation', `candidates.${odd}`, candidates[odd]);
}

/**
 * Throws `environment-invalid` unless it is the result of a step that followed a right observation. Components are for the
 * aggregator to judge.
 */
export function checkStepResult(result: StepResult, before: Observation): void {
  const value = asRecord(result, 'a step');
  checkObservation(result.observation, before.candidates);
  const { components, terminated, success, failure, effective, tool } = value;
  if (typeof components !== 'object' || components === null) throw wrong('a step', 'components', components);
  if (typeof terminated !== 'boolean') throw wrong('a step', 'terminated', terminated);
  if (terminated && typeof success !== 'boolean') throw wrong('a step', 'success', success);
  if (typeof effective !== 'boolean') throw wrong('a step', 'effective', effective);
  if (!FAILURES.has(failure)) throw wrong('a step', 'failure', failure);
  if (tool !== undefined) checkToolUse(tool);
}

/** Throws `environment-invalid` unless an observation of an episode of several agents says for which of them it is. */
export function checkAgent({ agent }: Observation, agents: Pick<ReadonlyMap<string, unknown>, 'has'>): void {
  if (typeof agent !== 'string' || !agents.has(agent)) throw wrong('an observation', 'agent', agent);
}

/** Throws `environment-invalid` unless a step pays components to agents that there are. */
export function checkPaid(paid: StepResult['paid'], agents: Pick<ReadonlyMap<string, unknown>, 'has'>): void {
  if (paid === undefined) return;
  for (const [agent, components] of Object.entries(asRecord(paid, 'paid of a step'))) {
    if (!agents.has(agent) || !isRecord(components)) throw wrong('a step', 'paid', paid);
  }
}

function checkToolUse(tool: unknown): void {
  const { name, ok, ms, attempts } = asRecord(tool, 'the tool of a step');
  if (typeof name !== 'string' || name.length > MAX_NAME) throw wrong('a step', 'tool.name', name);
  if (typeof ok !== 'boolean') throw wrong('a step', 'tool.ok', ok);
  if (ms !== undefined && !(Number.isFinite(ms) && Number(ms) >= 0)) throw wrong('a step', 'tool.ms', ms);
  if (attempts !== undefined && !(Number.isSafeInteger(attempts) && Number(attempts) > 0))
    throw wrong('a step', 'tool.attempts', attempts);
}

function areTags(tags: unknown): boolean {
  if (!isArrayOf(tags, isText)) return false;
  const [count, longest] = Array.isArray(tags) ? [tags.length, Math.max(0, ...tags.map(lengthOf))] : [0, 0];
  return count <= MAX_TAGS && longest <= MAX_NAME;
}

function lengthOf(text: unknown): number {
  return String(text).length;
}

function isArrayOf(value: unknown, is: (item: unknown) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) if (!is(value[i])) return false;
  return true;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isCandidate(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type, text, kind } = value;
  return WITH_ARGUMENT.has(type) && typeof text === 'string' && typeof kind === 'string';
}

function isActionType(value: unknown): boolean {
  return LEGAL.has(value);
}

function asRecord(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value;
  throw wrong(what, '', value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function wrong(what: string, key: string, value: unknown): LabError {
  const of = key === '' ? what : `${key} of ${what}`;
  return new LabError('environment-invalid', {
    message: `the environment gave ${shown(value)} as ${of}`,
    hint: 'the contract is in docs/ENVIRONMENTS.md',
  });
}

function shown(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? String(value);
    return text.length > 100 ? `${text.slice(0, 99)}…` : text;
  } catch (thrown) {
    return `a value that cannot be shown (${errorText(thrown)})`;
  }
}
