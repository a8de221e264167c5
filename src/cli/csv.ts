/** One line of CSV as RFC 4180 has it, without the line's end. Null is an empty field; an empty text is quoted. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(value: string | number | boolean | null): string {
  if (value === null) return '';
  const text = String(value);
  return text === '' || /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
