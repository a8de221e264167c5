import type { SlotUse, WorkerSlots } from '../src/domain/pipeline.ts';
import type { ChildStatus, OwnProcess, RunHost, RunStatus } from '../src/domain/run.ts';
import { ListCursor } from './list-cursor.ts';

/** What the rows of one parent are ordered by: the largest first, but for the name. */
export const TREE_ORDERS = ['name', 'memory', 'cpu', 'temp', 'files', 'wait'] as const;
export type TreeOrder = (typeof TREE_ORDERS)[number];

/** One row of the tree. `key` stays the same as long as it is about the same. */
export type TreeRow =
  | {
      readonly kind: 'host';
      readonly key: string;
      readonly open: boolean;
      readonly host: RunHost;
      readonly workers: readonly ChildStatus[];
    }
  | { readonly kind: 'gpu'; readonly key: string; readonly gpu: Gpu; readonly index: number }
  | { readonly kind: 'child'; readonly key: string; readonly open: boolean; readonly child: ChildStatus }
  | { readonly kind: 'own'; readonly key: string; readonly process: OwnProcess }
  /** `child` as it was when its slots were told. */
  | { readonly kind: 'slot'; readonly key: string; readonly child: ChildStatus; readonly slot: SlotUse }
  /** In place of slots: they are being asked for, or the worker does not answer. */
  | { readonly kind: 'note'; readonly key: string; readonly text: string };

type Gpu = NonNullable<RunHost['figures']>['gpus'][number];

/** Asks workers for their slots. */
export type AskSlots = (workers: readonly number[]) => Promise<readonly WorkerSlots[]>;

/** Slots are asked for so often at most, ms, and the less often the more there are: each costs its worker and the run some time. */
const LEAST_INTERVAL_MS = 2000;
const MS_PER_SLOT = 0.5;

/** The rows made of a worker's answer: they are the same until it answers again, or is sorted otherwise. */
interface MadeRows {
  readonly answer: WorkerSlots;
  readonly order: TreeOrder;
  readonly rows: readonly TreeRow[];
}

/**
 * Hosts, their processes and the slots of workers as rows, with a pointer on one of them. Slots are asked for only of workers
 * that are unfolded. Of thousands of slots nothing is made but one row each, and that only when something has changed.
 */
export class HostTree {
  readonly cursor = new ListCursor();
  readonly #folded = new Set<string>();
  readonly #opened = new Set<string>();
  readonly #slots = new Map<number, WorkerSlots>();
  readonly #made = new Map<number, MadeRows>();
  #order = 0;
  #rows: readonly TreeRow[] = [];
  #status: RunStatus | null = null;
  #dirty = true;
  #asking = false;
  #askAgainAt = 0;
  /** A row that the pointer is to go to as soon as it is there. */
  #wanted: string | null = null;

