import type { Family } from './family.ts';
import { fillTray, type ScenarioFile } from './scenario.ts';
import { reachesGoal } from './world.ts';

const TEMPLATES = [
  (file: string) => `open file ${file} and answer with the code in the file that it names`,
  (file: string) => `file ${file} names another file so answer with the code found there`,
] as const;

/** Follow a reference from one file to another and answer with what that one says: six steps. */
export const reference: Family = {
  name: 'reference',
  difficulty: 1,
  assign(random, names) {
    const directories = names.takeMany(2);
    const makeCoded = (): ScenarioFile => {
      const code = names.take();
      return {
        name: names.take(),
        directory: random.pick(directories),
        text: `code ${code}`,
        values: [code],
      };
    };
    const makeReference = (to: string): ScenarioFile => ({
      name: names.take(),
      directory: random.pick(directories),
      text: `see file ${to}`,
      values: [],
    });
    const target = makeCoded();
    const decoys = [makeCoded(), makeCoded()];
    const start = makeReference(target.name);
    return {
      text: random.pick(TEMPLATES)(start.name),
      scenario: {
        files: [start, target, ...decoys, makeReference(random.pick(decoys).name)],
        directories,
        names: [],
        tray: fillTray(['answer'], random),
        reads: [start.name, target.name],
        jobs: [{ tool: 'answer', arguments: [...target.values] }],
      },
    };
  },
  grade: reachesGoal,
};
