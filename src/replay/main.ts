import { findEnvironment } from '../../envs/registry.ts';
import { errorWithHint } from '../domain/error.ts';
import { connectToParent } from '../protocol/child.ts';
import { type Lifeline, startLifeline } from '../protocol/lifeline.ts';
import {
  type ExecutionRequest,
  type FromReplayer,
  type ToReplayer,
  toReplayerSchema,
} from '../protocol/replay.ts';
import { executeActions, type Watch } from './execute.ts';

/**
 * Entry of the process in which episodes are done again: an environment may spin or end its process. See
 * src/protocol/replay.ts.
 */

let lifeline: Lifeline | null = null;

const connection = connectToParent<ToReplayer, FromReplayer>({
  schema: toReplayerSchema,
  onMessage: ({ request }) => void execute(request),
  onEnd: () => undefined,
});

async function execute(request: ExecutionRequest): Promise<void> {
  lifeline ??= startLifeline(request.stepTimeoutMs);
  const watching = lifeline;
  const watch: Watch = (stage, call) => {
    watching.begin(0, stage);
    try {
      return call();
    } finally {
      watching.end();
    }
  };
  try {
    const definition = await findEnvironment(request.env.name);
    connection.send({ type: 'executed', execution: await executeActions(definition, request, watch) });
  } catch (thrown) {
    connection.send({ type: 'refused', reason: errorWithHint(thrown) });
  }
}
