import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { compareApart } from '../src/cli/comparer.ts';
import { episodeId } from '../src/domain/id.ts';
import { createRandom, deriveSeed } from '../src/domain/random.ts';
import { openRunStore } from '../src/store/index-writer.ts';
import { Reading } from '../src/store/reading.ts';
import { createRunDirectory, type RunPaths, runPaths } from '../src/store/run-directory.ts';
import type { KeyContext } from '../views/key-binding.ts';
import type { Look } from '../views/look.ts';
import { ReplayCursor } from '../views/replay-cursor.ts';
import { drawReplay } from '../views/screens/replay.ts';
import { PagedEpisode, type PageReading } from '../views/step-source.ts';
import type { Benchmark } from './benchmark.ts';
import { generateEpisodes } from './generate-episodes.ts';

const STEPS = 300_000;
const TRIES = 5;
const SIZE = { columns: 200, rows: 50 };
const LOOK: Look = { glyphs: 'braille', colour: { theme: 'dark', depth: 256 }, attributes: true };
const KEYS: KeyContext = {
  hasRun: true,
  live: true,
  state: 'running',
  rows: 1,
  canUndo: false,
  completes: false,
  isSearching: false,
  hasReplay: false,
  hasDiff: false,
  eventEpisodes: false,
};

/**
 * Opening a very long episode: until its first page is drawn, and until its curves and a search are there. And comparing two: the
 * same one twice, and two that differ in every step.
 */
