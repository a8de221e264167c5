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

/** The same for commands about runs inside a text that was written elsewhere. */
export function completeCommands(text: string): string {
  return text.replaceAll(
    /agentrl-lab ((?:archive|attach|branch|checkpoint|compact|compare|episodes|export|filter|fsck|ls|pause|pin|preview|resume|runs|set|show|sql|stop|undo|workers)\b(?: (?!--)[\w=.<>@-]+)*)/gu,
    (_command, words: string) => labCommand(words),
  );
}

/** A word as a shell reads it back. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
