import { Command, InvalidArgumentError, Option } from 'commander';
import { THEME_NAMES } from '../domain/display.ts';
import { LabError } from '../domain/error.ts';
import { LAB_VERSION } from '../domain/lab-version.ts';
import { nearest } from '../domain/nearest.ts';
import { addAlertVerb } from './alert-verb.ts';
import type { BenchOptions } from './bench.ts';
import { SLOT_ORDERS } from './choices.ts';
import type { ControlOptions, PauseOptions } from './control.ts';
import { addDataVerbs } from './data-verbs.ts';
import type { DevicesOptions } from './devices.ts';
import type { EpisodesOptions } from './episodes.ts';
import type { ExportOptions } from './export.ts';
import { addFilterVerb } from './filters.ts';
import type { FsckOptions } from './fsck.ts';
import { DEFAULT_RUNS_DIRECTORY, rememberRunsDirectory } from './lab-command.ts';
import type { OpenTui } from './launch.ts';
import { verbWork } from './lazy-work.ts';
import { parseCount, parsePositive } from './numbers.ts';
import { EXIT } from './output.ts';
import type { OverrideOptions } from './overrides.ts';
import { addReplayVerbs } from './replay-verbs.ts';
import type { SlotsOptions } from './slots.ts';
import { addWorkersVerb } from './workers-verb.ts';

const EXAMPLES = `
Examples:
  agentrl-lab run                          train the demo for ten minutes and watch it
  agentrl-lab run lab.yaml --minutes 30    the same with a config of your own
  agentrl-lab run --headless --json        no screen: one JSON object an iteration
  agentrl-lab set clip=0.1 kl=0.02         turn knobs of the live run
  agentrl-lab branch demo-1@300 --set clip=0.1
                                           another run from a checkpoint of that one
  agentrl-lab episodes fail:max_steps      find episodes by the way they failed
  agentrl-lab show e120                    one of them, step by step
  agentrl-lab replay e120                  done again, and where it differs
  agentrl-lab fork e120 --step 4           other ways it might have gone from there

Exit codes:
  0  done; for a run that is followed: it came to its own end
  1  it failed, or a followed run was stopped or failed
  2  the command, config, filter or knob is not right
  130, 143  ended by Ctrl-C or SIGTERM; a followed run was stopped first
`;

const FILTER_EXAMPLES = `
Filters, joined by "and":
  fail:wrong_result         by failure type; fail:any, fail:none
  is:success, is:heldout    also is:failed, is:truncated, is:void
  steps>20  reward<0        numbers; iter:40..60 for a range; age<10m
  -family:ordered           "-" is not, "or" and brackets combine
  sort:-reward              order; newest first without it
`;

interface GlobalOptions {
  readonly runs: string;
  readonly json?: boolean;
}

