import { parentPort, workerData } from 'node:worker_threads';
import { errorText, LabError } from '../domain/error.ts';
import type { RunPaths } from './run-directory.ts';
import { type Question, SearchDesk } from './search-desk.ts';
import type { ThreadReply } from './thread-search.ts';

// The entry of the thread that answers questions of one run (thread-search.ts starts it). A null ends it: the database must
// be closed before the thread is gone, or its native part takes the process with it.
const paths: RunPaths = workerData;
let desk: SearchDesk | null = null;

parentPort?.on('message', (question: Question | null) => {
  if (question === null) {
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
