import { readdirSync, readFileSync } from 'node:fs';

/** What a process uses; null where the platform does not say. */
export interface ProcessFigures {
  /** Cores, since the look before; null at the first. */
  readonly cpu: number | null;
  readonly rssMiB: number | null;
  readonly openFiles: number | null;
}

const NOTHING: ProcessFigures = { cpu: null, rssMiB: null, openFiles: null };
/** Clock ticks of `/proc/PID/stat` a second: the same on every Linux that Node runs on. */
const TICKS_PER_S = 100;
/** Processes are looked at so often at most, ms, however many ask. */
const INTERVAL_MS = 1000;

interface Look {
  readonly time: number;
  readonly cpuS: number;
  readonly figures: ProcessFigures;
}

/** Looks at processes of this machine from outside: those that do not report what they use. */
export class ProcessLooker {
  readonly #looks = new Map<number, Look>();

  /** What a process used since the last look, one second ago or more; `now` in ms. */
  look(pid: number | null, now: number): ProcessFigures {
    if (pid === null) return NOTHING;
    const before = this.#looks.get(pid);
    if (before !== undefined && now - before.time < INTERVAL_MS) return before.figures;
    const found = readProcess(pid);
    if (found === null) {
      this.#looks.delete(pid);
      return NOTHING;
    }
    const cpu =
      before === undefined ? null : Math.max(0, found.cpuS - before.cpuS) / ((now - before.time) / 1000);
    const figures = { cpu, rssMiB: found.rssMiB, openFiles: found.openFiles };
    this.#looks.set(pid, { time: now, cpuS: found.cpuS, figures });
    return figures;
  }

  /** Forgets all but these processes. */
  keep(pids: readonly (number | null)[]): void {
    for (const pid of this.#looks.keys()) if (!pids.includes(pid)) this.#looks.delete(pid);
  }
}

interface Found {
  readonly cpuS: number;
  readonly rssMiB: number | null;
  readonly openFiles: number | null;
}

/** User and system time of a process so far, s: fields 14 and 15 of /proc/PID/stat. Null where it is gone, or no Linux. */
export function cpuSeconds(pid: number): number | null {
  try {
    // The name in brackets may hold anything; what follows it are numbers.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
  } catch {
    return null;
  }
}

function readProcess(pid: number): Found | null {
  const cpuS = cpuSeconds(pid);
  if (cpuS === null) return null;
  try {
    const rss = /^VmRSS:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return {
      cpuS,
      rssMiB: rss === undefined ? null : Number(rss) / 1024,
      openFiles: countFiles(pid),
    };
  } catch {
    // Gone, or no Linux.
    return null;
  }
}

function countFiles(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}
