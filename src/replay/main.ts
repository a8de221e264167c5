import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { findEnvironment } from '../../envs/registry.ts';
import { errorWithHint } from '../domain/error.ts';
import { connectToParent } from '../protocol/child.ts';
import { type Lifeline, startLifeline } from '../protocol/lifeline.ts';
import {
  type ExecutionRequest,
  type FromReplayer,
  replayRoot,
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
  const root = replayRoot(process.pid);
  lifeline ??= startLifeline({ limitMs: request.stepTimeoutMs, tempRoot: root });
  const watching = lifeline;
  const watch: Watch = (stage, call) => {
    watching.begin(0, stage);
    try {
      return call();
    } finally {
      watching.end();
    }
  };
  let directory: string | null = null;
  const tempDirectory = (): string => {
    if (directory === null) {
      mkdirSync(root, { recursive: true });
      directory = mkdtempSync(join(root, 'env-'));
    }
    return directory;
  };
  try {
    const definition = await findEnvironment(request.env.name);
    const execution = await executeActions(definition, request, { watch, resources: { tempDirectory } });
    connection.send({ type: 'executed', execution });
  } catch (thrown) {
    connection.send({ type: 'refused', reason: errorWithHint(thrown) });
  }
}
