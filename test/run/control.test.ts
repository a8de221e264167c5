import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LabError } from '../../src/domain/error.ts';
import type { RunManifest } from '../../src/domain/run.ts';
import { connectControl } from '../../src/run/control-client.ts';
import { ControlServer } from '../../src/run/control-server.ts';

let directory: string;
let server: ControlServer;
let manifest: RunManifest;
const requests: unknown[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'agentrl-control-'));
  const socket = join(directory, 'control.sock');
  requests.length = 0;
  server = new ControlServer(socket, async (request) => {
    requests.push(request);
    if (request.command === 'resume')
      throw new LabError('run-not-live', { message: 'it ends', hint: 'wait' });
    return await Promise.resolve(request.command === 'set' ? [] : null);
  });
  await server.listen();
  manifest = {
    format: 1,
    id: 'demo',
    name: 'demo',
    createdAt: 0,
    labVersion: '0.1.0',
    seed: 1,
    state: 'running',
    reason: null,
    attempt: 1,
    socket,
    pid: process.pid,
    parent: null,
  };
});
afterEach(async () => {
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

describe('the control socket', () => {
  it('carries commands with who asked', async () => {
    const client = await connectControl(manifest);
    await client.pause(true);
    await client.set({ clip: 0.1 });
    client.close();
    expect(requests).toEqual([
      { id: 1, command: 'pause', who: expect.stringMatching(/^.+@.+$/u), now: true, quiesce: false },
      { id: 2, command: 'set', who: expect.stringMatching(/^.+@.+$/u), knobs: { clip: 0.1 } },
    ]);
  });

  it('an error of the run arrives as that error', async () => {
    const client = await connectControl(manifest);
    await expect(client.resume()).rejects.toMatchObject({
      code: 'run-not-live',
      message: 'it ends',
      hint: 'wait',
    });
    client.close();
  });

  it('nonsense gets an answer, and the run goes on', async () => {
    const reply = await new Promise<string>((resolve) => {
      const socket = createConnection(manifest.socket, () =>
        socket.write('hello?\n{"id":1,"command":"fly"}\n'),
      );
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.split('\n').length > 2) {
          socket.destroy();
          resolve(text);
        }
      });
    });
    expect(reply).toMatch(/a request must be one line of JSON/u);
    expect(reply).toMatch(/request is not as agreed/u);
    const client = await connectControl(manifest);
    await client.pause(false);
    client.close();
  });

  it('a client that is cut off in the middle of a request does not disturb the run', async () => {
    for (let i = 0; i < 20; i++) {
      await new Promise<void>((resolve) => {
        const socket = createConnection(manifest.socket, () => {
          socket.write('{"id":1,"command":"pause","who":"x","now":true}\n{"id":2');
          socket.destroy();
          resolve();
        });
        socket.on('error', () => undefined);
      });
    }
    const client = await connectControl(manifest);
    await expect(client.pause(false)).resolves.toBeUndefined();
    client.close();
  });

  it('a request without an end is cut off before it fills the memory', async () => {
    const closed = await new Promise<boolean>((resolve) => {
      const socket = createConnection(manifest.socket, () => socket.write('x'.repeat(100_000)));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(true));
    });
    expect(closed).toBe(true);
  });

  it('a run that goes away fails what is waiting, and says how to go on', async () => {
    const client = await connectControl(manifest);
    await server.close();
    await expect(client.pause(false)).rejects.toMatchObject({
      code: 'run-not-live',
      hint: expect.stringMatching(/agentrl-lab resume demo/u),
    });
    await expect(connectControl(manifest)).rejects.toMatchObject({ code: 'run-not-live' });
  });
});
