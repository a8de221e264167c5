import { formatBytes } from '../../src/domain/bytes.ts';
import type { ChildStatus, RunEvent, RunHost } from '../../src/domain/run.ts';
import { formatClock, formatCount, formatMs, formatShare, MISSING } from '../format.ts';
import type { HostTree, TreeRow } from '../host-tree.ts';
import type { KeyContext } from '../key-binding.ts';
import { planOverview, type Size } from '../layout.ts';
import { fit, fitLine, joinFitting, type Line, seg, spread, untrusted } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';
import type { Toast } from '../toast.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawHeader } from '../widgets/header.ts';

/** Everything the screen of hosts shows. */
export interface HostsModel {
  readonly run: RunSnapshot;
  readonly tree: HostTree;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** Title and heads above the rows; rule, detail, message and keys below them. */
const FRAME = 6;
const MIB = 2 ** 20;
/** A process that was silent for longer is called out, ms. */
const SILENT_MS = 5000;

/** Rows of the tree on a screen. */
export function hostsHeight(size: Size): number {
  return Math.max(1, size.rows - planOverview(size).header - FRAME);
}

/** Hosts, their processes and the slots of unfolded workers, with what each uses; only the rows of the window are made. */
export function drawHosts(model: HostsModel, size: Size, look: Look): Line[] {
  const { run, tree, toast, keys } = model;
  const width = size.columns;
  const drifts = driftsOf(run.events);
  const { top, selected } = tree.cursor;
  const rows = Array.from({ length: hostsHeight(size) }, (_, row): Line => {
    const at = tree.rows[top + row];
    if (at === undefined) return row === 0 ? [seg('  the run does not answer: nothing is known', 'dim')] : [];
    return treeLine(at, { selected: top + row === selected, drifts, width, look });
  });
  return [
    ...drawHeader(run, width, planOverview(size).header, look),
    titleLine(run, tree, width, look),
    headLine(width, look),
    ...rows.map((line) => fitLine(line, width, look)),
    [seg(symbolsOf(look).rule.repeat(width), 'dim')],
    fitLine(detailOf(tree.selected, drifts, look), width, look),
    drawMessageRow({ toast, event: run.events[0] ?? null, now: run.now }, width, look),
    drawFooter('hosts', keys, width, look),
  ];
}

function titleLine({ status }: RunSnapshot, tree: HostTree, width: number, look: Look): Line {
  const children = status?.children ?? [];
  const workers = children.filter(({ role }) => role === 'worker');
  const drained = workers.filter(({ drain }) => drain !== null).length;
  const pieces: Line[] = [
    [seg(`hosts ${formatCount(status?.hosts.length ?? 0)}`, 'bold')],
    [seg(`workers ${formatCount(workers.length)}`)],
    ...(drained === 0 ? [] : [[seg(`${formatCount(drained)} drained or draining`, 'warn')]]),
    [seg('by ', 'dim'), seg(tree.order, 'accent')],
  ];
  const position = tree.rows.length === 0 ? [] : [seg(positionText(tree), 'dim')];
  return spread(joinFitting(pieces, '   ', width), position, width, look);
}

function positionText({ cursor, rows }: HostTree): string {
  return `${formatCount(cursor.selected + 1)}/${formatCount(rows.length)}`;
}

// Columns --------------------------------------------------------------------------------------------------------------

/** Widths of the columns but for the name, which has the rest; those at the end go first where there is no room. */
const COLUMNS = [
  ['state', 14, 'left'],
  ['slots', 11, 'right'],
  ['cores', 6, 'right'],
  ['memory', 9, 'right'],
  ['files', 6, 'right'],
  ['temp', 9, 'right'],
  ['seen', 7, 'right'],
  ['restarts', 9, 'right'],
] as const;
type ColumnName = (typeof COLUMNS)[number][0];
type Cell = readonly [text: string, tone?: Tone];
type Cells = Readonly<Partial<Record<ColumnName, Cell>>>;

const POINTER = 2;
const LEAST_NAME = 16;
const MOST_NAME = 44;

function shownColumns(width: number): readonly (typeof COLUMNS)[number][] {
  let left = width - POINTER - LEAST_NAME;
  return COLUMNS.filter(([, own]) => {
    left -= own;
    return left >= 0;
  });
}

function nameWidth(width: number): number {
  const taken = shownColumns(width).reduce((sum, [, own]) => sum + own, 0);
  return Math.max(1, Math.min(MOST_NAME, width - POINTER - taken));
}

function headLine(width: number, look: Look): Line {
  const cells = shownColumns(width).map(([name, own, align]) => fit(name, own, look, align));
  const name = fit('process', nameWidth(width), look);
  return fitLine([seg(`${' '.repeat(POINTER)}${name}${cells.join('')}`, 'dim')], width, look);
}

function columns(cells: Cells, width: number, look: Look): Line {
  return shownColumns(width).map(([name, own, align]) => {
    const [text = '', tone = 'plain'] = cells[name] ?? [];
    return seg(fit(text, own, look, align), tone);
  });
}

// Rows -----------------------------------------------------------------------------------------------------------------

interface RowView {
  readonly selected: boolean;
  readonly drifts: Drifts;
  readonly width: number;
  readonly look: Look;
}

function treeLine(row: TreeRow, view: RowView): Line {
  const { width, look, selected } = view;
  const line: Line = [seg(selected ? `${symbolsOf(look).pointer} ` : '  ', 'accent'), ...rowLine(row, view)];
  return selected ? fitLine(line, width, look).map(({ text }) => seg(text, 'selected')) : line;
}

function rowLine(row: TreeRow, view: RowView): Line {
  const { width, look, drifts } = view;
  const table = (name: string, cells: Cells, tone: Tone = 'plain'): Line => [
    seg(fit(name, nameWidth(width), look), tone),
    ...columns(cells, width, look),
  ];
  switch (row.kind) {
    case 'host':
      return hostLine(row, width, look);
    case 'gpu': {
      const { name, utilisation, usedMiB, totalMiB } = row.gpu;
      const memory = `${mebibytes(usedMiB)} of ${mebibytes(totalMiB)}`;
      const busy = utilisation === null ? MISSING : formatShare(utilisation);
      return [
        seg(`   GPU ${row.index}  ${untrusted(name)}  `),
        seg(busy, 'accent'),
        seg(`  memory ${memory}`),
      ];
    }
    case 'child': {
      const sign = row.child.role === 'trainer' ? ' ' : foldSign(row.open, look);
      const isOut = [...drifts.keys()].some((subject) => subject.startsWith(`${nameOf(row.child)},`));
      const mark = isOut ? ` ${symbolsOf(look).warning}` : '';
      return table(` ${sign} ${titleOf(row.child)}${mark}`, childCells(row.child), isOut ? 'warn' : 'plain');
    }
    case 'own': {
      const { role, cpu, rssMiB, openFiles } = row.process;
      return table(`   ${role === 'run' ? 'run' : 'text indexer'}`, {
        cores: figure(cpu, formatCores),
        memory: [mebibytes(rssMiB)],
        files: figure(openFiles, formatCount),
      });
    }
    case 'slot': {
      const isOut = drifts.has(`${nameOf(row.child)}, slot ${row.slot.slot}`);
      const name = `     slot ${row.slot.slot}${isOut ? ` ${symbolsOf(look).warning}` : ''}`;
      return table(name, slotCells(row), isOut ? 'warn' : 'plain');
    }
    case 'note':
      return [seg(`     ${untrusted(row.text)}`, 'dim')];
  }
}

function foldSign(open: boolean, look: Look): string {
  if (look.glyphs === 'ascii') return open ? '-' : '+';
  return open ? '▾' : '▸';
}

function hostLine(row: Extract<TreeRow, { kind: 'host' }>, width: number, look: Look): Line {
  const { host, workers, open } = row;
  const name = untrusted(host.name);
  const where = host.ssh === null ? '' : ` ${untrusted(host.ssh)}`;
  const pieces: Line[] = [
    [seg(`${foldSign(open, look)} ${name}`, 'bold'), seg(where, 'dim')],
    [seg(`${formatCount(workers.length)} ${workers.length === 1 ? 'worker' : 'workers'}`)],
    ...machinePieces(host),
  ];
  return joinFitting(pieces, '   ', width - POINTER);
}

function machinePieces({ figures }: RunHost): Line[] {
  if (figures === null) return [];
  const { load, cores, usedMiB, totalMiB } = figures;
  const isBusy = load !== null && load > 2 * cores;
  return [
    [
      seg('load ', 'dim'),
      seg(load === null ? MISSING : load.toFixed(2), isBusy ? 'warn' : 'plain'),
      seg(` of ${formatCount(cores)} cores`, 'dim'),
    ],
    [seg('memory ', 'dim'), seg(mebibytes(usedMiB)), seg(` of ${mebibytes(totalMiB)}`, 'dim')],
  ];
}

function childCells(child: ChildStatus): Cells {
  const { resources, drain, state, silentMs, restarts } = child;
  const busy = `${formatCount(child.busySlots)}/${formatCount(child.slots)}`;
  return {
    state: stateCell({ drain, state }),
    slots: [child.slots === 0 ? '' : busy],
    cores: figure(resources?.cpu, formatCores),
    memory: [child.rssMiB === 0 ? MISSING : mebibytes(child.rssMiB)],
    files: figure(resources?.openFiles, formatCount),
    temp: figure(resources?.tempBytes, formatBytes),
    restarts: [formatCount(restarts), restarts > 0 ? 'warn' : 'dim'],
    seen: [formatMs(silentMs), silentMs > SILENT_MS ? 'warn' : 'dim'],
  };
}

function stateCell({ state, drain }: Pick<ChildStatus, 'state' | 'drain'>): Cell {
  if (state !== 'ready') return [state, 'warn'];
  if (drain === null) return [state, 'good'];
  if (drain.left === 0) return ['drained', 'warn'];
  return [`${DRAIN_WORDS[drain.end]} ${formatCount(drain.left)}`, 'warn'];
}

const DRAIN_WORDS = { rest: 'draining', restart: 'to restart', leave: 'to leave' } as const;

function slotCells({ slot }: Extract<TreeRow, { kind: 'slot' }>): Cells {
  const wait = slot.waitMs === null ? '' : ` ${formatMs(slot.waitMs)}`;
  return {
    state: [`${slot.stage}${wait}`, slot.waitMs !== null && slot.waitMs > SILENT_MS ? 'warn' : 'plain'],
    slots: [slot.episode === null ? '' : untrusted(slot.episode)],
    cores: [slot.cpu.toFixed(3)],
    files: figure(slot.openFiles, formatCount),
    temp: [formatBytes(slot.tempBytes)],
    seen: [slot.ageMs === null ? '' : formatMs(slot.ageMs), 'dim'],
  };
}

function figure(value: number | null | undefined, format: (value: number) => string): Cell {
  return [value === null || value === undefined ? MISSING : format(value)];
}

function formatCores(cores: number): string {
  return cores.toFixed(2);
}

function mebibytes(mib: number | null): string {
  return mib === null ? MISSING : formatBytes(mib * MIB);
}

// What is out of line, and the selected row in full --------------------------------------------------------------------

/** By subject (`worker 1@local, slot 7`), what was found out of line of late. */
type Drifts = ReadonlyMap<string, RunEvent>;

function driftsOf(events: readonly RunEvent[]): Drifts {
  // Oldest first, so that the newest stays.
  return new Map(
    events
      .filter(({ kind }) => kind === 'slot-drift')
      .toReversed()
      .map((event) => [event.subject, event]),
  );
}

function nameOf(child: ChildStatus): string {
  return `${titleOf(child)}@${child.host}`;
}

function titleOf({ role, index }: ChildStatus): string {
  return role === 'trainer' ? 'trainer' : `worker ${index}`;
}

function detailOf(row: TreeRow | null, drifts: Drifts, look: Look): Line {
  if (row === null) return [];
  const { dot } = symbolsOf(look);
  switch (row.kind) {
    case 'host':
      return [seg('s sorts, Right and Left unfold and fold; d, u, a act on all its workers', 'dim')];
    case 'child': {
      const { pid, provider } = row.child;
      const name = untrusted(nameOf(row.child));
      const drift = [...drifts].find(([subject]) => subject.startsWith(`${nameOf(row.child)},`));
      const known = [`process ${pid ?? MISSING}`, `runs on ${untrusted(provider ?? MISSING)}`].join(
        ` ${dot} `,
      );
      if (drift === undefined) return [seg(`${name}  `), seg(known, 'dim')];
      return [seg(`${name}  `), seg(driftText(drift[1]), 'warn')];
    }
    case 'slot': {
      const { slot, child } = row;
      const subject = `${nameOf(child)}, slot ${slot.slot}`;
      const drift = drifts.get(subject);
      if (drift !== undefined) return [seg(`${untrusted(subject)}  `), seg(driftText(drift), 'warn')];
      const steps = slot.steps === null ? '' : `${formatCount(slot.steps)} steps`;
      const episode = slot.episode === null ? 'no episode' : untrusted(slot.episode);
      return [seg(`${untrusted(subject)}  `), seg([episode, steps].join(` ${dot} `), 'dim')];
    }
    case 'own':
      return [seg(`process ${row.process.pid ?? MISSING}`, 'dim')];
    case 'gpu':
    case 'note':
      return [];
  }
}

function driftText({ time, message }: RunEvent): string {
  return `${formatClock(time)} ${untrusted(message)}`;
}
