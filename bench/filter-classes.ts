import { FAILURE_TYPES } from '../src/domain/failure.ts';
import type { RandomStream } from '../src/domain/random.ts';

/** Filters of one kind: each call gives another one, so that no answer is known before. */
export interface FilterClass {
  readonly name: string;
  readonly make: (random: RandomStream) => string;
}

const FAMILIES = ['ordered', 'read_then_enter', 'report', 'move', 'lookup_2', 'audit_3'];

/** What people ask, one to four terms, from everything to a handful of episodes. */
export const FILTER_CLASSES: readonly FilterClass[] = [
  { name: 'everything', make: (random) => `id>=${random.integer(500)}` },
  { name: 'failure type', make: (random) => `fail:${random.pick(FAILURE_TYPES)} id>=${random.integer(500)}` },
  { name: 'number', make: (random) => `reward<${real(random, -0.5, 1.5)}` },
  { name: 'range', make: (random) => `iter:${random.integer(900)}..${1000 + random.integer(900)}` },
  {
    name: 'name and number',
    make: (random) => `family:${random.pick(FAMILIES)} steps>${random.integer(40)}`,
  },
  {
    name: 'four numbers, most match',
    make: (random) =>
      `steps>${random.integer(5)} reward>${real(random, -0.6, 0)} iter>${random.integer(200)} ms>${random.integer(200)}`,
  },
  {
    name: 'four terms',
    make: (random) =>
      `fail:wrong_result,gave_up family:${random.pick(FAMILIES)} reward<${real(random, -0.2, 0.3)} tool.failed>${random.integer(4)}`,
  },
  {
    name: 'or, negation, brackets',
    make: (random) =>
      `-(fail:any or steps>${random.integer(40)}) or behaviour:loop -family:${random.pick(FAMILIES)}`,
  },
  { name: 'component', make: (random) => `part.progress>${real(random, 0, 0.5)} -is:void` },
  { name: 'age', make: (random) => `age<${1 + random.integer(10)}m host:gpu${1 + random.integer(11)}` },
  { name: 'text', make: (random) => `"10.0.${random.integer(12)}.${random.integer(25)}"` },
  {
    name: 'sorted by reward',
    make: (random) => `is:heldout,failed iter>${random.integer(1000)} sort:-reward`,
  },
  { name: 'all, sorted', make: (random) => `id>${random.integer(500)} sort:-ms` },
];

function real(random: RandomStream, from: number, to: number): string {
  return (from + random.next() * (to - from)).toFixed(3);
}
