import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { probeProvider } from '../../../trainer/devices/probe.ts';
import { explainProviderFailure } from '../../../trainer/devices/reason.ts';
import { engineInfo } from '../../../trainer/session.ts';

describe('trying a provider', () => {
  it('the CPU computes the right numbers, and says in what time', async () => {
    const { ms, reason } = await probeProvider('cpu');
    expect(reason).toBeNull();
    expect(ms).toBeGreaterThan(0);
  });

  it('one that this platform does not have is told with the reason', async () => {
    const { ms, reason } = await probeProvider('dml');
    expect(ms).toBeNull();
    expect(reason).toBe(`onnxruntime-node has no such provider on ${process.platform}/${process.arch}`);
  });

  it('the engine says its version and what it knows', () => {
    const { version, known } = engineInfo();
    expect(version).toMatch(/^\d+\.\d+\.\d+$/u);
    expect(known).toContain('cpu');
  });
});

describe('what onnxruntime throws, in words for people', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentrl-reason-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const thrown = 'OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library';

  it('tells libraries that are not installed from those that cannot be loaded', () => {
    expect(explainProviderFailure('cuda', thrown, folder)).toBe(
      'libonnxruntime_providers_shared.so and libonnxruntime_providers_cuda.so are not installed with onnxruntime-node',
    );
    writeFileSync(join(folder, 'libonnxruntime_providers_shared.so'), '');
    expect(explainProviderFailure('cuda', thrown, folder)).toBe(
      'libonnxruntime_providers_cuda.so is not installed with onnxruntime-node',
    );
    writeFileSync(join(folder, 'libonnxruntime_providers_cuda.so'), '');
    expect(explainProviderFailure('cuda', thrown, folder)).toContain('a library that it needs is missing');
  });

  it('leaves out where in its source it failed, and keeps the rest', () => {
    const place =
      '/src/core/providers/webgpu/webgpu_context.cc:136 onnxruntime::Initialize(const Config&)::<lambda()> status == Success was false. ';
    expect(explainProviderFailure('webgpu', `${place}The device was lost\n`, folder)).toBe(
      'The device was lost',
    );
    expect(explainProviderFailure('webgpu', `${place}No supported adapters`, folder)).toContain(
      'no graphics adapter that WebGPU can use',
    );
    expect(explainProviderFailure('cuda', 'CUDA failure 35: driver too old', folder)).toBe(
      'CUDA failure 35: driver too old',
    );
  });
});
