import { KNOB_NAMES, KNOBS, type KnobName, type KnobValues, stepKnob } from '../src/domain/knob.ts';
import type { KnobChange, Preview, RunStatus } from '../src/domain/run.ts';
import { formatNumber } from './format.ts';
import { KnobProposal, type PreviewState } from './knob-proposal.ts';

/** Where a schedule moves a knob: by its newest change, or `unmoved` before the first. */
export type ScheduleTrend = 'rising' | 'falling' | 'unmoved';

/** What the screen shows of a knob. */
export interface KnobView {
  readonly name: KnobName;
  readonly label: string;
  /** Value in use, or null while the run has not said. */
  readonly value: number | null;
  /** Shown with its preview and not sent yet, or null. */
  readonly proposed: number | null;
  /** Asked for and not yet taken over by the trainer, or null. */
  readonly pending: number | null;
  /** The one that - and + turn. */
  readonly selected: boolean;
  /** How the config's schedule moves it; null when nothing does. */
  readonly schedule: ScheduleTrend | null;
}

/** What the screen shows of all knobs. */
export interface KnobDeskView {
  /** In the table's order. */
  readonly knobs: readonly KnobView[];
  /** What the proposed values would do; null while none is proposed. */
  readonly preview: PreviewState | null;
}

/** Where knobs are sent. All reject with what the run answered. */
export interface KnobTaker {
  /** Resolves to what the trainer has taken over. */
  set(knobs: Partial<KnobValues>): Promise<readonly KnobChange[]>;
  /** Puts the newest change by a person back. */
  undo(): Promise<KnobChange>;
  preview(knobs: Partial<KnobValues>): Promise<Preview>;
}

/** Where what happens is shown. */
export interface DeskHost {
  /** Runs something that talks to the run and shows the line that it resolves to, or why it failed. */
  attempt(work: () => Promise<string>): void;
  say(text: string): void;
  changed(): void;
}

/** Knobs whose effect on the newest batch is shown before they are sent. */
const PREVIEWED: ReadonlySet<KnobName> = new Set(['clip', 'kl', 'kl_target', 'kl_limit']);

/** Who turns knobs on behalf of the config's schedule. */
export const SCHEDULE = 'schedule';

/**
 * Turns knobs of a live run. Clip and KL knobs are proposed first, with a preview; what has been sent is shown until the
 * trainer has said from when it applies.
 */
export class KnobDesk {
  readonly #run: KnobTaker;
  readonly #host: DeskHost;
  readonly #proposal: KnobProposal;
  readonly #pending = new Map<KnobName, number>();
  readonly #sending = new Set<Promise<unknown>>();
  #selected: KnobName = 'lr';

