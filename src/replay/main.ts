import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { findEnvironment } from '../../envs/registry.ts';
import { errorWithHint } from '../domain/error.ts';
import { connectToParent } from '../protocol/child.ts';
import { type Lifeline, startLifeline } from '../protocol/lifeline.ts';
import {
  type Acting,
  type ExecutionRequest,
  type FromReplayer,
  replayRoot,
  type ToReplayer,
  toReplayerSchema,
} from '../protocol/replay.ts';
import { type Actor, executeEpisode, type Watch } from './execute.ts';
import type { PolicyBench } from './policy-actor.ts';

/**
 * Entry of the process in which episodes are done again: an environment may spin or end its process, and the policy needs
 * onnxruntime. See src/protocol/replay.ts.
 */

let lifeline: Lifeline | null = null;
const weights = new Map<number, Float32Array>();
let bench: PolicyBench | null = null;

const connection = connectToParent<ToReplayer, FromReplayer>({
  schema: toReplayerSchema,
  onMessage: (message, attachments) => {
    if (message.type === 'execute') void execute(message.request);
    else {
      const bytes = attachments['weights'] ?? new Uint8Array();
      weights.set(message.policyVersion, new Float32Array(Uint8Array.from(bytes).buffer));
    }
  },
  onEnd: () => undefined,
});

/** Loads onnxruntime the first time: with recorded actions alone it is not needed. All requests are of one run's policy. */
async function actorOf(acting: Acting): Promise<Actor> {
  const { PolicyActor, PolicyBench: Bench } = await import('./policy-actor.ts');
  bench ??= await Bench.create(acting.policy, weights);
  return new PolicyActor(bench, acting);
}

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
    const actor = request.acting === null ? undefined : await actorOf(request.acting);
    const execution = await executeEpisode(definition, request, {
      watch,
      resources: { tempDirectory },
      actor,
    });
    connection.send({ type: 'executed', execution });
  } catch (thrown) {
    connection.send({ type: 'refused', reason: errorWithHint(thrown) });
  }
}
