import { parseArgs } from 'node:util';
import { type Benchmark, machine } from './benchmark.ts';
import { classic } from './classic.bench.ts';
import { growth } from './growth.bench.ts';
import { learning } from './learning.bench.ts';
import { memory } from './memory.bench.ts';
import { metrics } from './metrics.bench.ts';
import { rollout } from './rollout.bench.ts';
import { update } from './update.bench.ts';

const BENCHMARKS: readonly Benchmark[] = [rollout, update, growth, learning, classic, memory, metrics];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '8' },
    minutes: { type: 'string', default: '10' },
    seeds: { type: 'string', default: '1,2,3' },
    slots: { type: 'string' },
  },
});

const [name] = positionals;
const benchmark = BENCHMARKS.find((candidate) => candidate.name === name);
if (benchmark === undefined) {
  console.error(
    'usage: npm run bench -- NAME [--json] [--seconds S] [--slots N] [--minutes M] [--seeds 1,2,3]\n',
  );
  for (const each of BENCHMARKS) console.error(`  ${each.name.padEnd(10)} ${each.measures}`);
  process.exit(2);
}

const { figures, conditions, details } = await benchmark.run({
  seconds: Number(values.seconds),
  minutes: Number(values.minutes),
  seeds: values.seeds.split(',').map(Number),
  slots: values.slots === undefined ? null : Number(values.slots),
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
