import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { episodeId } from '../../src/domain/id.ts';
import { initialKnobs } from '../../src/domain/knob.ts';
import { CANDIDATE_TOKENS } from '../../src/domain/policy-spec.ts';
import { type Attachments, bytesOf } from '../../src/protocol/frame.ts';
import { trainerSettingsSchema } from '../../src/protocol/trainer.ts';
import { TrainerProcess } from '../../trainer/ppo/trainer-process.ts';
import { SMALL, SMALL_LAYOUT } from './small-policy.ts';

const UPDATES = 600;
const STEPS = 1000;
const { size, slots } = SMALL_LAYOUT;

/** One long episode: 200 KB in the message, twice that and more in the trainer. */
function attachments(): Attachments {
  return {
    tokens: bytesOf(new Uint16Array(STEPS * SMALL.sentences * SMALL.tokens).fill(3)),
    candidates: bytesOf(new Uint16Array(STEPS * slots * CANDIDATE_TOKENS).fill(5)),
    mask: new Uint8Array(STEPS * size).fill(1),
    actions: bytesOf(new Uint16Array(STEPS)),
    logProbabilities: bytesOf(new Float32Array(STEPS * size).fill(-Math.log(size))),
    values: bytesOf(new Float32Array(STEPS)),
    rewards: bytesOf(Float32Array.from({ length: STEPS }, (_, i) => i % 7)),
    versions: bytesOf(new Uint32Array(STEPS)),
  };
}

/** Resident memory in bytes, after what can be collected was. */
function residentBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().rss;
}

test('memory does not grow with the number of updates', async () => {
  let updated = 0;
  const trainer = new TrainerProcess({
    send: ({ type }) => {
      if (type === 'updated') updated++;
    },
    warn: () => undefined,
    now: () => 0,
  });
  const settings = trainerSettingsSchema.parse({
    seed: 1,
    policy: SMALL,
    guard: { kl: 0, entropy: 0 },
    threads: 1,
  });
  const knobs = { ...initialKnobs(), epochs: 1, minibatch: 128, lr: 1e-6, kl_limit: 0 };
  await trainer.handle({ type: 'start', settings, knobs, state: null, iteration: 1 }, {});
  let half = 0;
  for (let iteration = 1; iteration <= UPDATES; iteration++) {
    const samples = { id: episodeId(iteration), steps: STEPS, terminated: true, bootstrapValue: null };
    await trainer.handle({ type: 'samples', samples }, attachments());
    await trainer.handle({ type: 'update', iteration }, {});
    if (iteration === UPDATES / 2) half = residentBytes();
  }
  const grown = residentBytes() - half;
  await trainer.stop();
  expect(updated).toBe(UPDATES);
  // A message held on to at each update would be 60 MB, a batch twice as much.
  expect(grown).toBeLessThan(25e6);
});
