import type { ByteOutput } from './byte-output.ts';
import { type Cell, isoTime, type TableColumn, type TableWriter } from './table.ts';

/** Text is handed on in pieces of about this size. */
const PIECE_CHARACTERS = 256 * 1024;

/** Gathers lines and hands them on in larger pieces. */
class Lines {
  readonly #output: ByteOutput;
  #text = '';

  constructor(output: ByteOutput) {
    this.#output = output;
  }

  add(line: string): void {
    this.#text += `${line}\n`;
    if (this.#text.length >= PIECE_CHARACTERS) this.flush();
  }

  flush(): void {
    if (this.#text === '') return;
    this.#output.write(Buffer.from(this.#text));
    this.#text = '';
  }
}

/** A JSON object a line; times are ISO 8601 text. */
export function jsonLinesTable<Row>(
  columns: readonly TableColumn<Row>[],
  output: ByteOutput,
): TableWriter<Row> {
  const lines = new Lines(output);
  return {
    write: (row) => {
      const entries = columns.map(({ name, type, value }) => [name, jsonCell(type, value(row))] as const);
      lines.add(JSON.stringify(Object.fromEntries(entries)));
    },
    close: () => lines.flush(),
  };
}

/** One JSON value a line. */
export function jsonLines(output: ByteOutput): TableWriter<object> {
  const lines = new Lines(output);
  return { write: (value) => lines.add(JSON.stringify(value)), close: () => lines.flush() };
}

/**
 * CSV as RFC 4180 has it, with a head. Null is an empty field and an empty text a quoted one; lists of text are joined by line
 * breaks, reward parts are JSON.
 */
export function csvTable<Row>(columns: readonly TableColumn<Row>[], output: ByteOutput): TableWriter<Row> {
  const lines = new Lines(output);
  lines.add(csvLine(columns.map(({ name }) => name)));
  return {
    write: (row) => lines.add(csvLine(columns.map(({ type, value }) => csvCell(type, value(row))))),
    close: () => lines.flush(),
  };
}

/** One line of CSV, without its end. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return cells
    .map((value) => {
      if (value === null) return '';
      const text = String(value);
      return text === '' || /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(',');
}

function jsonCell(type: TableColumn<never>['type'], cell: Cell): Cell {
  if (cell instanceof Uint8Array) return Buffer.from(cell).toString('base64');
  return type === 'time' && typeof cell === 'number' ? isoTime(cell) : cell;
}

function csvCell(type: TableColumn<never>['type'], cell: Cell): string | number | boolean | null {
  if (cell === null || typeof cell === 'string' || typeof cell === 'boolean') return cell;
  if (typeof cell === 'number') return type === 'time' ? isoTime(cell) : cell;
  if (cell instanceof Uint8Array) return Buffer.from(cell).toString('base64');
  const texts = cell.filter((one) => typeof one === 'string');
  return type === 'texts' ? texts.join('\n') : JSON.stringify(cell);
}
