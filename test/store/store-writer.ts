import { openRunStore } from '../../src/store/index-writer.ts';
import { runPaths } from '../../src/store/run-directory.ts';
import { bodyOf, finished, metricsOf, mixedSummary } from './fixture.ts';

// A process that stores without end, and says after each batch how far it has come: to be killed by a test.
const [runsDirectory = '', id = ''] = process.argv.slice(2);
const store = openRunStore(runPaths(runsDirectory, id), { segmentBytes: 100_000 });
let sequence = store.totals().lastSequence;
for (let round = 1; ; round++) {
  const batch = Array.from({ length: 20 }, () => finished(mixedSummary(++sequence), bodyOf(10, sequence)));
  store.appendEpisodes(batch);
  store.appendIteration(metricsOf(store.totals().lastIteration + 1));
  process.stdout.write(`${sequence} ${store.totals().lastIteration}\n`);
}
