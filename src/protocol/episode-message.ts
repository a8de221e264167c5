import type { z } from 'zod';
import { ACTION_MODES, type EpisodeSummary, PHASES, type StageTimes } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { BEHAVIOUR_NAMES, FAILURE_STAGES, FAILURE_TYPES } from '../domain/failure.ts';
import { REWARD_TRUSTS } from '../domain/reward.ts';
import { isRecord } from '../domain/table.ts';
import { SPLITS, type TaskRef } from '../domain/task.ts';
import type { ToolCount, ToolStatistics } from '../domain/tool.ts';
import { type Attachments, type Frame, joinBytes } from './frame.ts';
import { type FromWorker, fromWorkerSchema } from './worker.ts';

/*
 * Thousands of messages a second are episodes, and the schema takes three times as long to say that one is right as it takes by
 * hand. So one that has every field and no other is looked at by hand; of everything else the schema decides, which knows what
 * may be left out, and says what is wrong.
 */

type Check = (value: unknown) => boolean;
/** A check for each key that there may be. */
type Fields<Shape> = Readonly<Record<keyof Shape, Check>>;
type EpisodeMessage = Extract<FromWorker, { type: 'episode' }>;

const ID = /^e\d{1,12}$/u;

const isText: Check = (value) => typeof value === 'string';
const isTextOrNull: Check = (value) => value === null || typeof value === 'string';
const isFlag: Check = (value) => value === true || value === false;
const isNumber: Check = (value) => Number.isFinite(value);
const isNumberOrNull: Check = (value) => value === null || Number.isFinite(value);
const isTime: Check = (value) => typeof value === 'number' && value >= 0 && value < Infinity;
const isNumbers = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every(isNumber);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isOneOf = (values: readonly unknown[]): Check => {
  return (value) => values.includes(value);
};
const isListOf = (is: Check): Check => {
  return (value) => Array.isArray(value) && value.every(is);
};

const TASK: Fields<TaskRef> = { env: isText, family: isText, split: isOneOf(SPLITS), index: isCount };
const TOOL: Fields<ToolCount> = { calls: isCount, failed: isCount, ms: isTime };
const STAGES: Fields<StageTimes> = { resetMs: isTime, stepMs: isTime, inferenceMs: isTime };
const TOOLS: Fields<ToolStatistics> = {
  calls: isCount,
  failed: isCount,
  byName: isRecordOf(hasFields(TOOL, 'ms')),
};
const SUMMARY: Fields<EpisodeSummary> = {
  id: (value) => typeof value === 'string' && ID.test(value),
  task: hasFields(TASK),
  seed: isCount,
  phase: isOneOf(PHASES),
  mode: isOneOf(ACTION_MODES),
  iteration: isCount,
  attempt: (value) => isCount(value) && value !== 0,
  taskSeed: isCount,
  difficulty: isNumber,
  host: isText,
  worker: isCount,
  slot: isCount,
  firstPolicyVersion: isCount,
  policyVersion: isCount,
  steps: isCount,
  startedAt: isNumber,
  wallMs: isTime,
  terminated: isFlag,
  truncated: isFlag,
  success: isFlag,
  failure: isOneOf([null, ...FAILURE_TYPES]),
  failureDetail: isTextOrNull,
  failureStage: isOneOf([null, ...FAILURE_STAGES]),
  trust: isOneOf(REWARD_TRUSTS),
  reward: isNumberOrNull,
  components: isRecordOf(isNumber),
  behaviours: isListOf(isOneOf(BEHAVIOUR_NAMES)),
  tags: isListOf(isText),
  tools: hasFields(TOOLS),
  stages: hasFields(STAGES),
  agentRewards: isRecordOf(isNumber),
};
const MESSAGE: Fields<EpisodeMessage> = {
  type: (value) => value === 'episode',
  summary: hasFields(SUMMARY, 'agentRewards'),
  bytes: isCount,
  bootstrapValue: isNumberOrNull,
  recycled: isFlag,
  agentValues: (value) => isNumbers(value) && value.length > 0,
};
const isWholeMessage = hasFields(MESSAGE, 'recycled', 'agentValues');

/** Whether the schema would give it back as it is. False says nothing: ask the schema. */
export function isWholeEpisode(value: unknown): value is EpisodeMessage {
  return isWholeMessage(value);
}

/** `fromWorkerSchema`, with a short way for episodes. */
export const fromWorkerMessages: Pick<z.ZodType<FromWorker>, 'safeParse'> = {
  safeParse: (value, params) =>
    isWholeEpisode(value) ? { success: true, data: value } : fromWorkerSchema.safeParse(value, params),
};

/** The attachment that holds the summary of an episode as JSON, and the one of all its sample tensors, one after the other. */
const SUMMARY_PART = 'summary';
const SAMPLES_PART = 'samples';

/** A message on its way. */
export type PackedMessage = FromWorker | Omit<EpisodeMessage, 'summary'>;

/**
 * How a worker's message is sent. An episode's summary goes as bytes of its own, which the run stores as they are; its tensors as
 * one attachment, since nobody but the trainer looks into them.
 */
export function packEpisode(
  message: FromWorker,
  attachments: Attachments = {},
): [PackedMessage, Attachments] {
  if (message.type !== 'episode') return [message, attachments];
  const { summary, ...rest } = message;
  const { body, ...tensors } = attachments;
  const samples = joinBytes(Object.values(tensors));
  return [
    rest,
    {
      [SUMMARY_PART]: Buffer.from(JSON.stringify(summary)),
      ...(body && { body }),
      ...(samples.byteLength > 0 && { [SAMPLES_PART]: samples }),
    },
  ];
}

/** The message that was packed, not checked yet. Throws `protocol-invalid` for a summary that is no JSON. */
export function unpackEpisode({ message, attachments }: Frame): unknown {
  const bytes = attachments[SUMMARY_PART];
  if (bytes === undefined || !isRecord(message) || message['type'] !== 'episode') return message;
  try {
    // It came out of a frame: nobody else has it.
    message['summary'] = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch (thrown) {
    throw new LabError('protocol-invalid', {
      message: 'expected the summary of an episode, got what is not JSON',
      hint: 'both ends must run the same version of agentrl-lab',
      cause: thrown,
    });
  }
  return message;
}

/** A plain object with these fields and no other; those that are named may be left out. */
function hasFields<Shape>(fields: Fields<Shape>, ...optional: (keyof Shape)[]): Check {
  const checks = new Map<string, Check>(Object.entries<Check>(fields));
  return (value) => {
    if (!isRecord(value)) return false;
    let missing = checks.size;
    for (const key in value) {
      if (checks.get(key)?.(value[key]) !== true) return false;
      missing--;
    }
    if (missing === 0) return true;
    for (const name of optional) if (!(name in value)) missing--;
    return missing === 0;
  };
}

/** A plain object of any keys, but for the one that is none to some. */
function isRecordOf(is: Check): Check {
  return (value) => {
    if (!isRecord(value)) return false;
    for (const key in value) if (key === '__proto__' || !is(value[key])) return false;
    return true;
  };
}
