import { describe, expect, it } from 'vitest';
import { idleShares } from '../../src/domain/idle.ts';

const row = { elapsedS: 0, sampleS: 0, evalS: 0, heldS: 0 };

describe('shares of idle time', () => {
  it('are of the wall clock after the first row, without evaluations', () => {
    const rows = [
      { elapsedS: 100, sampleS: 90, evalS: 50, heldS: 90 },
      { elapsedS: 110, sampleS: 1, evalS: 0, heldS: 3 },
      { elapsedS: 130, sampleS: 2, evalS: 10, heldS: 1 },
    ];
    expect(idleShares(rows)).toEqual({ trainer: 0.15, samplers: 0.2 });
  });

  it('are not to be had of fewer than two rows, or of no time', () => {
    expect(idleShares([])).toBeNull();
    expect(idleShares([{ ...row, elapsedS: 5, sampleS: 5 }])).toBeNull();
    expect(idleShares([row, row])).toBeNull();
  });
});
