import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Where PyTorch may be: what $PYTHON names, the system's Python, the first one in the path. */
const PYTHONS = [process.env['PYTHON'], '/usr/bin/python3', 'python3'];

/** Threads of PyTorch and of OpenBLAS. Not 2 and 2: the two pools fight for the cores. */
const SETTINGS = [
  { torch: 1, openblas: 2 },
  { torch: 1, openblas: 1 },
  { torch: 2, openblas: 1 },
] as const;

const answerSchema = z.object({
  seconds: z.number(),
  cpuSeconds: z.number(),
  firstLoss: z.number(),
  lastLoss: z.number(),
});
export type TorchUpdate = z.infer<typeof answerSchema>;

/** What PyTorch is given: arrays, and settings that the script reads from the header. */
export interface TorchWork {
  readonly arrays: Readonly<
    Record<string, { readonly data: Float32Array | Int32Array; readonly shape: readonly number[] }>
  >;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** bench/peers/torch_update.py under one thread setting: a process that waits for the next update. */
export interface TorchPeer {
  readonly label: string;
  /** Runs one update from the initial weights. */
  update(): Promise<TorchUpdate>;
}

/** Starts the script once for each thread setting; without PyTorch there is none. */
export function startTorchPeers(work: TorchWork): {
  readonly peers: readonly TorchPeer[];
  close(): void;
} {
  const python = PYTHONS.find(
    (path) => path !== undefined && spawnSync(path, ['-c', 'import torch'], { stdio: 'ignore' }).status === 0,
  );
  if (python === undefined) return { peers: [], close: () => undefined };
  const folder = mkdtempSync(join(tmpdir(), 'torch-update-'));
  const files = writeWork(folder, work);
  const script = fileURLToPath(new URL('./peers/torch_update.py', import.meta.url));
  const started = SETTINGS.map(({ torch, openblas }) => {
    const child = spawn(python, [script, ...files, String(torch)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, OPENBLAS_NUM_THREADS: String(openblas) },
    });
    return { child, peer: peerOf(child, `torch ${torch}, OpenBLAS ${openblas}`) };
  });
  return {
    peers: started.map(({ peer }) => peer),
    close: () => {
      for (const { child } of started) child.stdin.end();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Raw arrays one after another, and a header that says where each is. */
function writeWork(folder: string, { arrays, settings }: TorchWork): [string, string] {
  const entries: Record<string, object> = {};
  const chunks: Uint8Array[] = [];
  let start = 0;
  for (const [name, { data, shape }] of Object.entries(arrays)) {
    entries[name] = { dtype: data instanceof Float32Array ? 'f32' : 'i32', shape, start };
    chunks.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    start += data.byteLength;
  }
  const header = join(folder, 'header.json');
  const data = join(folder, 'data.bin');
  writeFileSync(header, JSON.stringify({ arrays: entries, ...settings }));
  writeFileSync(data, Buffer.concat(chunks));
  return [header, data];
}

function peerOf(child: ChildProcess, label: string): TorchPeer {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('the script was started without pipes');
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the PyTorch script (${label}) ended before it answered`);
    return JSON.parse(value);
  };
  const greeting = next();
  return {
    label,
    async update() {
      await greeting;
      stdin.write('update\n');
      return answerSchema.parse(await next());
    },
  };
}
