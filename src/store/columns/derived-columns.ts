import type Database from 'better-sqlite3';
import {
  type FilterNode,
  type FilterSort,
  type FixedNumberField,
  isTool,
  type NumberField,
  type ToolField,
  toolOf,
} from '../filter-tree.ts';
import { schemaVersion } from '../migrations.ts';
import type { Block } from './block.ts';
import { Column } from './column.ts';

/** Fields whose numbers are in no stored column: they are read from the rest of a row when somebody asks for them. */
export type DerivedField = Extract<FixedNumberField, 'agents' | `stage.${string}`> | ToolField;

const FIXED = {
  // An episode of one agent has no such list.
  agents: "max(1, (SELECT count(*) FROM json_each(more, '$.agentRewards')))",
  'stage.reset': "coalesce(more ->> '$.stages.resetMs', 0)",
  'stage.step': "coalesce(more ->> '$.stages.stepMs', 0)",
  'stage.inference': "coalesce(more ->> '$.stages.inferenceMs', 0)",
} as const satisfies Record<Exclude<DerivedField, ToolField>, string>;

/** SQL for a field's number of a row of `episodes`, from column `more`. */
export function derivedSql(field: DerivedField): string {
  const tool = toolOf(field);
  if (tool === null) return isTool(field) ? '0' : FIXED[field];
  // Names of tools in filters are letters, digits and "_.-" (filter.ts): nothing that ends a quote.
  const value = `more ->> '$.tools.byName."${tool.tool}".${tool.count}'`;
  // A tool that was not used was used 0 times, but in no time at all.
  return tool.count === 'ms' ? value : `coalesce(${value}, 0)`;
}

/** Whether a field has no stored column. */
export function isDerived(field: NumberField): field is DerivedField {
  return isTool(field) || field === 'agents' || field.startsWith('stage.');
}

/** The fields of a condition and an order that blocks have no stored column of. */
export function derivedFields(where: FilterNode, sort: FilterSort | null): readonly DerivedField[] {
  const fields = new Set<DerivedField>();
  const visit = (node: FilterNode): void => {
    if (node.kind === 'all' || node.kind === 'any') node.parts.forEach(visit);
    else if (node.kind === 'not') visit(node.part);
    else if (node.kind === 'numbers' || node.kind === 'range' || node.kind === 'compare') {
      if (isDerived(node.field)) fields.add(node.field);
    }
  };
  visit(where);
  if (sort !== null && isDerived(sort.field)) fields.add(sort.field);
  return [...fields];
}

/**
 * Columns that no row pays for: agents, stage times and single tools, which few filters name. The first filter that does reads them
 * from the rows, about 2 µs each; they stay with their block, and blocks never change.
 */
export class DerivedColumns {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  /** Gives every block a column for each field. Call it in the transaction in which the blocks were read. */
  add(blocks: readonly Block[], fields: readonly DerivedField[]): void {
    for (const field of fields) {
      const lacking = blocks.filter(({ derived }) => !derived.has(field));
      if (lacking.length === 0) continue;
      const select = this.#select(field);
      for (const block of lacking) block.derived.set(field, columnOf(numbersOf(block, select)));
    }
  }

  #select(field: DerivedField): ValueReader {
    // Version 1 has no column `more`: nothing is known of stages and tools of then.
    const value = schemaVersion(this.#database) < 2 ? 'NULL' : derivedSql(field);
    const sql = `SELECT sequence, ${value} FROM episodes WHERE sequence`;
    return {
      between: this.#database.prepare<[number, number], NumberedValue>(`${sql} BETWEEN ? AND ?`).raw(),
      one: this.#database.prepare<[number], NumberedValue>(`${sql} = ?`).raw(),
    };
  }
}

/** Number of an episode, and its value. */
type NumberedValue = [number, number | null];

interface ValueReader {
  readonly between: Database.Statement<[number, number], NumberedValue>;
  readonly one: Database.Statement<[number], NumberedValue>;
}

/** A block whose numbers reach so many times as far as it has rows is read row by row: one straggler would have all of a run read. */
const WIDE = 4;

/** The value of each row of a block; null where the table lacks the row. */
function numbersOf(block: Block, { between, one }: ValueReader): (number | null)[] {
  const sequences = block.columns.get('sequence');
  const values: (number | null)[] = Array.from({ length: block.rows }, () => null);
  if (sequences === undefined) return values;
  const { numbers, codes } = sequences;
  const [first = 0, last = -1] = [numbers[0], numbers.at(-1)];
  const found = new Map<number, number | null>();
  const isWide = last - first > WIDE * block.rows;
  const rows = isWide
    ? Array.from(numbers, (sequence) => one.get(sequence) ?? ([sequence, null] as const))
    : between.iterate(first, last);
  for (const [sequence, value] of rows) found.set(sequence, value);
  // Episodes are stored in another order than they are numbered in.
  for (let row = 0; row < block.rows; row += 1) {
    values[row] = found.get(numbers[codes?.[row] ?? 0] ?? -1) ?? null;
  }
  return values;
}

function columnOf(values: readonly (number | null)[]): Column {
  const distinct = Float64Array.from(new Set(values.filter((value) => value !== null))).toSorted();
  const codeOf = new Map<number | null, number>([[null, distinct.length]]);
  for (const [code, value] of distinct.entries()) codeOf.set(value, code);
  const hasMissing = values.includes(null);
  const codes = Uint16Array.from(values, (value) => codeOf.get(value) ?? distinct.length);
  return new Column({
    kind: 'number',
    codes: distinct.length + Number(hasMissing) > 1 ? codes : null,
    distinct: distinct.length,
    hasMissing,
    numbers: () => distinct,
    texts: () => [],
  });
}
