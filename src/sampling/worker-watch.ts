import { totalmem } from 'node:os';
import { Histogram } from '../domain/histogram.ts';
import type { PipelineStage, SlotUse } from '../domain/pipeline.ts';
import type { Lifeline } from '../protocol/lifeline.ts';
import type {
  SlotDrift,
  SlotRebuild,
  WorkerLimits,
  WorkerStage,
  WorkerWatchReport,
} from '../protocol/worker.ts';
import type { BatchTimes } from './inference-batch.ts';
import type { Slot } from './slot.ts';
import type { WaitedStage } from './slot-context.ts';
import { SlotUsage } from './slot-usage.ts';
import type { OpenFiles, TempDirectories } from './temp-directories.ts';

/** A longer time between two looks says that the process stood still, or its main thread: nobody's deadline runs then. */
const STOOD_STILL_MS = 2000;
/** CPU is averaged over so many looks. */
const CPU_LOOKS = 6;
/** Where the config is silent, all workers of a host may use so much of its memory. */
const MEMORY_SHARE = 0.8;

/** A slot with less than this part of the open files is not to blame for them. */
const HOARD = 4;

/** What can be in flight at a worker, in the order in which it is reported. */
const STAGES = ['claim', 'reset', 'step', 'inference', 'store'] as const satisfies readonly PipelineStage[];
type WatchedStage = (typeof STAGES)[number];

export interface WorkerWatchOptions {
  readonly slots: number;
  readonly limits: WorkerLimits | undefined;
  readonly lifeline: Lifeline;
  readonly directories: TempDirectories | undefined;
}

/** What the worker knows of itself at the moment of a report. */
export interface WorkerSight {
  readonly slots: readonly Slot[];
  readonly freeSlots: number;
  /** Episodes that were given to it and wait for a slot. */
  readonly queued: number;
  readonly held: boolean;
  readonly policyVersion: number;
}

/** What memory a worker may use, MiB: what the config says, or its share of the host's. */
export function memoryLimitMiB({ memoryMiB, hostWorkers }: WorkerLimits): number {
  if (memoryMiB !== null) return memoryMiB;
  // 0 where nothing constrains the process.
  const constrained = process.constrainedMemory?.() ?? 0;
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return (total * MEMORY_SHARE) / hostWorkers / 2 ** 20;
}

