import { spawn } from 'node:child_process';
import { errorText, LabError } from '../domain/error.ts';
import { entryCommand } from '../hosts/entries.ts';
import { type FromComparer, fromComparerSchema, type ToComparer } from '../protocol/compare.ts';
import { connect } from '../protocol/connection.ts';
import { receivedError } from '../protocol/failure.ts';
import type { Attachments } from '../protocol/frame.ts';
import { PackedRows } from '../replay/aligned-rows.ts';
import type { CompareApart, LongComparison } from '../replay/long-comparison.ts';

/** Characters kept of what the process writes on stderr. */
const MOST_STDERR = 2000;
/** Time for one that has started a process itself to end that first, ms. */
const GRACE_MS = 1000;

/**
 * Compares long episodes of a run in a process of its own (`CompareApart`). What comes of it is packed rows, which are only kept:
 * nothing of it takes the caller's time.
 */
export async function compareApart(
  runs: string,
  ...[run, question, { onProgress, signal }]: Parameters<CompareApart>
): Promise<LongComparison | null> {
  if (signal.aborted) return null;
  const [program, ...args] = entryCommand('compare');
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString()}`.slice(-MOST_STDERR);
  });
  const rows = new PackedRows();
  return await new Promise((resolve, reject) => {
    let isOver = false;
    const finish = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      settle();
      connection.close();
      if (question.kind === 'episodes') child.kill('SIGKILL');
      const late = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
      child.once('close', () => clearTimeout(late));
    };
    const fail = (how: string): void => {
      const said = stderr.trim() === '' ? '' : `: ${stderr.trim()}`;
      const message = `the process that compares the episodes ${how}${said}`;
      finish(() => reject(new LabError('child-failed', { message })));
    };
    const connection = connect<FromComparer, ToComparer>({
      input: child.stdout,
      output: child.stdin,
      schema: fromComparerSchema,
      onMessage: (message, attachments) => {
        if (isOver) return;
        if (message.type === 'rows') {
          rows.add(partOf(attachments));
          onProgress(message.step, message.of);
        } else if (message.type === 'compared') finish(() => resolve({ rows, outcome: message.outcome }));
        else if (message.type === 'failed') finish(() => reject(receivedError(message)));
      },
      onClose: (error) => {
        if (error !== null) finish(() => reject(error));
      },
    });
    signal.addEventListener('abort', () => finish(() => resolve(null)), { once: true });
    child.once('error', (error) => fail(`could not be started: ${errorText(error)}`));
    // Not 'exit': what it has written may still be on its way.
    child.once('close', (code, how) => fail(`ended with ${how ?? `code ${code}`}`));
    connection.send({ type: 'compare', runs, run, question });
  });
}

function partOf({ packed, same }: Attachments): { readonly packed: Uint8Array; readonly same: Uint8Array } {
  if (packed === undefined || same === undefined)
    throw new LabError('protocol-invalid', { message: 'rows came without what they are' });
  return { packed, same };
}
