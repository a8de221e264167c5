import { type Command, InvalidArgumentError, Option } from 'commander';
import { REPLAY_MODES } from '../replay/modes.ts';
import type { ForkOptions } from './fork.ts';
import { verbWork } from './lazy-work.ts';
import { parsePositive } from './numbers.ts';
import type { ReplayOptions } from './replay.ts';

const FORK_EXAMPLES = `
Examples:
  agentrl-lab fork e120 --step 4                            the same policy, other draws
  agentrl-lab fork e120 --step 4 --action 'read notes.txt'  another action, then the policy
  agentrl-lab fork e120 --step 4 --policy 96                another version from there on
`;

/** The verbs that do again what is stored. */
export function addReplayVerbs(program: Command, finish: (exitCode: number) => void): void {
  program
    .command('replay')
    .argument('<episode | filter...>', 'an id, as in e120, or a filter, as in: family:ordered')
    .description('do episodes again, and say where they first differ')
    .allowUnknownOption()
    .addOption(
      new Option('--sample <n>', 'of a filter: so many, at random').argParser(parsePositive).default(100),
    )
    .addOption(
      new Option('--mode <mode>', 'who acts: the recorded actions, or the policy of that time again')
        .choices([...REPLAY_MODES])
        .default('actions'),
    )
    .option('--live', 'call tools that only read again, and compare; all others answer from the record')
    .option('--run <run>', 'default: the newest run')
    .addOption(new Option('--json', 'print JSON'))
    .action(async (words: string[], _options, command: Command) =>
      finish(await (await verbWork()).replayEpisodes(words, command.optsWithGlobals<ReplayOptions>())),
    );
  program
    .command('fork')
    .argument('<episode>', 'an id, as in e120')
    .description('leave an episode at a step, go on in other ways, and show how they end; nothing is stored')
    .addHelpText('after', FORK_EXAMPLES)
    .addOption(
      new Option('--step <k>', 'the first step that may be another, from 1')
        .argParser(parsePositive)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--action <action>',
        'what is done in it, as in: input notes.txt; default: what the policy draws',
      ),
    )
    .addOption(
      new Option(
        '--policy <version>',
        'who goes on, as in 96; default: the version that acted then',
      ).argParser(parseVersion),
    )
    .addOption(new Option('--n <n>', 'continuations').argParser(parsePositive).default(20))
    .addOption(
      new Option(
        '--max-steps <n>',
        'steps after which one is cut short, those before it included; default: as in the run',
      ).argParser(parsePositive),
    )
    .option('--live', 'call tools that only read; all others answer from the record')
    .option('--run <run>', 'default: the newest run')
    .addOption(new Option('--json', 'print JSON'))
    .action(async (word: string, _options, command: Command) =>
      finish(await (await verbWork()).forkStep(word, command.optsWithGlobals<ForkOptions>())),
    );
}

/** `96` or `v96`. */
function parseVersion(text: string): number {
  const digits = /^v?(\d{1,9})$/u.exec(text)?.[1];
  if (digits !== undefined) return Number(digits);
  throw new InvalidArgumentError('wanted a policy version, as in 96');
}
