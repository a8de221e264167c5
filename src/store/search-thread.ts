import { parentPort, workerData } from 'node:worker_threads';
import { errorText, LabError } from '../domain/error.ts';
import type { RunPaths } from './run-directory.ts';
import { type Question, SearchDesk } from './search-desk.ts';
import type { ThreadReply } from './thread-search.ts';

// The entry of the thread that answers questions of one run (thread-search.ts starts it). A null ends it: the database must
// be closed before the thread is gone, or its native part takes the process with it.
const paths: RunPaths = workerData;
let desk: SearchDesk | null = null;

/** Of what a run adds in this time, ms, a question takes in at most: at 2,500 episodes a second 3 ms of its time, not 30. */
const FOLLOW_MS = 100;
const following = setInterval(() => desk?.follow(), FOLLOW_MS);

parentPort?.on('message', (question: Question | null) => {
  if (question === null) {
    clearInterval(following);
    desk?.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(reply(question));
});

function reply(question: Question): ThreadReply {
  try {
    // Opened with the first question, so that its failure is that question's answer, and tried again with the next.
    desk ??= new SearchDesk(paths);
    return { answer: desk.answer(question) };
  } catch (thrown) {
    const { code, message, hint } =
      thrown instanceof LabError ? thrown : new LabError('internal', { message: errorText(thrown) });
    return { error: { code, message, hint } };
  }
}
