import type { Action } from '../domain/space.ts';
import type { Components } from './aggregator.ts';

/** Names of the components that a penalty tracker gives. */
export const PENALTIES = ['repeat', 'tool_switch', 'type_switch'] as const;

/**
 * Watches one episode's actions at a time and names the wasted ones, whatever the environment:
 * - `repeat`: the very action taken before, without effect this time;
 * - `tool_switch`: a tool selected although one was selected and not yet used;
 * - `type_switch`: another type of action than before, both without effect (hopping about, not recovering).
 */
export interface PenaltyTracker {
  /** Takes note of an action and whether it had an effect; gives raw components, 1 for each penalty. */
  observe(action: Action, effective: boolean): Components;
  /** Begins the next episode. */
  reset(): void;
}

const NONE: Components = Object.freeze({});

/** A tracker at the start of an episode. A slot keeps one. */
export function createPenaltyTracker(): PenaltyTracker {
  let previous: Action | null = null;
  let previousEffective = true;
  let toolPending = false;
  return {
    observe(action, effective) {
      const repeat = !effective && previous !== null && sameAction(previous, action);
      const typeSwitch =
        !effective && !previousEffective && previous !== null && previous.type !== action.type;
      const toolSwitch = action.type === 'select_tool' && toolPending;
      if (action.type === 'select_tool') toolPending = true;
      else if (action.type === 'confirm') toolPending = false;
      previous = action;
      previousEffective = effective;
      if (!repeat && !typeSwitch && !toolSwitch) return NONE;
      const components: Record<string, number> = {};
      if (repeat) components['repeat'] = 1;
      if (toolSwitch) components['tool_switch'] = 1;
      if (typeSwitch) components['type_switch'] = 1;
      return components;
    },
    reset() {
      previous = null;
      previousEffective = true;
      toolPending = false;
    },
  };
}

function sameAction(a: Action, b: Action): boolean {
  return a.type === b.type && a.argument === b.argument;
}
