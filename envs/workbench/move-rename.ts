import type { Family } from './family.ts';
import { fillTray, plainFile } from './scenario.ts';
import { reachesGoal } from './world.ts';

const TEMPLATES = [
  (file: string, directory: string, name: string) =>
    `move file ${file} into directory ${directory} then rename it to name ${name}`,
  (file: string, directory: string, name: string) =>
    `file ${file} belongs in directory ${directory} with name ${name} so move it and then rename it`,
] as const;

/** Move a file, then rename it: nine steps. */
export const moveRename: Family = {
  name: 'move_rename',
  difficulty: 2,
  assign(random, names) {
    const [target, home, elsewhere] = [names.take(), names.take(), names.take()];
    const [file, newName] = [names.take(), names.take()];
    const others = names.takeMany(3).map((name) => plainFile(name, random.pick([home, elsewhere]), random));
    return {
      text: random.pick(TEMPLATES)(file, target, newName),
      scenario: {
        files: [plainFile(file, home, random), ...others],
        directories: [target, home, elsewhere],
        names: [newName, ...names.takeMany(2)],
        tray: fillTray(['move', 'rename'], random),
        reads: [],
        jobs: [
          { tool: 'move', arguments: [file, target] },
          { tool: 'rename', arguments: [file, newName] },
        ],
      },
    };
  },
  grade: reachesGoal,
};