  get order(): TreeOrder {
    return TREE_ORDERS[this.#order] ?? 'name';
  }

  get rows(): readonly TreeRow[] {
    return this.#rows;
  }

  get selected(): TreeRow | null {
    return this.#rows[this.cursor.selected] ?? null;
  }

  nextOrder(): void {
    this.#order = (this.#order + 1) % TREE_ORDERS.length;
    this.#dirty = true;
  }

  /** Unfolds or folds the row under the pointer; without a word, the other of the two. Returns whether that changed anything. */
  fold(open: boolean | null = null): boolean {
    const row = this.selected;
    if (row === null) return false;
    if (row.kind !== 'host' && !(row.kind === 'child' && row.child.role === 'worker')) {
      return open === false && this.#toParent(row);
    }
    const next = open ?? !row.open;
    if (next === row.open) return open === false && this.#toParent(row);
    const set = row.kind === 'host' ? this.#folded : this.#opened;
    if (next === (row.kind === 'host')) set.delete(row.key);
    else set.add(row.key);
    this.#dirty = true;
    this.#askAgainAt = 0;
    return true;
  }

  /** Unfolds what leads to a worker, and to one of its slots, and puts the pointer there; now, or as soon as it is known. */
  show(worker: { readonly index: number; readonly host: string }, slot: number | null): void {
    const key = childKey({ role: 'worker', ...worker });
    this.#folded.delete(hostKey(worker.host));
    if (slot !== null) this.#opened.add(key);
    this.#wanted = slot === null ? key : `${key}/${slot}`;
    this.#dirty = true;
    this.#askAgainAt = 0;
  }

  /** Takes a status over. `height` is that of the window. */
  refresh(status: RunStatus | null, height: number): void {
    if (status !== this.#status || this.#dirty) {
      const before = this.selected?.key ?? null;
      this.#status = status;
      this.#dirty = false;
      this.#rows = status === null ? [] : this.#build(status);
      this.#keepPlace(this.#wanted ?? before);
    }
    this.cursor.move(0, this.#rows.length, height);
  }

  /** Asks for the slots of unfolded workers, unless that was done a moment ago; `now` in ms. Returns whether there is news. */
  async ask(ask: AskSlots, now: number): Promise<boolean> {
    const workers = this.#openWorkers();
    if (workers.length === 0 || this.#asking || now < this.#askAgainAt) return false;
    this.#asking = true;
    let slots = 0;
    try {
      for (const answer of await ask(workers.map(({ index }) => index))) {
        slots += answer.slots?.length ?? 0;
        const worker = workers.find(({ name }) => name === answer.worker);
        if (worker !== undefined) this.#slots.set(worker.index, answer);
      }
    } catch {
      // That the run does not answer is said elsewhere.
    }
    this.#asking = false;
    this.#askAgainAt = now + Math.max(LEAST_INTERVAL_MS, MS_PER_SLOT * slots);
    this.#dirty = true;
    return true;
  }

  clear(): void {
    this.cursor.reset();
    this.#folded.clear();
    this.#opened.clear();
    this.#slots.clear();
    this.#made.clear();
    this.#rows = [];
    this.#status = null;
    this.#dirty = true;
    this.#wanted = null;
    this.#askAgainAt = 0;
  }

  #openWorkers(): { readonly index: number; readonly name: string }[] {
    return (this.#status?.children ?? [])
      .filter((child) => child.role === 'worker' && this.#opened.has(childKey(child)))
      .map(({ index, host }) => ({ index, name: `worker ${index}@${host}` }));
  }

  #toParent(row: TreeRow): boolean {
    const at = row.key.lastIndexOf('/');
    const parent = this.#rows.findIndex(({ key }) => key === row.key.slice(0, at));
    if (at < 0 || parent < 0) return false;
    this.cursor.move(parent - this.cursor.selected, this.#rows.length, this.#rows.length);
    return true;
  }

  #keepPlace(key: string | null): void {
    const at = key === null ? -1 : this.#rows.findIndex((row) => row.key === key);
    if (at < 0) return;
    if (key === this.#wanted) this.#wanted = null;
    this.cursor.move(at - this.cursor.selected, this.#rows.length, this.#rows.length);
  }

  #build(status: RunStatus): TreeRow[] {
    const known = new Set(status.hosts.map(({ name }) => name));
    // A run of a version that did not tell of its hosts.
    const others = [...new Set(status.children.map(({ host }) => host))].filter((name) => !known.has(name));
    const hosts = [...status.hosts, ...others.map((name): RunHost => ({ name, ssh: null, figures: null }))];
    const own = hosts.find(({ ssh }) => ssh === null)?.name ?? hosts[0]?.name;
    return hosts.flatMap((host) => this.#hostRows(status, host, host.name === own ? status.own : []));
  }

  #hostRows(status: RunStatus, host: RunHost, own: readonly OwnProcess[]): TreeRow[] {
    const key = hostKey(host.name);
    const children = status.children.filter((child) => child.host === host.name);
    const workers = children.filter(({ role }) => role === 'worker');
    const open = !this.#folded.has(key);
    const head: TreeRow = { kind: 'host', key, open, host, workers };
    if (!open) return [head];
    const gpus = host.figures?.gpus ?? [];
    return [
      head,
      ...gpus.map((gpu, index): TreeRow => ({ kind: 'gpu', key: `${key}/gpu ${index}`, gpu, index })),
      ...ordered(workers, CHILD_FIGURES[this.order]).flatMap((child) => this.#childRows(child)),
      ...children
        .filter(({ role }) => role === 'trainer')
        .map((child): TreeRow => ({ kind: 'child', key: childKey(child), open: false, child })),
      ...own.map((process): TreeRow => ({ kind: 'own', key: `${key}/${process.role}`, process })),
    ];
  }

  #childRows(child: ChildStatus): TreeRow[] {
    const key = childKey(child);
    const open = this.#opened.has(key);
    const row: TreeRow = { kind: 'child', key, open, child };
    if (!open) return [row];
    const answer = this.#slots.get(child.index) ?? null;
    if (answer?.slots == null) return [row, { kind: 'note', key: `${key}/note`, text: noteOf(answer) }];
    return [row, ...this.#slotRows(child, answer, answer.slots)];
  }

  #slotRows(child: ChildStatus, answer: WorkerSlots, slots: readonly SlotUse[]): readonly TreeRow[] {
    const { order } = this;
    const before = this.#made.get(child.index);
    if (before?.answer === answer && before.order === order) return before.rows;
    const key = childKey(child);
    const rows = ordered(slots, SLOT_FIGURES[order]).map(
      (slot): TreeRow => ({ kind: 'slot', key: `${key}/${slot.slot}`, child, slot }),
    );
    this.#made.set(child.index, { answer, order, rows });
    return rows;
  }
}

function noteOf(answer: WorkerSlots | null): string {
  if (answer === null) return 'asking for its slots';
  const { stuck } = answer;
  return stuck === null ? 'does not answer' : `does not answer: stuck in ${stuck.stage}, slot ${stuck.slot}`;
}

function hostKey(name: string): string {
  return `host ${name}`;
}

function childKey({ role, index, host }: Pick<ChildStatus, 'role' | 'index' | 'host'>): string {
  return `${hostKey(host)}/${role} ${index}`;
}

/** What an order looks at; null: nothing, they stay as they come. */
type Figures<T> = Readonly<Record<TreeOrder, ((of: T) => number | null) | null>>;

const CHILD_FIGURES: Figures<ChildStatus> = {
  name: null,
  memory: ({ rssMiB }) => rssMiB,
  cpu: ({ resources }) => resources?.cpu ?? null,
  temp: ({ resources }) => resources?.tempBytes ?? null,
  files: ({ resources }) => resources?.openFiles ?? null,
  wait: ({ silentMs }) => silentMs,
};

const SLOT_FIGURES: Figures<SlotUse> = {
  name: null,
  // Slots share the memory of their process: what one of them has of it nobody can say.
  memory: null,
  cpu: ({ cpu }) => cpu,
  temp: ({ tempBytes }) => tempBytes,
  files: ({ openFiles }) => openFiles,
  wait: ({ waitMs }) => waitMs,
};

/** The largest first; those without the figure last, and equal ones as they come. */
function ordered<T>(rows: readonly T[], figure: ((of: T) => number | null) | null): readonly T[] {
  if (figure === null) return rows;
  return rows.toSorted((a, b) => (figure(b) ?? -1) - (figure(a) ?? -1));
}
