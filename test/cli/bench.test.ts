import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { computingShare, timeShares } from '../../src/cli/bench/limit.ts';
import { formatTask, parseTask, TaskPlan } from '../../src/cli/bench/plan.ts';
import { createWorkerUse, type WorkerUse } from '../../src/cli/bench/worker-use.ts';
import type { Catalog } from '../../src/domain/task.ts';
import { CLI, type CliResult } from '../support/cli.ts';
import { Lab, until } from '../support/lab-run.ts';
import { sshdMissing, startSshd } from '../support/sshd.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/**
 * An environment that pays 1 for each of three steps and then ends. `fault`: methods in place of the real ones;
 * `real()` is what those would have done.
 */
function environment(fault: string): string {
  return `
const fault = { ${fault} };
class Three {
  #left = 0;
  reset(task, seed) {
    const real = () => {
      this.#left = 3;
      return this.#observe();
    };
    return fault.reset ? fault.reset(real, task, seed) : real();
  }
  step(action) {
    const real = () => {
      this.#left--;
      const terminated = this.#left === 0;
      return { observation: this.#observe(), components: { success: 1 }, terminated, success: terminated, failure: null, effective: true };
    };
    return fault.step ? fault.step(real, action) : real();
  }
  getState() { return { left: this.#left }; }
  fullReset() {}
  close() {}
  #observe() {
    return { lines: ['task count down', 'screen ' + this.#left], legal: ['noop', 'confirm'], candidates: [] };
  }
}
export const environment = {
  catalog: { env: 'three', version: '7', maxSteps: 10, families: [
    { name: 'down', train: 20, heldOut: 4 }, { name: 'away', train: 5, heldOut: 0 },
  ] },
  createTask: (ref) => ({ ...ref, seed: ref.index, difficulty: 1, text: 'task count down', params: {} }),
  create: () => new Three(),
};`;
}

const SMALL = {
  env: { name: './three.mjs' },
  sampling: { slots: 8, batchSteps: 64, stepTimeoutMs: 10_000, episodeTimeoutMs: 60_000 },
  knobs: { minibatch: 32 },
  supervision: { maxRestarts: 1, backoffMs: 1 },
  hosts: [{ name: 'local', workers: 2 }],
};

async function bench(fault: string, ...args: readonly string[]): Promise<CliResult> {
  lab.write('three.mjs', environment(fault));
  return await lab.cli('bench', lab.write('three.yaml', SMALL), ...args);
}

describe('an environment that works', () => {
  it('is measured over every task, and leaves nothing behind', async () => {
    const { code, stdout } = await bench('', '--tasks', '80', '--json');
    expect(code).toBe(0);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      env: 'three',
      version: '7',
      end: 'finished',
      wanted: 80,
      tasks: 80,
      success: 80,
      void: 0,
      failures: [],
      steps: { mean: 3, p50: 3, p95: 3, max: 3 },
      families: [
        { family: 'away', tasks: 40, success: 40, reward: { mean: 3, p5: 3, p95: 3 } },
        { family: 'down', tasks: 40, success: 40, steps: { mean: 3, max: 3 } },
      ],
      deadWorkers: [],
    });
    const { task, reset, step } = report.stages;
    expect([task.calls, reset.calls, step.calls]).toEqual([80, 80, 240]);
    for (const { p50Ms, p95Ms, p99Ms, maxMs } of [task, reset, step]) {
      expect([p50Ms, p95Ms, p99Ms, maxMs]).toEqual([p50Ms, p95Ms, p99Ms, maxMs].toSorted((a, b) => a - b));
      expect(p50Ms).toBeGreaterThan(0);
    }
    expect(report.workers).toHaveLength(2);
    const counts: { tasks: number; steps: number }[] = report.workers;
    expect(counts.reduce((sum, { tasks }) => sum + tasks, 0)).toBe(80);
    expect(counts.every(({ tasks, steps }) => steps === 3 * tasks)).toBe(true);
    for (const worker of report.workers) {
      expect(worker.peakRssMiB).toBeGreaterThanOrEqual(worker.emptyRssMiB);
    }
    const shares: number[] = Object.values(report.timeShares);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
    expect(existsSync(`${lab.runs}/three`)).toBe(false);
    expect(lab.processes()).toEqual([]);
  });

  it('is acknowledged what it sends: more tasks than may wait for that are tried', async () => {
    const { code, stdout } = await bench('', '--tasks', '3000', '--set', 'sampling.unackedMiB=1', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ end: 'finished', tasks: 3000, steps: { mean: 3 } });
  });

  it('for people it is tables, and a last line that says what limits it', async () => {
    // Each answer takes far longer than all the rest of a step.
    const wait = 'step: (real) => new Promise((resolve) => setTimeout(() => resolve(real()), 60))';
    const { code, stdout } = await bench(wait, '--tasks', '16');
    expect(code).toBe(0);
    expect(stdout).toContain('environment   three 7, a random policy\n');
    expect(stdout).toMatch(/^tasks +16 of 16 in [\d.]+ s$/mu);
    expect(stdout).toMatch(/^success +16 \(100\.0 %\)$/mu);
    expect(stdout).toMatch(/^FAMILY +TASKS +VOID +SUCCESS +REWARD/mu);
    expect(stdout).toMatch(/^worker 1@local +4 +8 +24 /mu);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(
      /^limited by: waiting for the environment's answers, [\d.]+ % of the workers' time(?:, of [\d.]+ s: too short to rely on)?$/u,
    );
  });
});

