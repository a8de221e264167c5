import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemErrorCode } from '../domain/error.ts';
import { PROVIDERS, type Provider } from '../domain/provider.ts';
import { type FromProbe, fromProbeSchema } from '../protocol/devices.ts';
import { askChild } from './ask-child.ts';
import { loadConfigFile, memoryMiB } from './config-file.ts';
import { formatNumber, formatTable } from './format.ts';
import { printJson, printLine } from './output.ts';

/** A provider's native code may hang; the first use of a GPU takes seconds. */
const PROBE_TIMEOUT_MS = 60_000;
const TOOL_TIMEOUT_MS = 10_000;
/** CUDA's libraries, as the dynamic linker names them. */
const CUDA_LIBRARY = /^\s*(lib(?:cuda|cudart|cublas|cublasLt|cufft|curand|cudnn)\.so\.\d+)\b/u;

interface ProviderReport {
  readonly provider: Provider;
  readonly works: boolean;
  /** ms of one product of two matrices of 256 × 256, or null when it does not work. */
  readonly ms: number | null;
  readonly reason: string | null;
}

interface CudaReport {
  /** onnxruntime's own library for CUDA is installed. */
  readonly provider: boolean;
  /** Libraries that it asks for and the dynamic linker does not find. */
  readonly unresolved: readonly string[];
  /** CUDA's libraries that the dynamic linker finds. */
  readonly libraries: readonly string[];
  /** What nvidia-smi says, a line for each GPU; empty without one. */
  readonly gpus: readonly string[];
  /** Why nvidia-smi says nothing, or null. */
  readonly noGpu: string | null;
}

export interface DevicesOptions {
  readonly json?: boolean;
}

/** Tries every execution provider on this machine, each in a process of its own, and prints what came of it. */
export async function printDevices(file: string | null, options: DevicesOptions): Promise<void> {
  const { trainer, sampling } = loadConfigFile(file, []).config;
  const probes: { report: ProviderReport; engine: Engine | null }[] = [];
  // One after another, so that their times do not disturb each other.
  for (const provider of PROVIDERS) probes.push(await probe(provider));
  const providers = probes.map(({ report }) => report);
  const engine = probes.find((each) => each.engine !== null)?.engine ?? null;
  const cuda = await inspectCuda(engine);
  const report = {
    providers,
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryMiB: memoryMiB(),
    machineMemoryMiB: Math.floor(totalmem() / 2 ** 20),
    onnxruntime: engine?.version ?? null,
    platform: `${process.platform}/${process.arch}`,
    cuda,
    config: {
      trainer: { providers: trainer.providers, allowFallback: trainer.allowFallback },
      sampling: { providers: sampling.providers, allowFallback: sampling.allowFallback },
    },
  };
  if (options.json === true) printJson(report);
  else for (const line of formatDevices(report, file)) printLine(line);
}

type Engine = Extract<FromProbe, { type: 'probed' }>['engine'];

