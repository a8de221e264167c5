import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import { errorText, LabError, systemErrorCode } from '../domain/error.ts';
import { LAB_VERSION } from '../domain/lab-version.ts';
import { type FromExporter, fromExporterSchema, type ToExporter } from '../protocol/export.ts';
import { receivedError } from '../protocol/failure.ts';
import { askChild } from './ask-child.ts';
import { findCheckpoint } from './checkpoints.ts';
import { printJson, printLine } from './output.ts';

const EXPORT_TIMEOUT_MS = 120_000;

export interface ExportOptions {
  readonly runs: string;
  readonly to: string;
  readonly json?: boolean;
}

/**
 * Writes the policy of a checkpoint as files that need nothing of the lab. Throws `usage` for a directory that holds
 * something, and as `findCheckpoint` does.
 */
export async function exportRun(place: string, options: ExportOptions): Promise<void> {
  refuseFull(options.to);
  const { run, checkpoint } = await findCheckpoint(options.runs, place);
  // Not refused for memory: it is not to run here.
  const { config } = loadConfig(readFileSync(run.paths.config, 'utf8'), { file: run.paths.config });
  const { iteration, weights, trainer } = checkpoint;
  const message: ToExporter = {
    type: 'export',
    policy: config.policy,
    origin: {
      run: run.id,
      iteration,
      policyVersion: trainer.policyVersion,
      env: config.env.name,
      labVersion: LAB_VERSION,
    },
  };
  const reply = await askChild<FromExporter>({
    entry: 'export',
    message,
    attachments: { weights },
    schema: fromExporterSchema,
    timeoutMs: EXPORT_TIMEOUT_MS,
  });
  if (reply.answer === null) {
    throw new LabError('child-failed', {
      message: `the process that makes the export failed: ${reply.ended}\n${reply.stderr.trim()}`,
    });
  }
  if (reply.answer.type === 'failed') throw receivedError(reply.answer);
  const files = write(options.to, reply.attachments);
  if (options.json === true) printJson({ run: run.id, iteration, directory: options.to, files });
  else printLine(`exported iteration ${iteration} of run ${run.id} to ${options.to}: ${files.join(', ')}`);
}

function refuseFull(directory: string): void {
  try {
    if (readdirSync(directory).length === 0) return;
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'ENOENT') return;
    throw unwritable(directory, thrown);
  }
  throw new LabError('usage', {
    message: `${directory} holds something already; an export wants a directory of its own`,
    hint: 'name one that is empty, or does not exist yet',
  });
}

function write(directory: string, files: Readonly<Record<string, Uint8Array>>): string[] {
  try {
    mkdirSync(directory, { recursive: true });
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(directory, name), bytes);
  } catch (thrown) {
    throw unwritable(directory, thrown);
  }
  return Object.keys(files);
}

function unwritable(directory: string, thrown: unknown): LabError {
  return new LabError(systemErrorCode(thrown) === 'ENOSPC' ? 'disk-full' : 'run-unwritable', {
    message: `the export cannot be written to ${directory}: ${errorText(thrown)}`,
    hint: 'name a directory that you may write to, on a file system with room',
    cause: thrown,
  });
}