export const replay: Benchmark = {
  name: 'replay',
  measures:
    'ms until the first page of a 300,000-step episode is drawn, all of it is known, and two are compared',
  async run({ say }) {
    const directory = mkdtempSync(join(tmpdir(), 'replay-bench-'));
    try {
      const paths = runPaths(directory, 'bench');
      createRunDirectory(paths);
      say(`storing two episodes of ${STEPS} steps`);
      const bytes = store(paths);
      say('opening them');
      const repeated = await open(paths, 'e1');
      const distinct = await open(paths, 'e2');
      say('comparing them');
      const same = await compare(directory, 'e1', 'e1');
      const other = await compare(directory, 'e1', 'e2');
      return {
        figures: {
          firstPageMs: Math.max(repeated.firstPageMs, distinct.firstPageMs),
          repeatedFirstPageMs: repeated.firstPageMs,
          distinctFirstPageMs: distinct.firstPageMs,
          repeatedFirstPageCpuMs: repeated.firstPageCpuMs,
          distinctFirstPageCpuMs: distinct.firstPageCpuMs,
          repeatedAllMs: repeated.allMs,
          distinctAllMs: distinct.allMs,
          allCpuMs: Math.max(repeated.allCpuMs, distinct.allCpuMs),
          lastPageMs: Math.max(repeated.lastPageMs, distinct.lastPageMs),
          searchMs: Math.max(repeated.searchMs, distinct.searchMs),
          drawMs: Math.max(repeated.drawMs, distinct.drawMs),
          sameComparedMs: same.ms,
          differentComparedMs: other.ms,
          compareScreenCpuMs: Math.max(same.screenCpuMs, other.screenCpuMs),
          compareStallMs: Math.max(same.stallMs, other.stallMs),
          differentRows: other.rows,
        },
        conditions: { steps: STEPS, tries: TRIES, ...bytes },
      };
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** Is still at it. */
const UNANSWERED: PageReading = {
  page: async () => await new Promise(() => null),
  figures: async () => await new Promise(() => null),
  find: async () => await new Promise(() => null),
};

function draw(cursor: ReplayCursor): void {
  drawReplay({ cursor, speed: 0, note: null, searchInput: null, toast: null, keys: KEYS }, SIZE, LOOK);
}

/** In the first episode lines come again and again; in the second each step brings one of its own. */
function store(paths: RunPaths): Record<string, number> {
  const writer = openRunStore(paths);
  const sizes: Record<string, number> = {};
  const kinds = ['repeated', 'distinct'] as const;
  for (const [index, summary] of [...generateEpisodes(kinds.length)].entries()) {
    const kind = kinds[index] ?? 'repeated';
    const body = Buffer.from(bodyText(kind));
    sizes[`${kind}BodyMiB`] = Math.round(body.byteLength / 2 ** 20);
    writer.appendEpisodes([{ summary: { ...summary, id: episodeId(index + 1), steps: STEPS }, body }]);
  }
  writer.close();
  return sizes;
}

function bodyText(kind: 'repeated' | 'distinct'): string {
  const random = createRandom(deriveSeed('replay', 1));
  const count = kind === 'repeated' ? 2000 : STEPS + 20;
  const lines = Array.from(
    { length: count },
    (_, line) => `"turn ${line}: read file-${random.integer(9999)} says ok"`,
  );
  const steps = Array.from({ length: STEPS }, (_, step) => {
    const seen = Array.from({ length: 12 }, (_line, at) =>
      kind === 'repeated' ? random.integer(count) : Math.max(0, step - at),
    );
    const value = Number(random.next().toFixed(6));
    const parts = step % 50 === 0 ? '[{"name":"progress","raw":1,"weighted":0.1,"paid":0.1}]' : '[]';
    return `{"observation":[${seen.join(',')}],"candidates":0,"action":{"type":"read","argument":"a"},"probability":${value},"value":${value},"entropy":1.2,"policyVersion":4,"effective":true,"reward":${step % 50 === 0 ? 0.1 : 0},"parts":${parts}}`;
  });
  const sets = '[[{"type":"read","text":"a","kind":"file"}]]';
  return `{"lines":[${lines.join(',')}],"candidateSets":${sets},"steps":[${steps.join(',')}],"finalObservation":[0,1]}`;
}

async function open(
  paths: RunPaths,
  id: string,
): Promise<
  Record<
    'firstPageMs' | 'firstPageCpuMs' | 'allMs' | 'allCpuMs' | 'lastPageMs' | 'searchMs' | 'drawMs',
    number
  >
> {
  const first: number[] = [];
  const firstCpu: number[] = [];
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const reading = new Reading();
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    const found = await reading.page(paths, id, 0);
    // Nothing else is asked before the first page is on the screen.
    draw(
      new ReplayCursor(
        new PagedEpisode({ reading: UNANSWERED, paths, onChange: () => null, isShown: () => true }, found),
      ),
    );
    first.push(performance.now() - started);
    firstCpu.push(cpuMs(cpu));
    await reading.close();
  }
  const reading = new Reading();
  let started = performance.now();
  const cpu = process.cpuUsage();
  const found = await reading.page(paths, id, 0);
  const episode = new PagedEpisode({ reading, paths, onChange: () => null, isShown: () => true }, found);
  while (episode.figures === null) await new Promise((resolve) => setImmediate(resolve));
  const [allMs, allCpuMs] = [performance.now() - started, cpuMs(cpu)];
  started = performance.now();
  await reading.page(paths, id, STEPS);
  const lastPageMs = performance.now() - started;
  started = performance.now();
  await reading.find(paths, id, { text: 'nonesuch', from: 0, direction: 1 });
  const searchMs = performance.now() - started;
  const cursor = new ReplayCursor(episode);
  draw(cursor);
  started = performance.now();
  draw(cursor);
  const drawMs = performance.now() - started;
  await reading.close();
  const [firstPageMs, firstPageCpuMs] = [Math.min(...first), Math.min(...firstCpu)];
  return { firstPageMs, firstPageCpuMs, allMs, allCpuMs, lastPageMs, searchMs, drawMs };
}

/** `screenCpuMs` and `stallMs` are of the process that shows it: what it costs, and the longest that a key waits but for one in 1,000. */
async function compare(
  runs: string,
  left: string,
  right: string,
): Promise<Record<'ms' | 'screenCpuMs' | 'stallMs' | 'rows', number>> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  delay.enable();
  const found = await compareApart(
    runs,
    'bench',
    { kind: 'episodes', left, right },
    { onProgress: () => undefined, signal: new AbortController().signal },
  );
  delay.disable();
  return {
    ms: performance.now() - started,
    screenCpuMs: cpuMs(cpu),
    stallMs: delay.percentile(99.9) / 1e6,
    rows: found?.rows.length ?? 0,
  };
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}
