import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { episodeId } from '../../src/domain/id.ts';
import {
  type ActionLayout,
  actionLayout,
  type ObservationTensor,
  observationTensors,
  type PolicySpec,
} from '../../src/domain/policy-spec.ts';
import { bytesOf, joinBytes } from '../../src/protocol/frame.ts';
import { SampleBuffer, type SampleRow } from '../../src/sampling/sample-buffer.ts';
import { createObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import { readSamples } from '../../trainer/ppo/batch.ts';

const POLICIES = [loadConfig(null, { file: 'demo' }), loadConfig(null, { file: 'cartpole' })].map(
  ({ config }) => config.policy,
);
const ROWS = 4;
const MAX_STEPS = 30;
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, f32: Float32Array } as const;

/** Step `n` of an episode: row n % ROWS of a batch in which every element of every row differs from step to step. */
function rowOf(spec: PolicySpec, { size }: ActionLayout, n: number): SampleRow {
  const observations = createObservationArrays(spec, ROWS);
  for (const array of Object.values(observations)) array.forEach((_, i) => (array[i] = (i * 31 + n) % 251));
  return {
    row: n % ROWS,
    observations,
    logProbabilities: Float32Array.from({ length: ROWS * size }, (_, i) => -(i + n) / 7),
    action: n % size,
    value: n / 3,
    policyVersion: 65_530 + n,
  };
}

/** The tensors by their definition: for each, what each step had, one after the other. */
function expected(spec: PolicySpec, layout: ActionLayout, steps: readonly SampleRow[]) {
  const { size } = layout;
  const observed = ({ name, element, width }: ObservationTensor): [string, Uint8Array] => {
    const values = steps.flatMap(({ row, observations }) => [
      ...(observations[name]?.subarray(row * width, (row + 1) * width) ?? []),
    ]);
    return [name, bytesOf(ARRAYS[element].from(values))];
  };
  const each = (of: (step: SampleRow, n: number) => number): number[] => steps.map(of);
  return Object.fromEntries([
    ...observationTensors(spec).map(observed),
    ['actions', bytesOf(Uint16Array.from(each(({ action }) => action)))],
    [
      'logProbabilities',
      bytesOf(
        Float32Array.from(
          steps.flatMap(({ row, logProbabilities }) => [
            ...logProbabilities.subarray(row * size, (row + 1) * size),
          ]),
        ),
      ),
    ],
    ['values', bytesOf(Float32Array.from(each(({ value }) => value)))],
    ['rewards', bytesOf(Float32Array.from(each((_, n) => n / 9)))],
    ['versions', bytesOf(Uint32Array.from(each(({ policyVersion }) => policyVersion)))],
  ]);
}

describe.each(POLICIES.map((spec) => [spec.kind, spec] as const))('samples of a policy of %s', (_, spec) => {
  it('are the tensors of the steps since the last clearing, whatever was there before', () => {
    const layout = actionLayout(spec);
    const buffer = new SampleBuffer(spec, layout);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_STEPS }), fc.nat(100), (length, first) => {
        const steps = Array.from({ length }, (__, n) => rowOf(spec, layout, first + n));
        buffer.clear();
        for (const [n, step] of steps.entries()) {
          buffer.push(step);
          buffer.setReward(n / 9);
        }
        expect(buffer.tensors()).toEqual(expected(spec, layout, steps));
      }),
      { numRuns: 12 },
    );
  });

  it('are those of their own slot, whoever takes and gives back memory beside it', () => {
    const layout = actionLayout(spec);
    const slots = Array.from({ length: 5 }, () => ({
      buffer: new SampleBuffer(spec, layout),
      steps: [] as SampleRow[],
    }));
    const turns = fc.array(fc.record({ slot: fc.nat(4), ends: fc.nat(5) }), {
      minLength: 40,
      maxLength: 120,
    });
    fc.assert(
      fc.property(turns, (taken) => {
        for (const [n, { slot, ends }] of taken.entries()) {
          const { buffer, steps } = slots[slot]!;
          steps.push(rowOf(spec, layout, n));
          buffer.push(steps.at(-1)!);
          buffer.setReward((steps.length - 1) / 9);
          if (ends > 0) continue;
          expect(buffer.tensors()).toEqual(expected(spec, layout, steps));
          buffer.clear();
          steps.length = 0;
        }
      }),
      { numRuns: 4 },
    );
  });

  it('may come joined: they are in the order in which the trainer takes them apart', () => {
    const layout = actionLayout(spec);
    const buffer = new SampleBuffer(spec, layout);
    for (let n = 0; n < 5; n++) {
      buffer.push(rowOf(spec, layout, n));
      buffer.setReward(n / 9);
    }
    const header = { id: episodeId(1), steps: 5, terminated: true, bootstrapValue: null };
    const tensors = buffer.tensors();
    const samples = joinBytes(Object.values(tensors));
    expect(readSamples(spec, header, { samples })).toEqual(readSamples(spec, header, tensors));
  });
});
