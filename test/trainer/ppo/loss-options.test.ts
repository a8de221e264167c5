import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createRandom, type RandomStream } from '../../../src/domain/random.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import { buildLosses, type LossOptions } from '../../../trainer/ppo/losses.ts';
import { gradientModel } from '../../../trainer/ppo/training-model.ts';
import { createSession, type Session, type SessionTensor } from '../../../trainer/session.ts';
import { OPTIONS, SMALL } from '../small-policy.ts';

/** What one sample says: log π and log π_old of the action taken, V, V_old, R and A. */
interface Sample {
  readonly log: number;
  readonly old: number;
  readonly value: number;
  readonly oldValue: number;
  readonly target: number;
  readonly advantage: number;
}
const SAMPLE: Sample = { log: 0, old: 0, value: 0, oldValue: 0, target: 0, advantage: 0 };

/** The losses over one action whose log-probabilities are given, without a network: each sample can be anything. */
class BareLosses {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  static async create(given: Partial<LossOptions>): Promise<BareLosses> {
    const g = createGraph();
    const options = { ...OPTIONS, ...given };
    const knob = (value: number) => g.scalar(value);
    const built = buildLosses(
      g,
      { logProbabilities: g.input('log', 'f32', ['B', 1]), value: g.input('value', 'f32', ['B']) },
      {
        actions: g.input('actions', 'i32', ['B']),
        oldLogProbabilities: g.input('old', 'f32', ['B', 1]),
        advantages: g.input('advantage', 'f32', ['B']),
        returns: g.input('target', 'f32', ['B']),
        oldValues: options.valueClip > 0 ? g.input('oldValue', 'f32', ['B']) : null,
      },
      { clip: knob(0.2), kl: knob(0), entropy: knob(0), value: knob(1) },
      options,
    );
    return new BareLosses(await createSession(toModel({ ...built }), { threads: 1 }));
  }

