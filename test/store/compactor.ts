import { compactRun } from '../../src/store/ended-run.ts';
import { runPaths } from '../../src/store/run-directory.ts';

// A process that compacts a run, and says when it begins: to be killed by a test.
const [runsDirectory = '', id = ''] = process.argv.slice(2);
await compactRun(runPaths(runsDirectory, id), {
  keepSample: 0,
  pinned: () => new Set(),
  breathe: async () => await Promise.resolve(true),
}).then(
  (reports) => process.stdout.write(`${reports.length} segments\n`),
  (thrown: unknown) => process.stdout.write(`${String(thrown)}\n`),
);
