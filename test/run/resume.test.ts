import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import type { KnobName } from '../../src/domain/knob.ts';
import type { KnobChange } from '../../src/domain/run.ts';
import { keysOf } from '../../src/domain/table.ts';
import { type Checkpoint, loadCheckpoint, snapshotOf, writeCheckpoint } from '../../src/run/checkpoint.ts';
import { startingKnobs } from '../../src/run/config-knobs.ts';
import { KnobKeeper, knobsAtStart } from '../../src/run/knob-keeper.ts';
import { manifestOf } from '../store/fixture.ts';
import { TrainerBench } from '../support/trainer-bench.ts';

const CONFIG = configSchema.parse({
  knobs: { minibatch: 16, kl_limit: 0 },
  schedule: {
    lr: {
      points: [
        [0, 0.01],
        [4, 0.0001],
      ],
      shape: 'cosine',
    },
    entropy: {
      unit: 'steps',
      points: [
        [0, 0.05],
        [256, 0],
      ],
    },
  },
  trainer: { rewardWindow: 20, threads: 1 },
});
const MANIFEST = manifestOf('demo-1');
const ANN = 'ann@host';
const STEPS = 64;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentrl-resume-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A run without workers: its trainer and whoever turns its knobs. */
class SmallRun {
  readonly trainer: TrainerBench;
  readonly keeper: KnobKeeper;
  readonly stored: KnobChange[];
  iteration: number;

  private constructor(trainer: TrainerBench, checkpoint: Checkpoint | null, stored: readonly KnobChange[]) {
    this.trainer = trainer;
    this.stored = [...stored];
    this.iteration = checkpoint?.iteration ?? 0;
    const { snapshot, set } = { snapshot: () => trainer.snapshot, set: this.#set.bind(this) };
    this.keeper = new KnobKeeper({
      schedule: CONFIG.schedule,
      trainer: {
        get knobs() {
          return snapshot()?.state.knobs ?? CONFIG.knobs;
        },
        setAll: set,
      },
      journal: {
        manifest: MANIFEST,
        event: () => undefined,
        knobChange: (change) => this.stored.push(change) > 0,
      },
      clock: () => ({ iterations: this.iteration, minutes: 0, steps: this.iteration * STEPS }),
      history: stored,
      steering: checkpoint?.steering ?? null,
    });
  }

  static async begin(): Promise<SmallRun> {
    const trainer = await TrainerBench.start(knobsAtStart(CONFIG, []), CONFIG.trainer);
    return new SmallRun(trainer, null, []);
  }

  /** As the run process does after its end, whatever that was. */
  static async resume(stored: readonly KnobChange[]): Promise<SmallRun> {
    const { checkpoint } = loadCheckpoint(directory);
    const at = { runId: MANIFEST.id, time: 1 };
    const start = startingKnobs(checkpoint!, CONFIG, stored, at).checkpoint;
    const trainer = await TrainerBench.start({}, CONFIG.trainer, snapshotOf(start));
    return new SmallRun(trainer, start, stored);
  }

  async update(): Promise<void> {
    this.keeper.beforeUpdate();
    await this.trainer.update(this.iteration + 1, 100 + this.iteration);
    this.iteration++;
  }

  checkpoint(): void {
    const { state, weights, optimiser } = this.trainer.snapshot!;
    writeCheckpoint(
      directory,
      {
        iteration: this.iteration,
        elapsedS: 1,
        trainer: state,
        configKnobs: CONFIG.knobs,
        steering: this.keeper.steering,
        curriculum: { success: {}, random: [1, 2, 3, 4] },
        evaluations: [],
        weights,
        optimiser,
      },
      3,
    );
  }

  async #set(
    knobs: Readonly<Partial<Record<KnobName, number>>>,
    who: string,
    undo: boolean,
  ): Promise<KnobChange[]> {
    const changes: KnobChange[] = [];
    for (const knob of keysOf(knobs)) {
      const change = await this.trainer.set(knob, knobs[knob]!, who, undo);
      if (change === null) throw new Error(`${knob} was not taken over`);
      const { snapshot } = this.trainer;
      // The run process keeps its snapshot's knobs up to date in the same way.
      this.trainer.snapshot = {
        ...snapshot!,
        state: { ...snapshot!.state, knobs: { ...snapshot!.state.knobs, [knob]: change.to } },
      };
      this.keeper.taken(change);
      changes.push(change);
    }
    return changes;
  }
}

/** Two updates; in between a person turns a scheduled knob and one that is not. */
async function firstHalf(): Promise<SmallRun> {
  const run = await SmallRun.begin();
  await run.update();
  await run.keeper.set(ANN, { entropy: 0.03, clip: 0.11 });
  await run.update();
  return run;
}

/** Three more: the two turns are undone, newest first, which takes the schedule up again. */
async function secondHalf(run: SmallRun): Promise<void> {
  await run.update();
  await run.keeper.undo(ANN);
  await run.update();
  await run.keeper.undo(ANN);
  await run.update();
}

it('a run that was interrupted makes the very same updates as one that was not', async () => {
  const whole = await firstHalf();
  await secondHalf(whole);
  const first = await firstHalf();
  first.checkpoint();
  const second = await SmallRun.resume(first.stored);
  expect(second.keeper.scheduled).toEqual(['lr']);
  expect(second.keeper.undoable).toEqual(first.keeper.undoable);
  await secondHalf(second);
  expect(second.trainer.snapshot).toEqual(whole.trainer.snapshot);
  expect(second.stored).toEqual(whole.stored);
  expect(second.keeper.scheduled).toEqual(['entropy', 'lr']);
  const { state } = whole.trainer.snapshot!;
  expect(state).toMatchObject({ policyVersion: 5, rewardWindow: { length: 20 } });
  // At four iterations, and at 256 steps: the ends of both schedules.
  expect(state.knobs).toMatchObject({ lr: 0.0001, entropy: 0, clip: 0.2 });
});

it('a turn that was acknowledged after the checkpoint holds after a kill, and can be undone', async () => {
  const run = await firstHalf();
  run.checkpoint();
  await run.keeper.set(ANN, { value: 0.9, lr: 0.002 });
  const resumed = await SmallRun.resume(run.stored);
  expect(resumed.trainer.snapshot!.state.knobs).toMatchObject({ value: 0.9, lr: 0.002, clip: 0.11 });
  expect(resumed.keeper.scheduled).toEqual([]);
  await resumed.update();
  expect(resumed.trainer.snapshot!.state.knobs.lr).toBe(0.002);
  const undone = [await resumed.keeper.undo(ANN), await resumed.keeper.undo(ANN)];
  expect(undone.map(({ knob }) => knob).toSorted()).toEqual(['lr', 'value']);
  expect(resumed.keeper.scheduled).toEqual(['lr']);
});
