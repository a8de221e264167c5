/** Where runs are looked for when nobody says. */
export const DEFAULT_RUNS_DIRECTORY = 'runs';

let runsDirectory = DEFAULT_RUNS_DIRECTORY;

/** From now on, commands that are shown name this directory unless it is the default one. */
export function rememberRunsDirectory(directory: string): void {
  runsDirectory = directory;
}

/** A command to show, that works as it stands: `agentrl-lab attach ID`, with `--runs DIRECTORY` where that is needed. */
export function labCommand(...words: readonly string[]): string {
  const runs = runsDirectory === DEFAULT_RUNS_DIRECTORY ? [] : ['--runs', shellWord(runsDirectory)];
  return ['agentrl-lab', ...words, ...runs].join(' ');
}

const VERBS =
  'alert|archive|attach|branch|checkpoint|compact|compare|episodes|export|filter|fork|fsck|ls|pause|pin|preview|replay|' +
  'resume|runs|set|show|slots|sql|stop|undo|workers';
/** A command about runs; what `labCommand` made, or somebody wrote out, names their directory already. */
const COMMAND = new RegExp(
  `agentrl-lab ((?:${VERBS})\\b(?: (?!--)[\\w=.<>@-]+)*)(?!(?: [^\\s;,]+)* --runs )(?![\\w=.<>@-])`,
  'gu',
);

/** The same for commands about runs inside a text that was written elsewhere. */
export function completeCommands(text: string): string {
  return text.replaceAll(COMMAND, (_command, words: string) => labCommand(words));
}

/** A word as a shell reads it back. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