async function probe(provider: Provider): Promise<{ report: ProviderReport; engine: Engine | null }> {
  const reply = await askChild({
    entry: 'devices',
    message: { type: 'probe', provider },
    schema: fromProbeSchema,
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  if (reply.answer?.type === 'probed') {
    const { ms, reason, engine } = reply.answer;
    return { report: { provider, works: reason === null, ms, reason }, engine };
  }
  const ended = reply.answer === null ? reply.ended : 'it gave no answer';
  const reason = `the process that tried it failed: ${ended}${lastWords(reply.stderr)}`;
  return { report: { provider, works: false, ms: null, reason }, engine: null };
}

function lastWords(stderr: string): string {
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return last === '' ? '' : ` (${last.trim()})`;
}

async function inspectCuda(engine: Engine | null): Promise<CudaReport> {
  const library = engine === null ? null : join(engine.folder, 'libonnxruntime_providers_cuda.so');
  const provider = library !== null && existsSync(library);
  const linked = provider && library !== null ? await output('ldd', [library]) : { text: '' };
  const found = await output('ldconfig', ['-p'], ['/sbin/ldconfig']);
  const smi = await output('nvidia-smi', [
    '--query-gpu=name,memory.total,driver_version',
    '--format=csv,noheader',
  ]);
  return {
    provider,
    unresolved: linesOf(linked.text).flatMap((line) => /^(\S+) => not found/u.exec(line)?.[1] ?? []),
    libraries: [...new Set(linesOf(found.text).flatMap((line) => CUDA_LIBRARY.exec(line)?.[1] ?? []))],
    gpus: 'error' in smi ? [] : linesOf(smi.text),
    noGpu: 'error' in smi ? smi.error : null,
  };
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** What a program of the system prints; `error` when it is missing or fails. `elsewhere`: where it may be off the PATH. */
async function output(
  program: string,
  args: readonly string[],
  elsewhere: readonly string[] = [],
): Promise<{ readonly text: string; readonly error?: string }> {
  const run = promisify(execFile);
  try {
    const { stdout } = await run(program, [...args], {
      timeout: TOOL_TIMEOUT_MS,
      maxBuffer: 16 * 1024 * 1024,
    });
    return { text: stdout };
  } catch (thrown) {
    const [next, ...others] = elsewhere;
    const isMissing = systemErrorCode(thrown) === 'ENOENT';
    if (isMissing && next !== undefined) return await output(next, args, others);
    return { text: '', error: isMissing ? `${program} is not installed` : `${program} failed` };
  }
}

interface Devices {
  readonly providers: readonly ProviderReport[];
  readonly cores: number;
  readonly cpu: string;
  readonly memoryMiB: number;
  readonly onnxruntime: string | null;
  readonly platform: string;
  readonly cuda: CudaReport;
  readonly config: Readonly<Record<'trainer' | 'sampling', ConfiguredProviders>>;
}

interface ConfiguredProviders {
  readonly providers: readonly Provider[];
  readonly allowFallback: boolean;
}

function formatDevices(devices: Devices, file: string | null): string[] {
  const { cuda, config } = devices;
  const works = new Map(devices.providers.map(({ provider, works: does }) => [provider, does]));
  const cores = `${devices.cores} core${devices.cores === 1 ? '' : 's'}`;
  return [
    ...formatTable(
      [
        { title: 'PROVIDER', align: 'left', cell: ({ provider }) => provider },
        { title: 'WORKS', align: 'left', cell: (row) => (row.works ? 'yes' : 'no') },
        {
          title: '',
          align: 'left',
          cell: ({ ms, reason }) => reason ?? `256 × 256 matrix product in ${formatNumber(ms, 2)} ms`,
        },
      ],
      devices.providers,
    ),
    '',
    `machine      ${devices.platform}, ${cores} (${devices.cpu}), ${devices.memoryMiB} MiB of memory`,
    `onnxruntime  ${devices.onnxruntime ?? 'could not be loaded'}`,
    `CUDA         ${formatCuda(cuda)}`,
    `GPUs         ${cuda.noGpu ?? (cuda.gpus.length === 0 ? 'none' : cuda.gpus.join('; '))}`,
    ...(['trainer', 'sampling'] as const).map((part) => {
      const of = file === null ? 'default config' : file;
      return `${part.padEnd(11)}  ${formatChoice(config[part], works)} (${of})`;
    }),
  ];
}

function formatCuda({ provider, unresolved, libraries }: CudaReport): string {
  const ours = provider ? 'provider library installed' : 'provider library not installed (docs/DEVICES.md)';
  const missing = unresolved.length === 0 ? [] : [`it misses ${unresolved.join(', ')}`];
  const system = libraries.length === 0 ? 'no CUDA libraries found' : `found ${libraries.join(', ')}`;
  return [ours, ...missing, system].join('; ');
}

/** What a config comes to on this machine. */
function formatChoice(
  { providers, allowFallback }: ConfiguredProviders,
  works: ReadonlyMap<Provider, boolean>,
): string {
  const asked = providers.join(', ');
  const order: readonly Provider[] = allowFallback ? [...providers, 'cpu'] : providers.slice(0, 1);
  const used = order.find((provider) => works.get(provider) === true);
  if (used === undefined)
    return `asks for ${asked}; would not start: ${order[0] ?? 'none'} does not work here`;
  return used === providers[0] ? `runs on ${used}` : `asks for ${asked}; would fall back to ${used}`;
}
