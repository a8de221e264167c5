// Compiles the sources into dist/ and marks the command as executable.
// A build whose inputs are older than the last one is skipped, so that `npm start` opens at once.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'dist', '.built');

/** Newest modification time, in ms, below a path. */
function newest(path) {
  const info = statSync(path);
  if (!info.isDirectory()) return info.mtimeMs;
  let latest = info.mtimeMs;
  for (const name of readdirSync(path)) latest = Math.max(latest, newest(join(path, name)));
  return latest;
}

const inputs = ['src', 'views', 'envs', 'trainer', 'tsconfig.json', 'tsconfig.build.json', 'package.json'];
const latest = Math.max(...inputs.map((input) => newest(join(root, input))));
if (!existsSync(stamp) || statSync(stamp).mtimeMs < latest) {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
  chmodSync(join(root, 'dist', 'src', 'cli', 'main.js'), 0o755);
  writeFileSync(stamp, '');
}
