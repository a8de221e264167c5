import { describe, expect, it } from 'vitest';
import { type Config, configSchema } from '../../src/config/schema.ts';
import { checkKnob, type KnobName, type KnobValues } from '../../src/domain/knob.ts';
import type { KnobChange } from '../../src/domain/run.ts';
import { keysOf } from '../../src/domain/table.ts';
import { KnobKeeper, knobsAtStart, type RunClock } from '../../src/run/knob-keeper.ts';
import { manifestOf } from '../store/fixture.ts';

type Wanted = Readonly<Partial<Record<KnobName, number>>>;

const SCHEDULE = {
  lr: {
    points: [
      [0, 0.001],
      [10, 0.0001],
    ],
  },
  epochs: {
    unit: 'steps',
    shape: 'step',
    points: [
      [0, 4],
      [1000, 2],
    ],
  },
};

/** A run with a trainer that takes knobs over when the test says so. */
class Bench {
  readonly config: Config;
  readonly keeper: KnobKeeper;
  readonly events: string[] = [];
  readonly stored: KnobChange[] = [];
  readonly clock: Record<keyof RunClock, number> = { iterations: 0, minutes: 0, steps: 0 };
  knobs: KnobValues;
  #waiting: (() => void)[] = [];
  #isSlow = false;
  isGone = false;

  constructor(
    config: object = {},
    history: readonly KnobChange[] = [],
    steering: KnobKeeper['steering'] | null = null,
  ) {
    this.config = configSchema.parse(config);
    this.knobs = knobsAtStart(this.config, history);
    this.stored.push(...history);
    const current = (): KnobValues => this.knobs;
    this.keeper = new KnobKeeper({
      schedule: this.config.schedule,
      trainer: {
        get knobs() {
          return current();
        },
        setAll: async (knobs: Wanted, who: string, undo: boolean) => await this.#setAll(knobs, who, undo),
      },
      journal: {
        manifest: manifestOf('demo-1'),
        knobChange: (change) => this.stored.push(change) > 0,
        event: (level, kind, subject, message) =>
          void this.events.push(`${level} ${kind} ${subject}: ${message}`),
      },
      clock: () => this.clock,
      history,
      steering,
    });
  }

  /** From now on turns wait for `take`. */
  slow(): void {
    this.#isSlow = true;
  }

