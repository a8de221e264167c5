import { episodeId, episodeSequence } from '../src/domain/id.ts';
import { openRunStore } from '../src/store/index-writer.ts';
import { runPaths } from '../src/store/run-directory.ts';
import { EMPTY_BODY, generateEpisodes } from './generate-episodes.ts';

// Stores generated episodes in a run until it is killed or its input ends, at a steady rate:
// RUNS-DIRECTORY RUN EPISODES-BEFORE EPISODES-PER-S. Says on stdout what it has stored, once a second.
const [directory = '', run = '', before = '0', rate = '2000'] = process.argv.slice(2);
const TURN_MS = 20;
const store = openRunStore(runPaths(directory, run));
const episodes = generateEpisodes(10_000_000, 2);
const started = performance.now();
let stored = 0;
const timer = setInterval(() => {
  const due = Math.floor(((performance.now() - started) / 1000) * Number(rate)) - stored;
  const batch = Array.from({ length: Math.max(0, due) }, () => {
    const summary = episodes.next().value;
    if (summary === undefined) throw new Error('no more episodes');
    // Numbers go on after those of the run.
    return {
      summary: { ...summary, id: episodeId(Number(before) + episodeSequence(summary.id)) },
      body: EMPTY_BODY,
    };
  });
  store.appendEpisodes(batch);
  stored += batch.length;
}, TURN_MS);
setInterval(() => console.log(stored), 1000).unref();
process.stdin.resume();
process.stdin.on('end', () => {
  clearInterval(timer);
  store.close();
  process.exit(0);
});
