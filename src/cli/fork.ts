import { formatAction } from '../domain/space.ts';
import { formatTaskRef } from '../domain/task.ts';
import { visibleText } from '../domain/visible-text.ts';
import { forkLines, parseAction } from '../replay/fork.ts';
import { openRunReader } from '../store/queries.ts';
import { EXIT, printJson, printLine, printNote } from './output.ts';
import { forkEpisode, replayGround } from './reexecute.ts';
import { findNewestRun } from './runs.ts';

export interface ForkOptions {
  readonly runs: string;
  readonly run?: string;
  readonly step: number;
  readonly action?: string;
  readonly policy?: number;
  readonly n: number;
  readonly maxSteps?: number;
  /** Call tools that only read, where the record has no answer. */
  readonly live?: boolean;
  readonly json?: boolean;
}

/**
 * Leaves a stored episode at a step, with another action or policy or the same one's other draws, goes on from there `n` times, and
 * shows how that spreads. Nothing of it is stored. The exit code is 1 when every continuation broke.
 */
export async function forkStep(word: string, options: ForkOptions): Promise<number> {
  const run = findNewestRun(options.runs, options.run);
  const ground = replayGround(run.paths, options.live === true);
  const reader = openRunReader(run.paths);
  try {
    const episode = reader.episode(word.startsWith('e') ? word : `e${word}`);
    const { summary } = episode;
    const plan = {
      step: options.step,
      action: options.action === undefined ? null : parseAction(options.action),
      version: options.policy ?? null,
      count: options.n,
      maxSteps: options.maxSteps ?? null,
    };
    const fork = await forkEpisode(ground, episode, plan);
    const { version } = plan;
    if (version !== null && !ground.policy.versions.includes(version))
      printNote(`the weights of policy v${version} are not kept: the nearest acted`);
    if (options.json === true) {
      printJson({ run: run.id, episode: summary.id, ...fork, was: formatAction(fork.was) });
    } else {
      printLine(`episode ${summary.id}  ${visibleText(formatTaskRef(summary.task))}  seed ${summary.seed}`);
      for (const line of forkLines(fork)) printLine(visibleText(line));
    }
    return fork.outcomes.every(({ failure }) => failure === 'broken') ? EXIT.failed : EXIT.ok;
  } finally {
    reader.close();
  }
}
