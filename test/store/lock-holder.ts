import { lockRun, runPaths } from '../../src/store/run-directory.ts';

// A process that takes a run's lock and keeps it: to be killed by a test.
const [runsDirectory = '', id = ''] = process.argv.slice(2);
lockRun(runPaths(runsDirectory, id));
process.stdout.write('locked\n');
setInterval(() => undefined, 1000);
