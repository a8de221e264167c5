import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { episodeId } from '../../../src/domain/id.ts';
import { actionLayout, observationTensors } from '../../../src/domain/policy-spec.ts';
import { type Attachments, joinBytes } from '../../../src/protocol/frame.ts';
import { writeAdvantages } from '../../../trainer/ppo/advantages.ts';
import { joinEpisodes, readSamples } from '../../../trainer/ppo/batch.ts';
import { RewardScale } from '../../../trainer/ppo/reward-scale.ts';
import { turnReturns, writeTurnAdvantages } from '../../../trainer/ppo/turn-advantages.ts';
import { SMALL } from '../small-policy.ts';

const number = fc.double({ min: -8, max: 8, noNaN: true }).map(Math.fround);

function bytes(array: Float32Array | Uint16Array | Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** An episode of up to four agents, some of whom may never act. */
const course = fc.integer({ min: 1, max: 4 }).chain((count) =>
  fc.record({
    steps: fc.array(
      fc.record({ agent: fc.integer({ min: 0, max: count - 1 }), reward: number, value: number }),
      { minLength: 1, maxLength: 20 },
    ),
    finalValues: fc.array(number, { minLength: count, maxLength: count }),
    gamma: fc.double({ min: 0, max: 1, noNaN: true }),
    lambda: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
);

describe('advantages of agents who take turns', () => {
  test('by hand, of two who were cut short', () => {
    // Agent 0 has steps 0, 2, 3; δ = [1 + .5·4 − 2, 0 + .5·1 − 4, 3 + .5·6 − 1] = [1, −3.5, 5].
    // A = [1 + .25(−3.5 + .25·5), −3.5 + .25·5, 5]. Agent 1 has step 1: 2 + .5·8 − 3.
    const out = new Float32Array(5);
    writeTurnAdvantages(
      {
        rewards: Float32Array.of(1, 2, 0, 3),
        values: Float32Array.of(2, 3, 4, 1),
        agents: Uint8Array.of(0, 1, 0, 0),
        finalValues: [6, 8],
      },
      { gamma: 0.5, lambda: 0.5 },
      out,
      1,
    );
    expect([...out]).toEqual([0, 0.4375, 3, -2.25, 5]);
  });

  test('are those of each agent’s own steps alone', () => {
    fc.assert(
      fc.property(course, ({ steps, finalValues, gamma, lambda }) => {
        const out = new Float32Array(steps.length);
        const rewards = Float32Array.from(steps, ({ reward }) => reward);
        const values = Float32Array.from(steps, ({ value }) => value);
        const agents = Uint8Array.from(steps, ({ agent }) => agent);
        writeTurnAdvantages({ rewards, values, agents, finalValues }, { gamma, lambda }, out, 0);
        for (const [agent, finalValue] of finalValues.entries()) {
          const own = steps.filter((step) => step.agent === agent);
          const alone = new Float32Array(own.length);
          writeAdvantages(
            {
              rewards: Float32Array.from(own, ({ reward }) => reward),
              values: Float32Array.from(own, ({ value }) => value),
              finalValue,
            },
            { gamma, lambda },
            alone,
            0,
          );
          expect([...out].filter((_, at) => agents[at] === agent)).toEqual([...alone]);
        }
      }),
    );
  });

  test('with λ = 1 and γ = 1 are what an agent gets from its step on, minus the value', () => {
    const out = new Float32Array(3);
    const agents = Uint8Array.of(1, 0, 1);
    const rewards = Float32Array.of(1, 10, 2);
    const values = Float32Array.of(0, 0, 0);
    writeTurnAdvantages({ rewards, values, agents, finalValues: [0, 0] }, { gamma: 1, lambda: 1 }, out, 0);
    expect([...out]).toEqual([3, 10, 2]);
  });
});

describe('samples of several agents', () => {
  const attachments = {
    ...Object.fromEntries(
      observationTensors(SMALL).map(({ name, bytes: width }) => [name, new Uint8Array(3 * width)]),
    ),
    actions: bytes(new Uint16Array(3)),
    logProbabilities: bytes(new Float32Array(3 * actionLayout(SMALL).size)),
    values: bytes(Float32Array.of(1, 2, 3)),
    rewards: bytes(Float32Array.of(4, 5, 6)),
    versions: bytes(new Uint32Array(3)),
    agents: Uint8Array.of(1, 0, 1),
  };
  const header = {
    id: episodeId(1),
    steps: 3,
    terminated: false,
    bootstrapValue: 7,
    agentValues: [10, 20],
  } as const;
  const options = { gamma: 1, lambda: 0, advantages: 'none', bootstrapTruncated: true } as const;
  const advantagesOf = (change: object, with_: object = {}): number[] => [
    ...joinEpisodes(
      SMALL,
      [readSamples(SMALL, { ...header, ...change }, attachments)],
      { ...options, ...with_ },
      0,
    ).advantages,
  ];

  test('go on from each agent’s last value where the episode was cut short', () => {
    expect(advantagesOf({})).toEqual([4 + 3 - 1, 5 + 10 - 2, 6 + 20 - 3]);
  });

  test('end with nothing to come where it terminated, and where truncation is told to count as an end', () => {
    const ended = [4 + 3 - 1, 5 - 2, 6 - 3];
    expect(advantagesOf({ terminated: true })).toEqual(ended);
    expect(advantagesOf({}, { bootstrapTruncated: false })).toEqual(ended);
  });

  test('have a return for each agent in the scale of rewards', () => {
    expect(turnReturns({ rewards: Float32Array.of(4, 5, 6), agents: Uint8Array.of(1, 0, 1) }, 0.5)).toEqual([
      5, 7,
    ]);
    const scale = new RewardScale(8, 0.5).after([readSamples(SMALL, header, attachments)]);
    expect(scale.window).toEqual([5, 7]);
  });

  test('come joined with the tensors too', () => {
    const joined = { samples: joinBytes(Object.values(attachments)) };
    expect(readSamples(SMALL, header, joined)).toEqual(readSamples(SMALL, header, attachments));
    const alone = { ...header, agentValues: undefined };
    expect(() => readSamples(SMALL, alone, joined)).toThrow('bytes, wanted');
  });

  const { agents: _agents, ...rest } = attachments;
  test.each<[string, Attachments]>([
    ['no agents', rest],
    ['too few', { ...attachments, agents: Uint8Array.of(0, 1) }],
    ['one that there is not', { ...attachments, agents: Uint8Array.of(0, 2, 1) }],
  ])('with %s are refused', (_what, wrong) => {
    expect(() => readSamples(SMALL, header, wrong)).toThrow(/^samples of e1: "agents" (?:says|has) /u);
  });
});
