import { HOST_ROLES } from '../domain/host.ts';
import { isRecord } from '../domain/table.ts';

/** More threads only wait for one another: a minibatch of a few hundred samples is split among them. */
const MOST_TRAINER_THREADS = 4;

/** Slots of a config that says nothing of them. */
const DEFAULT_SLOTS = 256;
/** MiB that a worker may take with what it holds for the run; workers are given half of the memory at most. */
const WORKER_MIB = 200;

/** What there is of this machine. */
export interface Machine {
  readonly cores: number;
  /** Null: not known. */
  readonly memoryMiB: number | null;
}

/** How a machine's cores are used; each worker and each thread of the trainer keeps one busy. */
export interface CoreShares {
  readonly workers: number;
  readonly threads: number;
}

/**
 * Shares `cores` among workers and the trainer. When they work at the same time (`overlap`) each gets its own, the trainer
 * about half and at most four; when they take turns both get all.
 */
export function shareCores(cores: number, overlap: boolean): CoreShares {
  if (!overlap) return { workers: cores, threads: Math.min(cores, MOST_TRAINER_THREADS) };
  const threads = Math.min(Math.max(1, Math.floor(cores / 2)), MOST_TRAINER_THREADS);
  return { workers: Math.max(1, cores - threads), threads };
}

/**
 * A copy of a config's raw data in which workers and trainer threads that it leaves open are given by the number of cores
 * of this machine, workers also by its memory and the slots that there are for them. A trainer on another machine is left to the schema's default: its cores are not known here.
 */
export function fillCores(
  raw: Readonly<Record<string, unknown>>,
  { cores, memoryMiB }: Machine,
  overlapDefault: boolean,
): Record<string, unknown> {
  const sampling = isRecord(raw['sampling']) ? raw['sampling'] : {};
  const overlap = typeof sampling['overlap'] === 'boolean' ? sampling['overlap'] : overlapDefault;
  const shares = shareCores(cores, overlap);
  const filled = { ...raw };
  if (raw['hosts'] === undefined) {
    const slots = typeof sampling['slots'] === 'number' ? sampling['slots'] : DEFAULT_SLOTS;
    const fitting = memoryMiB === null ? shares.workers : Math.floor(memoryMiB / 2 / WORKER_MIB);
    filled['hosts'] = [{ name: 'local', workers: Math.max(1, Math.min(shares.workers, slots, fitting)) }];
  }
  const trainer = raw['trainer'] ?? {};
  if (isRecord(trainer) && trainer['threads'] === undefined) {
    const threads = threadsBeside(raw['hosts'], cores, overlap) ?? shares.threads;
    if (threads > 0) filled['trainer'] = { ...trainer, threads };
  }
  return filled;
}

/** Threads of a trainer beside the workers that the config asks for on its host; 0 where that host is not this machine. */
function threadsBeside(hosts: unknown, cores: number, overlap: boolean): number | null {
  if (!Array.isArray(hosts)) return null;
  const host: unknown = hosts.find((each: unknown) => isRecord(each) && trains(each));
  if (!isRecord(host)) return null;
  if (typeof host['ssh'] === 'string') return 0;
  const workers = typeof host['workers'] === 'number' ? host['workers'] : 1;
  const free = overlap ? cores - workers : cores;
  return Math.min(Math.max(1, free), MOST_TRAINER_THREADS);
}

function trains(host: Record<string, unknown>): boolean {
  const roles = host['roles'] ?? (typeof host['ssh'] === 'string' ? ['worker'] : HOST_ROLES);
  return Array.isArray(roles) && roles.includes('trainer');
}