  take(): void {
    for (const one of this.#waiting.splice(0)) one();
  }

  turns(): string[] {
    return this.stored.map(
      ({ knob, from, to, who, undo }) => `${knob} ${from} ${to} ${who}${undo ? ' undo' : ''}`,
    );
  }

  async #setAll(knobs: Wanted, who: string, undo: boolean): Promise<KnobChange[]> {
    for (const knob of keysOf(knobs)) checkKnob(knob, knobs[knob]!);
    if (this.isGone) throw new Error('the trainer is gone');
    const apply = (): KnobChange[] =>
      keysOf(knobs).map((knob) => {
        const to = knobs[knob]!;
        const change = { time: 1, who, knob, from: this.knobs[knob], to, iteration: 1, minibatch: 0, undo };
        this.knobs = { ...this.knobs, [knob]: to };
        this.keeper.taken(change);
        return change;
      });
    if (!this.#isSlow) return await Promise.resolve(apply());
    return await new Promise((resolve) => {
      this.#waiting.push(() => resolve(apply()));
    });
  }
}

const ANN = 'ann@host';
/** Lets whatever waits for nothing run. */
const settle = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

describe('a scheduled knob', () => {
  it('begins at its first point, moves before each update, and only when there is something to move', () => {
    const bench = new Bench({ schedule: SCHEDULE, knobs: { lr: 0.05, epochs: 9 } });
    expect(bench.knobs).toMatchObject({ lr: 0.001, epochs: 4 });
    bench.keeper.beforeUpdate();
    expect(bench.turns()).toEqual([]);
    bench.clock.iterations = 5;
    bench.keeper.beforeUpdate();
    bench.keeper.beforeUpdate();
    bench.clock.steps = 1000;
    bench.keeper.beforeUpdate();
    expect(bench.turns()).toEqual(['lr 0.001 0.00055 schedule', 'epochs 4 2 schedule']);
    expect(bench.keeper.scheduled).toEqual(['lr', 'epochs']);
    expect(bench.keeper.undoable).toBeNull();
  });

  it('gives a whole number where the knob takes no other', () => {
    const bench = new Bench({
      schedule: {
        epochs: {
          points: [
            [0, 1],
            [4, 3],
          ],
        },
      },
    });
    bench.clock.iterations = 1;
    bench.keeper.beforeUpdate();
    expect(bench.knobs.epochs).toBe(2);
  });

  it('that a person turns stays where it is, until the schedule is taken up again', async () => {
    const bench = new Bench({ schedule: SCHEDULE });
    await bench.keeper.set(ANN, { lr: 0.02 });
    bench.clock.iterations = 10;
    bench.keeper.beforeUpdate();
    expect(bench.knobs.lr).toBe(0.02);
    expect(bench.keeper.scheduled).toEqual(['epochs']);
    expect(bench.keeper.steering).toMatchObject({ run: 'demo-1', knobChanges: 1, scheduleOff: ['lr'] });
    expect(await bench.keeper.takeUp('bob@host', ['lr', 'epochs'])).toMatchObject([
      { knob: 'lr', to: 0.0001 },
    ]);
    expect(bench.keeper.scheduled).toEqual(['lr', 'epochs']);
    expect(bench.events).toEqual([
      'info schedule-off lr: held at 0.02 by ann@host; agentrl-lab set lr=schedule takes it up again',
      'info schedule-on lr: follows its schedule again, by bob@host',
    ]);
  });

  it('follows its schedule again when the turn that ended it is undone', async () => {
    const bench = new Bench({ schedule: SCHEDULE });
    await bench.keeper.set(ANN, { lr: 0.02 });
    await bench.keeper.undo(ANN);
    bench.clock.iterations = 10;
    bench.keeper.beforeUpdate();
    expect(bench.turns()).toEqual([
      'lr 0.001 0.02 ann@host',
      'lr 0.02 0.001 ann@host undo',
      'lr 0.001 0.0001 schedule',
    ]);
  });

  it('is left alone while a turn by a person is on its way', async () => {
    const bench = new Bench({ schedule: SCHEDULE });
    bench.slow();
    const turning = bench.keeper.set(ANN, { lr: 0.02 });
    await settle();
    bench.clock.iterations = 10;
    bench.keeper.beforeUpdate();
    bench.take();
    await turning;
    expect(bench.turns()).toEqual(['lr 0.001 0.02 ann@host']);
  });

  it('that the guard has eased is held, also before the trainer has said so', async () => {
    const bench = new Bench({ schedule: SCHEDULE });
    bench.slow();
    bench.keeper.ease({ lr: 0.0005 });
    bench.clock.iterations = 10;
    bench.keeper.beforeUpdate();
    bench.take();
    await settle();
    bench.keeper.beforeUpdate();
    expect(bench.turns()).toEqual(['lr 0.001 0.0005 guard']);
  });

  it('without a schedule in the config cannot be given back to one', async () => {
    const bench = new Bench({ schedule: SCHEDULE });
    await expect(bench.keeper.takeUp(ANN, ['clip'])).rejects.toMatchObject({
      code: 'usage',
      message: 'clip has no schedule in the config; those that have: lr, epochs',
    });
  });
});

describe('undo', () => {
  it('says when there is nothing to undo', async () => {
    const bench = new Bench();
    await expect(bench.keeper.undo(ANN)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('nothing to undo'),
    });
  });

  it('takes each turn once when many ask at the same time, and keeps to the order of the commands', async () => {
    const bench = new Bench();
    bench.slow();
    const commands = [
      bench.keeper.set(ANN, { clip: 0.1 }),
      bench.keeper.set('bob@host', { clip: 0.3, entropy: 0.02 }),
      bench.keeper.undo(ANN),
      bench.keeper.undo(ANN),
      bench.keeper.undo(ANN),
      bench.keeper.undo(ANN),
    ];
    const all = Promise.allSettled(commands);
    for (let i = 0; i < 8; i++) {
      bench.take();
      await settle();
    }
    const results = await all;
    expect(results.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 5 }, () => 'fulfilled'),
      'rejected',
    ]);
    expect(bench.turns()).toEqual([
      'clip 0.2 0.1 ann@host',
      'clip 0.1 0.3 bob@host',
      'entropy 0.01 0.02 bob@host',
      'entropy 0.02 0.01 ann@host undo',
      'clip 0.3 0.1 ann@host undo',
      'clip 0.1 0.2 ann@host undo',
    ]);
  });

  it('survives an end of the run: it is derived from what is stored', async () => {
    const bench = new Bench();
    await bench.keeper.set(ANN, { clip: 0.1 });
    await bench.keeper.set(ANN, { clip: 0.3 });
    await bench.keeper.undo(ANN);
    const resumed = new Bench({}, bench.stored, bench.keeper.steering);
    expect(resumed.keeper.undoable).toEqual(bench.keeper.undoable);
    await resumed.keeper.undo(ANN);
    expect(resumed.knobs.clip).toBe(0.2);
    await expect(resumed.keeper.undo(ANN)).rejects.toMatchObject({ code: 'usage' });
  });

  it('that the trainer did not take over is still to be had', async () => {
    const bench = new Bench();
    await bench.keeper.set(ANN, { clip: 0.1 });
    bench.isGone = true;
    await expect(bench.keeper.undo(ANN)).rejects.toThrow('the trainer is gone');
    bench.isGone = false;
    expect(await bench.keeper.undo(ANN)).toMatchObject({ from: 0.1, to: 0.2, undo: true });
  });
});

