import type { Family } from './family.ts';
import { fillTray, plainFile } from './scenario.ts';
import { reachesGoal } from './world.ts';

const TEMPLATES = [
  (file: string, directory: string, name: string) =>
    `copy file ${file} under directory ${directory} as name ${name} then delete the original`,
  (file: string, directory: string, name: string) =>
    `delete file ${file} once you have a copy of it under directory ${directory} as name ${name}`,
] as const;

/** Copy a file, then delete the original: nine steps. */
export const copyDelete: Family = {
  name: 'copy_delete',
  difficulty: 2,
  assign(random, names) {
    const [target, home, elsewhere] = [names.take(), names.take(), names.take()];
    const [file, copy] = [names.take(), names.take()];
    const others = names.takeMany(3).map((name) => plainFile(name, random.pick([home, elsewhere]), random));
    return {
      text: random.pick(TEMPLATES)(file, target, copy),
      scenario: {
        files: [plainFile(file, home, random), ...others],
        directories: [target, home, elsewhere],
        names: [copy, ...names.takeMany(2)],
        tray: fillTray(['copy', 'delete'], random),
        reads: [],
        jobs: [
          { tool: 'copy', arguments: [file, target, copy] },
          { tool: 'delete', arguments: [file] },
        ],
      },
    };
  },
  grade: reachesGoal,
};
