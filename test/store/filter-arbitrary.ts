import fc from 'fast-check';
import type { Filter } from '../../src/store/filter.ts';
import {
  allOf,
  anyOf,
  CHOICE_FIELD_NAMES,
  CHOICE_FIELDS,
  COMPARISONS,
  type FilterNode,
  type FilterTerm,
  FLAG_NAMES,
  NUMBER_FIELD_NAMES,
  type NumberField,
  not,
} from '../../src/store/filter-tree.ts';

/** When the first of the episodes that filters are tried on began; each later one a minute later. */
export const FIRST_START = 1_790_000_000_000;

/** Numbers of the size that episodes have, so that terms match some and not others. */
const numbers = fc.oneof(
  fc.integer({ min: -3, max: 60 }),
  fc.double({ min: -2, max: 12, noNaN: true }).map((value) => value + 0),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  // Times and ages: those of the episodes, and what lies between.
  fc.integer({ min: 0, max: 160 }).map((minutes) => minutes * 60_000),
  fc.integer({ min: 0, max: 160 }).map((minutes) => FIRST_START + minutes * 60_000),
);
const names = fc.oneof(
  fc.constantFrom(
    'read_then_enter',
    'ordered',
    'local',
    'gpu-1',
    'workbench',
    'or',
    '-x',
    'a b',
    'say "x"',
    'any',
    'none',
    'hard',
    'long form',
    'step',
    'reset',
    'detail of',
    'MAX_',
    '\\',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }).filter((text) => !text.includes('\0')),
);
const fields: fc.Arbitrary<NumberField> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...NUMBER_FIELD_NAMES) },
  { weight: 1, arbitrary: fc.constantFrom('part.goal', 'part.step', 'part.Odd-1.x', 'part.never') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<NumberField>(
      'tool.open.calls',
      'tool.open.failed',
      'tool.open.ms',
      'tool.Odd-1.x.failed',
      'tool.calls.failed',
      'tool.never.calls',
    ),
  },
);

const choices = fc.constantFrom(...CHOICE_FIELD_NAMES).chain((field) => {
  const known = CHOICE_FIELDS[field].values;
  const values = known === null ? names : fc.constantFrom<string>(...known);
  return fc
    .uniqueArray(values, { minLength: 1, maxLength: 3 })
    .map((chosen) => ({ kind: 'choice', field, values: chosen }) as const);
});

const terms: fc.Arbitrary<FilterTerm> = fc.oneof(
  choices,
  fc.record({
    kind: fc.constant('flag' as const),
    flags: fc.uniqueArray(fc.constantFrom(...FLAG_NAMES), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    kind: fc.constant('numbers' as const),
    field: fields,
    values: fc.uniqueArray(numbers, { minLength: 1, maxLength: 3 }),
  }),
  fc.tuple(fields, numbers, numbers).map(([field, one, other]) => ({
    kind: 'range' as const,
    field,
    from: Math.min(one, other),
    to: Math.max(one, other),
  })),
  fc.record({
    kind: fc.constant('compare' as const),
    field: fields,
    comparison: fc.constantFrom(...COMPARISONS),
    value: numbers,
  }),
  fc
    .oneof(names, fc.constantFrom('STEP', 'detail', '%', '_', 'gave'))
    .map((text) => ({ kind: 'text' as const, text })),
);

const nodes = fc.letrec<{ node: FilterNode }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    terms,
    fc.array(tie('node'), { maxLength: 3 }).map(allOf),
    fc.array(tie('node'), { maxLength: 3 }).map(anyOf),
    tie('node').map(not),
  ),
})).node;

/** Any filter that a text can say. */
export const filters: fc.Arbitrary<Filter> = fc.record({
  where: nodes,
  sort: fc.record({ field: fields, descending: fc.boolean() }),
});
