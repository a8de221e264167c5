import { describe, expect, test } from 'vitest';
import { episodeId } from '../../../src/domain/id.ts';
import { CANDIDATE_TOKENS } from '../../../src/domain/policy-spec.ts';
import { bytesOf } from '../../../src/protocol/frame.ts';
import { joinEpisodes, readSamples } from '../../../trainer/ppo/batch.ts';
import { OPTIONS, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

const { size, slots } = SMALL_LAYOUT;
const width = SMALL.sentences * SMALL.tokens;

function message(steps: number, reward: number) {
  return {
    tokens: bytesOf(new Uint16Array(steps * width).fill(steps)),
    candidates: bytesOf(new Uint16Array(steps * slots * CANDIDATE_TOKENS).fill(7)),
    mask: bytesOf(new Uint8Array(steps * size).fill(1)),
    actions: bytesOf(Uint16Array.from({ length: steps }, (_, i) => i)),
    logProbabilities: bytesOf(new Float32Array(steps * size).fill(-2)),
    values: bytesOf(new Float32Array(steps).fill(0.5)),
    rewards: bytesOf(new Float32Array(steps).fill(reward)),
    versions: bytesOf(new Uint32Array(steps).fill(3)),
  };
}
const header = (steps: number, terminated: boolean, bootstrapValue: number | null) => ({
  id: episodeId(1),
  steps,
  terminated,
  bootstrapValue,
});

describe('samples', () => {
  test('are joined in order, with advantages per episode and returns', () => {
    const episodes = [
      readSamples(SMALL, header(2, true, null), message(2, 1)),
      readSamples(SMALL, header(1, false, 4), message(1, 0)),
    ];
    const batch = joinEpisodes(SMALL, episodes, { ...OPTIONS, gamma: 1, lambda: 1 }, 5);
    expect(batch.count).toBe(3);
    expect([...(batch.observations.tokens ?? [])]).toEqual([
      ...new Uint8Array(2 * width).fill(2),
      ...new Uint8Array(width).fill(1),
    ]);
    expect([...batch.actions]).toEqual([0, 1, 0]);
    expect([...batch.returns]).toEqual([2, 1, 4]);
    expect(batch.advantages.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 5);
    expect(batch.staleness).toBe(2);
  });

  test('go on from V(s_T) where they were cut short, unless that is off; an unfinished piece always does', () => {
    const truncated = readSamples(SMALL, header(1, false, 4), message(1, 1));
    const terminated = readSamples(SMALL, header(1, true, 4), message(1, 1));
    const unfinished = { ...truncated, ending: 'unfinished' as const };
    const episodes = [truncated, terminated, unfinished];
    const returns = (bootstrapTruncated: boolean): number[] => [
      ...joinEpisodes(SMALL, episodes, { ...OPTIONS, gamma: 0.5, bootstrapTruncated }, 5).returns,
    ];
    expect(returns(true)).toEqual([3, 1, 3]);
    expect(returns(false)).toEqual([1, 1, 3]);
  });

  test('have their rewards divided, not their values', () => {
    const episode = readSamples(SMALL, header(1, false, 4), message(1, 6));
    const batch = joinEpisodes(SMALL, [episode], { ...OPTIONS, gamma: 0.5 }, 5, 3);
    expect([...batch.returns]).toEqual([6 / 3 + 0.5 * 4]);
    expect([...batch.oldValues]).toEqual([0.5]);
    expect([...episode.rewards]).toEqual([6]);
  });

  test('have advantages of mean 0 and deviation 1 only where they are normalised over the batch', () => {
    const episode = readSamples(SMALL, header(2, true, null), message(2, 1));
    const advantages = (how: 'batch' | 'minibatch' | 'none'): number[] => [
      ...joinEpisodes(SMALL, [episode], { ...OPTIONS, gamma: 1, lambda: 1, advantages: how }, 5).advantages,
    ];
    expect(advantages('none')).toEqual([1.5, 0.5]);
    expect(advantages('minibatch')).toEqual([1.5, 0.5]);
    expect(advantages('batch')).toEqual([expect.closeTo(Math.SQRT1_2, 6), expect.closeTo(-Math.SQRT1_2, 6)]);
  });

  test('may lie anywhere in memory', () => {
    const aligned = message(2, 1);
    const shifted = Object.fromEntries(
      Object.entries(aligned).map(([name, bytes]) => {
        const moved = new Uint8Array(bytes.byteLength + 1);
        moved.set(bytes, 1);
        return [name, moved.subarray(1)];
      }),
    );
    expect(readSamples(SMALL, header(2, true, null), shifted)).toEqual(
      readSamples(SMALL, header(2, true, null), aligned),
    );
  });

  test('a terminated episode ends in value 0, whatever it brings', () => {
    expect(readSamples(SMALL, header(1, true, 9), message(1, 0)).finalValue).toBe(0);
  });

  test('of another shape are refused, by name and size', () => {
    expect(() => readSamples(SMALL, header(3, true, null), message(2, 1))).toThrow(
      `samples of e1: "tokens" has ${2 * width * 2} bytes, wanted ${3 * width * 2} for 3 steps`,
    );
    const { values: _, ...rest } = message(2, 1);
    expect(() => readSamples(SMALL, header(2, true, null), rest)).toThrow('"values" has no bytes');
    const samples = Buffer.concat(Object.values(message(2, 1)));
    expect(() => readSamples(SMALL, header(2, true, null), { samples: samples.subarray(1) })).toThrow(
      '"versions" has 7 bytes, wanted 8 for 2 steps',
    );
    expect(() => readSamples(SMALL, header(1, true, null), { samples })).toThrow(
      `samples of e1: ${samples.length} bytes, wanted ${samples.length / 2} for 1 steps`,
    );
  });

  test('of a truncated episode need a value to go on from', () => {
    expect(() => readSamples(SMALL, header(1, false, null), message(1, 1))).toThrow('neither terminated nor');
  });
});
