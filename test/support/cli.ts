import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

export const CLI = join(import.meta.dirname, '../../dist/src/cli/main.js');

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A started command; `result` resolves when it has ended. */
export interface StartedCli {
  readonly process: ChildProcess;
  readonly result: Promise<CliResult>;
}

/** Starts the built command without a terminal. */
export function startCli(args: readonly string[], env: Readonly<Record<string, string>> = {}): StartedCli {
  const child = spawn(process.execPath, [CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const text = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text.stderr += chunk.toString()));
  const result = new Promise<CliResult>((resolve) => {
    child.once('close', (code) => resolve({ code, ...text }));
  });
  return { process: child, result };
}

/** Runs the built command to its end. */
export async function runCli(...args: readonly string[]): Promise<CliResult> {
  return await startCli(args).result;
}
