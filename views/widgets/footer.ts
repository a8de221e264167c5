import type { RunEvent } from '../../src/domain/run.ts';
import { hasEpisodes } from '../alarms.ts';
import { formatClock } from '../format.ts';
import { type KeyContext, type Screen } from '../key-binding.ts';
import { type ActionName, bindingOf, disabledReason, KEYMAP, keyText } from '../keymap.ts';
import { fitLine, joinFitting, type Line, lineWidth, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import type { Toast } from '../toast.ts';

/** The keys worth a place in the footer, the most needed first: what does not fit is left to help. */
const FOOTERS: Readonly<Record<Screen, readonly ActionName[]>> = {
  overview: [
    'help',
    'quit',
    'pause',
    'filter',
    'failure',
    'open',
    'runs',
    'chartPage',
    'setKnob',
    'undo',
    'episodes',
    'hosts',
    'pipeline',
    'events',
    'palette',
    'eventEpisodes',
    'stop',
    'nextKnob',
    'down',
    'up',
  ],
  knob: ['commit', 'drop', 'pause', 'help', 'quit'],
  episodes: [
    'help',
    'back',
    'filter',
    'failure',
    'open',
    'sort',
    'select',
    'bulk',
    'pin',
    'note',
    'columns',
    'diff',
    'reexecute',
    'mark',
    'palette',
    'pause',
    'down',
    'up',
  ],
  hosts: [
    'help',
    'back',
    'open',
    'sortTree',
    'drain',
    'undrain',
    'restart',
    'addWorker',
    'removeWorker',
    'palette',
    'pause',
  ],
  pipeline: ['help', 'back', 'palette', 'pause', 'down', 'up'],
  events: ['help', 'back', 'filter', 'open', 'palette', 'down', 'up'],
  diff: ['help', 'back', 'nextDifference', 'previousDifference', 'layout', 'down', 'up'],
  replay: [
    'help',
    'back',
    'down',
    'up',
    'pageDown',
    'pageUp',
    'nextEpisode',
    'previousEpisode',
    'notableNext',
    'play',
    'rewardNext',
    'toolErrorNext',
    'filter',
    'diff',
    'reexecute',
    'fork',
    'mark',
    'pause',
  ],
  runs: [
    'help',
    'quit',
    'open',
    'newRun',
    'branchRun',
    'markRun',
    'compareRuns',
    'resumeRun',
    'archiveRun',
    'down',
    'up',
    'runs',
  ],
  compare: ['help', 'back', 'down', 'up'],
  help: ['back', 'down', 'up'],
  confirm: ['agree', 'refuse', 'accept', 'focus', 'back'],
  filter: ['accept', 'cancel', 'nextSuggestion'],
  fork: ['leaveFork', 'goOn', 'forkPolicy', 'forkCount', 'forkSteps', 'down', 'up'],
  menu: ['choose', 'leave', 'down', 'up'],
  prompt: ['answer', 'leave'],
  palette: ['accept', 'cancel', 'nextCommand', 'previousCommand'],
};

/** The keys that matter on this screen; those that do nothing just now are left out. */
export function drawFooter(screen: Screen, context: KeyContext, width: number, look: Look): Line {
  const pieces = FOOTERS[screen]
    .filter((name) => disabledReason(name, context) === null)
    .map((name): Line => {
      const { keys, label } = bindingOf(name);
      return [seg(keyText(keys[0] ?? ''), 'accent'), seg(` ${label}`, 'dim')];
    });
  return fitLine(joinFitting(pieces, '  ', width), width, look);
}

/** Events younger than this are shown in their level's tone. */
const FRESH_MS = 10_000;

/** The app's own message while there is one; otherwise the run's newest event. */
export function drawMessageRow(
  message: { readonly toast: Toast | null; readonly event: RunEvent | null; readonly now: number },
  width: number,
  look: Look,
): Line {
  const { toast, event, now } = message;
  const { arrow } = symbolsOf(look);
  if (toast !== null) {
    const text = untrusted(toast.text).replaceAll('→', arrow);
    return fitLine([seg(toast.tone === 'bad' ? `! ${text}` : text, toast.tone)], width, look);
  }
  if (event === null) return fitLine([], width, look);
  const fresh = now - event.time < FRESH_MS;
  const level = { info: 'plain', warning: 'warn', error: 'loud' } as const;
  const words = event.level === 'info' ? '' : `${event.level.toUpperCase()} `;
  const key = KEYMAP.eventEpisodes.keys[0];
  const count = event.episodes.length === 0 ? '' : `${event.episodes.length} `;
  const hint: Line = hasEpisodes(event)
    ? [seg(` ${key}`, 'accent'), seg(` its ${count}episodes`, 'dim')]
    : [];
  const text = [
    seg(`${formatClock(event.time)} `, 'dim'),
    seg(
      `${words}${untrusted(event.subject)}: ${untrusted(event.message)}`,
      fresh ? level[event.level] : 'dim',
    ),
  ];
  const room = width - lineWidth(hint);
  return room < width / 2 ? fitLine(text, width, look) : [...fitLine(text, room, look), ...hint];
}