/** The command line. `finish` is told the exit code of the verb that ran. */
export function createProgram(openTui: OpenTui, finish: (exitCode: number) => void): Command {
  const program = new Command('agentrl-lab')
    .description(
      'A terminal lab for reinforcement learning of agents.\n' +
        'Without a command it opens the screen on the newest live run.',
    )
    .version(LAB_VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .option('--runs <directory>', 'where the runs are', DEFAULT_RUNS_DIRECTORY)
    .addOption(
      new Option('--theme <name>', 'colours of the screen; default: by what the terminal says')
        .choices(THEME_NAMES)
        .env('AGENTRL_LAB_THEME'),
    )
    .option('--mouse', 'clicks and the wheel work on the screen; without it the terminal selects text')
    .option('--lines', 'no screen: read lines, type commands; for screen readers and slow links')
    .addHelpText('after', EXAMPLES)
    .configureHelp({ showGlobalOptions: true, sortOptions: false })
    .showHelpAfterError('see: agentrl-lab --help')
    .exitOverride()
    .allowExcessArguments()
    .hook('preAction', (_program, command) =>
      rememberRunsDirectory(command.optsWithGlobals<GlobalOptions>().runs),
    )
    .action(async (options: GlobalOptions) => {
      refuseUnknownVerb(program);
      finish(await (await launch()).openLab(options, openTui));
    });
  addRunVerbs(program, openTui, finish);
  addControlVerbs(program);
  addInspectVerbs(program);
  addCheckVerbs(program, finish);
  addReplayVerbs(program, finish);
  addDataVerbs(program, finish);
  return program;
}

async function launch(): Promise<typeof import('./launch.ts')> {
  return await import('./launch.ts');
}

function refuseUnknownVerb(program: Command): void {
  const [word] = program.args;
  if (word === undefined) return;
  const like = nearest(
    word,
    program.commands.flatMap((command) => [command.name(), ...command.aliases()]),
  );
  throw new LabError('usage', {
    message: `"${word}" is not a command`,
    hint: like === null ? 'see: agentrl-lab --help' : `did you mean ${like}? See: agentrl-lab --help`,
  });
}

function addRunVerbs(program: Command, openTui: OpenTui, finish: (exitCode: number) => void): void {
  program.commandsGroup('Run:');
  withShowOptions(withOverrides(program.command('run').argument('[config]', 'YAML file; none: the demo')))
    .description('start a run and show it; without a terminal, follow it line by line')
    .addOption(new Option('--seed <number>', 'seed of everything random').argParser(parseCount))
    .option('--name <name>', 'name of the run: letters, digits, - and _')
    .action(async (file: string | undefined, _options, command: Command) =>
      finish(await (await launch()).launchRun(file ?? null, command.optsWithGlobals(), openTui)),
    );
  withShowOptions(
    withOverrides(
      program.command('resume').argument('[run]', 'default: the newest live run, or else the newest'),
    ),
  )
    .description('let a paused run go on, or start one that has ended again from its last checkpoint')
    .action(async (run: string | undefined, _options, command: Command) =>
      finish(await (await launch()).resumeRun(run, command.optsWithGlobals(), openTui)),
    );
  withShowOptions(
    withOverrides(
      program
        .command('branch')
        .argument('<run[@iteration]>', 'default of the iteration: its newest checkpoint'),
    ),
  )
    .description('start a run from a checkpoint of another one; --minutes and --iterations are its own')
    .option('--name <name>', 'name of the run; default: that of the other one')
    .action(async (place: string, _options, command: Command) =>
      finish(await (await launch()).launchBranch(place, command.optsWithGlobals(), openTui)),
    );
  program
    .command('attach')
    .argument('[run]', 'default: the newest live run')
    .description('open the screen on a live run; leaving it does not stop the run')
    .action(async (run: string | undefined, _options, command: Command) =>
      finish(await (await launch()).attachRun(run, command.optsWithGlobals(), openTui)),
    );
}

function addControlVerbs(program: Command): void {
  program.commandsGroup('Control a live run:');
  program
    .command('pause')
    .argument('[run]', 'default: the newest live run')
    .description('pause it; episodes in flight are finished first')
    .option('--now', 'at once: every episode stays where it is')
    .option(
      '--quiesce',
      'return when nothing is in flight and all of it is in a checkpoint: safe to move or upgrade',
    )
    .addOption(jsonOption())
    .action(
      async (run: string | undefined, _options, command: Command) =>
        await (await verbWork()).pauseRun(run, command.optsWithGlobals<PauseOptions>()),
    );
  program
    .command('stop')
    .argument('[run]', 'default: the newest live run')
    .description('end it with a checkpoint; returns when no process of it is left')
    .addOption(jsonOption())
    .action(
      async (run: string | undefined, _options, command: Command) =>
        await (await verbWork()).stopRun(run, command.optsWithGlobals<ControlOptions>()),
    );
  program
    .command('checkpoint')
    .argument('[run]', 'default: the newest live run')
    .description('write a checkpoint now')
    .addOption(jsonOption())
    .action(
      async (run: string | undefined, _options, command: Command) =>
        await (await verbWork()).checkpointRun(run, command.optsWithGlobals<ControlOptions>()),
    );
  program
    .command('slots')
    .argument('[run]', 'default: the newest live run')
    .description('what is in every slot of a live run: episode, stage, age, CPU, files')
    .addOption(new Option('--sort <column>', 'the largest first').choices(SLOT_ORDERS).default('wait'))
    .addOption(new Option('--limit <number>', 'how many at most').argParser(parseCount).default(20))
    .addOption(jsonOption())
    .action(
      async (run: string | undefined, _options, command: Command) =>
        await (await verbWork()).printSlots(run, command.optsWithGlobals<SlotsOptions>()),
    );
  addWorkersVerb(program);
  program
    .command('set')
    .argument('<knob=value...>', 'one or more, as in clip=0.1; lr=schedule gives lr back to its schedule')
    .description('turn knobs; prints from which minibatch on the new values apply')
    .option('--run <run>', 'default: the newest live run')
    .addOption(jsonOption())
    .action(
      async (knobs: string[], _options, command: Command) =>
        await (await verbWork()).setKnobs(knobs, command.optsWithGlobals<ControlOptions>()),
    );
  program
    .command('undo')
    .argument('[run]', 'default: the newest live run')
    .description('put back the newest turn of a knob')
    .addOption(jsonOption())
    .action(
      async (run: string | undefined, _options, command: Command) =>
        await (await verbWork()).undoKnob(run, command.optsWithGlobals<ControlOptions>()),
    );
  program
    .command('preview')
    .argument('<[run] knob=value...>', 'one or more, as in clip=0.1; default of the run: the newest live run')
    .description('what knobs would have done to the newest update, without turning them')
    .addOption(jsonOption())
    .action(
      async (knobs: string[], _options, command: Command) =>
        await (await verbWork()).previewKnobs(knobs, command.optsWithGlobals<ControlOptions>()),
    );
}

function addInspectVerbs(program: Command): void {
  program.commandsGroup('Look:');
  program
    .command('ls')
    .alias('runs')
    .description('list the runs, newest first')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => {
      const { printRuns } = await import('./list-runs.ts');
      printRuns(command.optsWithGlobals<GlobalOptions>());
    });
  program
    .command('episodes')
    .argument('[filter...]', 'as in: fail:wrong_result steps>20 -family:ordered')
    .description('list episodes, all or those that a filter matches')
    .addHelpText('after', FILTER_EXAMPLES)
    // A term that begins with "-" negates: it is not an option.
    .allowUnknownOption()
    .addOption(new Option('--limit <n>', 'most to list').argParser(parsePositive).default(20))
    .option('--run <run>', 'default: the newest run')
    .option('--facets', 'how they are distributed: by outcome, family, host, behaviour, iteration and reward')
    .option('--complete <text>', 'how this filter text can go on, with how many episodes it would match')
    .addOption(jsonOption())
    .action(
      async (filter: string[], _options, command: Command) =>
        await (await verbWork()).printEpisodes(filter, command.optsWithGlobals<EpisodesOptions>()),
    );
  addFilterVerb(program);
  addAlertVerb(program);
  program
    .command('show')
    .argument('<what>', 'an episode, as in e120, or a run')
    .description('print one episode step by step, or how a run goes')
    .option('--run <run>', 'default: the newest run')
    .addOption(jsonOption())
    .action(async (what: string, _options, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { run?: string }>();
      if (/^e?\d+$/u.test(what)) (await verbWork()).printEpisode(what, options);
      else await (await verbWork()).printRun(what, options);
    });
}

