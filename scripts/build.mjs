// Bundles the sources, and all packages but the native ones, into dist/: Node takes longer to find and read 400 small files than to
// run them. One graph for all processes: what several of them share is there once, so a class is the same class everywhere.
// A build whose inputs are older than the last one is skipped, so that `npm start` opens at once.
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transformSync } from 'esbuild';
import { replacedFiles } from './replaced.mjs';
import { thirdPartyNotices } from './third-party.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const stamp = join(dist, '.built');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** What modules of users, and tests of the built lab, import from dist/. */
const LIBRARY = [
  'envs/conformance',
  'envs/workbench/definition',
  'src/domain/random',
  'src/protocol/lifeline',
  'trainer/graph/graph',
  'trainer/graph/ops',
];

/** Newest modification time, in ms, below a path. */
function newest(path) {
  const info = statSync(path);
  if (!info.isDirectory()) return info.mtimeMs;
  let latest = info.mtimeMs;
  for (const name of readdirSync(path)) latest = Math.max(latest, newest(join(path, name)));
  return latest;
}

/** The entries of processes and threads, as the lab itself knows them. */
async function programFiles() {
  const source = readFileSync(join(root, 'src', 'domain', 'program-files.ts'), 'utf8');
  const { code } = transformSync(source, { loader: 'ts', format: 'esm' });
  const { PROGRAM_FILES } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  return Object.values(PROGRAM_FILES);
}

async function bundle() {
  const entries = [...(await programFiles()), ...LIBRARY];
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries.map((entry) => `${entry}.ts`),
    outbase: root,
    outdir: dist,
    // As deep as src/domain/program-files.ts, which finds the entries from where it is.
    chunkNames: 'src/shared/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${manifest.engines.node.replace('>=', '')}`,
    // Names and lines stay, so that a stack can be read without the map, which is not in the package.
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    // src/cli/main.ts sets it for what runs from source.
    logOverride: { 'assign-to-define': 'silent' },
    // The native packages.
    external: Object.keys(manifest.dependencies),
    // Packages of CommonJS that are bundled ask for the modules of Node by `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    plugins: [replacedFiles(root)],
    metafile: true,
    logLevel: 'warning',
  });
  writeFileSync(join(dist, 'THIRD-PARTY-NOTICES.txt'), thirdPartyNotices(root, Object.keys(metafile.inputs)));
  chmodSync(join(dist, 'src', 'cli', 'main.js'), 0o755);
  writeFileSync(stamp, '');
}

const inputs = ['src', 'views', 'envs', 'trainer', 'scripts', 'tsconfig.json', 'package.json'];
const latest = Math.max(...inputs.map((input) => newest(join(root, input))));
if (!existsSync(stamp) || statSync(stamp).mtimeMs < latest) {
  rmSync(dist, { recursive: true, force: true });
  await bundle();
}
