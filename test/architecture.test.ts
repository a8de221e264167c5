import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The table of docs/DESIGN.md: what each folder may import besides itself, and the packages it is the door to. */
const RULES: readonly { folder: string; may: readonly string[]; packages: readonly string[] }[] = [
  { folder: 'src/domain', may: [], packages: ['zod'] },
  { folder: 'src/protocol', may: ['src/domain'], packages: ['zod'] },
  {
    folder: 'src/config',
    may: ['src/domain', 'src/store/filter.ts', 'src/store/filter-tree.ts'],
    packages: ['zod', 'yaml'],
  },
  { folder: 'src/rewards', may: ['src/domain'], packages: ['zod'] },
  { folder: 'src/store', may: ['src/domain'], packages: ['zod', 'better-sqlite3'] },
  { folder: 'src/hosts', may: ['src/domain', 'src/protocol'], packages: ['zod', 'execa'] },
  { folder: 'envs', may: ['src/domain', 'src/protocol'], packages: ['zod', 'execa'] },
  { folder: 'trainer', may: ['src/domain', 'src/protocol'], packages: ['zod', 'onnxruntime-node'] },
  {
    folder: 'src/sampling',
    may: ['src/domain', 'src/protocol', 'src/rewards', 'envs', 'trainer/policy', 'trainer/session.ts'],
    packages: ['zod'],
  },
  { folder: 'src/evaluation', may: ['src/domain', 'src/store'], packages: ['zod'] },
  { folder: 'src/diagnosis', may: ['src/domain', 'src/store'], packages: ['zod'] },
  {
    folder: 'src/interop',
    may: ['src/domain', 'src/store'],
    packages: ['zod', 'hyparquet', 'hyparquet-writer'],
  },
  {
    folder: 'src/replay',
    may: [
      'src/domain',
      'src/protocol',
      'src/store',
      'envs',
      'src/rewards',
      'src/sampling/episode-ending.ts',
      'src/sampling/answer-check.ts',
      'trainer/policy',
    ],
    packages: ['zod', 'diff'],
  },
  {
    folder: 'src/run',
    may: [
      'src/domain',
      'src/protocol',
      'src/config',
      'src/hosts',
      'src/store',
      'src/evaluation',
      'src/diagnosis',
    ],
    packages: ['zod'],
  },
  {
    folder: 'views',
    may: [
      'src/domain',
      'src/store/queries.ts',
      'src/store/filter.ts',
      'src/store/filter-tree.ts',
      'src/store/episode-search.ts',
      'src/store/saved-filters.ts',
      'src/store/run-directory.ts',
      'src/store/downsample.ts',
      'src/store/reading.ts',
      'src/store/step-figures.ts',
      'src/store/episode-marks.ts',
      'src/store/view-state.ts',
      'src/run/control-client.ts',
      'src/replay',
      'src/diagnosis',
    ],
    packages: ['zod', 'ink', 'react', 'string-width'],
  },
  { folder: 'src/cli', may: ['src', 'views/app.tsx'], packages: ['zod', 'commander'] },
];

/** Packages with exactly one door each (two for execa: sandboxes and external environments start processes too). */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  'onnxruntime-node': ['trainer/session.ts'],
  'better-sqlite3': ['src/store'],
  execa: ['src/hosts', 'envs/sandbox', 'envs/external'],
  hyparquet: ['src/interop'],
  'hyparquet-writer': ['src/interop'],
  yaml: ['src/config'],
  commander: ['src/cli'],
  diff: ['src/replay'],
  ink: ['views'],
  react: ['views'],
};

interface Import {
  readonly file: string;
  readonly target: string;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return /\.tsx?$/u.test(entry.name) ? [path] : [];
  });
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const pattern = /(?:\bfrom\s+|\bimport\s*\(\s*|\bimport\s+)'([^']+)'/gu;
  return [...text.matchAll(pattern)].map(([, specifier = '']) => ({
    file,
    target: specifier.startsWith('.') ? relative('.', resolve(dirname(file), specifier)) : specifier,
  }));
}

