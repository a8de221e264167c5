import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { describePressure } from '../../src/domain/pressure.ts';
import { BackPressure, flowRules, pressureLimits } from '../../src/run/back-pressure.ts';
import type { FlowRules, Situation } from '../../src/run/flow.ts';

const MIB = 2 ** 20;
const sampling: Situation = {
  state: 'running',
  hardPaused: false,
  ending: null,
  evaluating: false,
  updating: true,
  trainerReady: true,
  queuedSteps: 1000,
  queuedBytes: 0,
};
const rules: FlowRules = { overlap: true, batchSteps: 100, softBytes: MIB, hardBytes: 2 * MIB };

function limits(changes: object): object {
  return pressureLimits(configSchema.parse({ sampling: changes }));
}

/** Workers and a clock that a test moves by hand. */
function bench(given: FlowRules = rules): {
  pressure: BackPressure;
  paces: number[];
  held: () => number;
  wait: (seconds: number) => void;
} {
  const paces: number[] = [];
  const clock = { elapsedS: 0, held: 0, addHeld: (seconds: number) => void (clock.held += seconds) };
  return {
    pressure: new BackPressure(given, { setPace: (pace) => void paces.push(pace) }, clock),
    paces,
    held: () => clock.held,
    wait: (seconds) => void (clock.elapsedS += seconds),
  };
}

describe('the limits of what is queued', () => {
  it('are those of memory or of as many batches as are of use, whichever is less', () => {
    const batch = 8192 * 741;
    expect(limits({})).toEqual({ softBytes: batch, hardBytes: 1.1 * batch });
    expect(limits({ ahead: 4 })).toEqual({ softBytes: 3.2 * batch, hardBytes: 4 * batch });
    expect(limits({ ahead: 1000, queueMiB: 100 })).toEqual({ softBytes: 80 * MIB, hardBytes: 100 * MIB });
    expect(limits({ ahead: 1000, queueMiB: 100, softShare: 0.5 })).toMatchObject({ softBytes: 50 * MIB });
  });

  it('never lie below a whole batch: the trainer would wait for what samplers may not make', () => {
    const batch = 8192 * 741;
    expect(limits({ ahead: 1, softShare: 0.1 })).toEqual({
      softBytes: batch,
      hardBytes: batch,
    });
  });
});

describe('back-pressure', () => {
  it('slows workers down in few steps, to a stand, and up again', () => {
    const { pressure, paces } = bench();
    for (let bytes = 0; bytes <= 2 * MIB; bytes += 128) pressure.apply({ ...sampling, queuedBytes: bytes });
    const changes = paces.filter((pace, index) => pace !== paces[index - 1]);
    expect(changes).toEqual(Array.from({ length: 17 }, (_, index) => (16 - index) / 16));
    pressure.apply({ ...sampling, queuedBytes: 0.5 * MIB });
    expect(paces.at(-1)).toBe(1);
  });

  it('settles where samplers are as fast as a slow trainer, without ever coming to a stand', () => {
    const { pressure, paces } = bench();
    // Samplers make 64 KiB in a tick at full speed, the trainer takes a quarter of that.
    let queuedBytes = 0;
    const levels: number[] = [];
    for (let tick = 0; tick < 400; tick++) {
      pressure.apply({ ...sampling, queuedBytes });
      queuedBytes = Math.max(0, queuedBytes + 65_536 * (paces.at(-1) ?? 0) - 16_384);
      if (tick >= 200) levels.push(queuedBytes);
    }
    expect(paces.slice(200).every((pace) => pace >= 0.25 && pace <= 0.3125)).toBe(true);
    expect(Math.max(...levels) - Math.min(...levels)).toBeLessThan(65_536);
    expect(pressure.pressure({ queuedBytes, queuedSteps: 1000 }).level).toBe('soft');
  });

  it('measures how long samplers could not sample, evaluations apart', () => {
    const { pressure, held, wait } = bench();
    pressure.apply(sampling);
    wait(10);
    pressure.apply({ ...sampling, queuedBytes: 1.5 * MIB });
    expect(held()).toBe(0);
    wait(10);
    pressure.apply({ ...sampling, queuedBytes: 2 * MIB });
    expect(held()).toBe(5);
    wait(10);
    pressure.apply({ ...sampling, queuedBytes: 2 * MIB, evaluating: true });
    expect(held()).toBe(15);
    wait(10);
    pressure.hold();
    expect(held()).toBe(15);
    expect(pressure.sampledS).toBe(30);
    wait(10);
    expect(pressure.sampledS).toBe(30);
  });

  it('says how much waits, and why samplers stand still', () => {
    const { pressure } = bench();
    const at = (queuedBytes: number, queuedSteps = 1000): string | null =>
      describePressure(pressure.pressure({ queuedBytes, queuedSteps }));
    expect(at(0.9 * MIB)).toBeNull();
    expect(at(3 * MIB, 99)).toBeNull();
    expect(at(1.5 * MIB)).toBe(
      'samplers are slowed down: 1.5 MiB of samples wait for an update, they slow down at 1.0 MiB and stop at 2.0 MiB',
    );
    expect(at(2.1 * MIB)).toBe(
      'samplers stand still: 2.1 MiB of samples wait for an update, the limit is 2.0 MiB',
    );
  });

  it('takes its rules from the config', () => {
    const config = configSchema.parse({ sampling: { overlap: false, batchSteps: 64 } });
    expect(flowRules(config)).toEqual({ overlap: false, batchSteps: 64, ...pressureLimits(config) });
  });
});
