import { BEHAVIOUR_NAMES } from '../../src/domain/failure.ts';
import { type DerivedField, derivedSql, isDerived } from '../../src/store/columns/derived-columns.ts';
import { behaviourMask } from '../../src/store/episode-row.ts';
import {
  type ChoiceField,
  type FilterNode,
  type FilterSort,
  type FilterTerm,
  type Flag,
  isPart,
  type NumberField,
  PART_PREFIX,
  type PartField,
} from '../../src/store/filter-tree.ts';

/** A condition on table `episodes`, never NULL, in brackets where it needs them, with the values of its ?s. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
}

/** Where SQL is not the same everywhere. */
export interface Dialect {
  /** The operator that looks for a pattern whatever the case of ASCII letters. */
  readonly like: 'LIKE' | 'ILIKE';
  /** What component `name` paid, or NULL. */
  component(name: string): string;
}

export const SQLITE: Dialect = {
  like: 'LIKE',
  component: (name) => `json_extract(components, '$."${name.replaceAll("'", "''")}"')`,
};

/** Of the table that duckdb.ts makes, where each component is a column. */
export const DUCKDB: Dialect = { like: 'ILIKE', component: (name) => `part_${name}` };

const NUMBER_COLUMNS = {
  id: 'sequence',
  steps: 'steps',
  reward: 'reward',
  iter: 'iteration',
  policy: 'policy_version',
  worker: 'worker',
  slot: 'slot',
  difficulty: 'difficulty',
  index: 'task_index',
  attempt: 'attempt',
  ms: 'wall_ms',
  age: 'started_at',
  started: 'started_at',
  'tool.calls': 'tool_calls',
  'tool.failed': 'tool_failed',
} as const satisfies Record<Exclude<NumberField, PartField | DerivedField>, string>;

const CHOICE_COLUMNS = {
  fail: 'failure',
  stage: 'failure_stage',
  behaviour: 'behaviours',
  family: 'family',
  env: 'env',
  host: 'host',
  phase: 'phase',
  mode: 'mode',
  split: 'split',
  trust: 'trust',
  tag: 'tags',
  detail: 'failure_detail',
  ended: "(CASE WHEN trust = 'void' THEN 'void' WHEN truncated = 1 THEN 'truncated' ELSE 'terminated' END)",
} as const satisfies Record<ChoiceField, string>;

const FLAG_CONDITIONS = {
  success: 'success = 1',
  failed: 'success = 0',
  void: "trust = 'void'",
  truncated: 'truncated = 1',
  terminated: 'terminated = 1',
  train: "phase = 'train'",
  eval: "phase = 'eval'",
  heldout: "split = 'held_out'",
} as const satisfies Record<Flag, string>;

/** What an SQL condition depends on beside the filter. */
export interface SqlContext {
  readonly dialect: Dialect;
  /** Now, in ms since the epoch. */
  readonly now: number;
}

/**
 * The plain way to answer a filter: a condition for a database to scan its table with. The lab answers filters from columns
 * (src/store/columns); this is what tests hold them to, and benchmarks compare them with.
 */
export function filterToSql(node: FilterNode, context: SqlContext): SqlCondition {
  switch (node.kind) {
    case 'all':
      return join(
        node.parts.map((part) => filterToSql(part, context)),
        ' AND ',
        '(1 = 1)',
      );
    case 'any':
      return join(
        node.parts.map((part) => filterToSql(part, context)),
        ' OR ',
        '(1 = 0)',
      );
    case 'not': {
      const part = filterToSql(node.part, context);
      return { sql: `(NOT ${part.sql})`, parameters: part.parameters };
    }
    case 'choice':
      return choiceToSql(node.field, node.values, context.dialect);
    case 'flag':
      return { sql: `(${node.flags.map((flag) => FLAG_CONDITIONS[flag]).join(' OR ')})`, parameters: [] };
    case 'numbers':
    case 'range':
    case 'compare':
      return numberToSql(node, context);
    case 'text':
      return textToSql(node.text, context.dialect);
  }
}

