import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VOCABULARY } from '../envs/workbench/vocabulary.ts';
import { type FinishedEpisode, openRunStore } from '../src/store/index-writer.ts';
import { createRunDirectory, type RunPaths, runPaths } from '../src/store/run-directory.ts';
import { openTextIndex } from '../src/store/text-index.ts';
import { TextIndexWriter } from '../src/store/text-writer.ts';
import { type Benchmark, quantile } from './benchmark.ts';
import { generateTexts } from './generate-texts.ts';

const EPISODES = 1_000_000;
const BATCH = 500;
/** Names that are looked for, out of a vocabulary of thousands. */
const NAMES = VOCABULARY.train.filter((_, place) => place % 150 === 0).slice(0, 12);

/** What is looked for, by how often it occurs. A separator at the end says that the last word is whole. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  rare: NAMES.map((name) => `read ${name} says `),
  medium: NAMES.map((name) => `${name} `),
  common: [
    'noop ',
    'file ',
    'memo ',
    'failed ',
    'rejected ',
    'into directory ',
    'screen tool ',
    'done file ',
  ],
  commonPhrase: [
    'submit rejected ',
    'no such file ',
    'failed no file ',
    'screen no tool ',
    'noop nothing happens ',
  ],
  longPhrase: NAMES.map((name) => `screen tool move file ${name} next directory `),
  typed: ['no such fi', 'submit rej', 'confirm mo', 'fai', 'wrong_res', 'kep'],
  rareOfCommon: ['tool file ', 'file no ', 'says no ', 'next read ', 'directory file '],
  absent: ['stack trace ', 'zzz ', 'file xylophone '],
};

/** Text search at its full size: what indexing takes, and what asking takes, each question for the first time. */
export const text: Benchmark = {
  name: 'text',
  measures:
    'episodes indexed a second of a core, bytes an episode, and ms of text searches at 1,000,000 episodes',
  async run({ episodes, say }) {
    const count = episodes ?? EPISODES;
    const directory = mkdtempSync(join(tmpdir(), 'text-bench-'));
    try {
      const paths = runPaths(directory, 'bench');
      createRunDirectory(paths);
      say(`storing ${count} episodes`);
      const stored = store(paths, count);
      say('indexing them');
      const indexed = index(paths);
      say('asking');
      const figures = { episodes: count, ...stored, ...indexed, ...ask(paths) };
      return await Promise.resolve({
        figures,
        conditions: { env: 'workbench', names: VOCABULARY.train.length },
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

function store(paths: RunPaths, count: number): Record<string, number> {
  const writer = openRunStore(paths);
  let cpuUs = 0;
  let batch: FinishedEpisode[] = [];
  const flush = (): void => {
    const before = process.cpuUsage();
    writer.appendEpisodes(batch);
    cpuUs += cpuSince(before) * 1000;
    batch = [];
  };
  for (const episode of generateTexts(count, 1)) {
    batch.push(episode);
    if (batch.length >= BATCH) flush();
  }
  flush();
  writer.close();
  return { storeCpuUsPerEpisode: cpuUs / count };
}

function index(paths: RunPaths): Record<string, number> {
  const before = process.cpuUsage();
  const started = performance.now();
  const writer = new TextIndexWriter(paths);
  const { documents } = writer.add(Number.POSITIVE_INFINITY);
  writer.commit();
  writer.close();
  const cpuMs = cpuSince(before);
  const again = process.cpuUsage();
  new TextIndexWriter(paths).close();
  return {
    episodesPerCoreS: (documents * 1000) / cpuMs,
    shareAt2000PerS: (2000 * cpuMs) / 1000 / documents,
    indexWallS: (performance.now() - started) / 1000,
    bytesPerEpisode: statSync(paths.text).size / documents,
    reopenCpuMs: cpuSince(again),
  };
}

function ask(paths: RunPaths): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [name, questions] of Object.entries(QUERIES)) {
    const wall: number[] = [];
    const cpu: number[] = [];
    const again: number[] = [];
    let most = 0;
    for (let round = 0; round < 5; round++) {
      // Answers are kept while an index is open.
      const opened = openTextIndex(paths.text);
      if (opened === null) throw new Error('there is no text index');
      opened.match('warm up');
      for (const question of questions) {
        const before = process.cpuUsage();
        const started = performance.now();
        most = Math.max(most, opened.match(question).length);
        wall.push(performance.now() - started);
        cpu.push(cpuSince(before));
        const asked = performance.now();
        opened.match(question);
        again.push(performance.now() - asked);
      }
      opened.close();
    }
    figures[`${name}Most`] = most;
    figures[`${name}P50Ms`] = quantile(wall, 0.5);
    figures[`${name}P99Ms`] = quantile(wall, 0.99);
    figures[`${name}CpuP99Ms`] = quantile(cpu, 0.99);
    figures[`${name}AgainP99Ms`] = quantile(again, 0.99);
  }
  return figures;
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