describe('a turn', () => {
  it('out of range is refused with the range, and does not hold up what comes after it', async () => {
    const bench = new Bench();
    await expect(bench.keeper.set(ANN, { lr: 0.01, clip: 7 })).rejects.toMatchObject({
      code: 'knob-invalid',
      message: expect.stringContaining('from 0.01 to 1'),
    });
    expect(bench.turns()).toEqual([]);
    await bench.keeper.set(ANN, { lr: 0.01 });
    expect(bench.knobs.lr).toBe(0.01);
  });
});

describe('a branch', () => {
  const steering = {
    run: 'parent-1',
    knobChanges: 12,
    scheduleOff: ['lr' as const],
    scheduleTime: { minutes: 4, steps: 900 },
    scheduleBase: { minutes: 1, steps: 300 },
  };

  it('keeps the schedules off that were off where it begins, and has no turns to undo', () => {
    const bench = new Bench({ schedule: SCHEDULE }, [], steering);
    expect(bench.keeper.scheduled).toEqual(['epochs']);
    expect(bench.keeper.undoable).toBeNull();
    expect(bench.keeper.steering).toEqual({
      run: 'demo-1',
      knobChanges: 0,
      schedules: bench.config.schedule,
      scheduleOff: ['lr'],
      scheduleTime: { minutes: 4, steps: 900 },
      scheduleBase: { minutes: 4, steps: 900 },
    });
  });

  it('goes on where the schedules of its parent were, also after a resume of its own', () => {
    const bench = new Bench({ schedule: SCHEDULE }, [], steering);
    bench.clock.steps = 99;
    bench.keeper.beforeUpdate();
    expect(bench.knobs.epochs).toBe(4);
    const resumed = new Bench({ schedule: SCHEDULE }, [], bench.keeper.steering);
    resumed.clock.steps = 100;
    resumed.keeper.beforeUpdate();
    expect(resumed.knobs.epochs).toBe(2);
  });
});
