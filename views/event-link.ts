import type { RunEvent } from '../src/domain/run.ts';
import { eventFilter } from './alarms.ts';
import type { RunCurves } from './run-curves.ts';

/** What an event is about, as a place that can be gone to. */
export type EventLink =
  /** Those that a filter finds. */
  | { readonly kind: 'episodes'; readonly filter: string }
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

/** Where an event leads in a run whose iterations are those of the curves. */
export function linkOf(event: RunEvent, curves: RunCurves): EventLink {
  const { subject, message, kind } = event;
  const filter = eventFilter(event);
  if (filter !== null) return { kind: 'episodes', filter };
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
  return { kind: 'charts', iteration: iterationOf(event, curves) };
}

/** The iteration that its message names, or that was made when it happened. */
function iterationOf({ message, time }: RunEvent, curves: RunCurves): number | null {
  const last = curves.span?.[1];
  if (last === undefined) return null;
  const [, named, kept] = ITERATION.exec(message) ?? [];
  const told = named ?? kept;
  return told === undefined ? curves.iterationAfter(time) : Math.min(last, Number(told));
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
