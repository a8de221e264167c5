import { connectToParent } from '../../src/protocol/child.ts';
import { type FromExporter, type ToExporter, toExporterSchema } from '../../src/protocol/export.ts';
import { sentError } from '../../src/protocol/failure.ts';
import type { Attachments } from '../../src/protocol/frame.ts';
import { exportPolicy } from './export-policy.ts';

/** Entry of the process that turns a checkpoint's weights into files for use outside the lab: see src/protocol/export.ts. */

const connection = connectToParent<ToExporter, FromExporter>({
  schema: toExporterSchema,
  onMessage: (request, attachments) => void answer(request, attachments),
  onEnd: () => undefined,
});

async function answer({ policy, origin }: ToExporter, attachments: Attachments): Promise<void> {
  try {
    // A copy: an attachment need not be aligned.
    const weights = new Float32Array(Uint8Array.from(attachments['weights'] ?? []).buffer);
    connection.send({ type: 'exported' }, await exportPolicy(policy, weights, origin));
  } catch (thrown) {
    connection.send({ type: 'failed', ...sentError(thrown) });
  }
}
