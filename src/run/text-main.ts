import { setTimeout as wait } from 'node:timers/promises';
import { errorText } from '../domain/error.ts';
import { connectToParent } from '../protocol/child.ts';
import { type FromIndexer, type ToIndexer, toIndexerSchema } from '../protocol/text.ts';
import { runPaths } from '../store/run-directory.ts';
import { TextIndexWriter } from '../store/text-writer.ts';

/** Entry of the text indexer, a process beside that of the run: see src/protocol/text.ts. */

/** It works for so long at a time, ms, and listens in between. */
const SLICE_MS = 25;
/** The wait, ms, for more to index, and the time after which what was indexed can be searched. */
const POLL_MS = 250;
const COMMIT_MS = 1000;
const REPORT_MS = 2000;

/** What it was told meanwhile. */
const orders: { finishBy: number | null; ended: boolean } = { finishBy: null, ended: false };

const connection = connectToParent<ToIndexer, FromIndexer>({
  schema: toIndexerSchema,
  onMessage: (message) => {
    if (message.type === 'finish') orders.finishBy = performance.now() + message.ms;
    else void work(message.runs, message.run, message.share);
  },
  onEnd: () => {
    orders.ended = true;
  },
});

async function work(runs: string, run: string, share: number): Promise<void> {
  try {
    const writer = new TextIndexWriter(runPaths(runs, run));
    await follow(writer, share);
    writer.close();
  } catch (thrown) {
    connection.send({ type: 'stopped', reason: errorText(thrown) });
  }
  // Not process.exit: what was sent may still be on its way. The parent closes its end in turn, which ends this process.
  connection.close();
}

async function follow(writer: TextIndexWriter, share: number): Promise<void> {
  let committed = performance.now();
  let reported = 0;
  while (!orders.ended) {
    const { finishBy } = orders;
    const cpu = process.cpuUsage();
    const { documents, behindBytes } = writer.add(SLICE_MS);
    const isDone = finishBy !== null && (behindBytes === 0 || performance.now() >= finishBy);
    if (isDone || performance.now() - committed >= COMMIT_MS) {
      writer.commit();
      committed = performance.now();
      // Only what is on the disk is progress.
      if (isDone || committed - reported >= REPORT_MS) {
        connection.send({ type: 'progress', episodes: documents, behindBytes });
        reported = committed;
      }
    }
    if (isDone) return;
    const { user, system } = process.cpuUsage(cpu);
    const rest = ((user + system) / 1000) * (1 / share - 1);
    await wait(finishBy !== null ? 0 : Math.max(rest, behindBytes === 0 ? POLL_MS : 0));
  }
}