/** What comes after ORDER BY. */
export function orderToSql(sort: FilterSort, dialect: Dialect): string {
  const direction = sort.descending !== (sort.field === 'age') ? 'DESC' : 'ASC';
  return `${columnOf(sort.field, dialect)} ${direction} NULLS LAST, sequence DESC`;
}

function columnOf(field: NumberField, dialect: Dialect): string {
  if (isDerived(field)) return `(${derivedSql(field)})`;
  return isPart(field) ? dialect.component(field.slice(PART_PREFIX.length)) : NUMBER_COLUMNS[field];
}

type NumberTerm = Extract<FilterTerm, { readonly kind: 'numbers' | 'range' | 'compare' }>;

function numberToSql(term: NumberTerm, { dialect, now }: SqlContext): SqlCondition {
  const column = columnOf(term.field, dialect);
  const isAge = term.field === 'age';
  const value = (number: number): number => (isAge ? now - number : number);
  switch (term.kind) {
    case 'numbers':
      return present(column, oneOf(column, term.values.map(value)));
    case 'range': {
      const ends = [value(term.from), value(term.to)];
      return present(column, {
        sql: `${column} BETWEEN ? AND ?`,
        parameters: [Math.min(...ends), Math.max(...ends)],
      });
    }
    case 'compare': {
      const turned = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;
      const comparison = isAge ? turned[term.comparison] : term.comparison;
      return present(column, { sql: `${column} ${comparison} ?`, parameters: [value(term.value)] });
    }
  }
}

function choiceToSql(field: ChoiceField, values: readonly string[], { like }: Dialect): SqlCondition {
  const column = CHOICE_COLUMNS[field];
  if (field === 'behaviour') {
    const mask = behaviourMask(BEHAVIOUR_NAMES.filter((name) => values.includes(name)));
    return { sql: '((behaviours & ?) <> 0)', parameters: [mask] };
  }
  if (field === 'detail') return anyPart(column, values, like);
  if (field === 'tag') {
    const listed = oneOf('value', values);
    return {
      sql: `EXISTS (SELECT 1 FROM json_each(tags) WHERE ${listed.sql})`,
      parameters: listed.parameters,
    };
  }
  if (field !== 'fail' && field !== 'stage') return present(column, oneOf(column, values));
  const conditions = [present(column, oneOf(column, values))];
  if (values.includes('any')) conditions.push({ sql: `${column} IS NOT NULL`, parameters: [] });
  if (values.includes('none')) conditions.push({ sql: `${column} IS NULL`, parameters: [] });
  return join(conditions, ' OR ', '(1 = 0)');
}

function patternOf(text: string): string {
  return `%${text.replace(/[\\%_]/gu, '\\$&')}%`;
}

function anyPart(column: string, texts: readonly string[], like: Dialect['like']): SqlCondition {
  const conditions = texts.map((text) => ({
    sql: `coalesce(${column} ${like} ? ESCAPE '\\', false)`,
    parameters: [patternOf(text)],
  }));
  return join(conditions, ' OR ', '(1 = 0)');
}

function textToSql(text: string, { like }: Dialect): SqlCondition {
  const pattern = patternOf(text);
  const columns = ['failure_detail', 'failure', 'family'];
  return {
    sql: `(${columns.map((column) => `coalesce(${column} ${like} ? ESCAPE '\\', false)`).join(' OR ')})`,
    parameters: columns.map(() => pattern),
  };
}

function oneOf(column: string, values: readonly (string | number)[]): SqlCondition {
  const sql = values.length === 1 ? `${column} = ?` : `${column} IN (${values.map(() => '?').join(', ')})`;
  return { sql, parameters: values };
}

/** Without a value a condition is false, not unknown: so its negation is true. */
function present(column: string, condition: SqlCondition): SqlCondition {
  return { sql: `(${column} IS NOT NULL AND ${condition.sql})`, parameters: condition.parameters };
}

function join(parts: readonly SqlCondition[], operator: string, empty: string): SqlCondition {
  if (parts.length === 0) return { sql: empty, parameters: [] };
  return {
    sql: `(${parts.map((part) => part.sql).join(operator)})`,
    parameters: parts.flatMap((part) => part.parameters),
  };
}
