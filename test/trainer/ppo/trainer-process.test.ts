import { describe, expect, test } from 'vitest';
import type { KnobValues } from '../../../src/domain/knob.ts';
import { TrainerBench } from '../../support/trainer-bench.ts';

/** Drives the policy far from where it was within one update. */
const WILD: Partial<KnobValues> = {
  lr: 0.1,
  clip: 1,
  kl: 0.0001,
  kl_target: 0,
  kl_limit: 0,
  entropy: 0,
  epochs: 10,
};
const SPIKES_AT = { guard: { kl: 0.3, entropy: 0 } };

describe('a preview', () => {
  test('tells clip fraction and KL of the first minibatches with both sets of knobs', async () => {
    const trainer = await TrainerBench.start({ ...WILD, clip: 0.2 }, { guard: { kl: 0, entropy: 0 } });
    await trainer.update(1, 1);
    await trainer.tell({ type: 'preview', id: 1, knobs: {} });
    const same = trainer.last('preview');
    expect(same).toMatchObject({ id: 1, reason: null });
    // Four minibatches of 16 a pass, eight at most.
    expect(same.preview).toMatchObject({ iteration: 1, minibatches: 8, samples: 128 });
    expect(same.preview!.wouldBe).toEqual(same.preview!.now);
    await trainer.tell({ type: 'preview', id: 2, knobs: { clip: 0.9 } });
    const wide = trainer.last('preview').preview!;
    expect(wide.now).toEqual(same.preview!.now);
    expect(wide.wouldBe.clipFraction).toBeLessThan(wide.now.clipFraction);
    await trainer.tell({ type: 'preview', id: 3, knobs: { lr: 0.0001, minibatch: 32, epochs: 2 } });
    const calm = trainer.last('preview').preview!;
    expect(calm).toMatchObject({ minibatches: 4, samples: 128 });
    expect(calm.wouldBe.kl).toBeLessThan(calm.now.kl);
    expect(trainer.last('updated').state.knobs).toMatchObject({ clip: 0.2, lr: 0.1 });
  });

  test('ends where the KL limit would end the update', async () => {
    const trainer = await TrainerBench.start(WILD, { guard: { kl: 0, entropy: 0 } });
    await trainer.update(1, 1);
    await trainer.tell({ type: 'preview', id: 1, knobs: { kl_limit: 0.1 } });
    const { wouldBe, now, minibatches } = trainer.last('preview').preview!;
    expect(minibatches).toBeLessThan(8);
    expect(wouldBe.kl).toBeGreaterThan(0.1);
    expect(wouldBe.kl).toBeLessThan(now.kl);
  });

  test('leaves no trace: between updates, in the middle of one, or in one that rests', async () => {
    const knobs = { epochs: 10, kl_limit: 0 };
    const [asked, left] = [await TrainerBench.start(knobs), await TrainerBench.start(knobs)];
    for (const trainer of [asked, left]) {
      await trainer.update(1, 1);
      await trainer.samples(2);
    }
    await asked.tell({ type: 'preview', id: 1, knobs: { lr: 0.05, epochs: 1, minibatch: 32 } });
    await asked.tell({ type: 'pause' });
    const updating = asked.tell({ type: 'update', iteration: 2 });
    const resting = asked.tell({ type: 'preview', id: 2, knobs: { clip: 0.5 } });
    await asked.until('preview', 2);
    expect(asked.last('preview').preview).toMatchObject({ iteration: 2 });
    const alive = asked.all('alive').length;
    await asked.tell({ type: 'resume' });
    await asked.until('alive', alive + 3);
    const during = asked.tell({ type: 'preview', id: 3, knobs: { lr: 0.1, kl: 5 } });
    await Promise.all([updating, resting, during]);
    // Answered before the update was done: it did not wait for its end.
    const order = asked.received.map(({ type }) => type).filter((type) => type !== 'alive');
    expect(order).toEqual(['ready', 'updated', 'preview', 'preview', 'preview', 'updated']);
    await left.tell({ type: 'update', iteration: 2 });
    expect(asked.snapshot).toEqual(left.snapshot);
    expect(asked.snapshot!.state.policyVersion).toBe(2);
  });

  test('is refused, with the reason, when there is nothing to tell it from', async () => {
    const trainer = await TrainerBench.start();
    await trainer.tell({ type: 'preview', id: 3, knobs: { clip: 0.1 } });
    expect(trainer.last('preview')).toEqual({
      type: 'preview',
      id: 3,
      preview: null,
      reason: 'no update was made yet since the trainer started',
    });
  });
});

