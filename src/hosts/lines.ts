import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/**
 * Calls back for each line of a stream, without its end; empty lines are left out. A line longer than `limit` characters
 * is cut there and the rest of it dropped, so that a child cannot fill our memory.
 */
export function readLines(stream: Readable, limit: number, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let line = '';
  const flush = (): void => {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    line = '';
    if (text !== '') onLine(text);
  };
  const take = (text: string): void => {
    const parts = text.split('\n');
    for (const [index, part] of parts.entries()) {
      if (index > 0) flush();
      line += part.slice(0, limit - line.length);
    }
  };
  stream.on('data', (chunk: Buffer) => take(decoder.write(chunk)));
  stream.on('close', () => {
    take(decoder.end());
    flush();
  });
  // A stream that fails ends; its process says why.
  stream.on('error', () => {});
}
