import type { IterationMetrics, RunEvent } from '../src/domain/run.ts';

/** What an event is about, as a place that can be gone to. */
export type EventLink =
  | { readonly kind: 'episodes' }
  | { readonly kind: 'episode'; readonly id: string }
  | { readonly kind: 'worker'; readonly index: number; readonly host: string; readonly slot: number | null }
  | { readonly kind: 'hosts' }
  | { readonly kind: 'pipeline' }
  /** Null before the first iteration. */
  | { readonly kind: 'charts'; readonly iteration: number | null };

/** An id of an episode in a text, as in "e120". */
const EPISODE_ID = /\be[1-9]\d*\b/u;
const WORKER = /^worker (\d+)@([^,]+)(?:, slot (\d+))?$/u;
/** How messages name an iteration, and checkpoints theirs. */
const ITERATION = /\b(?:iteration|update) (\d+)\b|\bit-0*(\d+)\b/u;
/** Kinds of which the pipeline has the rest. */
const OF_PIPELINE: ReadonlySet<string> = new Set(['stall', 'stall-over', 'samples-stale', 'samples-dropped']);

/** Where an event leads. `iterations` ascending. */
export function linkOf(event: RunEvent, iterations: readonly IterationMetrics[]): EventLink {
  const { episodes, subject, message, kind } = event;
  if (episodes.length > 0) return { kind: 'episodes' };
  const worker = WORKER.exec(subject);
  const slot = worker?.[3];
  const id = EPISODE_ID.exec(message)?.[0];
  // Who is in a slot changes: the slot itself says more than what was in it.
  if (id !== undefined && slot === undefined) return { kind: 'episode', id };
  if (worker !== null) {
    const [, index = '', host = ''] = worker;
    return { kind: 'worker', index: Number(index), host, slot: slot === undefined ? null : Number(slot) };
  }
  if (OF_PIPELINE.has(kind)) return { kind: 'pipeline' };
  if (subject.startsWith('trainer@')) return { kind: 'hosts' };
  return { kind: 'charts', iteration: iterationOf(event, iterations) };
}

/** The iteration that its message names, or that was made when it happened. */
function iterationOf({ message, time }: RunEvent, rows: readonly IterationMetrics[]): number | null {
  const last = rows.at(-1)?.iteration;
  if (last === undefined) return null;
  const [, named, kept] = ITERATION.exec(message) ?? [];
  const told = named ?? kept;
  if (told !== undefined) return Math.min(last, Number(told));
  return rows[countUntil(rows, time)]?.iteration ?? last;
}

/** How many rows were made until `time`, in ms; they are in order. Halving: a chart is drawn at every key. */
export function countUntil(rows: readonly IterationMetrics[], time: number): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if ((rows[middle]?.time ?? 0) > time) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Where `Enter` goes, in words. */
export function linkText(link: EventLink): string {
  switch (link.kind) {
    case 'episodes':
      return 'its episodes';
    case 'episode':
      return `episode ${link.id}`;
    case 'worker':
      return `worker ${link.index}${link.slot === null ? '' : `, slot ${link.slot}`} among the hosts`;
    case 'hosts':
      return 'the hosts';
    case 'pipeline':
      return 'the pipeline';
    case 'charts':
      return link.iteration === null ? 'the charts' : `the charts at iteration ${link.iteration}`;
  }
}
