import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createRandom, deriveSeed, type RandomStream } from '../../src/domain/random.ts';
import type { RunStatus } from '../../src/domain/run.ts';
import { type ControlClient, connectControl } from '../../src/run/control-client.ts';
import { type RunPaths, readManifest, runPaths } from '../../src/store/run-directory.ts';
import { sleep } from '../benchmark.ts';
import { countRun, type RunCount } from './count.ts';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const ENVIRONMENT = fileURLToPath(new URL('environment.mjs', import.meta.url));
const POLL_MS = 100;
const CALM_LIMIT_MS = 120_000;
/** What a dead worker had must have been given out again before the run may rest. */
const CALM_MS = 2000;

/** How often what fails, in [0, 1]. */
export interface FaultShares {
  /** Of the episodes: crash at their reset. */
  readonly crash: number;
  /** Of the steps: never answer. An episode of 20 steps then fails in 18 of 100 cases where this is 0.01. */
  readonly hang: number;
  /** Of the episodes: one of their first steps spins, which costs their worker. */
  readonly spin: number;
}

export interface SoakOptions {
  /** An empty directory, which outlives the run. */
  readonly directory: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly shares: FaultShares;
  /** Of the choice of workers to be killed. */
  readonly seed: number;
}

/** The run as it is at a moment. */
export interface SoakSample {
  readonly time: number;
  /** Training steps stored so far. */
  readonly envSteps: number;
  readonly iteration: number;
  /** Slot-seconds of training episodes that came to nothing so far: void, and in flight at a worker that died. */
  readonly voidS: number;
  readonly retriedS: number;
  /** Sum over the run process, the workers and the trainer; what they share is counted for each. */
  readonly rssMiB: number;
}

export interface SoakResult extends RunCount {
  readonly kills: number;
  /** Workers that died, of whatever, and tasks that were given out again as their episode was void, by the run's status. */
  readonly deaths: number;
  readonly retried: number;
  /** Processes of the run that are left after its end. */
  readonly orphans: number;
  /** What the run itself said last: its training episodes, and the void ones among them. */
  readonly claimed: Pick<RunStatus, 'episodes' | 'voidEpisodes'>;
}

/** A real run of the built lab whose environments fail and whose workers are killed, as long as faults are on. */
export class SoakRun {
  readonly #options: SoakOptions;
  readonly #paths: RunPaths;
  readonly #random: RandomStream;
  readonly #mark: string;
  readonly #switch: string;
  #client: ControlClient | null = null;
  #kills = 0;

  private constructor(options: SoakOptions, id: string, mark: string) {
    this.#options = options;
    this.#paths = runPaths(join(options.directory, 'runs'), id);
    this.#random = createRandom(deriveSeed('soak', options.seed));
    this.#mark = mark;
    this.#switch = switchOf(options);
  }

