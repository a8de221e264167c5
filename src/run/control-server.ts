import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { LabError } from '../domain/error.ts';
import { type ControlReply, type ControlRequest, controlRequestSchema } from '../protocol/control.ts';
import { sentError } from '../protocol/failure.ts';
import { readSocketLines } from '../protocol/lines.ts';

export type ControlHandler = (request: ControlRequest) => Promise<unknown>;

const MAX_LINE_BYTES = 64 * 1024;

/** Listens on the run's control socket: one JSON request a line, one reply a line. */
export class ControlServer {
  readonly #path: string;
  readonly #server: Server;
  readonly #clients = new Set<Socket>();

  constructor(path: string, handler: ControlHandler) {
    this.#path = path;
    this.#server = createServer((socket) => {
      this.#clients.add(socket);
      socket.on('close', () => this.#clients.delete(socket));
      // A client may go away at any time; that is no error of the run's.
      socket.on('error', () => socket.destroy());
      let open = 0;
      socket.on('data', (chunk: Buffer) => {
        const end = chunk.lastIndexOf('\n');
        open = end < 0 ? open + chunk.byteLength : chunk.byteLength - end - 1;
        if (open > MAX_LINE_BYTES) socket.destroy();
      });
      readSocketLines(socket, (line) => void answer(socket, line, handler));
    });
  }

  /** Begins to listen; a socket file left by a dead process is replaced. */
  async listen(): Promise<void> {
    rmSync(this.#path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#path, resolve);
    });
  }

  /** Closes the socket and every client's connection. */
  async close(): Promise<void> {
    for (const client of this.#clients) client.end();
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    setTimeout(() => {
      for (const client of this.#clients) client.destroy();
    }, 200).unref();
    await closed;
    rmSync(this.#path, { force: true });
  }
}

async function answer(socket: Socket, line: string, handler: ControlHandler): Promise<void> {
  let id: number | null = null;
  let reply: ControlReply;
  try {
    const request = parseRequest(line);
    id = request.id;
    reply = { id, ok: true, result: (await handler(request)) ?? null };
  } catch (thrown) {
    reply = { id, ok: false, error: sentError(thrown) };
  }
  if (!socket.destroyed) socket.write(`${JSON.stringify(reply)}\n`);
}

function parseRequest(line: string): ControlRequest {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (thrown) {
    throw new LabError('protocol-invalid', { message: 'a request must be one line of JSON', cause: thrown });
  }
  const parsed = controlRequestSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new LabError('protocol-invalid', {
      message: `request is not as agreed at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
    });
  }
  return parsed.data;
}
