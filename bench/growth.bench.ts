import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { initialKnobs } from '../src/domain/knob.ts';
import { policySpecSchema } from '../src/domain/policy-spec.ts';
import { trainerSettingsSchema } from '../src/protocol/trainer.ts';
import { TrainerProcess } from '../trainer/ppo/trainer-process.ts';
import type { Benchmark } from './benchmark.ts';
import { sampleMessages } from './sample-messages.ts';

const UPDATES = 2000;
const REPORT_EVERY = 200;
/** Pools and caches fill, and code is compiled: not counted. */
const WARM_UP = 600;
/** Of an update. */
const EPISODES = { episodes: 16, steps: 32, words: 512 };

/** A small network on observations of full size: many updates in short time, with messages as large as a run's. */
const POLICY = policySpecSchema.parse({ vocabulary: EPISODES.words, embedding: 16, hidden: 16 });

/** Whether the trainer holds on to what it was sent: the classes of its process, in this one. */
export const growth: Benchmark = {
  name: 'growth',
  measures: `memory of the trainer over ${UPDATES} updates`,
  async run({ say }) {
    let [updated, messageBytes] = [0, 0];
    const trainer = new TrainerProcess({
      send: ({ type }) => {
        if (type === 'updated') updated++;
      },
      warn: say,
      now: () => Date.now(),
    });
    const settings = trainerSettingsSchema.parse({
      seed: 1,
      policy: POLICY,
      guard: { kl: 0, entropy: 0 },
      threads: 2,
    });
    const knobs = { ...initialKnobs(), epochs: 1, minibatch: 256, lr: 1e-5, kl_limit: 0 };
    await trainer.handle({ type: 'start', settings, knobs, state: null, iteration: 1 }, {});
    const points: { readonly update: number; readonly rssMiB: number }[] = [];
    for (let iteration = 1; iteration <= UPDATES; iteration++) {
      for (const { samples, attachments } of sampleMessages(POLICY, { ...EPISODES, seed: iteration })) {
        for (const bytes of Object.values(attachments)) messageBytes += bytes.byteLength;
        await trainer.handle({ type: 'samples', samples }, attachments);
      }
      await trainer.handle({ type: 'update', iteration }, {});
      if (iteration % REPORT_EVERY !== 0) continue;
      const rssMiB = residentMiB();
      points.push({ update: iteration, rssMiB });
      say(`${iteration} updates: ${rssMiB.toFixed(0)} MiB`);
    }
    await trainer.stop();
    const settled = points.filter(({ update }) => update >= WARM_UP);
    return {
      figures: {
        updates: updated,
        rssMiB: points.at(-1)?.rssMiB ?? null,
        rssKiBPerUpdate: slope(settled) * 1024,
        messageKiBPerUpdate: messageBytes / UPDATES / 1024,
      },
      conditions: {
        samples: EPISODES.episodes * EPISODES.steps,
        minibatch: knobs.minibatch,
        threads: settings.threads,
        warmUp: WARM_UP,
      },
    };
  },
};

/** After a collection: what is only waiting for one is not growth. */
function residentMiB(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().rss / 2 ** 20;
}

/** Least squares, MiB an update. */
function slope(points: readonly { readonly update: number; readonly rssMiB: number }[]): number {
  const mean = (of: (point: (typeof points)[number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [update, rss] = [mean((point) => point.update), mean((point) => point.rssMiB)];
  const together = mean((point) => (point.update - update) * (point.rssMiB - rss));
  return together / mean((point) => (point.update - update) ** 2);
}