/** How old what a worker has in flight is, what it and its slots use, and who is over a limit. Times are ms since the epoch. */
export class WorkerWatch {
  readonly #options: WorkerWatchOptions;
  readonly #seen: Readonly<Record<WatchedStage, Histogram>> = {
    claim: new Histogram(),
    reset: new Histogram(),
    step: new Histogram(),
    inference: new Histogram(),
    store: new Histogram(),
  };
  readonly #usage: SlotUsage;
  /** Since when free slots have waited for episodes. */
  #starvedSince: number | null = null;
  #callSince: number | null = null;
  /** Episodes that were sent and not acknowledged, oldest first. */
  readonly #sent: { readonly at: number; bytes: number }[] = [];
  #lastLook: number;
  readonly #cpuLooks: { readonly time: number; readonly cpuMs: number }[] = [];
  #drifts: SlotDrift[] = [];
  #rebuilds: SlotRebuild[] = [];
  #files: OpenFiles | null = null;

  constructor(options: WorkerWatchOptions, now: number) {
    this.#options = options;
    this.#usage = new SlotUsage(options.slots, now);
    this.#lastLook = now;
  }

  /** An inference call, and the steps after it, of so many slots. */
  async call(rows: number, run: () => Promise<BatchTimes>): Promise<BatchTimes> {
    this.#callSince = Date.now();
    const times = await run();
    this.#callSince = null;
    this.#seen.inference.add(times.inferenceMs);
    // Of steps that are answered at once only the sum is measured.
    this.#seen.step.add(times.stepMs / rows, rows);
    return times;
  }

  /** An environment answered that was waited for. */
  answered(stage: WaitedStage, ms: number): void {
    this.#seen[stage].add(ms);
  }

  /** A slot's environment was given up between two episodes. */
  rebuilt(slot: number, reason: string): void {
    this.#rebuilds.push({ slot, reason });
  }

  sent(bytes: number): void {
    this.#sent.push({ at: Date.now(), bytes });
  }

  acknowledged(bytes: number): void {
    let left = bytes;
    const now = Date.now();
    for (let first = this.#sent[0]; first !== undefined && left > 0; first = this.#sent[0]) {
      if (first.bytes > left) {
        first.bytes -= left;
        return;
      }
      left -= first.bytes;
      this.#seen.store.add(now - first.at);
      this.#sent.shift();
    }
  }

  /** To be called a few times a second. Returns for how long the process stood still since the last time, 0 if it did not. */
  look(now: number): number {
    const gap = now - this.#lastLook;
    this.#lastLook = now;
    return gap > STOOD_STILL_MS ? gap : 0;
  }

  /** Slots that use too much, with the reason. */
  overLimit(slots: readonly Slot[]): { readonly slot: Slot; readonly detail: string }[] {
    const { limits, directories } = this.#options;
    if (limits === undefined || directories?.wasUsed !== true) return [];
    directories.measure();
    const hoarder = this.#hoarderOfFiles();
    return slots.flatMap((slot) => {
      const { index } = slot;
      const bytes = directories.bytes(index);
      if (bytes > limits.slotTempBytes) {
        const [mib, most] = [bytes, limits.slotTempBytes].map((size) => Math.ceil(size / 2 ** 20));
        return [{ slot, detail: `its temporary directory holds ${mib} MiB, the limit is ${most}` }];
      }
      if (index !== hoarder?.slot) return [];
      const detail = `it has ${hoarder.count} of its worker's ${this.#files?.total} open files; the limit is ${limits.openFiles}`;
      return [{ slot, detail }];
    });
  }

  /** Why the process has to end, where no slot can be blamed for what it uses; else null. */
  exhausted(): string | null {
    const { limits } = this.#options;
    if (limits === undefined || !this.#hasTooManyFiles() || this.#hoarderOfFiles() !== null) return null;
    return `${this.#files?.total} open files, the limit is ${limits.openFiles}, and no slot's directory holds them`;
  }

  #hasTooManyFiles(): boolean {
    return (this.#files?.total ?? 0) > (this.#options.limits?.openFiles ?? Infinity);
  }

  /** The slot with the most open files in its directory, if they make up a good part of too many. */
  #hoarderOfFiles(): { readonly slot: number; readonly count: number } | null {
    if (!this.#hasTooManyFiles()) return null;
    const [most] = [...(this.#files?.bySlot ?? [])].toSorted(([, a], [, b]) => b - a);
    const [slot, count] = most ?? [0, 0];
    return count * HOARD < (this.#files?.total ?? 0) ? null : { slot, count };
  }

  /** What is in every slot, and what it uses. */
  slotUse(slots: readonly Slot[], now: number): SlotUse[] {
    const { directories } = this.#options;
    return slots.map((slot) => {
      const { index, waiting, episode, state } = slot;
      const idle = state === 'free' ? 'free' : 'ready';
      return {
        slot: index,
        stage: waiting?.stage ?? idle,
        waitMs: waiting === null ? null : Math.max(0, now - waiting.since),
        episode: episode?.id ?? null,
        ageMs: episode === null ? null : Math.max(0, now - episode.startedAt),
        steps: episode?.steps ?? null,
        cpu: this.#usage.cpu(index),
        tempBytes: directories?.bytes(index) ?? 0,
        openFiles: this.#files === null ? null : (this.#files.bySlot.get(index) ?? 0),
      };
    });
  }

  /** What happened since the last report. */
  take(sight: WorkerSight, now: number): WorkerWatchReport {
    const { directories, lifeline, slots } = this.#options;
    const ticks = lifeline.takeTicks?.();
    if (ticks !== undefined) this.#drifts.push(...this.#usage.addTicks(ticks, now));
    const files = directories?.openFiles() ?? null;
    this.#files = files;
    if (directories?.wasUsed === true) {
      const bySlot = Array.from({ length: slots }, (_, slot) => slot);
      const bytes = bySlot.map((slot) => directories.bytes(slot));
      this.#drifts.push(...this.#usage.judge('tempBytes', bytes));
      const open = bySlot.map((slot) => files?.bySlot.get(slot) ?? 0);
      this.#drifts.push(...this.#usage.judge('openFiles', open));
    }
    const report: WorkerWatchReport = {
      stages: STAGES.map((stage) => this.#stage(stage, sight, now)),
      policyVersion: sight.policyVersion,
      resources: {
        cpu: this.#cpu(now),
        openFiles: files?.total ?? null,
        tempBytes: directories?.totalBytes ?? null,
      },
      drifts: this.#drifts,
      rebuilds: this.#rebuilds,
    };
    this.#drifts = [];
    this.#rebuilds = [];
    return report;
  }

  #stage(stage: WatchedStage, sight: WorkerSight, now: number): WorkerStage {
    const [oldest, count, slot] = this.#oldest(stage, sight, now);
    return {
      stage,
      ageMs: oldest === null ? 0 : Math.max(0, now - oldest),
      count,
      slot,
      seen: this.#seen[stage].take(),
    };
  }

  /** Since when the oldest has been in a stage, how many are in it, and in which slot the oldest is. */
  #oldest(
    stage: WatchedStage,
    sight: WorkerSight,
    now: number,
  ): readonly [since: number | null, count: number, slot: number | null] {
    switch (stage) {
      case 'claim': {
        const isStarved = !sight.held && sight.freeSlots > 0 && sight.queued === 0;
        if (!isStarved && this.#starvedSince !== null) this.#seen.claim.add(now - this.#starvedSince);
        this.#starvedSince = isStarved ? (this.#starvedSince ?? now) : null;
        return [this.#starvedSince, isStarved ? sight.freeSlots : 0, null];
      }
      case 'inference':
        return [this.#callSince, this.#callSince === null ? 0 : 1, null];
      case 'store':
        return [this.#sent[0]?.at ?? null, this.#sent.length, null];
      case 'reset':
      case 'step':
        return oldestWaiting(stage, sight.slots);
    }
  }

  /** Cores that the process used over the last looks; null at the first. */
  #cpu(now: number): number | null {
    const { user, system } = process.cpuUsage();
    const cpuMs = (user + system) / 1000;
    const first = this.#cpuLooks[0];
    this.#cpuLooks.push({ time: now, cpuMs });
    if (this.#cpuLooks.length > CPU_LOOKS) this.#cpuLooks.shift();
    return first === undefined || now <= first.time ? null : (cpuMs - first.cpuMs) / (now - first.time);
  }
}

function oldestWaiting(
  stage: WaitedStage,
  slots: readonly Slot[],
): readonly [since: number | null, count: number, slot: number | null] {
  let oldest: { readonly since: number; readonly slot: number } | null = null;
  let count = 0;
  for (const slot of slots) {
    const waiting = slot.waiting;
    if (waiting?.stage !== stage) continue;
    count++;
    if (oldest === null || waiting.since < oldest.since) oldest = { since: waiting.since, slot: slot.index };
  }
  return [oldest?.since ?? null, count, oldest?.slot ?? null];
}
