import { planOverview, planReplay } from './layout.ts';
import type { Look } from './look.ts';
import { compareHeight } from './screens/compare.ts';
import { diffHeight } from './screens/diff.ts';
import { episodesHeight } from './screens/episodes.ts';
import { eventsHeight } from './screens/events.ts';
import { forkHeight } from './screens/fork.ts';
import { helpScrollLimit } from './screens/help.ts';
import { hostsHeight } from './screens/hosts.ts';
import { menuHeight } from './screens/menu.ts';
import { pipelineScrollLimit } from './screens/pipeline.ts';
import { detailHeight } from './screens/replay.ts';
import { runsHeight } from './screens/runs.ts';
import type { Session } from './session.ts';

/** What the keys that move act on: a list with a pointer, or a text that is scrolled. */
interface Movable {
  readonly move: (by: number) => void;
  /** Rows of a page. */
  readonly page: number;
  /** Other than moving by everything there is. */
  readonly toEnd?: (end: 'first' | 'last') => void;
  /** Other than moving by a page. */
  readonly pageBy?: (direction: 1 | -1) => void;
}

/** Moves by rows; by steps in a replay. */
export function move(session: Session, by: number, look: Look): void {
  movableOf(session, look).move(by);
}

/** Moves by a page; in a replay, scrolls the step. */
export function movePage(session: Session, direction: 1 | -1, look: Look): void {
  const { page, pageBy, move: moveBy } = movableOf(session, look);
  if (pageBy === undefined) moveBy(direction * Math.max(1, page));
  else pageBy(direction);
}

/** Moves to an end of what is in front. */
export function moveToEnd(session: Session, end: 'first' | 'last', look: Look): void {
  const { toEnd, move: moveBy } = movableOf(session, look);
  if (toEnd === undefined) moveBy(end === 'first' ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER);
  else toEnd(end);
}

function movableOf(session: Session, look: Look): Movable {
  if (session.menu !== null) return menu(session);
  if (session.fork !== null) return fork(session);
  if (session.help !== null) return helpText(session, look);
  switch (session.screen) {
    case 'overview':
      return episodes(session, planOverview(session.size).listRows);
    case 'episodes':
      return episodes(session, episodesHeight(session.size));
    case 'hosts':
      return hosts(session);
    case 'pipeline':
      return pipeline(session, look);
    case 'events':
      return events(session);
    case 'diff':
      return diff(session);
    case 'replay':
      return replay(session, look);
    case 'runs':
      return runs(session);
    case 'compare':
      return comparison(session);
  }
}

function clamp(value: number, limit: number): number {
  return Math.max(0, Math.min(limit, value));
}

function menu({ menu: shown, size }: Session): Movable {
  const page = menuHeight(size);
  return { page, move: (by) => shown?.cursor.move(by, shown.items.length, page) };
}

function fork({ fork: desk, size }: Session): Movable {
  const page = forkHeight(size);
  return { page, move: (by) => desk?.cursor.move(by, desk.choices.length, page) };
}

function helpText(session: Session, look: Look): Movable {
  const { size, screen } = session;
  const limit = helpScrollLimit({ of: screen, scroll: 0, keys: session.keyContext }, size, look);
  return {
    page: size.rows,
    move: (by) => {
      session.help = { scroll: clamp((session.help?.scroll ?? 0) + by, limit) };
    },
  };
}

function episodes(session: Session, page: number): Movable {
  const { list } = session;
  const search = session.run?.search ?? null;
  return {
    page,
    move: (by) => {
      if (search !== null) list.move(search, by);
    },
    toEnd: (end) => {
      if (search === null) return;
      if (end === 'first') list.toFirst(search, Date.now());
      else list.toLast(search);
    },
  };
}

function pipeline(session: Session, look: Look): Movable {
  const run = session.run?.snapshot();
  const limit = run === undefined ? 0 : pipelineScrollLimit(run, session.size, look);
  return {
    page: session.size.rows,
    move: (by) => {
      session.pipelineScroll = clamp(session.pipelineScroll + by, limit);
    },
  };
}

function events({ events: log, size }: Session): Movable {
  const page = eventsHeight(size);
  return { page, move: (by) => log.cursor.move(by, log.events.length, page) };
}

function hosts({ hosts: tree, size }: Session): Movable {
  const page = hostsHeight(size);
  return { page, move: (by) => tree.cursor.move(by, tree.rows.length, page) };
}

function diff({ diff: shown, size }: Session): Movable {
  const page = diffHeight(size);
  return { page, move: (by) => shown?.cursor.move(by, shown.rows.length, page) };
}

function comparison({ comparison: shown, size }: Session): Movable {
  const page = shown === null ? 1 : compareHeight(shown, size);
  return { page, move: (by) => shown?.cursor.move(by, shown.differences.length, page) };
}

function replay(session: Session, look: Look): Movable {
  const { replay: cursor, size } = session;
  return {
    page: 1,
    move: (by) => cursor?.move(by),
    toEnd: (end) => cursor?.moveTo(end === 'first' ? 0 : Number.MAX_SAFE_INTEGER),
    pageBy: (direction) => {
      if (cursor === null) return;
      const height = planReplay(size).detailRows;
      cursor.scrollBy(direction * Math.max(1, height - 2), detailHeight(cursor, size, look), height);
    },
  };
}

function runs(session: Session): Movable {
  return {
    page: runsHeight(session.size),
    move: (by) => {
      session.selectedRun = clamp(session.selectedRun + by, session.runs.length);
    },
  };
}
