import type { ChildStatus } from '../src/domain/run.ts';
import type { WorkerAction } from '../src/run/control-client.ts';
import type { TreeRow } from './host-tree.ts';
import { untrusted } from './line.ts';
import { hostsHeight } from './screens/hosts.ts';
import type { Session } from './session.ts';

/** Unfolds or folds what is under the pointer; null: the other of the two. */
export function foldRow(session: Session, open: boolean | null): void {
  session.hosts.fold(open);
  refresh(session);
}

/** Sorts by the next figure. */
export function sortTree(session: Session): void {
  session.hosts.nextOrder();
  refresh(session);
}

function refresh({ hosts, run, size }: Session): void {
  hosts.refresh(run?.snapshot().status ?? null, hostsHeight(size));
}

/** What can be asked for, and how it is asked about. */
interface Ask {
  readonly action: WorkerAction;
  readonly now: boolean;
  readonly verb: string;
  readonly title: (what: string) => string;
  readonly body: (episodes: string) => string;
}

export const ASKS = {
  drain: {
    action: 'drain',
    now: false,
    verb: 'Drain',
    title: (what) => `Drain ${what}?`,
    body: (episodes) =>
      `${episodes} in flight are finished, and no new ones are given out there. u gives it some again.`,
  },
  restart: {
    action: 'restart',
    now: false,
    verb: 'Restart',
    title: (what) => `Start ${what} anew?`,
    body: (episodes) =>
      `${episodes} in flight are finished first, then its process is ended and started again.`,
  },
  restartNow: {
    action: 'restart',
    now: true,
    verb: 'Restart now',
    title: (what) => `Start ${what} anew at once?`,
    body: (episodes) =>
      `Its process is killed: ${episodes} in flight are lost, and done again from their start.`,
  },
  remove: {
    action: 'remove',
    now: false,
    verb: 'Remove',
    title: (what) => `Remove ${what} from the run?`,
    body: (episodes) =>
      `${episodes} in flight are finished, then its process ends for good. a adds another one.`,
  },
} as const satisfies Record<string, Ask>;

/** Asks whether to do this to the worker under the pointer, or to all of the host. */
export function askWorkers(session: Session, ask: Ask): void {
  const place = placeOf(session.hosts.selected);
  if (place === null) return session.say('there is no worker here: put the pointer on a worker or a host');
  const busy = place.workers.reduce((sum, { busySlots }) => sum + busySlots, 0);
  const { run } = session;
  session.question = {
    title: ask.title(place.text),
    body: [ask.body(`${busy.toLocaleString('en-US')} episodes`)],
    verb: ask.verb,
    focus: 'cancel',
    onYes: () =>
      session.attempt(async () => {
        // The run that was asked about, whichever is open by now.
        if (run?.client == null) throw new Error('the run does not answer');
        const names = await run.client.workers(ask.action, [place.target], ask.now);
        return `${ask.verb.toLowerCase()}: ${names.map(untrusted).join(', ')}`;
      }),
  };
}

/** Gives what is under the pointer episodes again: nothing to ask about. */
export function undrain(session: Session): void {
  const place = placeOf(session.hosts.selected);
  const { client } = session;
  if (place === null || client === null)
    return session.say('there is no worker here: put the pointer on a worker or a host');
  session.attempt(async () => {
    const names = await client.workers('undrain', [place.target], false);
    return `${names.map(untrusted).join(', ')} ${names.length === 1 ? 'gets' : 'get'} episodes again`;
  });
}

/** Asks whether to add a worker to the host that the pointer is on, or in. */
export function askToAdd(session: Session): void {
  const host = hostOf(session.hosts.selected);
  if (host === null) return session.say('there is no host here');
  const { run } = session;
  const others = run?.snapshot().status?.children ?? [];
  const there = others.filter((child) => child.role === 'worker' && child.host === host).length;
  session.question = {
    title: `Add a worker to ${untrusted(host)}?`,
    body: [
      `It has ${there} now. The new one gets as many slots as the others have, and takes memory and a core of that machine.`,
      'It stays when the run is resumed; X removes it.',
    ],
    verb: 'Add',
    focus: 'cancel',
    onYes: () =>
      session.attempt(async () => {
        if (run?.client == null) throw new Error('the run does not answer');
        return `${untrusted(await run.client.addWorker(host, null))} is being started`;
      }),
  };
}

interface Place {
  /** For the question. */
  readonly text: string;
  /** For the run. */
  readonly target: string;
  readonly workers: readonly ChildStatus[];
}

/** The worker that a row is of, or all workers of a host; null for other rows. */
function placeOf(row: TreeRow | null): Place | null {
  if (row?.kind === 'host') {
    const { workers, host } = row;
    if (workers.length === 0) return null;
    const text = `${workers.length === 1 ? 'the worker' : `all ${workers.length} workers`} of ${untrusted(host.name)}`;
    return { text, target: host.name, workers };
  }
  if (row?.kind !== 'slot' && row?.kind !== 'child') return null;
  const { child } = row;
  if (child.role !== 'worker') return null;
  const target = `worker ${child.index}@${child.host}`;
  return { text: untrusted(target), target, workers: [child] };
}

function hostOf(row: TreeRow | null): string | null {
  if (row === null) return null;
  if (row.kind === 'host') return row.host.name;
  // Every other row stands below its host: "host NAME/…".
  return /^host ([^/]+)\//u.exec(row.key)?.[1] ?? null;
}
