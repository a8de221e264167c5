import type { Command } from 'commander';
import type { AlertOptions } from './alert.ts';
import { verbWork } from './lazy-work.ts';

const EXAMPLES = `
Examples:
  agentrl-lab alert ls                            the alerts of the newest run, and how often each began
  agentrl-lab alert test demo-1 --config lab.yaml  how often those of a config would have begun in a run
`;

/** The verb of alerts: docs/ALERTS.md. */
export function addAlertVerb(program: Command): void {
  const verb = program
    .command('alert')
    .description('list the alerts of a run, or try alerts on what a run has stored')
    .addHelpText('after', EXAMPLES);
  verb
    .command('ls')
    .argument('[run]', 'default: the newest')
    .description('list the alerts of a run, and how often each began')
    .option('--json', 'print a JSON object an alert')
    .action(async (run: string | undefined, _options, command: Command) =>
      (await verbWork()).listAlerts(run, command.optsWithGlobals<AlertOptions>()),
    );
  verb
    .command('test')
    .argument('[run]', 'default: the newest')
    .description('say how often alerts would have begun in a run')
    .option('--config <file>', 'a config with other alerts; default: those of the run')
    .option('--json', 'print a JSON object an alert')
    .action(async (run: string | undefined, _options, command: Command) =>
      (await verbWork()).testAlerts(run, command.optsWithGlobals<AlertOptions>()),
    );
}
