import { z } from 'zod';
import { type EpisodeSummary, episodeSummarySchema } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { BEHAVIOUR_NAMES, type Behaviour } from '../domain/failure.ts';
import { episodeSequence } from '../domain/id.ts';
import { keysOf } from '../domain/table.ts';
import type { RecordPlace } from './segment.ts';
import { reasonText } from './store-error.ts';

/** What SQLite takes and gives here. */
export type SqlValue = string | number | null;

/** Bits of `episodes.behaviours`. They are stored: never give one a new meaning. */
const BEHAVIOUR_BITS = {
  loop: 1,
  tool_thrash: 2,
  reward_farming: 4,
  invalid_actions: 8,
  unread_submit: 16,
} as const satisfies Record<Behaviour, number>;

/** Bit mask of a set of behaviours. */
export function behaviourMask(behaviours: readonly Behaviour[]): number {
  return behaviours.reduce((mask, behaviour) => mask | BEHAVIOUR_BITS[behaviour], 0);
}

/** Each column of `episodes` that holds a part of the summary, and where it comes from. */
const COLUMNS = {
  sequence: (episode) => episodeSequence(episode.id),
  env: (episode) => episode.task.env,
  family: (episode) => episode.task.family,
  split: (episode) => episode.task.split,
  task_index: (episode) => episode.task.index,
  task_seed: (episode) => episode.taskSeed,
  seed: (episode) => episode.seed,
  phase: (episode) => episode.phase,
  mode: (episode) => episode.mode,
  iteration: (episode) => episode.iteration,
  attempt: (episode) => episode.attempt,
  difficulty: (episode) => episode.difficulty,
  host: (episode) => episode.host,
  worker: (episode) => episode.worker,
  slot: (episode) => episode.slot,
  first_policy_version: (episode) => episode.firstPolicyVersion,
  policy_version: (episode) => episode.policyVersion,
  steps: (episode) => episode.steps,
  started_at: (episode) => episode.startedAt,
  wall_ms: (episode) => episode.wallMs,
  terminated: (episode) => Number(episode.terminated),
  truncated: (episode) => Number(episode.truncated),
  success: (episode) => Number(episode.success),
  failure: (episode) => episode.failure,
  failure_detail: (episode) => episode.failureDetail,
  trust: (episode) => episode.trust,
  reward: (episode) => episode.reward,
  components: (episode) => JSON.stringify(episode.components),
  behaviours: (episode) => behaviourMask(episode.behaviours),
  tool_calls: (episode) => episode.tools.calls,
  tool_failed: (episode) => episode.tools.failed,
  tags: (episode) => (episode.tags.length === 0 ? '[]' : JSON.stringify(episode.tags)),
  failure_stage: (episode) => episode.failureStage,
  more: (episode) => JSON.stringify(restOf(episode)),
} as const satisfies Record<string, (episode: EpisodeSummary) => SqlValue>;

/** What the columns above hold whole, `more` left out. */
const IN_COLUMNS: ReadonlySet<string> = new Set([
  'id',
  'task',
  'taskSeed',
  'seed',
  'phase',
  'mode',
  'iteration',
  'attempt',
  'difficulty',
  'host',
  'worker',
  'slot',
  'firstPolicyVersion',
  'policyVersion',
  'steps',
  'startedAt',
  'wallMs',
  'terminated',
  'truncated',
  'success',
  'failure',
  'failureDetail',
  'trust',
  'reward',
  'components',
  'behaviours',
  'tags',
  'failureStage',
]);

const REST = keysOf(episodeSummarySchema.shape).filter((name) => !IN_COLUMNS.has(name));

/** The parts of a summary that no column holds whole: they are read back from here, and not filtered by. */
function restOf(episode: EpisodeSummary): Record<string, unknown> {
  const rest: Record<string, unknown> = {};
  for (const name of REST) rest[name] = episode[name];
  return rest;
}

/** Columns that version 1 of the schema lacks, with what an episode of then has in them, as SQL. */
const SINCE_VERSION_2: Partial<Record<EpisodeColumn, string>> = {
  tool_calls: '0',
  tool_failed: '0',
  tags: "'[]'",
  failure_stage: 'NULL',
  more: "'{}'",
};

