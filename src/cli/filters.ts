import type { Command } from 'commander';
import { visibleText } from '../domain/visible-text.ts';
import { readSavedFilters, removeFilter, saveFilter } from '../store/saved-filters.ts';
import { formatTable } from './format.ts';
import { printJson, printLine } from './output.ts';

interface FilterOptions {
  readonly runs: string;
  readonly json?: boolean;
}

/** The verb that keeps filters under a name. */
export function addFilterVerb(program: Command): void {
  const verb = program
    .command('filter')
    .description('keep filters by name: @NAME then stands for one wherever filters are typed');
  verb
    .command('save')
    .argument('<name>', 'letters, digits, - and _')
    .argument('<filter...>', 'as for episodes')
    .description('keep a filter, in place of the one of that name')
    // A term that begins with "-" negates: it is not an option.
    .allowUnknownOption()
    .action((name: string, filter: string[], _options, command: Command) => {
      const { runs } = command.optsWithGlobals<FilterOptions>();
      saveFilter(runs, name, filter.join(' '));
      printLine(`@${name} stands for ${visibleText(filter.join(' '))}`);
    });
  verb
    .command('ls')
    .description('list the filters that are kept')
    .option('--json', 'print JSON')
    .action((_options, command: Command) => {
      const { runs, json } = command.optsWithGlobals<FilterOptions>();
      const saved = [...readSavedFilters(runs)];
      if (json === true) printJson(Object.fromEntries(saved));
      else if (saved.length === 0) printLine(`no filters are kept in ${runs}`);
      else {
        const columns = [
          { title: 'NAME', align: 'left', cell: ([name]: [string, string]) => `@${name}` },
          { title: 'FILTER', align: 'left', cell: ([, text]: [string, string]) => visibleText(text) },
        ] as const;
        for (const line of formatTable(columns, saved)) printLine(line);
      }
    });
  verb
    .command('rm')
    .argument('<name>')
    .description('forget a filter')
    .action((name: string, _options, command: Command) => {
      removeFilter(command.optsWithGlobals<FilterOptions>().runs, name);
      printLine(`@${name} is forgotten`);
    });
}