describe('an environment that fails is found', () => {
  it('when its name is unknown', async () => {
    const { code, stderr } = await lab.cli('bench', '--env', 'workbnch', '--tasks', '5');
    expect(code).toBe(1);
    expect(stderr).toContain('there is no environment "workbnch"; there are: workbench,');
    expect(stderr).toContain('did you mean workbench?');
    expect(lab.processes()).toEqual([]);
  });

  it('when it throws in every reset: with its words, and the way to try one task alone', async () => {
    const { code, stdout } = await bench('reset() { throw new Error("no such disk"); }', '--tasks', '30');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^tasks +30 of 30 /mu);
    expect(stdout).toMatch(/^void +30 \(100\.0 %\)/mu);
    expect(stdout).toContain('\nenv_crash: 30 tasks; the first: no such disk\n');
    expect(stdout).toMatch(/ alone {2}agentrl-lab bench \S*three\.yaml --task down\/train\/0@\d+\n/u);
  });

  it('when most of very many tasks fail, before all are tried', async () => {
    const { code, stdout } = await bench('reset() { throw new Error("no such disk"); }', '--json');
    expect(code).toBe(1);
    const { end, reason, tasks } = JSON.parse(stdout);
    expect(end).toBe('broken');
    expect(reason).toBe('100 % of the last 101 episodes are void; the newest: no such disk');
    expect(tasks).toBe(101);
  });

  it('when one episode fails: the task with its seed fails alone in the same way', async () => {
    const fault =
      'reset(real, task, seed) { if (task.split === "held_out") throw new Error("seed " + seed); return real(); }';
    const all = await bench(fault, '--tasks', '60', '--json');
    expect(all.code).toBe(1);
    const [failure] = JSON.parse(all.stdout).failures;
    expect(failure.first).toMatchObject({ detail: expect.stringMatching(/^seed \d+$/u), steps: 0 });
    expect(failure.first.task).toMatch(/^down\/held_out\/0@\d+$/u);
    const alone = await bench(fault, '--task', failure.first.task, '--json');
    expect(alone.code).toBe(1);
    const report = JSON.parse(alone.stdout);
    expect(report.tasks).toBe(1);
    expect(report.failures[0].first).toMatchObject({
      detail: failure.first.detail,
      task: failure.first.task,
    });
    const other = await bench(fault, '--task', 'down/train/3', '--tasks', '4', '--json');
    expect(other.code).toBe(0);
    expect(JSON.parse(other.stdout)).toMatchObject({ tasks: 4, success: 4, families: [{ family: 'down' }] });
  });

  it('when a reset never answers', async () => {
    const { code, stdout } = await bench(
      'reset: () => new Promise(() => {})',
      '--tasks',
      '6',
      '--set',
      'sampling.stepTimeoutMs=1000',
    );
    expect(code).toBe(1);
    expect(stdout).toContain(
      'env_timeout: 6 tasks; the first: no answer from the environment within 1000 ms',
    );
  });

  it('when a step spins: that task is named, and the others are tried all the same', async () => {
    const fault =
      'reset(real, task) { this.spins = task.index === 2; return real(); }, step(real) { while (this.spins); return real(); }';
    const { code, stdout, stderr } = await bench(
      fault,
      '--tasks',
      '12',
      '--set',
      'sampling.slots=2',
      'sampling.stepTimeoutMs=1500',
      '--json',
    );
    expect(code).toBe(1);
    const { tasks, success, failures } = JSON.parse(stdout);
    expect({ tasks, success }).toEqual({ tasks: 12, success: 10 });
    expect(failures).toMatchObject([{ type: 'env_timeout', count: 2, isVoid: true }]);
    expect(failures[0].first.detail).toContain("the environment's step did not end within");
    expect(stderr).toMatch(
      /^worker \d@local: the environment's step did not end within \d+ ms; .*starting it again in 1 ms$/mu,
    );
    expect(lab.processes()).toEqual([]);
  });

  it('when it ends its process: it is told what did, and that the workers were given up', async () => {
    const { code, stdout } = await bench('reset() { process.exit(3); }', '--tasks', '20');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^tasks +4 of 20 in [\d.]+ s; stopped: every worker was given up; the last one, /mu,
    );
    expect(stdout).toContain('env_crash: 4 tasks; the first: the environment ended its process in reset');
    expect(lab.processes()).toEqual([]);
  });

  it('when it cannot be made: no task could be tried', async () => {
    lab.write('three.mjs', 'process.exit(4);');
    const { code, stderr } = await lab.cli('bench', lab.write('three.yaml', SMALL));
    expect(code).toBe(1);
    expect(stderr).toContain('no task could be tried: every worker was given up; the last one, worker ');
  });
});

