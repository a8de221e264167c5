import { type Command, InvalidArgumentError, Option } from 'commander';
import { LabError } from '../domain/error.ts';
import { MOST_SLOTS } from '../domain/slot-limit.ts';
import type { WorkerAction } from '../protocol/control.ts';
import { verbWork } from './lazy-work.ts';
import { parsePositive } from './numbers.ts';
import type { ActOptions, WorkersOptions } from './workers.ts';

const EXAMPLES = `
A target is a worker's number, its name, or a host for all of its workers.

Examples:
  agentrl-lab workers                      every process of the live run, and what it uses
  agentrl-lab workers drain big --wait     no new episodes on host big; returns when none is left there
  agentrl-lab workers undrain big          give it episodes again
  agentrl-lab workers restart 3            start worker 3 anew when its episodes are finished; --now: at once
  agentrl-lab workers add big --slots 500  another worker on host big
  agentrl-lab workers remove 3             let worker 3 finish, and leave
`;

/** `workers` and what can be done with them. */
export function addWorkersVerb(program: Command): void {
  const workers = program
    .command('workers')
    .description('the processes of a live run: list, drain, restart, add and remove workers')
    .addHelpText('after', EXAMPLES)
    .option('--run <run>', 'default: the newest live run')
    .addOption(new Option('--json', 'print JSON'))
    .action(async (_options, command: Command) => {
      const [word] = command.args;
      if (word !== undefined)
        throw new LabError('usage', {
          message: `"${word}" is nothing to do with workers`,
          hint: 'see: agentrl-lab workers --help',
        });
      await (await verbWork()).printWorkers(command.optsWithGlobals<WorkersOptions>());
    })
    .allowExcessArguments();
  const act = (action: WorkerAction, description: string): Command =>
    workers
      .command(`${action} <target...>`)
      .description(description)
      .action(
        async (targets: string[], _options, command: Command) =>
          await (await verbWork()).changeWorkers(action, targets, command.optsWithGlobals<ActOptions>()),
      );
  act('drain', 'no new episodes; those in flight are finished').option('--wait', 'return when none is left');
  act('undrain', 'give drained workers episodes again');
  act('restart', 'start anew when the episodes in flight are finished').option(
    '--now',
    'at once: others do them again',
  );
  act('remove', 'leave the run when the episodes in flight are finished').option(
    '--now',
    'at once: others do them again',
  );
  workers
    .command('add <host>')
    .description('another worker on a host of the config')
    .addOption(new Option('--slots <n>', 'default: as many as the others have').argParser(parseSlots))
    .action(
      async (host: string, _options, command: Command) =>
        await (await verbWork()).addWorker(
          host,
          command.optsWithGlobals<WorkersOptions & { readonly slots?: number }>(),
        ),
    );
}

function parseSlots(text: string): number {
  const slots = parsePositive(text);
  if (slots > MOST_SLOTS) throw new InvalidArgumentError(`wanted: a whole number from 1 to ${MOST_SLOTS}`);
  return slots;
}
