#!/usr/bin/env node

/** Verbs that are not for people: with one of them this process becomes a child of a run on another host. */
const CHILD_ENTRIES: Readonly<Record<string, 'worker' | 'trainer'>> = {
  'worker-process': 'worker',
  'trainer-process': 'trainer',
};

const child = CHILD_ENTRIES[process.argv[2] ?? ''];
if (child === undefined) process.exitCode = await runCommand();
else await becomeChild(child);

async function becomeChild(entry: 'worker' | 'trainer'): Promise<void> {
  const { programFile } = await import('../domain/program-files.ts');
  await import(programFile(entry).href);
}

async function runCommand(): Promise<number> {
  const { CommanderError } = await import('commander');
  const { commanderExitCode, createProgram } = await import('./verbs.ts');
  const { clearProgress, endWhenReaderGoes, printError } = await import('./output.ts');
  endWhenReaderGoes();
  let exitCode = 0;
  const program = createProgram(
    async (options) => {
      const { runApp } = await import('../../views/app.tsx');
      return await runApp(options);
    },
    (code) => (exitCode = code),
  );
  try {
    await program.parseAsync();
  } catch (thrown) {
    // Commander has printed its own message already.
    if (thrown instanceof CommanderError) return commanderExitCode(thrown.code);
    return printError(thrown, process.argv.includes('--json'));
  } finally {
    clearProgress();
  }
  return exitCode;
}
