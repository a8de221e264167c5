import { execFile } from 'node:child_process';
import { z } from 'zod';
import { ERROR_CODES, LabError } from '../domain/error.ts';
import { entryCommand } from '../hosts/entries.ts';

/** Output of a verb that is kept. */
const MOST_BYTES = 64 * 1024 * 1024;

const errorSchema = z.object({
  error: z.object({ code: z.enum(ERROR_CODES), message: z.string(), hint: z.string().nullish() }),
});

/**
 * Runs a verb of this program in a process of its own, on the same runs directory and with `--json`; resolves with the values that it
 * printed. What takes long or much memory (archiving, exports, episodes done again) then holds up nobody. An exit code of 1 with
 * output is an answer too ("some drifted"). Throws what the verb says of its failure.
 */
export async function ownVerb(runsDirectory: string, words: readonly string[]): Promise<unknown[]> {
  const [program, ...flags] = entryCommand('cli');
  const args = [...flags, ...words, '--json', '--runs', runsDirectory];
  return await new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: MOST_BYTES }, (error, stdout, stderr) => {
      try {
        resolve(answerOf(words, { failed: error !== null, stdout, stderr }));
      } catch (thrown) {
        reject(thrown);
      }
    });
  });
}

/** What a verb that has ended has answered: see `ownVerb`. */
export function answerOf(
  words: readonly string[],
  { failed, stdout, stderr }: { readonly failed: boolean; readonly stdout: string; readonly stderr: string },
): unknown[] {
  const values = stdout.split('\n').flatMap(parsed);
  const said = [...values, ...stderr.split('\n').flatMap(parsed)].map((value) =>
    errorSchema.safeParse(value),
  );
  const error = said.find(({ success }) => success)?.data?.error;
  if (error !== undefined) {
    const { code, message, hint } = error;
    throw new LabError(code, typeof hint === 'string' ? { message, hint } : { message });
  }
  if (failed && values.length === 0) {
    throw new LabError('child-failed', {
      message: `agentrl-lab ${words.join(' ')} failed: ${stderr.trim()}`,
    });
  }
  return values;
}

function parsed(line: string): unknown[] {
  try {
    return line.startsWith('{') ? [JSON.parse(line)] : [];
  } catch {
    return [];
  }
}
