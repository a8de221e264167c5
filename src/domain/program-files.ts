/**
 * The files that a process or a thread of the lab starts from, below the folder of the program and without their extension. From
 * source they are the sources themselves; the build makes one file of each, and puts what they share into files beside them.
 */
export const PROGRAM_FILES = {
  cli: 'src/cli/main',
  run: 'src/run/main',
  text: 'src/run/text-main',
  worker: 'src/sampling/main',
  trainer: 'trainer/main',
  devices: 'trainer/devices/main',
  export: 'trainer/export/main',
  replay: 'src/replay/main',
  sql: 'src/cli/sql-process',
  compare: 'src/cli/compare-process',
  searchThread: 'src/store/search-thread',
  readingThread: 'src/store/reading-thread',
  gradientThread: 'trainer/ppo/gradient-thread',
} as const;
export type ProgramFile = keyof typeof PROGRAM_FILES;

/** Whether it is the TypeScript sources that run: Node 20 then needs a loader for each process and thread. */
export const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');

/**
 * The URL of a file that a process or a thread starts from. The build puts this module into a folder as deep as this one, so that the
 * way from here is the same there.
 */
export function programFile(name: ProgramFile): URL {
  return new URL(`../../${PROGRAM_FILES[name]}${RUNS_FROM_SOURCE ? '.ts' : '.js'}`, import.meta.url);
}
