import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** Calls back with each line that comes over a socket. */
export function readSocketLines(socket: Socket, onLine: (line: string) => void): void {
  const lines = createInterface({ input: socket });
  // The interface repeats the socket's errors, and one that nobody listens to ends the process; the socket's owner does.
  lines.on('error', () => undefined);
  lines.on('line', onLine);
}
