import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { PROGRAM_FILES } from '../../src/domain/program-files.ts';

const packedSchema = z.tuple([
  z.object({
    files: z.array(z.object({ path: z.string(), mode: z.int() })),
    unpackedSize: z.number(),
  }),
]);

it('the package holds what is needed to run, and nothing else', () => {
  // What was built is packed: building again would pull dist/ from under other tests.
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [packed] = packedSchema.parse(JSON.parse(output));
  const paths = packed.files.map(({ path }) => path);
  const entries = Object.values(PROGRAM_FILES).map((path) => `dist/${path}.js`);
  const docs = ['docs/CONFIG.md', 'docs/ENVIRONMENTS.md', 'LICENSE', 'package.json'];
  const wanted = [...entries, 'dist/envs/conformance.js', 'dist/THIRD-PARTY-NOTICES.txt', ...docs];
  expect(wanted.filter((path) => !paths.includes(path))).toEqual([]);
  const others = paths.filter(
    (path) => !/^(?:dist|docs)\/|^(?:package\.json|README\.md|LICENSE|runs\/README\.md)$/u.test(path),
  );
  expect(others).toEqual([]);
  expect(
    paths.filter((path) =>
      /^dist\/(?:test|bench|node_modules)\/|\.(?:ts|tsx|map|db|seg)$/u.test(path.replace(/\.d\.ts$/u, '')),
    ),
  ).toEqual([]);
  // With all that is bundled; before that, the packages that were installed beside 3.5 MB of ours took 18 MB.
  expect(packed.unpackedSize).toBeLessThan(4_800_000);
  expect(packed.files.find(({ path }) => path === 'dist/src/cli/main.js')!.mode & 0o111).not.toBe(0);
  expect(existsSync('dist/src/cli/main.js')).toBe(true);
});
