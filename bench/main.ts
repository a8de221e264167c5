import { parseArgs } from 'node:util';
import { errorText, errorWithHint, LabError } from '../src/domain/error.ts';
import { type Benchmark, type BenchmarkOptions, type BenchmarkResult, machine } from './benchmark.ts';
import { classic } from './classic.bench.ts';
import { filter } from './filter.bench.ts';
import { growth } from './growth.bench.ts';
import { latency } from './latency.bench.ts';
import { learning } from './learning.bench.ts';
import { memory } from './memory.bench.ts';
import { metrics } from './metrics.bench.ts';
import { pipeline } from './pipeline.bench.ts';
import { pool } from './pool.bench.ts';
import { pressure } from './pressure.bench.ts';
import { replay } from './replay.bench.ts';
import { rollout } from './rollout.bench.ts';
import { soak } from './soak.bench.ts';
import { startup } from './startup.bench.ts';
import { store } from './store.bench.ts';
import { text as textSearch } from './text.bench.ts';
import { tui } from './tui.bench.ts';
import { update } from './update.bench.ts';

const BENCHMARKS: readonly Benchmark[] = [
  rollout,
  latency,
  pool,
  update,
  growth,
  learning,
  classic,
  memory,
  pipeline,
  pressure,
  soak,
  textSearch,
  filter,
  store,
  metrics,
  tui,
  startup,
  replay,
];

const USAGE =
  'usage: npm run bench -- NAME [--json] [--seconds S] [--slots N] [--episodes N] [--directory DIR] [--run DIR] [--minutes M] [--seeds 1,2,3]';

const { values, positionals } = readArguments();
if (values.help) {
  console.log(usage());
  process.exit(0);
}
const [name] = positionals;
const benchmark = BENCHMARKS.find((candidate) => candidate.name === name);
if (benchmark === undefined)
  refuse(name === undefined ? 'which benchmark?' : `there is no benchmark "${name}"`);

const { figures, conditions, details } = await measured(benchmark, {
  seconds: numberOf('seconds', values.seconds, 0),
  minutes: numberOf('minutes', values.minutes, 0),
  seeds: values.seeds.split(',').map((seed) => numberOf('seeds', seed, 0)),
  slots: values.slots === undefined ? null : numberOf('slots', values.slots, 1),
  run: values.run ?? null,
  episodes: values.episodes === undefined ? null : numberOf('episodes', values.episodes, 1),
  directory: values.directory ?? null,
  say: (line) => console.error(line),
});
const result = { name: benchmark.name, figures, conditions: { ...machine(), ...conditions } };
if (values.json) {
  console.log(JSON.stringify(result));
} else {
  for (const line of details ?? []) console.log(line);
  for (const [figure, value] of Object.entries(figures)) {
    console.log(`${figure.padEnd(22)} ${value === null ? 'not reached' : formatFigure(value)}`);
  }
  console.log(
    Object.entries(result.conditions)
      .map(([key, value]) => `${key} ${value}`)
      .join(' · '),
  );
}
process.exit(0);

function formatFigure(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}

/** Runs it; what it says of a wrong option is for people, without a trace. */
async function measured(chosen: Benchmark, options: BenchmarkOptions): Promise<BenchmarkResult> {
  try {
    return await chosen.run(options);
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    console.error(errorWithHint(thrown));
    process.exit(1);
  }
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        json: { type: 'boolean', default: false },
        seconds: { type: 'string', default: '8' },
        minutes: { type: 'string', default: '10' },
        seeds: { type: 'string', default: '1,2,3' },
        slots: { type: 'string' },
        episodes: { type: 'string' },
        directory: { type: 'string' },
        run: { type: 'string' },
      },
    });
  } catch (thrown) {
    return refuse(errorText(thrown));
  }
}

function numberOf(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least) return value;
  return refuse(`--${option} is "${text}": wanted a number, ${least} or more`);
}

function refuse(reason: string): never {
  console.error(`${reason}\n\n${usage()}`);
  process.exit(2);
}

function usage(): string {
  return [
    USAGE,
    '',
    ...BENCHMARKS.map(({ name: each, measures }) => `  ${each.padEnd(10)} ${measures}`),
  ].join('\n');
}