/** What selects EPISODE_COLUMNS, in their order, from an index of that schema version. */
export function episodeColumnsSql(version: number): string {
  return EPISODE_COLUMNS.map((name) => episodeColumnSql(name, version)).join(', ');
}

/** The same of one of them. */
export function episodeColumnSql(name: EpisodeColumn, version: number): string {
  const missing = version < 2 ? SINCE_VERSION_2[name] : undefined;
  return missing === undefined ? name : `${missing} AS ${name}`;
}

/** A column of `episodes` that holds a part of the summary. */
export type EpisodeColumn = keyof typeof COLUMNS;
export const EPISODE_COLUMNS = keysOf(COLUMNS);
const WRITERS = Object.values<(episode: EpisodeSummary) => SqlValue>(COLUMNS);

/** Adds a row: EPISODE_COLUMNS, then segment, offset, length and arrival. An id that is there already is left alone. */
export const INSERT_EPISODE = `
  INSERT INTO episodes (${EPISODE_COLUMNS.join(', ')}, segment, offset, length, arrival)
  VALUES (${EPISODE_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?, ?)
  ON CONFLICT (sequence) DO NOTHING`;

/** The values for INSERT_EPISODE, but for the last. */
export function episodeToRow(episode: EpisodeSummary, place: RecordPlace): SqlValue[] {
  const row = WRITERS.map((write) => write(episode));
  row.push(place.segment, place.offset, place.length);
  return row;
}

/** What later versions added. Left out where an episode has none, for its schema to say what that means. */
function laterParts(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const parts: Record<string, unknown> = { ...jsonObject.parse(JSON.parse(String(row['more']))) };
  if (row['tags'] !== '[]') parts['tags'] = JSON.parse(String(row['tags']));
  if (row['failure_stage'] !== null) parts['failureStage'] = row['failure_stage'];
  return parts;
}

const jsonObject = z.record(z.string(), z.unknown());

/** The summary in a row that has at least EPISODE_COLUMNS. Throws `store-failed` when it holds something else. */
export function rowToEpisode(row: Readonly<Record<string, unknown>>): EpisodeSummary {
  const mask = Number(row['behaviours']);
  try {
    return episodeSummarySchema.parse({
      id: `e${String(row['sequence'])}`,
      task: { env: row['env'], family: row['family'], split: row['split'], index: row['task_index'] },
      seed: row['seed'],
      phase: row['phase'],
      mode: row['mode'],
      iteration: row['iteration'],
      attempt: row['attempt'],
      taskSeed: row['task_seed'],
      difficulty: row['difficulty'],
      host: row['host'],
      worker: row['worker'],
      slot: row['slot'],
      firstPolicyVersion: row['first_policy_version'],
      policyVersion: row['policy_version'],
      steps: row['steps'],
      startedAt: row['started_at'],
      wallMs: row['wall_ms'],
      terminated: row['terminated'] === 1,
      truncated: row['truncated'] === 1,
      success: row['success'] === 1,
      failure: row['failure'],
      failureDetail: row['failure_detail'],
      trust: row['trust'],
      reward: row['reward'],
      components: JSON.parse(String(row['components'])),
      behaviours: BEHAVIOUR_NAMES.filter((name) => (mask & BEHAVIOUR_BITS[name]) !== 0),
      ...laterParts(row),
    });
  } catch (thrown) {
    throw new LabError('store-failed', {
      message: `the index holds an episode that cannot be read (e${String(row['sequence'])}): ${reasonText(thrown)}`,
      hint: 'rebuild the index from the segments with: agentrl-lab fsck --repair',
      cause: thrown,
    });
  }
}

/** The same of the values of EPISODE_COLUMNS alone, in their order: names given by the database are new texts for each row. */
export function cellsToEpisode(cells: readonly unknown[]): EpisodeSummary {
  const row: Record<string, unknown> = {};
  for (const [place, name] of EPISODE_COLUMNS.entries()) row[name] = cells[place];
  return rowToEpisode(row);
}