describe('the guard', () => {
  test('rolls an update back to the very state before it', async () => {
    const settings = { ...SPIKES_AT, rewardWindow: 20 };
    const [spiked, calm] = [
      await TrainerBench.start(WILD, settings),
      await TrainerBench.start(WILD, settings),
    ];
    await spiked.update(1, 1);
    const { cause, reason, spot, iteration } = spiked.last('rejected');
    expect({ cause, iteration }).toEqual({ cause: 'kl_spike', iteration: 1 });
    expect(reason).toMatch(/^minibatch \d+: KL [\d.]+, the guard allows 0\.3$/u);
    expect(spot!.minibatch).toBeGreaterThan(0);
    expect(spot!.kl).toBeGreaterThan(0.3);
    expect(spot!.episodes).toHaveLength(5);
    const sizes = spot!.episodes.map(({ logRatio }) => Math.abs(logRatio!));
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    for (const trainer of [spiked, calm]) {
      expect(await trainer.set('lr', 0.0001)).toMatchObject({ from: 0.1, iteration: 1, minibatch: 0 });
      await trainer.update(1, 2);
    }
    expect(spiked.snapshot).toEqual(calm.snapshot);
    expect(spiked.snapshot!.state).toMatchObject({ policyVersion: 1, rewardWindow: { length: 8 } });
  });

  test('leaves knobs as they were turned in the middle of the update that it rolled back', async () => {
    const trainer = await TrainerBench.start(WILD, SPIKES_AT);
    await trainer.samples(1);
    const alive = trainer.all('alive').length;
    const updating = trainer.tell({ type: 'update', iteration: 1 });
    await trainer.until('alive', alive + 1);
    await trainer.set('value', 0.7);
    await updating;
    expect(trainer.all('rejected')).toHaveLength(1);
    expect(trainer.last('knob').change).toMatchObject({ knob: 'value', from: 0.5, to: 0.7, iteration: 1 });
    await trainer.set('lr', 0);
    await trainer.update(1, 2);
    expect(trainer.snapshot!.state.knobs).toMatchObject({ value: 0.7, kl: 0.0001 });
  });

  test('a preview then tells of the update that was rolled back: what would have spared it', async () => {
    const trainer = await TrainerBench.start(WILD, SPIKES_AT);
    await trainer.update(1, 1);
    expect(trainer.all('rejected')).toHaveLength(1);
    await trainer.tell({ type: 'preview', id: 1, knobs: { lr: 0.0001 } });
    const preview = trainer.last('preview').preview!;
    expect(preview.iteration).toBe(1);
    expect(preview.wouldBe.kl).toBeLessThan(preview.now.kl);
  });

  test('says where the KL limit ended an update, which counts all the same', async () => {
    const trainer = await TrainerBench.start({ ...WILD, kl_limit: 0.1 });
    await trainer.update(1, 1);
    const { stop, metrics, state } = trainer.last('updated');
    expect(metrics.stoppedEarly).toBe(true);
    expect(stop!.minibatch).toBe(metrics.minibatches - 1);
    expect(stop!.kl).toBeGreaterThan(0.1);
    expect(stop!.episodes.length).toBeGreaterThan(0);
    expect(state.policyVersion).toBe(1);
  });

  test('an update without an early end names no spot', async () => {
    const trainer = await TrainerBench.start({ kl_limit: 0 });
    await trainer.update(1, 1);
    expect(trainer.last('updated').stop).toBeNull();
  });
});
