import { parentPort } from 'node:worker_threads';
import { errorText, LabError } from '../domain/error.ts';
import { type ReadingAnswer, ReadingDesk, type ReadingQuestion } from './reading-desk.ts';
import type { ThreadReply } from './thread-search.ts';

// The entry of the thread that reads runs for the screen (reading.ts starts it). A null ends it: the database must be closed
// before the thread is gone, or its native part takes the process with it.
const desk = new ReadingDesk();

parentPort?.on('message', (question: ReadingQuestion | null) => {
  if (question === null) {
    desk.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(reply(question));
});

function reply(question: ReadingQuestion): ThreadReply<ReadingAnswer> {
  try {
    return { answer: desk.answer(question) };
  } catch (thrown) {
    const { code, message, hint } =
      thrown instanceof LabError ? thrown : new LabError('internal', { message: errorText(thrown) });
    return { error: { code, message, hint } };
  }
}
