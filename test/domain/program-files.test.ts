import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import {
  PROGRAM_FILES,
  type ProgramFile,
  programFile,
  RUNS_FROM_SOURCE,
} from '../../src/domain/program-files.ts';

it('from source, every process and thread starts from a source file that is there', () => {
  expect(RUNS_FROM_SOURCE).toBe(true);
  // oxlint-disable-next-line typescript/consistent-type-assertions
  const names = Object.keys(PROGRAM_FILES) as ProgramFile[];
  const missing = names.filter((name) => !existsSync(fileURLToPath(programFile(name))));
  expect(missing).toEqual([]);
  expect(names.length).toBeGreaterThan(10);
});
