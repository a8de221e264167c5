import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom } from '../src/domain/random.ts';
import { openDatabaseReadOnly } from '../src/store/database.ts';
import { EpisodeFinder } from '../src/store/episode-finder.ts';
import { type Filter, parseFilter } from '../src/store/filter.ts';
import { type RunPaths, runPaths } from '../src/store/run-directory.ts';
import { type Benchmark, quantile, sleep } from './benchmark.ts';
import { FILTER_CLASSES } from './filter-classes.ts';
import { EPISODES_BEGAN, writeGeneratedRun } from './generate-episodes.ts';
import { duckdbPeer, type FilterPeer, sqlitePeer } from './peers/engines.ts';

const RUN = 'generated';
/** Of each class. */
const QUERIES = 40;
const PEER_QUERIES = 3;
const PAGE = 50;
const WRITER_RATE = 2500;
/** As the thread that answers a screen does (src/store/search-thread.ts); questions come with pauses of up to `PAUSE_MS`. */
const FOLLOW_MS = 100;
const PAUSE_MS = 40;
const CHECKED_PAGES = 'fail:premature_submit sort:reward';

/** What one query took, in ms: on the clock, and of CPU time of this process, which other work does not stretch. */
interface Timing {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** First page and count of random filters over a generated run, at rest and while it is written to, beside other engines. */
export const filter: Benchmark = {
  name: 'filter',
  measures:
    'first page and count of any filter over 1,000,000 episodes, and facets; SQLite and DuckDB beside it',
  async run({ episodes: wanted, directory: kept, say }) {
    const episodes = wanted ?? 1_000_000;
    const directory = kept ?? mkdtempSync(join(tmpdir(), 'filter-'));
    const paths = runPaths(directory, RUN);
    try {
      if (!existsSync(paths.database)) writeGeneratedRun(paths, episodes, say);
      const now = EPISODES_BEGAN + (episodes / 1500) * 1000;
      const openedAt = performance.now();
      const database = openDatabaseReadOnly(paths.database);
      const finder = new EpisodeFinder(database, () => now);
      const { count: total } = finder.search(parseFilter(''), { limit: PAGE });
      const openMs = performance.now() - openedAt;
      const rest = await measure(finder, 1);
      const pages = walkPages(finder);
      say('the same while episodes are written');
      const { writing, writtenPerS } = await whileWriting(paths, total, async () => {
        const following = setInterval(() => finder.follow(), FOLLOW_MS);
        const measured = await measure(finder, 2, PAUSE_MS);
        clearInterval(following);
        return measured;
      });
      const peers = await comparePeers(paths, directory, { finder, now, say });
      database.close();
      return {
        figures: {
          p50Ms: percentile(rest.all, 0.5, 'wallMs'),
          p99Ms: percentile(rest.all, 0.99, 'wallMs'),
          p50CpuMs: percentile(rest.all, 0.5, 'cpuMs'),
          p99CpuMs: percentile(rest.all, 0.99, 'cpuMs'),
          worstKindP99Ms: rest.worstP99Ms,
          p99WritingMs: percentile(writing.all, 0.99, 'wallMs'),
          p99WritingCpuMs: percentile(writing.all, 0.99, 'cpuMs'),
          worstKindP99WritingMs: writing.worstP99Ms,
          writtenPerS,
          facetsP99Ms: percentile(rest.facets, 0.99, 'wallMs'),
          facetsP99CpuMs: percentile(rest.facets, 0.99, 'cpuMs'),
          openMs,
          columnsMiB: process.memoryUsage().arrayBuffers / 2 ** 20,
          pageOfWalkMs: pages.msPerPage,
          ...peers.figures,
        },
        conditions: { episodes: total, queriesPerClass: QUERIES, page: PAGE, walkedPages: pages.pages },
        details: [...rest.lines, 'while episodes are written', ...writing.lines, ...peers.lines],
      };
    } finally {
      if (kept === null) rmSync(directory, { recursive: true, force: true });
    }
  },
};

interface Measured {
  readonly all: readonly Timing[];
  readonly facets: readonly Timing[];
  /** The 99th percentile, on the clock, of the kind of filters that has the greatest. */
  readonly worstP99Ms: number;
  readonly lines: readonly string[];
}

async function measure(finder: EpisodeFinder, seed: number, pauseMs = 0): Promise<Measured> {
  const random = createRandom(seed);
  const all: Timing[] = [];
  const facets: Timing[] = [];
  const lines: string[] = [];
  let worstP99Ms = 0;
  for (const { name, make } of FILTER_CLASSES) {
    // The first ones compile code, and read what columns hold: a screen has done both before it is asked anything.
    for (let warmUp = 0; warmUp < 3; warmUp += 1) {
      const made = parseFilter(make(random));
      finder.search(made, { limit: PAGE });
      finder.facets(made.where);
    }
    const timings: Timing[] = [];
    let matched = 0;
    for (let query = 0; query < QUERIES; query += 1) {
      const made = parseFilter(make(random));
      // One question after the other, as a user asks them.
      // oxlint-disable-next-line no-await-in-loop
      if (pauseMs > 0) await sleep(random.integer(pauseMs));
      timings.push(timed(() => (matched += finder.search(made, { limit: PAGE }).count)));
      facets.push(timed(() => finder.facets(made.where)));
    }
    all.push(...timings);
    worstP99Ms = Math.max(worstP99Ms, percentile(timings, 0.99, 'wallMs'));
    lines.push(
      `${name.padEnd(26)} ${shown(timings)}   ${Math.round(matched / QUERIES)
        .toLocaleString('en')
        .padStart(9)} matched`,
    );
  }
  return { all, facets, worstP99Ms, lines };
}

function timed(act: () => unknown): Timing {
  const cpu = process.cpuUsage();
  const started = performance.now();
  act();
  const wallMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1000 };
}