  async of(samples: readonly Sample[]): Promise<(name: string) => number> {
    const column = (name: keyof Sample, shape: readonly number[]): SessionTensor => ({
      dtype: 'f32',
      shape,
      data: Float32Array.from(samples, (sample) => sample[name]),
    });
    const n = samples.length;
    const all: Record<string, SessionTensor> = {
      actions: { dtype: 'i32', shape: [n], data: new Int32Array(n) },
      log: column('log', [n, 1]),
      old: column('old', [n, 1]),
      value: column('value', [n]),
      oldValue: column('oldValue', [n]),
      target: column('target', [n]),
      advantage: column('advantage', [n]),
    };
    const wanted = this.#session.inputs.map((name) => [name, all[name]!]);
    const outputs = await this.#session.run(Object.fromEntries(wanted));
    return (name) => Number(outputs[name]?.data[0]);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

const made: BareLosses[] = [];
async function losses(options: Partial<LossOptions> = {}): Promise<BareLosses> {
  const each = await BareLosses.create(options);
  made.push(each);
  return each;
}
afterEach(async () => {
  await Promise.all(made.splice(0).map((each) => each.close()));
});

describe('a dual clip', () => {
  const worse = { ...SAMPLE, log: Math.log(4), advantage: -2 };

  test('holds the objective of a sample with A < 0 above c A, however large its ratio', async () => {
    const [plain, dual] = [await losses(), await losses({ dualClip: 3 })];
    expect((await plain.of([worse]))('policyLoss')).toBeCloseTo(8, 4);
    expect((await dual.of([worse]))('policyLoss')).toBeCloseTo(6, 4);
    // Not reached: the same as without.
    const mild = { ...worse, log: Math.log(2) };
    expect((await dual.of([mild]))('policyLoss')).toBeCloseTo(4, 4);
  });

  test('changes nothing where A is not below 0, and is a lower bound where it is', async () => {
    const [plain, dual] = [await losses(), await losses({ dualClip: 1.5 })];
    const number = fc.double({ min: -3, max: 3, noNaN: true });
    await fc.assert(
      fc.asyncProperty(number, number, async (log, advantage) => {
        const sample = { ...SAMPLE, log, advantage };
        const before = -(await plain.of([sample]))('policyLoss');
        const after = -(await dual.of([sample]))('policyLoss');
        const expected = advantage < 0 ? Math.max(before, 1.5 * advantage) : before;
        expect(after).toBeCloseTo(expected, 4);
      }),
    );
  });
});

describe('a value clip', () => {
  test('counts the larger error of the value and of the one within reach of the old', async () => {
    const clipped = await losses({ valueClip: 0.5 });
    const loss = async (value: number, target: number): Promise<number> =>
      (await clipped.of([{ ...SAMPLE, value, target, oldValue: 1 }]))('valueLoss');
    // 3 is held at 1.5: 2.5² is more than 1².
    expect(await loss(3, 4)).toBeCloseTo(2.5 ** 2 / 2, 5);
    // The value went too far: its own error counts.
    expect(await loss(3, 1)).toBeCloseTo(2 ** 2 / 2, 5);
    expect(await loss(1.25, 4)).toBeCloseTo(2.75 ** 2 / 2, 5);
    expect(await loss(-3, -4)).toBeCloseTo(4.5 ** 2 / 2, 5);
  });
});

describe('a log-ratio clamp', () => {
  test('holds ratio and k3 finite and at its edge, and leaves k1 alone', async () => {
    const held = await losses({ logRatioClamp: 1 });
    const far = await held.of([{ ...SAMPLE, log: 0, old: -40, advantage: -1 }]);
    expect(far('policyLoss')).toBeCloseTo(Math.E, 5);
    expect(far('ratioDeviation')).toBeCloseTo(Math.E - 1, 5);
    expect(far('klK1')).toBeCloseTo(-40, 4);
    expect(far('klK3')).toBeCloseTo(Math.E - 2, 5);
  });

  test('no k3 is below 0, whatever the clamp', async () => {
    const held = await losses({ logRatioClamp: 0.5 });
    const log = fc.double({ min: -50, max: 0, noNaN: true });
    await fc.assert(
      fc.asyncProperty(log, log, async (now, old) => {
        expect((await held.of([{ ...SAMPLE, log: now, old }]))('klK3')).toBeGreaterThanOrEqual(-1e-6);
      }),
    );
  });
});

/** From N(0, 1), by Box and Muller. */
function normal(random: RandomStream): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

describe('the KL estimators', () => {
  const CHUNKS = 40;
  const DRAWS = 5000;

  /** Means and deviations of single draws over KL, for π_old = N(0, 1) and π = N(μ, 1), whose KL is μ²/2. */
  async function estimates(mu: number, name: 'klK1' | 'klK3'): Promise<{ bias: number; deviation: number }> {
    const bare = await losses();
    const random = createRandom(31);
    const kl = mu ** 2 / 2;
    const means: number[] = [];
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      const samples = Array.from({ length: DRAWS }, () => {
        const x = normal(random);
        return { ...SAMPLE, old: -(x ** 2) / 2, log: -((x - mu) ** 2) / 2 };
      });
      means.push((await bare.of(samples))(name) / kl);
    }
    const mean = means.reduce((sum, each) => sum + each, 0) / CHUNKS;
    const variance = means.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (CHUNKS - 1);
    return { bias: mean - 1, deviation: Math.sqrt(variance * DRAWS) };
  }

  // Known deviations of one draw, relative to the KL: Schulman 2020, recomputed with 20 million draws.
  test.each([
    ['klK1', 0.1, 20],
    ['klK3', 0.1, 1.42],
    ['klK1', 1, 2],
    ['klK3', 1, 1.7],
  ] as const)(
    '%s of N(0, 1) from N(%d, 1) has no bias, and the deviation known',
    async (name, mu, deviation) => {
      const found = await estimates(mu, name);
      // Four standard errors; k2 would be 0.25 off at μ = 1.
      expect(Math.abs(found.bias)).toBeLessThan((4 * deviation) / Math.sqrt(CHUNKS * DRAWS));
      expect(Math.abs(found.deviation / deviation - 1)).toBeLessThan(0.4);
    },
  );
});

function modelOf(options: Partial<LossOptions>): Uint8Array {
  return gradientModel(SMALL, { ...OPTIONS, ...options });
}

/** The inputs of the training graph that not every run has. */
async function optionalInputs(options: Partial<LossOptions>): Promise<string[]> {
  const session = await createSession(modelOf(options), { threads: 1 });
  const { inputs } = session;
  await session.close();
  return inputs.filter((name) => name === 'oldValues' || name.startsWith('advantageS')).toSorted();
}

test('what an option turns off is not in the graph', async () => {
  expect(await optionalInputs({})).toEqual([]);
  expect(await optionalInputs({ valueClip: 0.2 })).toEqual(['oldValues']);
  expect(await optionalInputs({ advantages: 'minibatch' })).toEqual(['advantageScale', 'advantageShift']);
  expect(modelOf({ dualClip: 3 }).length).toBeGreaterThan(modelOf({}).length);
  expect(modelOf({ advantages: 'none' })).toHaveLength(modelOf({}).length);
});
