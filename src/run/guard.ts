import type { Config } from '../config/schema.ts';
import { KNOBS, type KnobKind, type KnobName, type KnobValues } from '../domain/knob.ts';
import { keysOf } from '../domain/table.ts';
import type { Rejection, UpdateSpot } from '../protocol/trainer.ts';

/** An update that the trainer dropped. */
export interface RejectedUpdate {
  readonly iteration: number;
  readonly cause: Rejection;
  readonly reason: string;
  readonly spot: UpdateSpot | null;
}

/** An event to record, and what follows from it. */
export interface Reaction {
  readonly kind: 'update-rejected' | 'update-rolled-back';
  readonly message: string;
  readonly episodes: readonly string[];
  /** Knobs to turn at once. */
  readonly ease: Readonly<Partial<Record<KnobName, number>>>;
  /** Why the run shall rest, or null. */
  readonly pause: string | null;
}

/**
 * What the config wants when an update was dropped. A batch that was refused before anything was computed has nothing to roll
 * back, and no knob that could help.
 */
export function reactTo(update: RejectedUpdate, guard: Config['guard'], knobs: KnobValues): Reaction {
  const { iteration, cause, reason, spot } = update;
  const episodes = spot?.episodes.map(({ id }) => id) ?? [];
  if (cause === 'bad_batch') {
    const message = `update ${iteration} was dropped: ${reason}`;
    return { kind: 'update-rejected', message, episodes, ease: {}, pause: null };
  }
  const what = `update ${iteration} rolled back: ${reason}${suspects(spot)}`;
  const ease = guard.action === 'ease' ? easedKnobs(knobs, guard.ease) : {};
  const then = { continue: '', pause: '; the run pauses', ease: `; ${easing(knobs, ease)}` }[guard.action];
  return {
    kind: 'update-rolled-back',
    message: `${what}${then}`,
    episodes,
    ease,
    pause: guard.action === 'pause' ? `update ${iteration} rolled back: ${reason}` : null,
  };
}

/** Text and episodes of the event that the KL limit ended an update early. */
export function describeStop(
  iteration: number,
  spot: UpdateSpot,
): { readonly message: string; readonly episodes: readonly string[] } {
  const kl = spot.kl === null ? 'no number' : short(spot.kl);
  return {
    message: `update ${iteration} ended after minibatch ${spot.minibatch}: its KL is ${kl}, above kl_limit${suspects(spot)}`,
    episodes: spot.episodes.map(({ id }) => id),
  };
}

/** Knobs times their factors, within their ranges; those that do not move are left out. */
function easedKnobs(
  knobs: KnobValues,
  factors: Config['guard']['ease'],
): Readonly<Partial<Record<KnobName, number>>> {
  const eased: Partial<Record<KnobName, number>> = {};
  for (const knob of keysOf(factors)) {
    const { minimum, maximum, integer }: KnobKind = KNOBS[knob];
    const value = knobs[knob] * (factors[knob] ?? 1);
    const held = Math.min(maximum, Math.max(minimum, integer ? Math.round(value) : value));
    if (held !== knobs[knob]) eased[knob] = held;
  }
  return eased;
}

function easing(knobs: KnobValues, eased: Readonly<Partial<Record<KnobName, number>>>): string {
  const turns = keysOf(eased).map((knob) => `${knob} ${short(knobs[knob])} → ${short(eased[knob] ?? 0)}`);
  return turns.length === 0 ? 'nothing is left to ease' : `eased: ${turns.join(', ')}`;
}

function suspects(spot: UpdateSpot | null): string {
  if (spot === null || spot.episodes.length === 0) return '';
  const named = spot.episodes.map(({ id, logRatio }) => {
    return `${id} (${logRatio === null ? 'not finite' : short(logRatio)})`;
  });
  return `; largest |log ratio|: ${named.join(', ')}`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
