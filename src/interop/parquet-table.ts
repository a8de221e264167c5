import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { LAB_VERSION } from '../domain/lab-version.ts';
import type { ByteOutput } from './byte-output.ts';
import type { Cell, CellType, TableColumn, TableWriter } from './table.ts';

/** Rows held in memory until a row group is written. */
const GROUP_ROWS = 10_000;

/** Bytes stand in the file as they are: they are compressed already, and can be read from their place. */
const AS_IT_IS = { encoding: 'PLAIN', codec: 'UNCOMPRESSED', statistics: false } as const;

/** A value as the writer of the format wants it. */
type ParquetCell = Exclude<Cell, number> | number | bigint;

/**
 * Parquet, Snappy-compressed, in row groups of GROUP_ROWS rows, so that memory does not grow with the file. Integers are INT64,
 * numbers DOUBLE, times TIMESTAMP(ms, UTC), lists LIST; every column but lists may be null.
 */
export function parquetTable<Row>(
  columns: readonly TableColumn<Row>[],
  output: ByteOutput,
): TableWriter<Row> {
  const bytes = new ByteWriter();
  const schema = [{ name: 'root', num_children: columns.length }, ...columns.flatMap(columnSchema)];
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: `agentrl-lab ${LAB_VERSION}` });
  let rows: Row[] = [];
  const handOn = (): void => {
    output.write(bytes.getBytes().slice());
    bytes.index = 0;
  };
  const flush = (): void => {
    if (rows.length === 0) return;
    const columnData = columns.map(({ name, type, value }) => ({
      name,
      data: rows.map((row) => parquetCell(type, value(row))),
      ...(type === 'bytes' ? AS_IT_IS : {}),
    }));
    void writer.write({ columnData, rowGroupSize: GROUP_ROWS });
    rows = [];
    handOn();
  };
  return {
    write: (row) => {
      rows.push(row);
      if (rows.length === GROUP_ROWS) flush();
    },
    close: () => {
      flush();
      void writer.finish();
      handOn();
    },
  };
}

/** The elements of a column in the file's schema, depth first. */
function columnSchema({ name, type }: TableColumn<never>): SchemaElement[] {
  switch (type) {
    case 'text':
      return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' }];
    case 'integer':
      return [{ name, type: 'INT64', repetition_type: 'OPTIONAL' }];
    case 'number':
      return [{ name, type: 'DOUBLE', repetition_type: 'OPTIONAL' }];
    case 'flag':
      return [{ name, type: 'BOOLEAN', repetition_type: 'OPTIONAL' }];
    case 'bytes':
      return [{ name, type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' }];
    case 'time':
      return [
        {
          name,
          type: 'INT64',
          converted_type: 'TIMESTAMP_MILLIS',
          logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
          repetition_type: 'OPTIONAL',
        },
      ];
    case 'texts':
      return listSchema(name, [
        { name: 'element', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
      ]);
    case 'parts':
      return listSchema(name, [
        { name: 'element', num_children: 5, repetition_type: 'REQUIRED' },
        { name: 'name', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
        ...['raw', 'weighted', 'paid'].map((field): SchemaElement => {
          return { name: field, type: 'DOUBLE', repetition_type: 'REQUIRED' };
        }),
        // Who was paid, where that is not the agent that acted.
        { name: 'agent', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      ]);
  }
}

/** The three levels that the format wants of a list. */
function listSchema(name: string, element: readonly SchemaElement[]): SchemaElement[] {
  return [
    { name, converted_type: 'LIST', num_children: 1, repetition_type: 'OPTIONAL' },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    ...element,
  ];
}

function parquetCell(type: CellType, cell: Cell): ParquetCell {
  // A time may have parts of a ms; neither type has room for them.
  if (typeof cell === 'number' && (type === 'integer' || type === 'time')) return BigInt(Math.floor(cell));
  return cell;
}
