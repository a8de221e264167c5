import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { askChild } from '../../src/cli/ask-child.ts';
import { PROVIDERS } from '../../src/domain/provider.ts';
import { runCli, startCli } from '../support/cli.ts';

const directory = mkdtempSync(join(tmpdir(), 'agentrl-devices-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('devices says of every provider whether it works here, and why not', async () => {
  const { code, stdout } = await runCli('devices', '--json');
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  expect(report.providers.map(({ provider }: { provider: string }) => provider)).toEqual([...PROVIDERS]);
  for (const { works, ms, reason } of report.providers) {
    expect(works ? [typeof ms, reason] : [ms, typeof reason]).toEqual(
      works ? ['number', null] : [null, 'string'],
    );
  }
  expect(report.providers[0]).toMatchObject({ provider: 'cpu', works: true });
  expect(report.onnxruntime).toMatch(/^\d+\.\d+\.\d+$/u);
  expect(report.cores).toBeGreaterThan(0);
  expect(report.memoryMiB).toBeGreaterThan(0);
  expect(report.config.trainer).toEqual({ providers: ['cpu'], allowFallback: false });
});

it('for people it is a table, and says what a config comes to here', async () => {
  const file = join(directory, 'lab.yaml');
  writeFileSync(file, 'trainer: {providers: [dml], allowFallback: true}\nsampling: {providers: [dml]}\n');
  const { code, stdout } = await runCli('devices', file);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^PROVIDER +WORKS\ncpu +yes +256 × 256 matrix product in [\d.]+ ms\n/u);
  expect(stdout).toMatch(/\ndml +no +onnxruntime-node has no such provider on /u);
  expect(stdout).toContain(`trainer      asks for dml; would fall back to cpu (${file})\n`);
  expect(stdout).toContain('sampling     asks for dml; would not start: dml does not work here');
});

it('a provider whose native code ends the process costs its own line only', async () => {
  const crash = join(directory, 'crash.cjs');
  writeFileSync(
    crash,
    `if (/devices\\/main\\.js$/.test(process.argv[1])) {
      const emit = process.stdin.emit;
      process.stdin.emit = function (event, data, ...rest) {
        if (event === 'data' && data.includes('"webgpu"')) process.kill(process.pid, 'SIGSEGV');
        return emit.call(this, event, data, ...rest);
      };
    }`,
  );
  const { code, stdout } = await startCli(['devices', '--json'], {
    NODE_OPTIONS: `--require=${crash}`,
  }).result;
  expect(code).toBe(0);
  const { providers } = JSON.parse(stdout);
  const byName = Object.fromEntries(providers.map((row: { provider: string }) => [row.provider, row]));
  expect(byName['webgpu']).toMatchObject({
    works: false,
    reason: expect.stringContaining('the process that tried it failed: it ended with SIGSEGV'),
  });
  expect(byName['cpu']).toMatchObject({ works: true });
});

it('a child that does not answer is given up', async () => {
  const reply = await askChild({
    entry: 'devices',
    // Not as agreed, so that it ends instead.
    message: { type: 'probe', provider: 'abacus' },
    schema: z.object({ type: z.string() }),
    timeoutMs: 30_000,
  });
  expect(reply).toMatchObject({ answer: null, ended: 'it ended with code 1' });
  expect(reply.stderr).toContain('message "probe" is not as agreed');
  const silent = await askChild({
    entry: 'trainer',
    message: { type: 'pause' },
    // Signs of life are no answer.
    schema: z.object({ type: z.string() }).transform(({ type }) => ({
      type: type === 'alive' ? 'hello' : type,
    })),
    timeoutMs: 1500,
  });
  expect(silent).toMatchObject({ answer: null, ended: 'it did not answer within 1.5 s' });
});