/** Every page of a sorted filter, to the last row: none twice, none left out. */
function walkPages(finder: EpisodeFinder): { readonly pages: number; readonly msPerPage: number } {
  const made = parseFilter(CHECKED_PAGES);
  const seen = new Set<string>();
  let pages = 0;
  const started = performance.now();
  let after: string | null = null;
  do {
    const page = finder.search(made, { limit: 200, after });
    for (const { id } of page.episodes) seen.add(id);
    after = page.next;
    pages += 1;
  } while (after !== null);
  const elapsed = performance.now() - started;
  const count = finder.count(made.where);
  if (seen.size !== count) throw new Error(`${seen.size} different episodes on all pages, ${count} counted`);
  return { pages, msPerPage: elapsed / pages };
}

/** Measures while another process stores episodes in the same run. */
async function whileWriting<Value>(
  paths: RunPaths,
  before: number,
  act: () => Promise<Value>,
): Promise<{ readonly writing: Value; readonly writtenPerS: number }> {
  const writer = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      'bench/run-writer.ts',
      join(paths.root, '..'),
      RUN,
      String(before),
      String(WRITER_RATE),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  let stored = 0;
  await new Promise((resolve) => {
    writer.stdout.on('data', (chunk: Buffer) => {
      stored = Number(chunk.toString().trim().split('\n').at(-1));
      resolve(stored);
    });
  });
  const [from, started] = [stored, performance.now()];
  const writing = await act();
  // What it said meanwhile could not be heard.
  await sleep(1100);
  const writtenPerS = ((stored - from) * 1000) / (performance.now() - started);
  writer.stdin.end();
  await once(writer, 'exit');
  return { writing, writtenPerS };
}

async function comparePeers(
  paths: RunPaths,
  directory: string,
  { finder, now, say }: { finder: EpisodeFinder; now: number; say: (line: string) => void },
): Promise<{ readonly figures: Record<string, number>; readonly lines: readonly string[] }> {
  const own = mkdtempSync(join(directory, 'peers-'));
  say('loading DuckDB');
  const peers = [sqlitePeer(paths.database, now), await duckdbPeer(paths.database, own, now)];
  const lines: string[] = [];
  const figures: Record<string, number> = {};
  for (const peer of peers) {
    say(peer.name);
    const timings: Timing[] = [];
    for (const { name, make } of FILTER_CLASSES) {
      const random = createRandom(3);
      const ofClass: Timing[] = [];
      for (let query = 0; query < PEER_QUERIES; query += 1) {
        ofClass.push(await askPeer(peer, parseFilter(make(random)), finder));
      }
      timings.push(...ofClass);
      lines.push(`${peer.name.padEnd(11)} ${name.padEnd(26)} ${shown(ofClass)}`);
    }
    const key = peer.name === 'DuckDB' ? 'duckdb' : 'sqlite';
    figures[`${key}P50Ms`] = percentile(timings, 0.5, 'wallMs');
    figures[`${key}P99Ms`] = percentile(timings, 0.99, 'wallMs');
    figures[`${key}P50CpuMs`] = percentile(timings, 0.5, 'cpuMs');
    peer.close();
  }
  rmSync(own, { recursive: true, force: true });
  return { figures, lines };
}

/** Its time; refuses to go on when it does not say what we say. */
async function askPeer(peer: FilterPeer, made: Filter, finder: EpisodeFinder): Promise<Timing> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  const { sequences, count } = await peer.ask(made, PAGE);
  const wallMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  const ours = finder.search(made, { limit: PAGE });
  const isSame =
    ours.count === count && ours.episodes.every(({ id }, index) => id === `e${sequences[index]}`);
  if (!isSame) throw new Error(`${peer.name} counts ${count}, we ${ours.count}: ${JSON.stringify(made)}`);
  return { wallMs, cpuMs: (user + system) / 1000 };
}

function percentile(timings: readonly Timing[], share: number, of: keyof Timing): number {
  return quantile(
    timings.map((timing) => timing[of]),
    share,
  );
}

function shown(timings: readonly Timing[]): string {
  const ms = (share: number, of: keyof Timing): string =>
    percentile(timings, share, of).toFixed(1).padStart(6);
  return `p50 ${ms(0.5, 'wallMs')} ms p99 ${ms(0.99, 'wallMs')} ms   CPU p50 ${ms(0.5, 'cpuMs')} ms p99 ${ms(0.99, 'cpuMs')} ms`;
}
