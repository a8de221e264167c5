import type { Family } from './family.ts';
import { fillTray, plainFile, type ScenarioFile } from './scenario.ts';
import { reachesGoal } from './world.ts';

const PARAMETERS = ['format', 'recipient', 'channel', 'owner'] as const;

const TEMPLATES = [
  (parameter: string, config: string) => `report the ${parameter} that config ${config} gives`,
  (parameter: string, config: string) => `look up the ${parameter} in config ${config} and then report it`,
] as const;

/** Read a parameter from a config, then report it: five steps. The config gives two; others give them too. */
export const configReport: Family = {
  name: 'config_report',
  difficulty: 1,
  assign(random, names) {
    const directories = names.takeMany(2);
    const [first, second] = random.shuffle(PARAMETERS);
    const parameters = [first ?? PARAMETERS[0], second ?? PARAMETERS[1]];
    const makeConfig = (): ScenarioFile => {
      const values = names.takeMany(2);
      const text = parameters.map((parameter, index) => `${parameter} ${values[index]}`).join(' ');
      return { name: names.take(), directory: random.pick(directories), text, values };
    };
    const config = makeConfig();
    const asked = random.integer(parameters.length);
    return {
      text: random.pick(TEMPLATES)(parameters[asked] ?? '', config.name),
      scenario: {
        files: [
          config,
          makeConfig(),
          makeConfig(),
          plainFile(names.take(), random.pick(directories), random),
        ],
        directories,
        names: [],
        tray: fillTray(['report'], random),
        reads: [config.name],
        jobs: [{ tool: 'report', arguments: [config.values[asked] ?? ''] }],
      },
    };
  },
  grade: reachesGoal,
};
