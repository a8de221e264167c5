import { z } from 'zod';
import { FAILURE_TYPES } from '../domain/failure.ts';
import { episodeIdSchema, episodeSequence } from '../domain/id.ts';
import { actionSchema, formatAction } from '../domain/space.ts';
import { inflateBody, type StoredRecord } from './segment.ts';

/** What of an episode can be searched. */
export interface TextDocument {
  readonly sequence: number;
  /** When it began, ms since the epoch: with the sequence it names this execution. */
  readonly startedAt: number;
  /** All that was observed and done, each line and each action once; then failure, its detail, family and tags. */
  readonly lines: readonly string[];
}

const headerSchema = z.object({
  id: episodeIdSchema,
  startedAt: z.number(),
  task: z.object({ family: z.string() }),
  failure: z.enum(FAILURE_TYPES).nullable(),
  failureDetail: z.string().nullable(),
  tags: z.array(z.string()).default([]),
});
const bodySchema = z.looseObject({
  lines: z.array(z.string()),
  steps: z.array(z.looseObject({ action: actionSchema })),
});

/** The beginning of a body as the sampler writes it, and what follows its lines there. */
const HEAD = '{"lines":[';
const AFTER_LINES = '],"candidateSets":';
/** An action of a step. Inside a string its quotes would be escaped. */
const ACTION = /"action":(\{"type":"[a-z_]+","argument":(?:null|"(?:[^"\\]|\\.)*")\})/gu;

/**
 * The text of an episode's record; null for any other record, and for an episode that is known already, which is not unpacked.
 * What of it cannot be read is left out.
 */
export function documentOf(
  record: StoredRecord,
  isKnown: (sequence: number) => boolean = () => false,
): TextDocument | null {
  if (record.kind !== 'episode') return null;
  const parsed = headerSchema.safeParse(record.header);
  if (!parsed.success) return null;
  const { id, startedAt, task, failure, failureDetail, tags } = parsed.data;
  const sequence = episodeSequence(id);
  if (isKnown(sequence)) return null;
  const lines = new Set(bodyLines(record));
  for (const line of [failure, failureDetail, task.family, ...tags]) if (line !== null) lines.add(line);
  return { sequence, startedAt, lines: [...lines] };
}

function bodyLines(record: StoredRecord): string[] {
  try {
    const json = inflateBody(record).toString('utf8');
    return quickLines(json) ?? slowLines(json);
  } catch {
    return [];
  }
}

/** Most of a body is numbers of its steps: they need not be parsed where it is written as the sampler writes it. */
function quickLines(json: string): string[] | null {
  const end = json.startsWith(HEAD) ? json.indexOf(AFTER_LINES) : -1;
  if (end < 0) return null;
  const parsed: unknown = JSON.parse(json.slice(HEAD.length - 1, end + 1));
  if (!Array.isArray(parsed) || !parsed.every((line) => typeof line === 'string')) return null;
  const lines: string[] = parsed;
  let last = '';
  for (const match of json.slice(end).matchAll(ACTION)) {
    const action = match[1] ?? '';
    // A loop does the same again and again.
    if (action !== last) lines.push(actionText(action));
    last = action;
  }
  return lines;
}

/** Actions as text, by their JSON: they are done again and again, in one episode and in all. */
const ACTIONS = new Map<string, string>();
const MOST_ACTIONS = 20_000;

function actionText(json: string): string {
  const known = ACTIONS.get(json);
  if (known !== undefined) return known;
  const text = formatAction(actionSchema.parse(JSON.parse(json)));
  if (ACTIONS.size >= MOST_ACTIONS) ACTIONS.clear();
  // A copy: a part of a string keeps the whole of it in memory.
  ACTIONS.set(Buffer.from(json).toString(), text);
  return text;
}

function slowLines(json: string): string[] {
  const { lines, steps } = bodySchema.parse(JSON.parse(json));
  return [...lines, ...steps.map(({ action }) => formatAction(action))];
}
