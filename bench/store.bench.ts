import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/config/load.ts';
import { episodeId } from '../src/domain/id.ts';
import { bytesOf } from '../src/protocol/frame.ts';
import { workerSettings } from '../src/run/child-settings.ts';
import { type FinishedEpisode, openRunStore } from '../src/store/index-writer.ts';
import { createRunDirectory, runPaths } from '../src/store/run-directory.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { type Benchmark, sleep } from './benchmark.ts';
import { driveWorker } from './worker-driver.ts';

/** Real episodes to store again and again. */
const COLLECTED = 600;
const STEPS = { least: 20, most: 40 };
/** Episodes of a call, as they come in a turn of the run process at 2,000/s. */
const BATCH = 40;
const RATE = 2000;

/** Stores real Workbench episodes of about 30 steps as fast as one core can, and says what 2,000 a second take of it. */
export const store: Benchmark = {
  name: 'store',
  measures: 'episodes of about 30 steps stored a second, and what 2,000 a second take of a core',
  async run({ seconds, say }) {
    const episodes = await collect(say);
    const steps = episodes.reduce((sum, { summary }) => sum + summary.steps, 0) / episodes.length;
    const raw = episodes.reduce((sum, { body }) => sum + body.byteLength, 0) / episodes.length;
    const directory = mkdtempSync(join(tmpdir(), 'store-'));
    try {
      const paths = runPaths(directory, 'bench');
      createRunDirectory(paths);
      const opened = openRunStore(paths);
      let sequence = 0;
      const next = (): FinishedEpisode[] =>
        Array.from({ length: BATCH }, () => {
          const episode = episodes[sequence % episodes.length];
          if (episode === undefined) throw new Error('no episode was collected');
          sequence += 1;
          return { ...episode, summary: { ...episode.summary, id: episodeId(sequence) } };
        });
      for (const end = performance.now() + 1500; performance.now() < end; ) opened.appendEpisodes(next());
      const before = sequence;
      let [busyMs, cpuMs] = [0, 0];
      for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
        const batch = next();
        const cpu = process.cpuUsage();
        const started = performance.now();
        opened.appendEpisodes(batch);
        busyMs += performance.now() - started;
        const used = process.cpuUsage(cpu);
        cpuMs += (used.user + used.system) / 1000;
      }
      opened.close();
      const stored = sequence - before;
      const segments = readdirSync(paths.segments).map((name) => statSync(join(paths.segments, name)).size);
      const bytes = segments.reduce((sum, size) => sum + size, 0) / sequence;
      return {
        figures: {
          episodesPerS: (stored * 1000) / busyMs,
          cores: (cpuMs / 1000 / stored) * RATE,
          cpuUsPerEpisode: (cpuMs * 1000) / stored,
          bytesPerStep: bytes / steps,
          rawBytesPerStep: raw / steps,
          indexBytesPerEpisode: statSync(paths.database).size / sequence,
        },
        conditions: { batch: BATCH, rate: RATE, meanSteps: Math.round(steps * 10) / 10, stored, seconds },
      };
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** Episodes of about 30 steps, as a worker with an untrained policy delivers them. */
async function collect(say: (line: string) => void): Promise<FinishedEpisode[]> {
  const { config } = loadConfig(null, { file: 'demo' });
  const episodes: FinishedEpisode[] = [];
  say('collecting episodes');
  const worker = await driveWorker(
    { ...workerSettings(config), worker: 0, host: 'local', slots: 128 },
    bytesOf(initialWeights(config.policy, 1)),
    ({ summary }, { body }) => {
      const isWanted = summary.steps >= STEPS.least && summary.steps <= STEPS.most;
      if (body !== undefined && isWanted && episodes.length < COLLECTED) episodes.push({ summary, body });
    },
  );
  for (const end = performance.now() + 120_000; episodes.length < COLLECTED; ) {
    if (performance.now() > end) break;
    await sleep(200);
  }
  await worker.stop();
  if (episodes.length === 0) throw new Error('no episode of the wanted length came');
  return episodes;
}
