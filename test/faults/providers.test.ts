import { afterEach, beforeEach, expect, it } from 'vitest';
import { Lab, TINY } from '../support/lab-run.ts';

// DirectML is part of Windows alone, where the lab does not run.
const MISSING = `onnxruntime-node has no such provider on ${process.platform}/${process.arch}`;

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

it('a provider that workers do not have fails the run at once, with the reason and the way out', async () => {
  const config = { ...TINY, sampling: { ...TINY.sampling, providers: ['dml'] } };
  const { code, stderr } = await lab.cli('run', lab.write('lab.yaml', config), '--headless');
  expect(code).toBe(1);
  expect(stderr).toContain(`the policy cannot run: provider dml cannot be used: ${MISSING}`);
  expect(stderr).toContain('see what this machine has with: agentrl-lab devices');
});

it('so does one that the trainer does not have', async () => {
  const config = { ...TINY, trainer: { ...TINY.trainer, providers: ['dml'] } };
  const { code, stderr } = await lab.cli('run', lab.write('lab.yaml', config), '--headless');
  expect(code).toBe(1);
  expect(stderr).toContain(`provider dml cannot be used: ${MISSING}`);
});

it('with leave to fall back the run goes on, and says what everything runs on and why', async () => {
  const choice = { providers: ['dml'], allowFallback: true };
  const run = await lab.run({
    ...TINY,
    trainer: { ...TINY.trainer, ...choice },
    sampling: { ...TINY.sampling, ...choice },
  });
  const { children } = await run.until('every child to say what it runs on', (status) =>
    status.children.every(({ provider }) => provider !== null),
  );
  expect(children.map(({ provider }) => provider)).toEqual(['cpu', 'cpu', 'cpu']);
  const told = run.events().filter(({ kind }) => kind === 'provider');
  expect(told.map(({ subject }) => subject).toSorted()).toEqual([
    'trainer@local',
    'worker 0@local',
    'worker 1@local',
  ]);
  for (const { level, message } of told) {
    expect(level).toBe('warning');
    expect(message).toContain(`runs on cpu; not on dml: ${MISSING}`);
  }
  await run.stop();
});
