import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, freemem, loadavg, platform, totalmem } from 'node:os';
import type { Gpu, HostFigures } from '../domain/host.ts';

/** Graphics processors are asked so seldom, ms: `nvidia-smi` takes a tenth of a second of CPU. */
const GPU_INTERVAL_MS = 5000;
/** A driver that hangs must not leave processes behind, ms. */
const GPU_TIMEOUT_MS = 4000;
const MIB = 2 ** 20;
const QUERY = ['--query-gpu=name,utilization.gpu,memory.used,memory.total', '--format=csv,noheader,nounits'];

/** How this machine is. Graphics processors are asked beside whatever else is done: their figures are of the time before. */
export class HostFiguresReader {
  readonly #drm: string;
  #gpus: readonly Gpu[] = [];
  #askedAt = Number.NEGATIVE_INFINITY;
  /** There is no program to ask. */
  #hasNvidia = true;

  /** `drm` is where the kernel lists graphics cards. */
  constructor(drm = '/sys/class/drm') {
    this.#drm = drm;
  }

  /** To be called whenever somebody wants to know; `now` in ms. */
  read(now = performance.now()): HostFigures {
    if (now - this.#askedAt >= GPU_INTERVAL_MS) {
      this.#askedAt = now;
      this.#askGpus();
    }
    const [minute = 0] = loadavg();
    return {
      cores: availableParallelism(),
      // Windows has no such figure, and says 0.
      load: platform() === 'win32' ? null : minute,
      usedMiB: (totalmem() - freemem()) / MIB,
      totalMiB: totalmem() / MIB,
      gpus: [...this.#gpus],
    };
  }

  #askGpus(): void {
    const amd = readAmd(this.#drm);
    if (!this.#hasNvidia) {
      this.#gpus = amd;
      return;
    }
    const child = execFile('nvidia-smi', QUERY, { timeout: GPU_TIMEOUT_MS }, (error, text) => {
      if (error !== null && 'code' in error && error.code === 'ENOENT') this.#hasNvidia = false;
      this.#gpus = [...(error === null ? parseNvidia(text) : []), ...amd];
    });
    child.unref();
  }
}

/** Reads what `nvidia-smi` prints for QUERY: a line for each processor; what it does not know, as of a shared one, is in brackets. */
export function parseNvidia(text: string): Gpu[] {
  return text
    .split('\n')
    .map((line) => line.split(',').map((cell) => cell.trim()))
    .flatMap(([name, utilisation, used, total]) =>
      name === undefined || total === undefined
        ? []
        : [{ name, utilisation: share(utilisation), usedMiB: figure(used), totalMiB: figure(total) }],
    );
}

function figure(text: string | undefined): number | null {
  const value = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** Of per cent. */
function share(text: string | undefined): number | null {
  const value = figure(text);
  return value === null ? null : Math.min(1, value / 100);
}

/** What the kernel's driver for AMD cards says of each; it says it in files, so that asking costs nothing. */
function readAmd(drm: string): Gpu[] {
  try {
    return readdirSync(drm)
      .filter((name) => /^card\d+$/u.test(name))
      .flatMap((name) => {
        const file = (which: string): string | undefined => readText(`${drm}/${name}/device/${which}`);
        const busy = file('gpu_busy_percent');
        if (busy === undefined) return [];
        const [used, total] = ['mem_info_vram_used', 'mem_info_vram_total'].map((which) =>
          figure(file(which)),
        );
        return [
          {
            name: file('product_name') ?? name,
            utilisation: share(busy),
            usedMiB: used == null ? null : used / MIB,
            totalMiB: total == null ? null : total / MIB,
          },
        ];
      });
  } catch {
    return [];
  }
}

function readText(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8').trim();
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
