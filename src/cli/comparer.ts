import { LabError } from '../domain/error.ts';
import { type FromComparer, fromComparerSchema, type ToComparer } from '../protocol/compare.ts';
import { receivedError } from '../protocol/failure.ts';
import type { Attachments } from '../protocol/frame.ts';
import { PackedRows, type RowsPart } from '../replay/aligned-rows.ts';
import type { CompareApart, LongComparison } from '../replay/long-comparison.ts';
import { askChild } from './ask-child.ts';

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
  const rows = new PackedRows();
  const message: ToComparer = { type: 'compare', runs, run, question };
  const { answer, ...reply } = await askChild<FromComparer>({
    entry: 'compare',
    message,
    schema: fromComparerSchema,
    timeoutMs: null,
    signal,
    graceMs: question.kind === 'again' ? GRACE_MS : 0,
    isAnswer: (part, attachments) => {
      if (part.type !== 'rows') return true;
      rows.add(partOf(attachments));
      onProgress(part.step, part.of);
      return false;
    },
  });
  if (answer?.type === 'compared') return { rows, outcome: answer.outcome };
  if (answer?.type === 'failed') throw receivedError(answer);
  if (signal.aborted) return null;
  const how = 'ended' in reply ? reply.ended : 'it said nothing but hello';
  const said = reply.stderr.trim() === '' ? '' : `: ${reply.stderr.trim()}`;
  throw new LabError('child-failed', { message: `the episodes were not compared: ${how}${said}` });
}

function partOf({ packed, same }: Attachments): RowsPart {
  if (packed === undefined || same === undefined)
    throw new LabError('protocol-invalid', { message: 'rows came without what they are' });
  return { packed, same };
}
