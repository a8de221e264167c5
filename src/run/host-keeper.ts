import type { HostSpec } from '../domain/host.ts';
import type { ChildStatus, RunStatus } from '../domain/run.ts';
import { HostFiguresReader } from '../protocol/host-figures.ts';
import { ProcessLooker } from './process-figures.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface HostKeeperParts {
  /** All hosts of the config. */
  readonly hosts: readonly HostSpec[];
  readonly workers: Pick<WorkerPool, 'hostFigures'>;
  /** The process of the text indexer; null while there is none. */
  readonly textPid: () => number | null;
}

/** Whether a host's processes are this machine's own: seen by their process ids. */
export function isThisMachine({ ssh, command }: Pick<HostSpec, 'ssh' | 'command'>): boolean {
  return ssh === null && command === null;
}

/** How the hosts of a run are, and the processes that do not say so themselves. It looks only when somebody asks. */
export class HostKeeper {
  readonly #parts: HostKeeperParts;
  readonly #reader = new HostFiguresReader();
  readonly #looker = new ProcessLooker();

  constructor(parts: HostKeeperParts) {
    this.#parts = parts;
  }

  /** Its part of a status. */
  status(now: number): Pick<RunStatus, 'own' | 'hosts'> {
    const textPid = this.#parts.textPid();
    const heard = this.#parts.workers.hostFigures();
    return {
      own: [
        { role: 'run', pid: process.pid, ...this.#looker.look(process.pid, now) },
        ...(textPid === null
          ? []
          : [{ role: 'text' as const, pid: textPid, ...this.#looker.look(textPid, now) }]),
      ],
      hosts: this.#parts.hosts.map((host) => ({
        name: host.name,
        ssh: host.ssh,
        figures: isThisMachine(host) ? this.#reader.read() : (heard.get(host.name) ?? null),
      })),
    };
  }

  /** A trainer's status with what its process uses, where that can be seen. */
  withFigures(trainer: ChildStatus, now: number): ChildStatus {
    const host = this.#parts.hosts.find(({ name }) => name === trainer.host);
    this.#looker.keep([process.pid, this.#parts.textPid(), trainer.pid]);
    if (host === undefined || !isThisMachine(host) || trainer.pid === null) return trainer;
    const { cpu, rssMiB, openFiles } = this.#looker.look(trainer.pid, now);
    if (rssMiB === null) return trainer;
    return { ...trainer, rssMiB, resources: { cpu, openFiles, tempBytes: null } };
  }
}
