import { keysOf } from '../../src/domain/table.ts';
import type { Family } from './family.ts';
import { fillTray, type Job, plainFile, type Scenario } from './scenario.ts';
import { formatRun, reachesGoal, type World } from './world.ts';

interface WordedJob {
  readonly job: Job;
  readonly words: string;
}

/** Makes and words a job. Each wording leaves words of its own before a name, so that roles can be told apart. */
const JOBS = {
  move: (file, directory) => ({
    job: { tool: 'move', arguments: [file, directory] },
    words: `move file ${file} into directory ${directory}`,
  }),
  rename: (file, _directory, name) => ({
    job: { tool: 'rename', arguments: [file, name] },
    words: `rename file ${file} to name ${name}`,
  }),
  copy: (file, directory, name) => ({
    job: { tool: 'copy', arguments: [file, directory, name] },
    words: `copy file ${file} under directory ${directory} as name ${name}`,
  }),
  delete: (file) => ({ job: { tool: 'delete', arguments: [file] }, words: `delete file ${file}` }),
} as const satisfies Record<string, (file: string, directory: string, name: string) => WordedJob>;

const TEMPLATES = [
  (first: string, second: string) => `first ${first} then ${second}`,
  (first: string, second: string) => `${second} but only after you ${first}`,
] as const;

/** Two jobs on two files in a stated order, eight to ten steps. In the wrong order they do not count. */
export const ordered: Family = {
  name: 'ordered',
  difficulty: 3,
  assign(random, names) {
    const home = names.take();
    const [file, otherFile] = [names.take(), names.take()];
    const [directory, otherDirectory] = [names.take(), names.take()];
    const [name, otherName] = [names.take(), names.take()];
    const [tool = 'move', otherTool = 'rename'] = random.shuffle(keysOf(JOBS));
    const first = JOBS[tool](file, directory, name);
    const second = JOBS[otherTool](otherFile, otherDirectory, otherName);
    return {
      text: random.pick(TEMPLATES)(first.words, second.words),
      scenario: {
        files: [file, otherFile, ...names.takeMany(2)].map((each) => plainFile(each, home, random)),
        directories: [home, directory, otherDirectory],
        names: [name, otherName, names.take()],
        tray: fillTray([tool, otherTool], random),
        reads: [],
        jobs: [first.job, second.job],
      },
    };
  },
  grade: (world, scenario) => isInOrder(world, scenario) && reachesGoal(world, scenario),
};

/** Whether each job was first run after the one that the task puts before it. */
function isInOrder(world: World, scenario: Scenario): boolean {
  let last = -1;
  for (const job of scenario.jobs) {
    const at = world.runs.indexOf(formatRun(job));
    if (at <= last) return false;
    last = at;
  }
  return true;
}
