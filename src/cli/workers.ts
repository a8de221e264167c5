import { setTimeout as sleep } from 'node:timers/promises';
import { formatBytes } from '../domain/bytes.ts';
import { LabError } from '../domain/error.ts';
import { duration } from '../domain/figure-text.ts';
import type { ChildStatus, RunStatus } from '../domain/run.ts';
import { visibleText } from '../domain/visible-text.ts';
import type { WorkerAction } from '../protocol/control.ts';
import type { ControlClient } from '../run/control-client.ts';
import { type ControlOptions, withClient } from './control.ts';
import { type Column, formatTable } from './format.ts';
import { printJson, printLine } from './output.ts';
import { findLiveRun } from './runs.ts';

export interface WorkersOptions extends ControlOptions {
  readonly run?: string;
}

export interface ActOptions extends WorkersOptions {
  readonly now?: boolean;
  readonly wait?: boolean;
}

const POLL_MS = 200;

const SAID: Readonly<Record<WorkerAction, string>> = {
  drain: 'gets no new episodes',
  undrain: 'gets episodes again',
  restart: 'is started anew when its episodes are finished',
  remove: 'leaves when its episodes are finished',
};

const SAID_NOW: Readonly<Partial<Record<WorkerAction, string>>> = {
  restart: 'is started anew',
  remove: 'leaves',
};

/** Drains, undrains, restarts or removes workers of a live run. */
export async function changeWorkers(
  action: WorkerAction,
  targets: readonly string[],
  options: ActOptions,
): Promise<void> {
  const run = findLiveRun(options.runs, options.run);
  const now = options.now === true;
  const workers = await withClient(run, async (client) => {
    const names = await client.workers(action, targets, now);
    if (options.wait === true) await untilIdle(client, names);
    return names;
  });
  if (options.json === true) {
    printJson({ run: run.id, action, workers, now, ...(options.wait === true ? { idle: true } : {}) });
    return;
  }
  const said = now ? (SAID_NOW[action] ?? SAID[action]) : SAID[action];
  const done = options.wait === true ? 'has nothing in flight' : said;
  for (const name of workers) printLine(`${visibleText(name)} ${done}`);
}

/** Until these workers have no episode left. */
async function untilIdle(client: ControlClient, names: readonly string[]): Promise<void> {
  for (;;) {
    const { children } = await client.status();
    const busy = children.filter((child) => names.includes(nameOf(child)) && (child.drain?.left ?? 1) > 0);
    if (busy.length === 0) return;
    const undone = busy.find(({ drain }) => drain === null);
    if (undone !== undefined)
      throw new LabError('usage', { message: `${nameOf(undone)} was given episodes again meanwhile` });
    await sleep(POLL_MS);
  }
}

/** Adds a worker to a host of a live run. */
export async function addWorker(
  host: string,
  options: WorkersOptions & { readonly slots?: number },
): Promise<void> {
  const run = findLiveRun(options.runs, options.run);
  const worker = await withClient(run, async (client) => await client.addWorker(host, options.slots ?? null));
  if (options.json === true) printJson({ run: run.id, action: 'add', workers: [worker] });
  else printLine(`${visibleText(worker)} is being started`);
}

function nameOf({ role, index, host }: Pick<ChildStatus, 'role' | 'index' | 'host'>): string {
  return role === 'trainer' ? `trainer@${host}` : `worker ${index}@${host}`;
}

/** Prints the processes of a live run, and what they use. */
export async function printWorkers(options: WorkersOptions): Promise<void> {
  const run = findLiveRun(options.runs, options.run);
  const status = await withClient(run, async (client) => await client.status());
  if (options.json === true) {
    const { children, own, hosts } = status;
    printJson({ run: run.id, children, own, hosts });
    return;
  }
  for (const line of workerLines(status)) printLine(line);
}

interface Row {
  readonly name: string;
  readonly state: string;
  readonly slots: string;
  readonly cpu: number | null;
  readonly rssMiB: number | null;
  readonly files: number | null;
  readonly temp: number | null;
  readonly restarts: string;
  readonly silent: string;
}

const MISSING = '-';
const COLUMNS: readonly Column<Row>[] = [
  { title: 'PROCESS', align: 'left', cell: ({ name }) => name },
  { title: 'STATE', align: 'left', cell: ({ state }) => state },
  { title: 'SLOTS', align: 'right', cell: ({ slots }) => slots },
  { title: 'CORES', align: 'right', cell: ({ cpu }) => cpu?.toFixed(2) ?? MISSING },
  {
    title: 'MEMORY',
    align: 'right',
    cell: ({ rssMiB }) => (rssMiB === null || rssMiB === 0 ? MISSING : formatBytes(rssMiB * 2 ** 20)),
  },
  { title: 'FILES', align: 'right', cell: ({ files }) => String(files ?? MISSING) },
  { title: 'TEMP', align: 'right', cell: ({ temp }) => (temp === null ? MISSING : formatBytes(temp)) },
  { title: 'RESTARTS', align: 'right', cell: ({ restarts }) => restarts },
  { title: 'SILENT', align: 'right', cell: ({ silent }) => silent },
];

/** For people: hosts with what is known of them, and a table of the processes. */
export function workerLines({
  children,
  own,
  hosts,
}: Pick<RunStatus, 'children' | 'own' | 'hosts'>): string[] {
  const rows = [
    ...children.map((child) => ({
      name: visibleText(nameOf(child)),
      state: stateText(child),
      slots: child.slots === 0 ? '' : `${child.busySlots}/${child.slots}`,
      cpu: child.resources?.cpu ?? null,
      rssMiB: child.rssMiB,
      files: child.resources?.openFiles ?? null,
      temp: child.resources?.tempBytes ?? null,
      restarts: String(child.restarts),
      silent: duration(child.silentMs),
    })),
    ...own.map(({ role, cpu, rssMiB, openFiles }) => ({
      name: role === 'run' ? 'run' : 'text indexer',
      state: '',
      slots: '',
      cpu,
      rssMiB,
      files: openFiles,
      temp: null,
      restarts: '',
      silent: '',
    })),
  ];
  return [...hosts.map(hostLine), ...formatTable(COLUMNS, rows)];
}

function stateText({ state, drain }: ChildStatus): string {
  if (drain === null) return state;
  const then = drain.end === 'rest' ? '' : `, then ${drain.end === 'restart' ? 'anew' : 'leaves'}`;
  return drain.left === 0 ? `drained${then}` : `draining ${drain.left}${then}`;
}

function hostLine({ name, ssh, figures }: RunStatus['hosts'][number]): string {
  const where = ssh === null ? '' : ` (${visibleText(ssh)})`;
  if (figures === null) return `${visibleText(name)}${where}: nothing is known of the machine`;
  const { cores, load, usedMiB, totalMiB, gpus } = figures;
  const memory = `memory ${formatBytes(usedMiB * 2 ** 20)} of ${formatBytes(totalMiB * 2 ** 20)}`;
  const shown = [load === null ? `${cores} cores` : `load ${load.toFixed(2)} of ${cores} cores`, memory];
  const gpuTexts = gpus.map(
    (gpu) =>
      `${visibleText(gpu.name)} ${gpu.utilisation === null ? MISSING : `${Math.round(gpu.utilisation * 100)} %`}, ` +
      `${formatBytes((gpu.usedMiB ?? Number.NaN) * 2 ** 20)} of ${formatBytes((gpu.totalMiB ?? Number.NaN) * 2 ** 20)}`,
  );
  return `${visibleText(name)}${where}: ${[...shown, ...gpuTexts].join(', ')}`;
}
