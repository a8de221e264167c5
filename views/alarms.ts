import type { RunEvent } from '../src/domain/run.ts';

/** Kind of the event that says that an update was dropped and the weights are those before it. */
export const ROLLED_BACK = 'update-rolled-back';
/** Kind of the event on what a child's models run on; a warning when it is not what was asked for. */
const PROVIDER = 'provider';
/** Kind of the events that an alert of the config begins, a warning, and ends. */
const ALERT = 'alert';
/** Alarms kept: the newest. */
const KEPT = 500;

/** The filter that shows the episodes that an event is about; null where it is about none. */
export function eventFilter({ episodes, filter }: RunEvent): string | null {
  return filter ?? (episodes.length > 0 ? `id:${episodes.join(',')}` : null);
}

/** Whether `eventEpisodes` comes to it: it is about episodes, and not only says that something is over. */
export function hasEpisodes(event: RunEvent): boolean {
  return eventFilter(event) !== null && !(event.kind === ALERT && event.level === 'info');
}

/** Events that are looked for again later: they are about episodes, mark the charts, or say what models run on. */
function isAlarm(event: RunEvent): boolean {
  return hasEpisodes(event) || event.kind === ROLLED_BACK || event.kind === PROVIDER;
}

/** Whether the trainer's models run on something else than was asked for. `alarms` newest first. */
export function trainerFellBack(alarms: readonly RunEvent[]): boolean {
  const news = alarms.find(({ kind, subject }) => kind === PROVIDER && subject.startsWith('trainer'));
  return news?.level === 'warning';
}

/** What was done to a run or happened to its processes, and may show in its curves. */
const TURNS: ReadonlySet<string> = new Set(
  'run-started pause resume quiesced stall void-episodes drain undrain restart remove worker-added worker-died trainer-died'.split(
    ' ',
  ),
);

/** The turns with those among `events` that are newer, as `addAlarms`. */
export function addTurns(turns: readonly RunEvent[], events: readonly RunEvent[]): readonly RunEvent[] {
  return addNewer(turns, events, (event) => TURNS.has(event.kind) && !isFirstStart(event));
}

/** Every curve begins there: nothing that a mark would say. */
function isFirstStart({ kind, message }: RunEvent): boolean {
  return kind === 'run-started' && message.startsWith('attempt 1,');
}

/** The alarms with those among `events` that are newer; all newest first. The same array when there are none. */
export function addAlarms(alarms: readonly RunEvent[], events: readonly RunEvent[]): readonly RunEvent[] {
  return addNewer(alarms, events, isAlarm);
}

function addNewer(
  alarms: readonly RunEvent[],
  events: readonly RunEvent[],
  isWanted: (event: RunEvent) => boolean,
): readonly RunEvent[] {
  const found = events.filter(isWanted);
  const known = alarms[0] === undefined ? -1 : found.findIndex((event) => isSame(event, alarms[0]));
  const fresh = known < 0 ? found : found.slice(0, known);
  return fresh.length === 0 ? alarms : [...fresh, ...alarms].slice(0, KEPT);
}

/** Whether two readings are of one event: events have no ids. */
export function isSame(one: RunEvent, other: RunEvent | undefined): boolean {
  return one.time === other?.time && one.kind === other.kind && one.message === other.message;
}
