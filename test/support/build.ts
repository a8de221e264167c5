import { execFileSync } from 'node:child_process';

/** Process, end-to-end and fault tests run dist/: build it first, or they pass on stale code. */
export function setup(): void {
  execFileSync('node', ['scripts/build.mjs'], { stdio: 'inherit' });
}
