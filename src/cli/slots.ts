import { duration, mebibytes, seconds } from '../domain/figure-text.ts';
import type { SlotUse, WorkerSlots } from '../domain/pipeline.ts';
import { visibleText } from '../domain/visible-text.ts';
import { connectControl } from '../run/control-client.ts';
import { readManifest } from '../store/run-directory.ts';
import type { SlotOrder } from './choices.ts';
import type { ControlOptions } from './control.ts';
import { type Column, formatAmount, formatTable } from './format.ts';
import { printJson, printLine } from './output.ts';
import { findLiveRun } from './runs.ts';

export interface SlotsOptions extends ControlOptions {
  readonly sort: SlotOrder;
  readonly limit: number;
}

interface Row extends SlotUse {
  readonly worker: string;
}

/** What each order looks at; slots without it come last. */
const ORDERS: Readonly<Record<SlotOrder, (row: Row) => number | null>> = {
  wait: ({ waitMs }) => waitMs,
  age: ({ ageMs }) => ageMs,
  steps: ({ steps }) => steps,
  cpu: ({ cpu }) => cpu,
  temp: ({ tempBytes }) => tempBytes,
  files: ({ openFiles }) => openFiles,
  // By worker and number, as they come.
  slot: () => 0,
};

const COLUMNS: readonly Column<Row>[] = [
  { title: 'WORKER', align: 'left', cell: ({ worker }) => visibleText(worker) },
  { title: 'SLOT', align: 'right', cell: ({ slot }) => String(slot) },
  { title: 'STAGE', align: 'left', cell: ({ stage }) => stage },
  { title: 'WAIT', align: 'right', cell: ({ waitMs }) => formatMs(waitMs) },
  { title: 'EPISODE', align: 'left', cell: ({ episode }) => visibleText(episode ?? '') },
  { title: 'AGE', align: 'right', cell: ({ ageMs }) => formatMs(ageMs) },
  { title: 'STEPS', align: 'right', cell: ({ steps }) => String(steps ?? '') },
  { title: 'CPU', align: 'right', cell: ({ cpu }) => cpu.toFixed(3) },
  { title: 'TEMP', align: 'right', cell: ({ tempBytes }) => formatBytes(tempBytes) },
  { title: 'FILES', align: 'right', cell: ({ openFiles }) => String(openFiles ?? '-') },
];

/** Prints what is in the slots of a live run. Workers that do not answer are named, with the slot that they are stuck in. */
export async function printSlots(id: string | undefined, options: SlotsOptions): Promise<void> {
  const run = findLiveRun(options.runs, id);
  const client = await connectControl(readManifest(run.paths));
  let workers: WorkerSlots[];
  try {
    workers = await client.slots();
  } finally {
    client.close();
  }
  if (options.json === true) {
    const rows = sortSlots(workers, options.sort);
    const silent = workers.filter(({ slots }) => slots === null);
    printJson({
      run: run.id,
      total: rows.length,
      slots: rows.slice(0, options.limit),
      silent: silent.map(({ worker, stuck }) => ({ worker, stuck })),
    });
    return;
  }
  for (const line of slotLines(workers, options)) printLine(line);
}

/** For people: workers without an answer, and a table of the slots. What workers say is made safe to print. */
export function slotLines(
  workers: readonly WorkerSlots[],
  { sort, limit }: Pick<SlotsOptions, 'sort' | 'limit'>,
): string[] {
  const rows = sortSlots(workers, sort);
  const shown = rows.slice(0, limit);
  const silent = workers.flatMap(({ worker, slots, stuck }) => {
    if (slots !== null) return [];
    const stage = visibleText(stuck?.stage ?? '');
    const where = stuck === null ? '' : `: stuck in ${stage}, slot ${stuck.slot}, ${formatMs(stuck.ms)}`;
    return [`${visibleText(worker)} does not answer${where}`];
  });
  return [
    ...silent,
    ...formatTable(COLUMNS, shown),
    `${shown.length} of ${formatAmount(rows.length, 'slot')}`,
  ];
}

/** The slots of all workers, those with the most of what the order looks at first. */
export function sortSlots(workers: readonly WorkerSlots[], order: SlotOrder): Row[] {
  const rows = workers.flatMap(({ worker, slots }) => (slots ?? []).map((slot) => ({ worker, ...slot })));
  const value = ORDERS[order];
  return rows.toSorted((a, b) => (value(b) ?? -1) - (value(a) ?? -1));
}

function formatMs(ms: number | null): string {
  if (ms === null) return '';
  return ms < 1000 ? duration(ms) : seconds(ms);
}

function formatBytes(bytes: number): string {
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KiB` : mebibytes(bytes);
}
