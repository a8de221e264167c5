// Bundles the sources, and all packages but the native ones, into dist/: Node takes longer to find and read 400 small files than to
// run them. One graph for all processes: what several of them share is there once, so a class is the same class everywhere.
// A build whose inputs are older than the last one is skipped, so that `npm start` opens at once.
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transformSync } from 'esbuild';
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

/**
 * Files of packages, below node_modules, of which the bundle has something else: a function of the text of the file. What that imports
 * is looked for from the root.
 */
const REPLACED = {
  // For the developers of Ink alone, and needs a package that is not there.
  'ink/build/devtools.js': () => '',
  // Messages of zod in languages that the lab does not speak: a third of zod.
  'zod/v4/locales/index.js': () => '',
  // Fetches its own text as a URL, for which Node loads its HTTP client: a tenth of the time until the first frame.
  'yoga-layout/dist/binaries/yoga-wasm-base64-esm.js': (text) =>
    `const fetch = undefined;\nconst atob = (text) => Buffer.from(text, 'base64').toString('latin1');\n${text}`,
};

const replaced = {
  name: 'replaced',
  setup({ onLoad }) {
    const files = Object.keys(REPLACED).map((file) => file.replaceAll('.', '\\.'));
    // As a filter, which is of Go, so that the other files are read without asking.
    onLoad({ filter: new RegExp(`/node_modules/(?:${files.join('|')})$`) }, ({ path }) => {
      const file = path.slice(path.lastIndexOf('/node_modules/') + '/node_modules/'.length);
      return { contents: REPLACED[file](readFileSync(path, 'utf8')), resolveDir: root };
    });
  },
};

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
    plugins: [replaced],
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
