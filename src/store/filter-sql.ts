import { z } from 'zod';
import { LabError } from '../domain/error.ts';
import { BEHAVIOUR_NAMES } from '../domain/failure.ts';
import { behaviourMask, type EpisodeColumn } from './episode-row.ts';
import type { ChoiceField, FilterNode, FilterSort, FilterTerm, Flag, NumberField } from './filter-tree.ts';

/** A condition on `episodes`, never NULL, in brackets where it needs them, with the values of its ?s. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
}

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
} as const satisfies Record<NumberField, EpisodeColumn>;

const CHOICE_COLUMNS = {
  fail: 'failure',
  behaviour: 'behaviours',
  family: 'family',
  env: 'env',
  host: 'host',
  phase: 'phase',
  mode: 'mode',
  split: 'split',
  trust: 'trust',
} as const satisfies Record<ChoiceField, EpisodeColumn>;

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

/** Sequences of the episodes whose text has what is quoted; null where no text can be searched. */
export type TextSearch = (text: string) => Uint32Array | null;
const NO_SEARCH: TextSearch = () => null;

/** The condition that a filter stands for. Every value is a bound parameter. */
export function filterToSql(node: FilterNode, search: TextSearch = NO_SEARCH): SqlCondition {
  const toSql = (part: FilterNode): SqlCondition => filterToSql(part, search);
  switch (node.kind) {
    case 'all':
      return join(node.parts.map(toSql), ' AND ', '1');
    case 'any':
      return join(node.parts.map(toSql), ' OR ', '0');
    case 'not': {
      const part = toSql(node.part);
      return { sql: `NOT ${part.sql}`, parameters: part.parameters };
    }
    case 'choice':
    case 'flag':
    case 'numbers':
    case 'range':
    case 'compare':
      return termToSql(node);
    case 'text':
      return textToSql(node.text, search(node.text));
  }
}

/** What comes after ORDER BY. */
export function orderToSql(sort: FilterSort): string {
  if (sort.field === 'id') return `sequence ${direction(sort)}`;
  return `${sortColumn(sort)} ${direction(sort)} NULLS LAST, sequence DESC`;
}

/** The column that is sorted by. */
export function sortColumn(sort: FilterSort): EpisodeColumn {
  return NUMBER_COLUMNS[sort.field];
}

const cursorSchema = z.tuple([z.string(), z.number().nullable(), z.int().nonnegative()]);

/** Names a place in a sorted list: just after the row with this value and sequence. */
export function cursorOf(value: unknown, sequence: unknown, sort: FilterSort): string {
  return JSON.stringify([orderToSql(sort), value, sequence]);
}

/** What comes after a cursor's place; everything for null. Throws `usage` for one of another order, or none at all. */
export function afterCursor(sort: FilterSort, cursor: string | null): SqlCondition {
  if (cursor === null) return { sql: '1', parameters: [] };
  const [order, value, sequence] = readCursor(cursor);
  if (order !== orderToSql(sort)) throw badCursor(`it was made for the order "${order}"`);
  const column = sortColumn(sort);
  const beyond = sort.descending ? '<' : '>';
  if (sort.field === 'id') return { sql: `sequence ${beyond} ?`, parameters: [sequence] };
  if (value === null) return { sql: `(${column} IS NULL AND sequence < ?)`, parameters: [sequence] };
  const missing = sort.field === 'reward' ? ` OR ${column} IS NULL` : '';
  return {
    sql: `(${column} ${beyond} ? OR (${column} = ? AND sequence < ?)${missing})`,
    parameters: [value, value, sequence],
  };
}

function termToSql(term: Exclude<FilterTerm, { kind: 'text' }>): SqlCondition {
  switch (term.kind) {
    case 'choice':
      return choiceToSql(term.field, term.values);
    case 'flag':
      return {
        sql: `(${term.flags.map((flag) => FLAG_CONDITIONS[flag]).join(' OR ')})`,
        parameters: [],
      };
    case 'numbers':
      return present(term.field, oneOf(NUMBER_COLUMNS[term.field], term.values));
    case 'range':
      return present(term.field, {
        sql: `${NUMBER_COLUMNS[term.field]} BETWEEN ? AND ?`,
        parameters: [term.from, term.to],
      });
    case 'compare':
      return present(term.field, {
        sql: `${NUMBER_COLUMNS[term.field]} ${term.comparison} ?`,
        parameters: [term.value],
      });
  }
}

function choiceToSql(field: ChoiceField, values: readonly string[]): SqlCondition {
  if (field === 'behaviour') {
    const mask = behaviourMask(BEHAVIOUR_NAMES.filter((name) => values.includes(name)));
    return { sql: '((behaviours & ?) <> 0)', parameters: [mask] };
  }
  if (field !== 'fail') return bracketed(oneOf(CHOICE_COLUMNS[field], values));
  const conditions: SqlCondition[] = [];
  const types = values.filter((value) => value !== 'any' && value !== 'none');
  if (values.includes('any')) conditions.push({ sql: 'failure IS NOT NULL', parameters: [] });
  if (values.includes('none')) conditions.push({ sql: 'failure IS NULL', parameters: [] });
  if (types.length > 0) {
    const listed = oneOf('failure', types);
    conditions.push({ sql: `(failure IS NOT NULL AND ${listed.sql})`, parameters: listed.parameters });
  }
  return join(conditions, ' OR ', '0');
}

function textToSql(text: string, found: Uint32Array | null): SqlCondition {
  const pattern = `%${text.replace(/[\\%_]/gu, '\\$&')}%`;
  const columns = ['failure_detail', 'failure', 'family'] as const satisfies readonly EpisodeColumn[];
  const conditions: SqlCondition[] = columns.map((column) => ({
    sql: `ifnull(${column} LIKE ? ESCAPE '\\', 0)`,
    parameters: [pattern],
  }));
  if (found !== null) {
    const list = `[${found.join()}]`;
    conditions.push({ sql: 'sequence IN (SELECT value FROM json_each(?))', parameters: [list] });
  }
  return join(conditions, ' OR ', '0');
}

function oneOf(column: EpisodeColumn, values: readonly (string | number)[]): SqlCondition {
  const sql = values.length === 1 ? `${column} = ?` : `${column} IN (${values.map(() => '?').join(', ')})`;
  return { sql, parameters: values };
}

/** Without a value a condition is false, not unknown: so its negation is true. */
function present(field: NumberField, condition: SqlCondition): SqlCondition {
  if (field !== 'reward') return bracketed(condition);
  return { sql: `(reward IS NOT NULL AND ${condition.sql})`, parameters: condition.parameters };
}

function bracketed(condition: SqlCondition): SqlCondition {
  return { sql: `(${condition.sql})`, parameters: condition.parameters };
}

function join(parts: readonly SqlCondition[], operator: string, empty: string): SqlCondition {
  if (parts.length === 0) return { sql: empty, parameters: [] };
  return {
    sql: `(${parts.map((part) => part.sql).join(operator)})`,
    parameters: parts.flatMap((part) => part.parameters),
  };
}

function direction(sort: FilterSort): string {
  return sort.descending ? 'DESC' : 'ASC';
}

function readCursor(cursor: string): z.infer<typeof cursorSchema> {
  try {
    return cursorSchema.parse(JSON.parse(cursor));
  } catch {
    throw badCursor('it is not one of ours');
  }
}

function badCursor(why: string): LabError {
  return new LabError('usage', {
    message: `the page cannot be continued: ${why}`,
    hint: 'ask for the first page again, then use the `next` that it gives, with the same filter',
  });
}