async function refusalOf(...args: readonly string[]): Promise<string> {
  const { code, stderr } = await bench('', ...args);
  expect(code).toBe(2);
  return stderr;
}

it('what cannot be asked for is refused, with what would be right', async () => {
  expect(await refusalOf('--task', 'down/17')).toContain(
    '"down/17" does not name a task: wanted FAMILY/SPLIT/INDEX',
  );
  expect(await refusalOf('--task', 'dwn/train/1')).toContain('did you mean down?');
  expect(await refusalOf('--task', 'down/train/20')).toContain('down has 20 train tasks, from 0');
  expect(await refusalOf('--tasks', '0')).toContain('Wanted 1 or more.');
  expect(await refusalOf('--set', 'sampling.slts=4')).toContain('slots');
});

it('Ctrl-C prints what there is so far, and leaves no process', async () => {
  const slow = `reset(real) { if (!this.said) { this.said = true; process.stderr.write('up\\n'); } return real(); },
    step: (real) => new Promise((resolve) => setTimeout(() => resolve(real()), 20))`;
  lab.write('three.mjs', environment(slow));
  const command = lab.start('bench', lab.write('three.yaml', SMALL), '--tasks', '1000000');
  let said = '';
  command.process.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until('both workers at work', () => new Set(said.match(/\d@local: up$/gmu)).size === 2 || null);
  // Twice, as from npx, which passes on what its child has had already.
  command.process.kill('SIGINT');
  command.process.kill('SIGINT');
  const { code, stdout } = await command.result;
  expect(code).toBe(130);
  expect(stdout).toMatch(/^tasks +[\d,]+ of 1,000,000 in [\d.]+ s; interrupted: SIGINT$/mu);
  expect(stdout).toMatch(/^limited by: /mu);
  await lab.untilEmpty(5000);
});

describe.skipIf(sshdMissing() !== null)('hosts', () => {
  it('reached by ssh are tried like this one', async () => {
    const sshd = await startSshd();
    try {
      lab.write('three.mjs', environment(''));
      const far = {
        name: 'far',
        ssh: sshd.target,
        sshOptions: sshd.options,
        workers: 1,
        command: `${process.execPath} ${CLI}`,
      };
      const config = { ...SMALL, hosts: [{ name: 'local', workers: 1 }, far] };
      const { code, stdout, stderr } = await lab.cli(
        'bench',
        lab.write('three.yaml', config),
        '--tasks',
        '16',
        '--json',
      );
      expect(stderr).toBe('');
      expect(code).toBe(0);
      expect(JSON.parse(stdout).workers).toMatchObject([
        { worker: 'worker 0@local', tasks: 8, steps: 24 },
        { worker: 'worker 1@far', tasks: 8, steps: 24 },
      ]);
    } finally {
      await sshd.close();
    }
  });
});

