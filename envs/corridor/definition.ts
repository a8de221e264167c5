import type { Action, Observation } from '../../src/domain/space.ts';
import { defineNumeric } from '../classic/numeric.ts';
import type { EnvironmentDefinition } from '../contract.ts';
import { corridorModel } from './model.ts';

/** A corridor whose right end is named only before the gate opens: who has no memory guesses. */
export const corridor: EnvironmentDefinition = defineNumeric(corridorModel, createOracle);

/** Remembers the cue and walks that way. Looks at nothing but the observations. */
function createOracle(): (observation: Observation) => Action {
  let remembered = 'left';
  return ({ features }) => {
    const cue = features?.[0] ?? 0;
    if (cue !== 0) remembered = cue < 0 ? 'left' : 'right';
    return { type: 'input', argument: remembered };
  };
}
