import { scoreOf } from './fragment-score.ts';
import { classicGoals, classicNameSchema, classicSettings } from './fragment-tasks.ts';

/** A process of the classic benchmark: trains on one task with one seed; prints one JSON object. */

const env = classicNameSchema.parse(process.argv[2]);
const score = await scoreOf(classicSettings(env, Number(process.argv[3])), classicGoals[env]);
const { user, system } = process.cpuUsage();
// Both from the start of the process on.
const times = { wallS: performance.now() / 1000, cpuS: (user + system) / 1e6 };
console.log(JSON.stringify({ ...score, ...times }));
process.exit(0);