describe('the plan', () => {
  const catalogs: fc.Arbitrary<Catalog> = fc
    .array(fc.record({ train: fc.nat(9), heldOut: fc.nat(9) }), { minLength: 1, maxLength: 4 })
    .filter((families) => families.some(({ train, heldOut }) => train + heldOut > 0))
    .map((families) => ({
      env: 'any',
      version: '1',
      maxSteps: 1,
      families: families.map((counts, index) => ({ name: `family_${index}`, ...counts })),
    }));

  it('names tasks that there are, every one of them in the end, and so many as were asked for', () => {
    fc.assert(
      fc.property(catalogs, (catalog) => {
        const total = catalog.families.length * 100;
        const plan = new TaskPlan(catalog, total, null);
        const seen = new Set<string>();
        for (let n = 0; n < total; n++) {
          const { task, phase } = plan.next()!;
          const { train, heldOut } = catalog.families.find(({ name }) => name === task.family)!;
          expect(task.index).toBeLessThan(task.split === 'train' ? train : heldOut);
          expect(phase).toBe(task.split === 'train' ? 'train' : 'eval');
          seen.add(`${task.family}/${task.split}/${task.index}`);
        }
        expect(plan.next()).toBeNull();
        expect(seen.size).toBe(
          catalog.families.reduce((sum, { train, heldOut }) => sum + train + heldOut, 0),
        );
      }),
    );
  });

  it('refuses a catalog without tasks', () => {
    const families = [{ name: 'none', train: 0, heldOut: 0 }];
    expect(() => new TaskPlan({ env: 'any', version: '1', maxSteps: 1, families }, 1, null)).toThrow(
      'environment any has no tasks',
    );
  });

  it('reads the names of tasks that it writes', () => {
    const ref = { env: 'any', family: 'a/b c', split: 'held_out', index: 12 } as const;
    expect(parseTask(formatTask(ref, 4_294_967_295))).toEqual({
      family: 'a/b c',
      split: 'held_out',
      index: 12,
      seed: 4_294_967_295,
    });
    expect(parseTask('down/train/0').seed).toBeNull();
  });
});

function use(times: Partial<WorkerUse>, isRemote = false): WorkerUse {
  return { ...createWorkerUse({ name: 'w', host: 'h', isRemote, slots: 1 }), ...times };
}

describe('what limits it', () => {
  const idle = { held: 0, answers: 0, tasks: 30, acknowledgement: 20 };

  it('is where the time went: in the environment, encoding, waiting, and the rest in recording', () => {
    const worker = use({
      wallMs: 200,
      environmentMs: 60,
      encodeMs: 25,
      inferenceMs: 5,
      idleMs: { ...idle, answers: 40 },
    });
    expect(timeShares([worker], 1)).toEqual({
      environment: 0.3,
      answers: 0.2,
      encoding: 0.15,
      recording: 0.1,
      run: 0.25,
      link: 0,
    });
  });

  it('is the link for what a remote worker lacks while the run side has time, and the run side otherwise', () => {
    const remote = use({ wallMs: 50, idleMs: idle }, true);
    expect(timeShares([remote], 0.5)).toMatchObject({ link: 1, run: 0 });
    expect(timeShares([remote], 0.9)).toMatchObject({ link: 0, run: 1 });
    expect(timeShares([use({ wallMs: 50, idleMs: idle })], 0.5)).toMatchObject({ link: 0, run: 1 });
  });

  it('is unknown when nothing was measured', () => {
    expect(timeShares([use({})], 0)).toBeNull();
    expect(computingShare([use({})])).toBeNull();
    expect(computingShare([use({ wallMs: 150, cpuMs: 25, idleMs: idle })])).toBe(0.25);
  });
});