  constructor(run: KnobTaker, host: DeskHost) {
    this.#run = run;
    this.#host = host;
    this.#proposal = new KnobProposal({
      preview: async (knobs) => await run.preview(knobs),
      send: (knobs, note) => host.attempt(async () => await this.#send(knobs, note)),
      changed: () => host.changed(),
    });
  }

  get selected(): KnobName {
    return this.#selected;
  }

  /** Values are shown with their preview and wait to be sent. */
  get proposing(): boolean {
    return this.#proposal.open;
  }

  /** A change is on its way to the trainer. */
  get sending(): boolean {
    return this.#sending.size > 0;
  }

  /** The knobs as they are, were asked to be and are proposed to be. `changes` oldest first. */
  view(status: RunStatus | null, changes: readonly KnobChange[]): KnobDeskView {
    const knobs = KNOB_NAMES.map((name) => ({
      name,
      label: KNOBS[name].label,
      value: status?.knobs[name] ?? null,
      proposed: this.#proposal.values[name] ?? null,
      pending: this.#pendingBeside(name, status?.knobs),
      selected: name === this.#selected,
      schedule: status?.scheduled.includes(name) === true ? trendOf(name, changes) : null,
    }));
    return { knobs, preview: this.#proposal.preview };
  }

  #pendingBeside(name: KnobName, values: KnobValues | undefined): number | null {
    const pending = this.#pending.get(name) ?? null;
    return pending === values?.[name] ? null : pending;
  }

  /** Selects the next (1) or previous (-1) knob. */
  select(direction: 1 | -1): void {
    const index = KNOB_NAMES.indexOf(this.#selected) + direction;
    this.#selected = KNOB_NAMES.at(index % KNOB_NAMES.length) ?? this.#selected;
  }

  /**
   * Moves a knob one step from where it is proposed to be, else from where it was last asked to be, else from where it is.
   * Clip and KL knobs are proposed, the others sent at once.
   */
  turn(status: RunStatus, knob: KnobName, direction: 1 | -1): void {
    const base = this.#pending.get(knob) ?? status.knobs[knob];
    const from = this.#proposal.values[knob] ?? base;
    const to = stepKnob(knob, from, direction);
    if (to === from) {
      const edge = direction === 1 ? 'greatest' : 'least';
      this.#host.say(`${KNOBS[knob].label} stays ${formatNumber(from)}: it is the ${edge} it takes`);
    } else if (PREVIEWED.has(knob)) {
      this.#proposal.move(knob, to === base ? null : to);
    } else {
      this.#host.attempt(async () => await this.#send({ [knob]: to }, null));
    }
  }

  /** As `turn`, to values that were typed. */
  propose(status: RunStatus, values: Partial<KnobValues>): void {
    const now: Partial<KnobValues>[] = [];
    for (const knob of KNOB_NAMES) {
      const to = values[knob];
      if (to === undefined) continue;
      const base = this.#pending.get(knob) ?? status.knobs[knob];
      if (to === base) this.#host.say(`${KNOBS[knob].label} is ${formatNumber(to)} already`);
      if (PREVIEWED.has(knob)) this.#proposal.move(knob, to === base ? null : to);
      else if (to !== base) now.push({ [knob]: to });
    }
    const others: Partial<KnobValues> = Object.assign({}, ...now);
    if (now.length > 0) this.#host.attempt(async () => await this.#send(others, null));
  }

  /** Sends what is proposed, now. */
  commit(): void {
    this.#proposal.send();
  }

  /** Forgets what is proposed. */
  drop(): void {
    this.#proposal.drop();
  }

  /** Puts the newest change by a person back, of whichever screen; what is on its way first gets there. */
  undo(): void {
    this.#host.attempt(async () => {
      await Promise.allSettled(this.#sending);
      return `undone: ${changeText(await this.#run.undo())}`;
    });
  }

  /** The run's answer is still awaited when this returns. */
  async #send(knobs: Partial<KnobValues>, note: string | null): Promise<string> {
    const asked = KNOB_NAMES.flatMap((knob) => {
      const to = knobs[knob];
      return to === undefined ? [] : [{ knob, to }];
    });
    for (const { knob, to } of asked) this.#pending.set(knob, to);
    const sending = this.#run.set(knobs);
    this.#sending.add(sending);
    try {
      const changes = await sending;
      const texts =
        changes.length === 0
          ? asked.map(({ knob, to }) => `${KNOBS[knob].label} ${formatNumber(to)}: unchanged`)
          : changes.map(changeText);
      return `${texts.join(', ')}${note === null ? '' : ` (no preview: ${note})`}`;
    } finally {
      this.#sending.delete(sending);
      for (const { knob, to } of asked) {
        // A later press has asked for another value by now: that one is still on its way.
        if (this.#pending.get(knob) === to) this.#pending.delete(knob);
      }
    }
  }
}

function trendOf(name: KnobName, changes: readonly KnobChange[]): ScheduleTrend {
  const last = changes.findLast(({ knob, who }) => knob === name && who === SCHEDULE);
  if (last === undefined || last.to === last.from) return 'unmoved';
  return last.to > last.from ? 'rising' : 'falling';
}

/** `clip 0.2 → 0.22 from iteration 12, minibatch 3`. */
function changeText(change: KnobChange): string {
  const { knob, from, to, iteration, minibatch } = change;
  return `${KNOBS[knob].label} ${formatNumber(from)} → ${formatNumber(to)} from iteration ${iteration}, minibatch ${minibatch}`;
}
