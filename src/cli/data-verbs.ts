import { type Command, InvalidArgumentError, Option } from 'commander';
import { querySql, runAndQuery, type SqlOptions } from './sql.ts';

const SQL_EXAMPLES = `
Views: episodes, iterations, evaluations, evaluations_by_family, events, knob_changes; docs/SQL.md explains every column.

Examples:
  agentrl-lab sql "SELECT family, avg(success) FROM episodes GROUP BY family"
  agentrl-lab sql demo-1 "SELECT iteration, kl FROM iterations WHERE kl > 0.05"
  agentrl-lab sql demo-1 --with demo-2 "SELECT run, max(success) FROM all_iterations GROUP BY run"
`;

/** The verbs that take data out of a run. */
export function addDataVerbs(program: Command): void {
  program.commandsGroup('Data:');
  program
    .command('sql')
    .argument('<[run] query...>', 'one query; default of the run: the newest')
    .description('ask a run in SQL, read-only, live or not')
    .addHelpText('after', SQL_EXAMPLES)
    .option(
      '--with <run>',
      'attach another run, repeatable: views b_…, c_…; all_… have the rows of all',
      (run: string, before: readonly string[] | undefined) => [...(before ?? []), run],
    )
    .addOption(new Option('--limit <n>', 'most rows').argParser(parseAtLeastOne).default(1000))
    .addOption(
      new Option('--timeout <seconds>', 'end a query that takes longer')
        .argParser(parseAtLeastOne)
        .default(60),
    )
    .option('--csv', 'print CSV')
    .addOption(new Option('--json', 'print a JSON object a row'))
    .action(async (words: string[], _options, command: Command) => {
      const { run, query } = runAndQuery(words);
      await querySql(run, query, command.optsWithGlobals<SqlOptions>());
    });
}

function parseAtLeastOne(text: string): number {
  if (!/^[1-9]\d{0,8}$/u.test(text)) throw new InvalidArgumentError('Wanted a whole number, 1 or more.');
  return Number(text);
}
