import type { Config } from '../config/schema.ts';
import { LabError } from '../domain/error.ts';
import { KNOB_NAMES, KNOBS, type KnobKind, type KnobName, type KnobValues } from '../domain/knob.ts';
import type { KnobChange } from '../domain/run.ts';
import { type Schedule, scheduledValue } from '../domain/schedule.ts';
import { keysOf } from '../domain/table.ts';
import type { Steering } from './checkpoint.ts';
import type { Journal } from './journal.ts';
import { BY_GUARD, BY_SCHEDULE, KnobHistory } from './knob-history.ts';
import type { TrainerLink } from './trainer-link.ts';

/** How far a run is, in each of the units of a schedule. */
export type RunClock = Readonly<Record<Schedule['unit'], number>>;

/** Significant digits of a scheduled value: more is rounding noise of its computation. */
const SCHEDULE_DIGITS = 12;

type WantedKnobs = Readonly<Partial<Record<KnobName, number>>>;

export interface KnobKeeperOptions {
  readonly schedule: Config['schedule'];
  readonly trainer: Pick<TrainerLink, 'knobs' | 'setAll'>;
  readonly journal: Pick<Journal, 'event' | 'knobChange' | 'manifest'>;
  /** Of this run alone, but for the iterations: those of a branch go on from its parent's. */
  readonly clock: () => RunClock;
  /** Every change stored before this attempt of the run, oldest first. */
  readonly history: readonly KnobChange[];
  /** What the checkpoint that the run goes on from says; null for one that begins. */
  readonly steering: Steering | null;
}

/**
 * Who may turn which knob when: people by command and undo, the config's schedule before every update, the guard. Commands
 * of people take effect one after another, in the order in which they came.
 */
export class KnobKeeper {
  readonly #options: KnobKeeperOptions;
  readonly #history: KnobHistory;
  /** What the runs that this one was branched from add to its clock. */
  readonly #base: Steering['scheduleBase'];
  /** How many turns by people and the guard the trainer has not taken over yet: not for the schedule. */
  readonly #turning = new Map<KnobName, number>();
  /** Who asked for a schedule to be taken up again. */
  readonly #askedFor = new Map<KnobName, string>();
  /** Changes that the store could not take. */
  #unrecorded = 0;
  #newest: Promise<unknown> = Promise.resolve();

  constructor(options: KnobKeeperOptions) {
    this.#options = options;
    const { schedule, history, steering, journal } = options;
    const isBranch = steering !== null && steering.run !== journal.manifest.id;
    this.#base = (isBranch ? steering.scheduleTime : steering?.scheduleBase) ?? { minutes: 0, steps: 0 };
    this.#history = new KnobHistory(keysOf(schedule), isBranch ? steering.scheduleOff : []);
    for (const change of history) this.#history.add(change);
  }

  /** Knobs that follow their schedule. */
  get scheduled(): KnobName[] {
    return this.#history.scheduled;
  }

  /** What undo would put back. */
  get undoable(): KnobChange | null {
    return this.#history.undoable;
  }

  /** What a checkpoint has to keep. */
  get steering(): Steering {
    const { length, off } = this.#history;
    const knobChanges = length - this.#unrecorded;
    const { minutes, steps } = this.#clock();
    return {
      run: this.#options.journal.manifest.id,
      knobChanges,
      schedules: this.#options.schedule,
      scheduleOff: off,
      scheduleTime: { minutes, steps },
      scheduleBase: this.#base,
    };
  }

  /** Refuses all of them when one is out of range. Ends the schedules of those that have one. */
  async set(who: string, knobs: WantedKnobs): Promise<KnobChange[]> {
    return await this.#inTurn(async () => await this.#turn(knobs, who, false));
  }

