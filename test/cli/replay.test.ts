import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runCli } from '../support/cli.ts';

const directory = mkdtempSync(join(tmpdir(), 'agentrl-replay-'));
const runs = ['--runs', join(directory, 'runs')];
const module = join(directory, 'environment.mjs');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The Workbench, whose steps do `change` to `result`, given `action`. */
function writeEnvironment(change: string): void {
  const dist = join(import.meta.dirname, '../../dist/envs/workbench/definition.js');
  writeFileSync(
    module,
    `import { workbench } from ${JSON.stringify(dist)};
     export const environment = { ...workbench, create: (options) => {
       const inner = workbench.create(options);
       return { reset: (task, seed) => inner.reset(task, seed), getState: () => inner.getState(),
         fullReset: () => inner.fullReset(), close: () => inner.close(),
         step: (action) => { const result = inner.step(action); ${change}; return result; } };
     } };`,
  );
}

beforeAll(async () => {
  writeEnvironment('');
  const config = join(directory, 'lab.yaml');
  writeFileSync(
    config,
    `env: { name: ${JSON.stringify(module)} }
sampling: { slots: 16, batchSteps: 256, stepTimeoutMs: 1000 }
evaluation: { every: 1, episodes: 6 }
knobs: { minibatch: 128 }
hosts: [{ name: local, workers: 1 }]
`,
  );
  const run = await runCli(...runs, 'run', config, '--headless', '--iterations', '2', '--name', 'again');
  if (run.code !== 0) throw new Error(run.stderr);
});

const resultSchema = z.object({
  episodes: z.array(
    z.object({
      verdict: z.string(),
      differences: z.array(z.object({ step: z.number(), kind: z.string(), executed: z.string() })),
    }),
  ),
  score: z.array(z.object({ of: z.string(), score: z.number() })),
});

const forkSchema = z.object({
  outcomes: z.array(z.object({ steps: z.int().positive(), success: z.boolean() })),
});

describe('agentrl-lab replay', () => {
  it('does an episode again, from its id alone', async () => {
    writeEnvironment('');
    const { code, stdout } = await runCli(...runs, 'replay', 'e3');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^episode e3 {2}workbench\/\w+\/train\/\d+ {2}seed \d+\nidentical: the same, in \d+ steps?\n$/u,
    );
  });

  it('gives a score for a sample of what a filter matches', async () => {
    writeEnvironment('');
    const { code, stdout } = await runCli(...runs, 'replay', '-is:void', '--sample', '30');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^all +30 +30 +0 +0 +0 +0 +0 +100\.0%$/mu);
    expect(stdout).toMatch(/^host local +30 /mu);
  });

  it('lets the policy act again, and comes to the same where its weights are kept', async () => {
    writeEnvironment('');
    const { code, stdout } = await runCli(...runs, 'replay', 'phase:eval', '--mode', 'policy', '--json');
    const { episodes, score } = resultSchema.parse(JSON.parse(stdout));
    expect(episodes.map(({ verdict }) => verdict)).toEqual(episodes.map(() => 'identical'));
    expect(score[0]).toMatchObject({ of: 'all', score: 1 });
    expect(code).toBe(0);
  });

  it('goes on from a step in other ways', async () => {
    writeEnvironment('');
    const args = [...runs, 'fork', 'e3', '--step', '1', '--n', '5'];
    const { code, stdout } = await runCli(...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^from step 1: what the policy draws instead of .+, then 5 continuations, policy v\d/mu,
    );
    expect(stdout).toMatch(/^\d of 5 succeeded/mu);
    const { outcomes } = forkSchema.parse(JSON.parse((await runCli(...args, '--json')).stdout));
    expect(outcomes).toHaveLength(5);
    const refused = await runCli(...runs, 'fork', 'e3', '--step', '1', '--action', 'read nothing such');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('was not on offer at step 1');
  });

  it('shows where an environment that was changed since has drifted', async () => {
    writeEnvironment("result.observation.lines[0] += ' or else'");
    const { code, stdout } = await runCli(...runs, 'replay', 'steps>1', '--sample', '10', '--json');
    expect(code).toBe(1);
    const { episodes, score } = resultSchema.parse(JSON.parse(stdout));
    expect(episodes).toHaveLength(10);
    for (const { verdict, differences } of episodes) {
      expect(verdict).toBe('environment drift');
      expect(differences[0]).toMatchObject({ kind: 'observation', step: 2 });
      expect(differences[0]?.executed).toContain(' or else');
    }
    expect(score[0]).toMatchObject({ of: 'all', score: 0 });
    const text = await runCli(...runs, 'replay', 'steps>1', '--sample', '10');
    expect(text.stdout).toMatch(/^EPISODE +VERDICT +FIRST DIFFERENCE/u);
  });

  it('survives an environment that spins or ends its process, and goes on with the next episode', async () => {
    writeEnvironment('for (;;);');
    const spins = await runCli(...runs, 'replay', 'e1');
    expect(spins.code).toBe(1);
    expect(spins.stdout).toMatch(/broken: the environment failed in step .* its process was killed/u);
    writeEnvironment('process.exit(3)');
    const leaves = await runCli(...runs, 'replay', 'steps>0', '--sample', '4');
    expect(leaves.code).toBe(1);
    expect(leaves.stdout).toMatch(/^all +4 +0 +0 +0 +0 +0 +4 +0\.0%$/mu);
    expect(leaves.stdout).toContain('the environment ended its process');
  });

  it('says what is wrong with what was asked for', async () => {
    const missing = await runCli(...runs, 'replay', 'e999999999');
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toContain('e999999999');
    const nothing = await runCli(...runs, 'replay', 'steps>999');
    expect(nothing.stderr).toContain('no episode matches: steps>999');
    expect((await runCli(...runs, 'replay', 'stepz>1')).code).toBe(2);
    const source = readFileSync(module, 'utf8');
    rmSync(module);
    const gone = await runCli(...runs, 'replay', 'e1');
    writeFileSync(module, source);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain(module);
  });
});
