import type { RunEvent } from '../src/domain/run.ts';
import { type EventLink, linkOf } from './event-link.ts';
import { runCurves } from './run-curves.ts';
import type { Session } from './session.ts';

/** Where an event's episodes are shown: those of one, or of a list. */
export interface EpisodeDoors {
  readonly showEpisodesOf: (session: Session, event: RunEvent, filter: string) => void;
  readonly showEpisode: (session: Session, id: string) => void;
}

/** Goes to what the event under the pointer is about. */
export function openEvent(session: Session, doors: EpisodeDoors): void {
  const event = session.events.selected;
  const run = session.run?.snapshot();
  if (event === null || run === undefined) return;
  const link = linkOf(event, runCurves(run));
  switch (link.kind) {
    case 'episodes':
      session.goTo('overview');
      doors.showEpisodesOf(session, event, link.filter);
      break;
    case 'episode':
      doors.showEpisode(session, link.id);
      break;
    case 'worker':
      showWorker(session, link);
      break;
    case 'hosts':
    case 'pipeline':
      session.goTo(link.kind);
      break;
    case 'charts':
      if (link.iteration !== null) session.charts.readAt(link.iteration);
      session.goTo('overview');
  }
}

function showWorker(session: Session, { index, host, slot }: Extract<EventLink, { kind: 'worker' }>): void {
  const children = session.run?.snapshot().status?.children ?? [];
  if (!children.some((child) => child.role === 'worker' && child.index === index)) {
    session.say(`worker ${index} is not there any more`);
  } else session.hosts.show({ index, host }, slot);
  session.goTo('hosts');
}
