import type { RunState } from '../src/domain/run.ts';
import type { KeyName } from './keys.ts';

/**
 * What the keys act on: the screen, or whatever lies over it. `knob` is the overview while values of knobs wait to be sent:
 * it has keys of its own, and all those of the overview that these leave free.
 */
export const SCREENS = [
  'overview',
  'knob',
  'episodes',
  'hosts',
  'pipeline',
  'events',
  'diff',
  'replay',
  'runs',
  'compare',
  'help',
  'confirm',
  'filter',
  'palette',
  'fork',
  'menu',
  'prompt',
] as const;
export type Screen = (typeof SCREENS)[number];

/** What decides whether a key works just now. */
export interface KeyContext {
  /** A run is open. */
  readonly hasRun: boolean;
  /** The run process answers. */
  readonly live: boolean;
  readonly state: RunState | null;
  /** Rows in the list in front of the user. */
  readonly rows: number;
  /** They are asked for: what is opened is opened when they are there. */
  readonly isSearching: boolean;
  /** A change of a knob by a person can be put back. */
  readonly canUndo: boolean;
  /** What may be typed in the line in front can be suggested. */
  readonly completes: boolean;
  /** An episode of this run was opened. */
  readonly hasReplay: boolean;
  /** Two executions have been compared. */
  readonly hasDiff: boolean;
  /** An event names the episodes that it is about. */
  readonly eventEpisodes: boolean;
}

export interface KeyBinding {
  readonly keys: readonly KeyName[];
  readonly screens: readonly Screen[];
  /** One or two words, for the footer. */
  readonly label: string;
  /** One line, for help and docs. */
  readonly description: string;
  /** Why it does nothing just now, or null when it works. */
  readonly disabled?: (context: KeyContext) => string | null;
}

/** Why a key that needs it does nothing. */
export function needsRun(context: KeyContext): string | null {
  return context.hasRun ? null : 'no run is open';
}

/** Why a key that needs it does nothing. */
export function needsEpisode(context: KeyContext): string | null {
  return needsRun(context) ?? (context.rows === 0 ? 'there is no episode yet' : null);
}

/** Why a key that needs it does nothing. */
export function needsLiveRun(context: KeyContext): string | null {
  if (!context.hasRun) return 'no run is open';
  if (context.live) return null;
  return context.state === null ? 'the run does not answer' : `the run is not live (${context.state})`;
}
