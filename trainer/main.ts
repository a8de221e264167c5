import { errorText } from '../src/domain/error.ts';
import { connectToParent } from '../src/protocol/child.ts';
import type { Attachments } from '../src/protocol/frame.ts';
import { startLifeline } from '../src/protocol/lifeline.ts';
import { type FromTrainer, type ToTrainer, toTrainerSchema } from '../src/protocol/trainer.ts';
import { TrainerProcess } from './ppo/trainer-process.ts';

/** Entry of the trainer process: see src/protocol/trainer.ts for what it is told and what it says. */

const ALIVE_INTERVAL_MS = 1000;
/** Nothing is timed: the lifeline only has to end the process when its parent is gone. */
const NO_LIMIT_MS = 2 ** 31 - 1;

const connection = connectToParent<ToTrainer, FromTrainer>({
  schema: toTrainerSchema,
  onMessage: (message, attachments) => void handle(message, attachments),
  onEnd: () => trainer.stop(),
});

const trainer = new TrainerProcess({
  send: (message, attachments) => connection.send(message, attachments),
  warn: (text) => void process.stderr.write(`${text}\n`),
  now: () => Date.now(),
});

startLifeline({ limitMs: NO_LIMIT_MS });
setInterval(() => trainer.reportAlive(), ALIVE_INTERVAL_MS).unref();

async function handle(message: ToTrainer, attachments: Attachments): Promise<void> {
  try {
    await trainer.handle(message, attachments);
    if (message.type === 'stop') process.exit(0);
  } catch (thrown) {
    process.stderr.write(`${errorText(thrown)}\n`);
    process.exit(1);
  }
}
