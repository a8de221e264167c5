import { type Command, Option } from 'commander';
import { VIEW_NAMES } from '../store/sql-view-names.ts';
import type { ArchiveVerbOptions } from './archive.ts';
import { COMPARE_AXES } from './choices.ts';
import type { CompactOptions } from './compact.ts';
import type { CompareOptions } from './compare.ts';
import type { ExportDataOptions } from './export-data.ts';
import { dataWork, verbWork } from './lazy-work.ts';
import { parsePositive } from './numbers.ts';
import type { PinOptions } from './pin.ts';
import type { SqlOptions } from './sql.ts';

const SQL_EXAMPLES = `
Views: ${VIEW_NAMES.join(', ')}.
docs/SQL.md explains every column.

Examples:
  agentrl-lab sql "SELECT family, avg(success) FROM episodes GROUP BY family"
  agentrl-lab sql demo-1 "SELECT iteration, kl FROM iterations WHERE kl > 0.05"
  agentrl-lab sql demo-1 --with demo-2 "SELECT run, max(success) FROM all_iterations GROUP BY run"
`;

const EXPORT_EXAMPLES = `
Examples:
  agentrl-lab export episodes demo-1 --to episodes.parquet
  agentrl-lab export episodes demo-1 fail:any iter:40.. --steps --to failures.jsonl
  agentrl-lab export episodes demo-1 is:heldout --to heldout.atif.jsonl
`;

/** The verbs that take data out of a run, and below \`export\` those of its kind. */
export function addDataVerbs(program: Command, finish: (exitCode: number) => void): void {
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
    .addOption(new Option('--limit <n>', 'most rows').argParser(parsePositive).default(1000))
    .addOption(
      new Option('--timeout <seconds>', 'end a query that takes longer').argParser(parsePositive).default(60),
    )
    .option('--csv', 'print CSV')
    .addOption(new Option('--json', 'print a JSON object a row'))
    .action(async (words: string[], _options, command: Command) => {
      const work = await verbWork();
      const { run, query } = work.runAndQuery(words);
      await work.querySql(run, query, command.optsWithGlobals<SqlOptions>());
    });
  program
    .command('compare')
    .argument('<run...>', 'two or more')
    .description('print metrics of runs side by side')
    .option('--metric <names>', 'one or more, joined by commas', 'success')
    .addOption(
      new Option('--by <axis>', 'what rows are aligned by').choices(COMPARE_AXES).default('iteration'),
    )
    .addOption(new Option('--rows <n>', 'rows to print').argParser(parsePositive).default(20))
    .addOption(new Option('--json', 'print a JSON object a row, with minimum, maximum and mean'))
    .action(async (runs: string[], _options, command: Command) =>
      (await verbWork()).compareRuns(runs, command.optsWithGlobals<CompareOptions>()),
    );
  program
    .command('pin')
    .argument('<run>')
    .argument('<episode...>', 'their ids, as in e120')
    .description('have a run keep the steps of episodes whatever its byte budget')
    .option('--off', 'let them go again')
    .addOption(new Option('--json', 'print JSON'))
    .action(
      async (run: string, episodes: string[], _options, command: Command) =>
        await (await verbWork()).pinEpisodes(run, episodes, command.optsWithGlobals<PinOptions>()),
    );
  program
    .command('compact')
    .argument('<run>')
    .description('drop the steps that retention does not keep from a run that has ended')
    .addOption(new Option('--json', 'print JSON'))
    .action(
      async (run: string, _options, command: Command) =>
        await (await verbWork()).compactEndedRun(run, command.optsWithGlobals<CompactOptions>()),
    );
  program
    .command('archive')
    .argument('<run>')
    .description('move the episodes of a run that has ended to Parquet; they can be read from there')
    .option('--to <directory>', 'default: archive in the directory of the run')
    .addOption(new Option('--json', 'print JSON'))
    .action(async (run: string, _options, command: Command) =>
      finish(await (await dataWork()).archiveEndedRun(run, command.optsWithGlobals<ArchiveVerbOptions>())),
    );
  for (const verb of program.commands) if (verb.name() === 'export') addExportVerbs(verb, finish);
}

function addExportVerbs(verb: Command, finish: (exitCode: number) => void): void {
  withFile(verb.command('episodes').argument('<run>').argument('[filter...]', 'which ones; none: all'))
    .description('write episodes as Parquet, JSONL, CSV or ATIF')
    .addHelpText('after', EXPORT_EXAMPLES)
    .option('--steps', 'a row a step instead of a row an episode')
    // A term of the filter that begins with "-" negates: it is not an option.
    .allowUnknownOption()
    .action(async (run: string, filter: string[], _options, command: Command) =>
      finish(
        await (await dataWork()).exportEpisodesTo(run, filter, command.optsWithGlobals<ExportDataOptions>()),
      ),
    );
  withFile(verb.command('metrics').argument('<run>'))
    .description('write the metrics of every iteration as Parquet, JSONL or CSV')
    .action(
      async (run: string, _options, command: Command) =>
        await (await dataWork()).exportMetricsTo(run, command.optsWithGlobals<ExportDataOptions>()),
    );
}

/** `--to` and `--json` are those of the verb above, which takes them wherever they stand. */
function withFile(command: Command): Command {
  return command
    .option('--format <format>', 'parquet, jsonl, csv or atif')
    .option('--force', 'replace the file if it exists');
}