  /** Puts back what the newest turn by a person changed. Throws `usage` when there is none. */
  async undo(who: string): Promise<KnobChange> {
    return await this.#inTurn(async () => {
      const newest = this.#history.undoable;
      const [change] = newest === null ? [] : await this.#turn({ [newest.knob]: newest.from }, who, true);
      if (change !== undefined) return change;
      throw new LabError('usage', {
        message: 'there is nothing to undo: no turn of a knob by a person is left',
        hint: 'what the schedule, the config and the guard change is not undone; set a value instead',
      });
    });
  }

  /** Lets the schedule move knobs again. Throws `usage` for one that has none in the config. */
  async takeUp(who: string, knobs: readonly KnobName[]): Promise<KnobChange[]> {
    const { schedule, trainer } = this.#options;
    const without = knobs.find((knob) => schedule[knob] === undefined);
    if (without !== undefined) {
      const others = keysOf(schedule);
      throw new LabError('usage', {
        message: `${without} has no schedule in the config; ${others.length === 0 ? 'no knob has one' : `those that have: ${others.join(', ')}`}`,
        hint: `give it one in the config: schedule: {${without}: {points: [[0, ${trainer.knobs[without]}], …]}}`,
      });
    }
    return await this.#inTurn(async () => {
      const off = knobs.filter((knob) => !this.#history.follows(knob));
      for (const knob of off) this.#askedFor.set(knob, who);
      return await this.#turn(this.#scheduledValues(off), BY_SCHEDULE, false);
    });
  }

  /** Moves the knobs that follow their schedule to where they are to be, from the next minibatch on. */
  beforeUpdate(): void {
    const { knobs } = this.#options.trainer;
    const free = this.scheduled.filter((knob) => (this.#turning.get(knob) ?? 0) === 0);
    const values = this.#scheduledValues(free);
    const moved = keysOf(values).filter((knob) => values[knob] !== knobs[knob]);
    if (moved.length === 0) return;
    const wanted = Object.fromEntries(moved.map((knob) => [knob, values[knob]]));
    // A trainer that dies before it has taken them over is asked again before the next update.
    this.#options.trainer.setAll(wanted, BY_SCHEDULE, false).catch(() => undefined);
  }

  /** Turns knobs on behalf of the guard; what is scheduled is held there. */
  ease(knobs: WantedKnobs): void {
    if (keysOf(knobs).length === 0) return;
    // A trainer that dies now says so itself; the update that follows is held against the guard again.
    this.#turn(knobs, BY_GUARD, false).catch(() => undefined);
  }

  /** The trainer has taken a change over. */
  taken(change: KnobChange): void {
    const { journal } = this.#options;
    const { knob, who } = change;
    if (!journal.knobChange(change)) this.#unrecorded++;
    const turn = this.#history.add(change);
    if (turn === 'off') {
      const way = `agentrl-lab set ${knob}=schedule takes it up again`;
      journal.event('info', 'schedule-off', knob, `held at ${change.to} by ${who}; ${way}`);
    } else if (turn === 'on') {
      const asked = this.#askedFor.get(knob) ?? who;
      journal.event('info', 'schedule-on', knob, `follows its schedule again, by ${asked}`);
    }
    this.#askedFor.delete(knob);
  }

  #scheduledValues(knobs: readonly KnobName[]): WantedKnobs {
    return scheduledValues(this.#options.schedule, this.#clock(), knobs);
  }

  #clock(): RunClock {
    const { iterations, minutes, steps } = this.#options.clock();
    return { iterations, minutes: minutes + this.#base.minutes, steps: steps + this.#base.steps };
  }

  async #turn(knobs: WantedKnobs, who: string, undo: boolean): Promise<KnobChange[]> {
    const names = keysOf(knobs);
    const count = (by: 1 | -1): void => {
      for (const knob of names) this.#turning.set(knob, (this.#turning.get(knob) ?? 0) + by);
    };
    count(1);
    try {
      return await this.#options.trainer.setAll(knobs, who, undo);
    } catch (thrown) {
      for (const knob of names) this.#askedFor.delete(knob);
      throw thrown;
    } finally {
      count(-1);
    }
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#newest.then(work);
    this.#newest = result.catch(() => undefined);
    return await result;
  }
}

/** Where schedules want their knobs. */
function scheduledValues(
  schedule: Config['schedule'],
  clock: RunClock,
  knobs: readonly KnobName[],
): WantedKnobs {
  const values: Partial<Record<KnobName, number>> = {};
  for (const knob of knobs) {
    const own = schedule[knob];
    if (own === undefined) continue;
    const value = scheduledValue(own, clock[own.unit]);
    const { integer }: KnobKind = KNOBS[knob];
    values[knob] = integer ? Math.round(value) : Number(value.toPrecision(SCHEDULE_DIGITS));
  }
  return values;
}

/**
 * The knobs of a run that has no checkpoint to go on from: those of the config, but for those that have a schedule, and for
 * those that were turned before an earlier attempt ended.
 */
export function knobsAtStart(
  { knobs, schedule }: Pick<Config, 'knobs' | 'schedule'>,
  changes: readonly KnobChange[],
): KnobValues {
  const clock: RunClock = { iterations: 0, minutes: 0, steps: 0 };
  const turned: Partial<Record<KnobName, number>> = {};
  for (const { knob, to } of changes) turned[knob] = to;
  return { ...knobs, ...scheduledValues(schedule, clock, KNOB_NAMES), ...turned };
}
