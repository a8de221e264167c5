import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AdviceSetup, adviceOf } from '../../src/domain/advice.ts';

const SETUP: AdviceSetup = {
  overlap: true,
  evaluationEvery: 8,
  trainerThreads: 2,
  workers: 4,
  spareCores: 6,
};
type Row = Parameters<typeof adviceOf>[0][number];

const row = (change: Partial<Row>): Row => ({
  elapsedS: 0,
  sampleS: 0,
  updateS: 0,
  evalS: 0,
  heldS: 0,
  staleSteps: 0,
  batchSteps: 1000,
  ...change,
});
/** Twelve iterations that take what they are said to, and nothing besides. */
const run = (change: Partial<Row>): Row[] => {
  const { sampleS, updateS, evalS } = row(change);
  return Array.from({ length: 12 }, (_, at) =>
    row({ ...change, elapsedS: at * (sampleS + updateS + evalS) }),
  );
};

describe('advice on a run', () => {
  it('says nothing while little is known, and where nothing is to be gained', () => {
    expect(adviceOf(run({ sampleS: 9, updateS: 1 }).slice(0, 5), SETUP)).toEqual([]);
    expect(adviceOf(run({}), SETUP)).toEqual([]);
    const balanced = run({ sampleS: 0.02, updateS: 1, heldS: 0.05 });
    expect(adviceOf(balanced, { ...SETUP, spareCores: 0 })).toEqual([]);
  });

  it('computes what half of the evaluations would save', () => {
    const [first] = adviceOf(run({ sampleS: 1, updateS: 2, evalS: 1 }), { ...SETUP, spareCores: null });
    // 4 s become 3.5 s.
    expect(first).toMatchObject({ what: 'evaluation.every 16 (now 8)', gain: 4 / 3.5 - 1 });
    expect(first?.how).toContain('25.0 % of the last 11 iterations');
  });

  it('where the trainer waits, tells what another worker brings, and no more than the updates allow', () => {
    const slow = adviceOf(run({ sampleS: 9, updateS: 1 }), SETUP).find(({ what }) => what.includes('worker'));
    // Samplers go on during updates: all of 10 s become 8.
    expect(slow?.gain).toBeCloseTo(0.25);
    const near = adviceOf(run({ sampleS: 1, updateS: 9 }), SETUP).find(({ what }) => what.includes('worker'));
    expect(near?.gain).toBeCloseTo(10 / 9 - 1);
    const alternating = adviceOf(run({ sampleS: 8, updateS: 2 }), { ...SETUP, overlap: false });
    const more = alternating.find(({ what }) => what.startsWith('one worker'));
    expect(more?.gain).toBeCloseTo(10 / 8.4 - 1);
    expect(alternating.some(({ what }) => what.startsWith('sampling.overlap'))).toBe(true);
  });

  it('where updates take the time, tells of threads and of workers that are not needed', () => {
    const advice = adviceOf(run({ updateS: 10, heldS: 6 }), SETUP);
    expect(advice.map(({ what }) => what)).toEqual([
      'trainer.threads 3 (now 2)',
      '2 workers fewer would cost nothing',
    ]);
    expect(advice[0]?.gain).toBeCloseTo(0.5);
    expect(advice[1]).toMatchObject({ gain: 0, how: expect.stringContaining('60.0 %') });
    // Threads take no longer than samplers need for their part.
    expect(adviceOf(run({ updateS: 10, heldS: 2 }), SETUP)[0]?.gain).toBeCloseTo(10 / 8 - 1);
  });

  it('expects of threads no more than what the trainer computes: batches and weights are handed over as before', () => {
    const rows = run({ updateS: 10, heldS: 6 }).map((at) => ({ ...at, updateS: 6 }));
    // Of 10 s, 6 become 4.
    expect(adviceOf(rows, SETUP)[0]?.gain).toBeCloseTo(10 / 8 - 1);
  });

  it('promises nothing that needs cores which nobody has or knows of', () => {
    for (const spareCores of [0.2, null]) {
      expect(adviceOf(run({ sampleS: 5, updateS: 5 }), { ...SETUP, overlap: false, spareCores })).toEqual([]);
    }
  });

  it('tells of steps that were sampled for nothing', () => {
    const advice = adviceOf(run({ updateS: 1, staleSteps: 250 }), { ...SETUP, spareCores: 0 });
    expect(advice).toEqual([expect.objectContaining({ how: expect.stringContaining('20.0 %') })]);
  });

  it('never promises what is not finite, or less than it is worth saying', () => {
    const seconds = fc.double({ min: 0, max: 1000, noNaN: true });
    const rows = fc.array(
      fc.record({
        elapsedS: seconds,
        sampleS: seconds,
        updateS: seconds,
        evalS: seconds,
        heldS: seconds,
        staleSteps: fc.nat(),
        batchSteps: fc.nat(),
      }),
      { maxLength: 30 },
    );
    const setups = fc.record({
      overlap: fc.boolean(),
      evaluationEvery: fc.integer({ min: 1, max: 100 }),
      trainerThreads: fc.integer({ min: 1, max: 64 }),
      workers: fc.integer({ min: 0, max: 64 }),
      spareCores: fc.option(fc.double({ min: -9, max: 64, noNaN: true })),
    });
    fc.assert(
      fc.property(rows, setups, (measured, setup) => {
        for (const { gain } of adviceOf(measured, setup)) {
          expect(gain === 0 || (gain >= 0.05 && Number.isFinite(gain))).toBe(true);
        }
      }),
    );
  });
});
