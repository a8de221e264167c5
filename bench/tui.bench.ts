import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { LabError } from '../src/domain/error.ts';
import { createRandom } from '../src/domain/random.ts';
import { cpuSeconds } from '../src/run/process-figures.ts';
import { type Benchmark, quantile, sleep } from './benchmark.ts';
import { TmuxScreen } from './tmux-screen.ts';

const CLI = 'dist/src/cli/main.js';
const SIZE = { columns: 200, rows: 50 } as const;
/** The least that a program on a screen can do. */
const BARE = [process.execPath, 'bench/echo-screen.mjs'];
const KEYS = 300;
/** Between two keys, ms. */
const PAUSE = { least: 30, most: 150 } as const;
const PATIENCE_MS = 30_000;

/** From a key press to the changed screen at 200x50 inside tmux, while a demo run uses the whole machine. */
export const tui: Benchmark = {
  name: 'tui',
  measures: 'key press to changed screen inside tmux at full speed, frames and CPU while nobody types',
  async run({ seconds, say }) {
    if (!existsSync(CLI))
      throw new LabError('usage', { message: 'there is no built program', hint: 'npm run build' });
    say('the least a program can take, before there is a run');
    const [bare = []] = await withScreens([BARE], measureKeys);
    const runs = mkdtempSync(join(tmpdir(), 'tui-'));
    const lab = (...args: readonly string[]): string =>
      execFileSync(process.execPath, [CLI, ...args, '--runs', runs], { encoding: 'utf8' }).trim();
    const run = lab('run', '--detach', '--minutes', '10');
    try {
      const command = [process.execPath, CLI, 'attach', run, '--runs', runs];
      return await withScreens([BARE, command], async ([least, screen]) => {
        if (least === undefined || screen === undefined) throw new TypeError('two screens were opened');
        await screen.until((rows) => rows.filter((row) => /^[› ] e\d+ /u.test(row)).length > 5, PATIENCE_MS);
        say('the same in turns with the screen, while a run is at full speed');
        const [busy = [], keys = []] = await measureKeys([least, screen]);
        say('nobody types');
        const pid = pidOf(command);
        screen.takeTraffic();
        const before = cpuSeconds(pid) ?? Number.NaN;
        await sleep(seconds * 1000);
        const { bytes, frames } = screen.takeTraffic();
        return {
          figures: {
            keyToPaintP50Ms: quantile(keys, 0.5),
            keyToPaintP99Ms: quantile(keys, 0.99),
            bareP99Ms: quantile(bare, 0.99),
            bareBusyP50Ms: quantile(busy, 0.5),
            bareBusyP99Ms: quantile(busy, 0.99),
            ratioToBareBusyP99: quantile(keys, 0.99) / quantile(busy, 0.99),
            idleCores: ((cpuSeconds(pid) ?? Number.NaN) - before) / seconds,
            framesPerS: frames / seconds,
            bytesPerFrame: frames === 0 ? null : bytes / frames,
          },
          conditions: {
            ...SIZE,
            keys: KEYS,
            seconds,
            run: 'demo, at full speed',
            load: loadavg()[0] ?? Number.NaN,
          },
        };
      });
    } finally {
      lab('stop', run);
      rmSync(runs, { recursive: true, force: true });
    }
  },
};

async function withScreens<T>(
  commands: readonly (readonly string[])[],
  work: (screens: readonly TmuxScreen[]) => Promise<T>,
): Promise<T> {
  const screens: TmuxScreen[] = [];
  try {
    for (const command of commands) screens.push(new TmuxScreen(command, SIZE));
    return await work(screens);
  } finally {
    for (const screen of screens) screen.close();
  }
}

/**
 * ms from each of many presses of j and k to the pointer in its new row, by screen. Each key goes to all screens, one after the other: what
 * else the machine does is the same for all of them.
 */
async function measureKeys(screens: readonly TmuxScreen[]): Promise<number[][]> {
  const random = createRandom(1);
  const taken: number[][] = screens.map(() => []);
  for (const screen of screens) await screen.until((rows) => pointerRow(rows) >= 0, PATIENCE_MS);
  for (let key = 0; key < KEYS; key++) {
    for (const [place, screen] of screens.entries()) {
      await sleep(PAUSE.least + random.next() * (PAUSE.most - PAUSE.least));
      const from = pointerRow(screen.rows);
      const by = key % 2 === 0 ? 1 : -1;
      const pressed = performance.now();
      screen.type(by === 1 ? 'j' : 'k');
      const moved = await screen.until((rows) => pointerRow(rows) === from + by, PATIENCE_MS);
      taken[place]?.push(moved - pressed);
    }
  }
  return taken;
}

function pointerRow(rows: readonly string[]): number {
  return rows.findIndex((row) => row.startsWith('›'));
}

/** The process that has this command line. */
function pidOf(command: readonly string[]): number {
  const table = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' });
  const line = table
    .split('\n')
    .find((row) => row.trim().endsWith(command.slice(1).join(' ')) && !row.includes('tmux'));
  return Number(line?.trim().split(' ')[0]);
}
