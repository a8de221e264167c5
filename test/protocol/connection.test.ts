import { PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Connection, connect } from '../../src/protocol/connection.ts';
import { FrameReader } from '../../src/protocol/frame.ts';

interface Sent {
  readonly connection: Connection<object>;
  /** Chunks of each call of the system. */
  readonly calls: Buffer[][];
}

function open(): Sent {
  const calls: Buffer[][] = [];
  const output = new Writable({
    writev(chunks, done) {
      calls.push(chunks.map(({ chunk }) => chunk));
      done();
    },
  });
  const connection = connect<unknown, object>({
    input: new PassThrough(),
    output,
    schema: z.unknown(),
    onMessage: () => undefined,
    onClose: () => undefined,
  });
  return { connection, calls };
}

function messagesOf(calls: readonly Buffer[][]): unknown[] {
  return new FrameReader().push(Buffer.concat(calls.flat())).map(({ message }) => message);
}

async function turn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test('what is sent in one go is written in one call, in its order', async () => {
  const { connection, calls } = open();
  await turn();
  const before = calls.length;
  for (let n = 0; n < 30; n++) connection.send({ n }, { a: Buffer.from('abc'), b: Buffer.from('d') });
  await turn();
  expect(calls).toHaveLength(before + 1);
  connection.send({ n: 30 });
  await turn();
  expect(calls).toHaveLength(before + 2);
  expect(messagesOf(calls)).toEqual(Array.from({ length: 31 }, (_, n) => ({ n })));
});

test('what was sent just before the end is written, and nothing after it', async () => {
  const { connection, calls } = open();
  connection.send({ n: 1 });
  connection.close();
  connection.send({ n: 2 });
  await turn();
  expect(messagesOf(calls)).toEqual([{ n: 1 }]);
});