/** What is looked at here is the lab itself, or what a run has left. */
function addCheckVerbs(program: Command, finish: (exitCode: number) => void): void {
  program
    .command('fsck')
    .argument('[run]', 'default: the newest run')
    .description('check what an ended run has stored, record by record')
    .option('--repair', 'build a new index where the old one is wrong')
    .addOption(jsonOption())
    .action(async (run: string | undefined, _options, command: Command) =>
      finish((await verbWork()).fsckRun(run, command.optsWithGlobals<FsckOptions>())),
    );
  program
    .command('export')
    .argument('<run[@iteration]>', 'default of the iteration: its newest checkpoint')
    .description('write the policy as an ONNX model, with what encodes its inputs')
    .requiredOption('--to <path>', 'an empty or new directory; for episodes and metrics a file, or -')
    .addOption(jsonOption())
    .action(
      async (place: string, _options, command: Command) =>
        await (await verbWork()).exportRun(place, command.optsWithGlobals<ExportOptions>()),
    );
  program
    .command('devices')
    .argument('[config]', 'YAML file whose providers are looked at; none: the defaults')
    .description('try every execution provider of onnxruntime on this machine')
    .addOption(jsonOption())
    .action(
      async (file: string | undefined, _options, command: Command) =>
        await (await verbWork()).printDevices(file ?? null, command.optsWithGlobals<DevicesOptions>()),
    );
  program
    .command('bench')
    .argument('[config]', 'YAML file, as for run; none: the defaults')
    .description('try an environment with a random policy before training: failures, speed, memory')
    .addOption(new Option('--env <name>', 'the environment, in place of the one in the config'))
    .addOption(new Option('--tasks <n>', 'how many to try; default: 10,000').argParser(parsePositive))
    .option('--task <task>', 'this one only, once: FAMILY/SPLIT/INDEX, with @SEED for that very episode')
    .option('--set <key=value...>', 'any key of the config, as in sampling.slots=512')
    .addOption(jsonOption())
    .action(async (file: string | undefined, _options, command: Command) =>
      finish(
        await (await verbWork()).benchEnvironment(file ?? null, command.optsWithGlobals<BenchOptions>()),
      ),
    );
  withOverrides(program.command('config').argument('[file]', 'YAML file; none: the defaults'))
    .description('print the whole config with the origin of each value')
    .addOption(jsonOption())
    .action(async (file: string | undefined, _options, command: Command) => {
      const { overridesOf, printConfig } = await verbWork();
      const options = command.optsWithGlobals<GlobalOptions & OverrideOptions>();
      printConfig(file ?? null, {
        overrides: overridesOf(options),
        ...(options.json === undefined ? {} : { json: options.json }),
      });
    });
}

function withOverrides(command: Command): Command {
  return command
    .addOption(new Option('--minutes <m>', 'end after so much running time').argParser(parseMinutes))
    .addOption(new Option('--iterations <n>', 'end after so many updates').argParser(parsePositive))
    .option('--set <key=value...>', 'a knob or any key of the config, as in clip=0.1 or sampling.slots=512');
}

function withShowOptions(command: Command): Command {
  return command
    .option('--headless', 'no screen: follow it line by line to its end')
    .addOption(new Option('--json', 'headless, one JSON object an iteration on stdout'))
    .option('--detach', 'leave it running and print its id');
}

function jsonOption(): Option {
  return new Option('--json', 'print JSON');
}

function parseMinutes(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError('Wanted a number above 0.');
  return value;
}

/** The exit code for an error of the command line itself: asking for help or the version is none. */
export function commanderExitCode(code: string): number {
  return ['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(code)
    ? EXIT.ok
    : EXIT.usage;
}
