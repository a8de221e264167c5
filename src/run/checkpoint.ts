import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorText, LabError } from '../domain/error.ts';
import { knobNameSchema, knobValuesSchema } from '../domain/knob.ts';
import { evaluationSchema } from '../domain/run.ts';
import { scheduleSchema } from '../domain/schedule.ts';
import { trainerStateSchema } from '../protocol/trainer.ts';
import { syncDirectory } from '../store/atomic-file.ts';
import { curriculumStateSchema } from './curriculum.ts';
import type { TrainerSnapshot } from './trainer-link.ts';

/** Policies of format 1 read lines in another order, and padding too: their weights would act differently. */
export const CHECKPOINT_FORMAT = 2;

const formatSchema = z.object({ format: z.int() });

const scheduleTimeSchema = z.object({ minutes: z.number(), steps: z.number() });

const steeringSchema = z.object({
  /** The run that wrote it: a branch has a history of its own. */
  run: z.string(),
  /** How many changes of knobs that run had stored by then: later ones are not in the knobs here. */
  knobChanges: z.int().nonnegative(),
  /** The config's schedules when it was written; absent in those of an older lab. */
  schedules: z.partialRecord(knobNameSchema, scheduleSchema).optional(),
  /** Knobs whose schedule in the config was off. */
  scheduleOff: z.array(knobNameSchema),
  /** How far its schedules were, and how much of that runs before it had contributed. Iterations go on by themselves. */
  scheduleTime: scheduleTimeSchema,
  scheduleBase: scheduleTimeSchema,
});
export type Steering = Readonly<z.infer<typeof steeringSchema>>;

const stateSchema = z.object({
  format: z.literal(CHECKPOINT_FORMAT),
  iteration: z.int().nonnegative(),
  elapsedS: z.number(),
  trainer: trainerStateSchema,
  /** The config's knobs when it was written. */
  configKnobs: knobValuesSchema,
  /** Null in those of an older lab. */
  steering: steeringSchema.nullable().default(null),
  curriculum: curriculumStateSchema,
  /** The newest evaluation in each action mode. */
  evaluations: z.array(evaluationSchema),
  files: z.object({
    weights: z.object({ bytes: z.int(), sha256: z.string() }),
    optimiser: z.object({ bytes: z.int(), sha256: z.string() }),
  }),
});
type StoredState = z.infer<typeof stateSchema>;

/** Everything of a run but its samples: those of episodes that were waiting for an update are gone, the episodes stay. */
export type Checkpoint = Readonly<Omit<StoredState, 'format' | 'files'>> & {
  readonly weights: Uint8Array;
  readonly optimiser: Uint8Array;
};

/** The trainer's part of a checkpoint. */
export function snapshotOf({ trainer, weights, optimiser }: Checkpoint): TrainerSnapshot {
  return { state: trainer, weights, optimiser };
}

/** What loading found: the newest sound checkpoint, and why newer ones were passed over. */
export interface LoadedCheckpoint {
  readonly checkpoint: Checkpoint | null;
  readonly skipped: readonly LabError[];
}

/** Writes a checkpoint as a directory of its own, complete or not at all, and removes all but the newest `keep`. */
export function writeCheckpoint(directory: string, checkpoint: Checkpoint, keep: number): string {
  const name = checkpointName(checkpoint.iteration);
  const temporary = join(directory, `.${name}.tmp`);
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { recursive: true });
  const { weights, optimiser, ...state } = checkpoint;
  const stored: StoredState = {
    ...state,
    format: CHECKPOINT_FORMAT,
    files: { weights: describe(weights), optimiser: describe(optimiser) },
  };
  writeFileSync(join(temporary, 'weights.f32'), weights, { flush: true });
  writeFileSync(join(temporary, 'optimiser.f32'), optimiser, { flush: true });
  writeFileSync(join(temporary, 'state.json'), JSON.stringify(stored), { flush: true });
  const target = join(directory, name);
  const replaced = join(directory, `.${name}.old`);
  rmSync(replaced, { recursive: true, force: true });
  if (existsSync(target)) renameSync(target, replaced);
  renameSync(temporary, target);
  syncDirectory(directory);
  rmSync(replaced, { recursive: true, force: true });
  for (const old of listCheckpoints(directory).slice(keep)) {
    rmSync(join(directory, old), { recursive: true, force: true });
  }
  return name;
}