  /** Starts a run, with faults off. */
  static async start(options: SoakOptions): Promise<SoakRun> {
    const { directory, config, shares } = options;
    const runs = join(directory, 'runs');
    mkdirSync(runs, { recursive: true });
    const file = join(directory, 'soak.yaml');
    const env = { name: ENVIRONMENT, options: { ...shares, whileExists: switchOf(options) } };
    writeFileSync(file, JSON.stringify({ ...config, env }));
    const mark = `${process.pid}-${Date.now()}`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [CLI, '--runs', runs, 'run', file, '--detach'],
      { env: { ...process.env, AGENTRL_SOAK_MARK: mark } },
    );
    return new SoakRun(options, stdout.trim(), mark);
  }

  async status(): Promise<RunStatus> {
    this.#client ??= await connectControl(readManifest(this.#paths));
    return await this.#client.status();
  }

  /** Waits until it samples, every worker at work. */
  async untilCalm(): Promise<RunStatus> {
    const deadline = Date.now() + CALM_LIMIT_MS;
    for (;;) {
      const status = await this.status();
      const isReady = status.children.every(({ state }) => state === 'ready');
      if (status.state === 'running' && isReady && status.iteration > 0) return status;
      if (Date.now() > deadline || ['stalled', 'failed'].includes(status.state)) {
        throw new Error(`the run is ${status.state}: ${status.reason ?? 'no reason given'}`);
      }
      await sleep(POLL_MS);
    }
  }

  setFaults(on: boolean): void {
    if (on) writeFileSync(this.#switch, '');
    else rmSync(this.#switch, { force: true });
  }

  /** Kills one of the workers that are there. Resolves, when its place is ready again, with how long that took, ms; null: none. */
  async killWorker(): Promise<number | null> {
    const { children } = await this.status();
    const alive = children.filter(
      ({ role, pid, state }) => role === 'worker' && state === 'ready' && pid !== null,
    );
    if (alive.length === 0) return null;
    const { index, pid } = this.#random.pick(alive);
    const killedAt = performance.now();
    try {
      process.kill(pid ?? 0, 'SIGKILL');
      this.#kills++;
    } catch {
      // It died by itself meanwhile.
      return null;
    }
    for (;;) {
      const now = (await this.status()).children.find(
        (child) => child.role === 'worker' && child.index === index,
      );
      if (now?.state === 'ready' && now.pid !== pid) return performance.now() - killedAt;
      if (performance.now() - killedAt > CALM_LIMIT_MS) throw new Error('a killed worker does not come back');
      await sleep(POLL_MS);
    }
  }

  /** Throws when the run does not go on: a soak is unattended. */
  async sample(): Promise<SoakSample> {
    const { state, reason, envSteps, iteration, pid, children, waste } = await this.status();
    if (state !== 'running') throw new Error(`the run is ${state}: ${reason ?? 'no reason given'}`);
    const pids = [pid, ...children.flatMap((child) => child.pid ?? [])];
    const rssMiB = pids.reduce((sum, each) => sum + residentMiB(each), 0);
    const [voidS, retriedS] = [waste?.void ?? 0, waste?.retried ?? 0];
    return { time: performance.now(), envSteps, iteration, voidS, retriedS, rssMiB };
  }

  /** Turns faults off, lets the run finish what is in flight and end, and counts what it has left behind. */
  async finish(): Promise<SoakResult> {
    this.setFaults(false);
    const { children } = await this.untilCalm();
    await sleep(CALM_MS);
    await this.#client?.pause(false);
    const claimed = await this.#untilPaused();
    this.#client?.close();
    const [runs, id] = [join(this.#options.directory, 'runs'), readManifest(this.#paths).id];
    await promisify(execFile)(process.execPath, [CLI, '--runs', runs, 'stop', id]);
    await sleep(CALM_MS);
    return {
      ...countRun(this.#paths),
      retried: claimed.retried,
      kills: this.#kills,
      deaths: children.reduce((sum, { role, restarts }) => sum + (role === 'worker' ? restarts : 0), 0),
      orphans: this.processes().length,
      claimed,
    };
  }

  /** Processes that were started for this run, whoever their parent is by now. */
  processes(): number[] {
    if (!existsSync('/proc/self/environ')) return [];
    return readdirSync('/proc')
      .filter((name) => /^\d+$/u.test(name) && this.#isOurs(name))
      .map(Number);
  }

  /** Ends it by force, if it is still there. */
  kill(): void {
    for (const pid of this.processes()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It is gone.
      }
    }
  }

  async #untilPaused(): Promise<RunStatus> {
    const deadline = Date.now() + CALM_LIMIT_MS;
    for (;;) {
      const status = await this.status();
      if (status.state === 'paused') return status;
      if (Date.now() > deadline) throw new Error(`the run does not come to rest: it is ${status.state}`);
      await sleep(POLL_MS);
    }
  }

  #isOurs(pid: string): boolean {
    if (!readProc(pid, 'environ').includes(`AGENTRL_SOAK_MARK=${this.#mark}`)) return false;
    return !/^\d+ \(.*\) [ZX]/su.test(readProc(pid, 'stat'));
  }
}

function switchOf({ directory }: Pick<SoakOptions, 'directory'>): string {
  return join(directory, 'faults-are-on');
}

/** 0 for a process that is gone. */
function residentMiB(pid: number): number {
  const [, kiB = '0'] = /^VmRSS:\s+(\d+) kB$/mu.exec(readProc(String(pid), 'status')) ?? [];
  return Number(kiB) / 1024;
}

function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
