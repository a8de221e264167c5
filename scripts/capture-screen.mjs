// Writes what the terminal UI shows of a run as plain text: by default the newest live run, 120x40, to docs/screen.txt.
//   node scripts/capture-screen.mjs [runs directory] [file] [columns] [rows]
// It needs tmux. The run goes on.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [runs = 'runs', file = join(root, 'docs', 'screen.txt'), columns = '120', rows = '40'] =
  process.argv.slice(2);
const program = join(root, 'dist', 'src', 'cli', 'main.js');
const patienceMs = 15_000;

/** A tmux server of our own, without anybody's settings. */
function tmux(...args) {
  return execFileSync('tmux', ['-L', `agentrl-capture-${process.pid}`, '-f', '/dev/null', ...args], {
    encoding: 'utf8',
  });
}

/** The screen as soon as the run's figures are on it. */
async function capture() {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const screen = tmux('capture-pane', '-p', '-t', 'app');
    if (/iteration [1-9].*data <1s old/u.test(screen)) return screen;
    if (Date.now() > deadline) throw new Error(`no figures after ${patienceMs / 1000} s:\n${screen}`);
    await sleep(100);
  }
}

const command = ['env', '-u', 'CI', 'LC_ALL=C.UTF-8', process.execPath, program, 'attach', '--runs', runs];
// The screen of a program that fails at once stays to be read.
tmux(
  'set-option',
  '-g',
  'remain-on-exit',
  'on',
  ';',
  'new-session',
  '-d',
  '-x',
  columns,
  '-y',
  rows,
  '-s',
  'app',
  ...command,
);
try {
  writeFileSync(file, await capture());
} finally {
  tmux('kill-server');
}
