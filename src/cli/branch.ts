import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../config/load.ts';
import type { Override } from '../config/overrides.ts';
import { errorText, LabError } from '../domain/error.ts';
import { KNOB_NAMES, type KnobName } from '../domain/knob.ts';
import { type Checkpoint, loadCheckpointOf, writeCheckpoint } from '../run/checkpoint.ts';
import type { RunPaths } from '../store/run-directory.ts';
import { type FoundCheckpoint, findCheckpoint } from './checkpoints.ts';
import { loadConfigFile } from './config-file.ts';
import { createRun } from './start.ts';

export interface BranchOptions {
  readonly runsDirectory: string;
  /** `RUN` or `RUN@ITERATION`. */
  readonly place: string;
  readonly overrides: readonly Override[];
  /** Ends it after so many updates of its own. */
  readonly iterations: number | undefined;
}

/**
 * Starts a run from another one's checkpoint; resolves to its id. Its config is the parent's with the overrides; weights,
 * optimiser, knobs, curriculum and the count of iterations go on from the checkpoint, of which it gets a copy of its own;
 * running time, episodes and steps begin at 0. Throws `config-invalid` when the policy would have another shape, and as
 * `findCheckpoint` and `startRun` do.
 */
export async function branchRun(options: BranchOptions): Promise<string> {
  const parent = await findCheckpoint(options.runsDirectory, options.place);
  const { run, checkpoint } = parent;
  const { iteration } = checkpoint;
  const overrides = [...options.overrides];
  if (options.iterations !== undefined) {
    overrides.push({ path: ['stop', 'iterations'], value: iteration + options.iterations });
  }
  const loaded = loadConfigFile(run.paths.config, overrides);
  refuseMisfit(parent, loaded);
  const copy = inherit(checkpoint, setKnobs(overrides));
  return await createRun(options.runsDirectory, loaded, {
    parent: { run: run.id, iteration },
    fill: (paths) => copyCheckpoint(paths, copy, loaded.config.checkpoint.keep),
  });
}

function refuseMisfit({ run, checkpoint }: FoundCheckpoint, { config }: LoadedConfig): void {
  if (!isDeepStrictEqual(config.policy, loadConfigFile(run.paths.config, []).config.policy)) {
    throw new LabError('config-invalid', {
      message: `policy cannot change in a branch: the weights of ${run.id} fit no other shape`,
      hint: 'start a new run for another policy: agentrl-lab run',
    });
  }
  const { iterations } = config.stop;
  if (iterations !== null && checkpoint.iteration >= iterations) {
    throw new LabError('usage', {
      message: `the branch would end at once: it begins at iteration ${checkpoint.iteration}, and stop.iterations is ${iterations}`,
      hint: 'give it updates of its own with --iterations, or none to end by with --set stop.iterations=null',
    });
  }
}

function setKnobs(overrides: readonly Override[]): readonly KnobName[] {
  return KNOB_NAMES.filter((knob) =>
    overrides.some(({ path }) => path[0] === 'knobs' && (path.length === 1 || path[1] === knob)),
  );
}

/**
 * The checkpoint as the branch begins with it. A run takes a knob from its config where that differs from the config's knobs
 * beside the checkpoint. One that was set for the branch has to apply even where the parent's config had that very value and
 * somebody has turned it since: the value that it was turned to stands beside the copy instead.
 */
function inherit(checkpoint: Checkpoint, set: readonly KnobName[]): Checkpoint {
  const { knobs } = checkpoint.trainer;
  const configKnobs = { ...checkpoint.configKnobs };
  for (const knob of set) configKnobs[knob] = knobs[knob];
  return { ...checkpoint, elapsedS: 0, configKnobs };
}

/** Writes it and reads it again; a new run that cannot have it leaves nothing behind. */
function copyCheckpoint(paths: RunPaths, checkpoint: Checkpoint, keep: number): void {
  try {
    writeCheckpoint(paths.checkpoints, checkpoint, keep);
    loadCheckpointOf(paths.checkpoints, checkpoint.iteration);
  } catch (thrown) {
    rmSync(paths.root, { recursive: true, force: true });
    if (thrown instanceof LabError) throw thrown;
    throw new LabError('run-unwritable', {
      message: `cannot write the checkpoint of the branch to ${paths.checkpoints}: ${errorText(thrown)}`,
      cause: thrown,
    });
  }
}
