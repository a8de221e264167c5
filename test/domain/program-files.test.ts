import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { PROGRAM_FILES, programFile, RUNS_FROM_SOURCE } from '../../src/domain/program-files.ts';

it('from source, every process and thread starts from a source file that is there', () => {
  expect(RUNS_FROM_SOURCE).toBe(true);
  const sources = Object.values(PROGRAM_FILES).map((path) => `${path}.ts`);
  expect(sources.filter((path) => !existsSync(path))).toEqual([]);
  expect(sources.length).toBeGreaterThan(10);
  expect(programFile('gradientThread').href).toBe(pathToFileURL('trainer/ppo/gradient-thread.ts').href);
});