/** Loads the newest checkpoint that is whole. Throws `checkpoint-corrupt` when there are some and none is. */
export function loadCheckpoint(directory: string): LoadedCheckpoint {
  const skipped: LabError[] = [];
  for (const name of listCheckpoints(directory)) {
    try {
      return { checkpoint: readCheckpoint(join(directory, name)), skipped };
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      skipped.push(thrown);
    }
  }
  const [newest] = skipped;
  if (newest !== undefined) {
    throw new LabError('checkpoint-corrupt', {
      message: `none of the ${skipped.length} checkpoints can be used: ${newest.message}`,
      hint: 'remove the checkpoints directory of the run to begin again from iteration 0; its episodes stay',
      cause: newest,
    });
  }
  return { checkpoint: null, skipped };
}

/**
 * Loads the checkpoint of one iteration. Throws `checkpoint-missing`, naming those that are kept, or `checkpoint-corrupt`.
 */
export function loadCheckpointOf(directory: string, iteration: number): Checkpoint {
  const path = join(directory, checkpointName(iteration));
  try {
    return readCheckpoint(path);
  } catch (thrown) {
    // A live run removes old ones: it may have gone while it was read.
    if (!(thrown instanceof LabError) || existsSync(path)) throw thrown;
    const kept = listCheckpoints(directory).map((name) => Number(name.slice(3)));
    throw new LabError('checkpoint-missing', {
      message: `there is no checkpoint of iteration ${iteration}; kept: ${kept.join(', ') || 'none'}`,
      hint: 'checkpoint.every and checkpoint.keep in the config say which are written and kept',
    });
  }
}

/** Names of checkpoints, newest first. */
export function listCheckpoints(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /^it-\d{8}$/u.test(name))
      .toSorted()
      .toReversed();
  } catch {
    return [];
  }
}

function checkpointName(iteration: number): string {
  return `it-${String(iteration).padStart(8, '0')}`;
}

function readCheckpoint(path: string): Checkpoint {
  let stored: StoredState;
  try {
    const content: unknown = JSON.parse(readFileSync(join(path, 'state.json'), 'utf8'));
    const { format } = formatSchema.parse(content);
    if (format !== CHECKPOINT_FORMAT) throw ofAnotherLab(path, format);
    stored = stateSchema.parse(content);
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    throw corrupt(join(path, 'state.json'), errorText(thrown).split('\n')[0] ?? '', thrown);
  }
  const { files, format: _format, ...state } = stored;
  return {
    ...state,
    weights: readPart(join(path, 'weights.f32'), files.weights),
    optimiser: readPart(join(path, 'optimiser.f32'), files.optimiser),
  };
}

function readPart(path: string, expected: { bytes: number; sha256: string }): Uint8Array {
  let data: Buffer;
  try {
    data = readFileSync(path);
  } catch (thrown) {
    throw corrupt(path, errorText(thrown), thrown);
  }
  const found = describe(data);
  if (found.bytes !== expected.bytes) {
    throw corrupt(path, `${found.bytes} bytes, ${expected.bytes} were written`);
  }
  if (found.sha256 !== expected.sha256) throw corrupt(path, 'its checksum does not match');
  return data;
}

function describe(data: Uint8Array): { bytes: number; sha256: string } {
  return { bytes: data.byteLength, sha256: createHash('sha256').update(data).digest('hex') };
}

function ofAnotherLab(path: string, format: number): LabError {
  return new LabError('checkpoint-corrupt', {
    message: `checkpoint ${path} has format ${format}, and this lab reads ${CHECKPOINT_FORMAT}: its policy reads observations in another way`,
    hint: 'go on with the lab that wrote it, or begin a new run; the episodes of the old one can be read as ever',
  });
}

function corrupt(path: string, found: string, cause?: unknown): LabError {
  return new LabError('checkpoint-corrupt', {
    message: `checkpoint file ${path} is damaged: ${found}`,
    cause,
  });
}