/** Files that a file loads when it is loaded itself: no types, and nothing that is imported later. */
function staticImportsOf(file: string): string[] {
  const pattern = /^(?:import|export)\s(?!type\b)[^;]*?from\s+'(\.[^']+)'|^import\s+'(\.[^']+)'/gmu;
  return [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, from, bare]) =>
    relative('.', resolve(dirname(file), from ?? bare ?? '')),
  );
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function packageOf(target: string): string {
  const parts = target.split('/');
  return target.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? target);
}

const files = ['src', 'views', 'envs', 'trainer'].flatMap((folder) => filesBelow(folder));
const imports = files.flatMap((file) => importsOf(file));

describe('import direction', () => {
  it('was read from the whole tree', () => {
    expect(files.length).toBeGreaterThan(90);
    expect(imports.length).toBeGreaterThan(300);
  });

  it('every source file stands in a folder of the table', () => {
    const strays = files.filter((file) => !RULES.some(({ folder }) => isBelow(file, folder)));
    expect(strays).toEqual([]);
  });

  it('no folder imports what the table does not allow', () => {
    const violations = imports.flatMap(({ file, target }) => {
      const rule = RULES.find(({ folder }) => isBelow(file, folder));
      if (rule === undefined || target.startsWith('node:')) return [];
      const local = /^(?:src|views|envs|trainer)(?:\/|$)/u.test(target);
      const allowed = local
        ? isBelow(target, rule.folder) || rule.may.some((folder) => isBelow(target, folder))
        : rule.packages.includes(packageOf(target));
      return allowed ? [] : [`${file} imports ${target}`];
    });
    expect(violations).toEqual([]);
  });

  it('each native or interactive package is imported through its door only', () => {
    const violations = imports.flatMap(({ file, target }) => {
      const doors = DOORS[packageOf(target)];
      if (doors === undefined || doors.some((door) => isBelow(file, door))) return [];
      return [`${file} imports ${target}`];
    });
    expect(violations).toEqual([]);
  });

  it('the command line loads the terminal UI only when it is needed', () => {
    const loaders = files.filter((file) => isBelow(file, 'src/cli'));
    const statics = loaders.filter((file) => /from '[^']*views\//u.test(readFileSync(file, 'utf8')));
    expect(statics.filter((file) => !/import type/u.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('neither the screen nor the command line loads onnxruntime, however far their imports go', () => {
    const reached = new Set(['src/cli/main.ts', 'views/app.tsx', 'views/terminal.tsx', 'src/run/main.ts']);
    for (const file of reached) {
      for (const target of staticImportsOf(file)) if (existsSync(target)) reached.add(target);
    }
    expect(reached.size).toBeGreaterThan(100);
    expect([...reached].filter((file) => isBelow(file, 'trainer'))).toEqual([]);
  });

  it('random numbers, processes and the console have one source each', () => {
    const forbidden: readonly { pattern: RegExp; allowed: readonly string[] }[] = [
      { pattern: /\bMath\.random\b/u, allowed: [] },
      { pattern: /\bconsole\./u, allowed: ['src/cli/output.ts'] },
      {
        pattern: /from 'node:child_process'/u,
        allowed: ['src/cli', 'src/hosts', 'src/protocol/host-figures.ts'],
      },
    ];
    const violations = files.flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      return forbidden
        .filter(({ pattern, allowed }) => pattern.test(text) && !allowed.some((door) => isBelow(file, door)))
        .map(({ pattern }) => `${file}: ${pattern.source}`);
    });
    expect(violations).toEqual([]);
  });

  it('views hold no SQL', () => {
    const withSql = files.filter(
      (file) => isBelow(file, 'views') && /\bSELECT\s.+\sFROM\b/u.test(readFileSync(file, 'utf8')),
    );
    expect(withSql).toEqual([]);
  });
});
