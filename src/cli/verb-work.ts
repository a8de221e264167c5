export { listAlerts, testAlerts } from './alert.ts';
export { benchEnvironment } from './bench.ts';
export { branchRun } from './branch.ts';
export { compactEndedRun } from './compact.ts';
export { compareRuns } from './compare.ts';
export { compareApart } from './comparer.ts';
export {
  checkpointRun,
  pauseRun,
  previewKnobs,
  resumeLiveRun,
  setKnobs,
  stopRun,
  undoKnob,
} from './control.ts';
export { printDevices } from './devices.ts';
export { printEpisodes } from './episodes.ts';
export { exportRun } from './export.ts';
export { forkStep } from './fork.ts';
export { fsckRun } from './fsck.ts';
export { followRun } from './headless.ts';
export { printConfig, printEpisode } from './inspect.ts';
export { overridesOf } from './overrides.ts';
export { ownVerb } from './own-verb.ts';
export { pinEpisodes } from './pin.ts';
export { forkStored, reexecute } from './reexecute.ts';
export { replayEpisodes } from './replay.ts';
export { printRun } from './show-run.ts';
export { printSlots } from './slots.ts';
export { querySql, runAndQuery } from './sql.ts';
export { restartRun, startRun } from './start.ts';
export { addWorker, changeWorkers, printWorkers } from './workers.ts';
