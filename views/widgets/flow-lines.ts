import { type Advice, adviceOf, adviceSetup } from '../../src/domain/advice.ts';
import { formatBytes } from '../../src/domain/bytes.ts';
import type { Pressure } from '../../src/domain/pipeline.ts';
import type { IterationMetrics, RunStatus } from '../../src/domain/run.ts';
import { formatDuration, formatShare } from '../format.ts';
import { fit, joinFitting, type Line, seg, wrap } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';

/** Rows of the newest update are too few to tell ages from: those of so many are summed. */
const NEWEST = 20;
/** Ages with a smaller share have no row of their own. */
const LEAST_SHARE = 0.002;
const BAR_WIDTH = 30;
/** Seconds between two figures of the trail. */
const TRAIL_S = 2;

/** Where lines stand: columns of the label before them, and of the screen. */
export interface FlowPlace {
  readonly label: number;
  readonly width: number;
  readonly look: Look;
}

/** How many versions old the samples of the newest updates were: a row for each age. Nothing where that was not kept. */
export function ageLines(rows: readonly IterationMetrics[], { label, look }: FlowPlace): Line[] {
  const counts: number[] = [];
  for (const { staleCounts } of rows.slice(-NEWEST)) {
    for (const [age, count] of staleCounts.entries()) counts[age] = (counts[age] ?? 0) + count;
  }
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return [];
  const shown = counts
    .map((count, age) => ({ age, share: count / total }))
    .filter(({ share }) => share >= LEAST_SHARE);
  const most = Math.max(...shown.map(({ share }) => share));
  const { rule } = symbolsOf(look);
  return shown.map(({ age, share }, row): Line => {
    const title = row === 0 ? 'sample age' : row === 1 ? 'in versions' : '';
    return [
      seg(fit(title, label, look), row === 0 ? 'bold' : 'dim'),
      seg(fit(String(age), 2, look, 'right')),
      seg(fit(formatShare(share), 8, look, 'right')),
      seg(' '),
      seg(rule.repeat(Math.max(1, Math.round((share / most) * BAR_WIDTH))), 'first'),
    ];
  });
}

/** The bytes queued over the last minutes, as part of the limit; nothing before there are any. */
export function trailLines(pressure: Pressure | null, { label, width, look }: FlowPlace): Line[] {
  const trail = pressure?.trail ?? [];
  if (pressure === null || trail.length < 2) return [];
  const { levels } = symbolsOf(look);
  const most = Math.max(pressure.hardBytes, ...trail);
  const ends = ` ${formatBytes(most)} at the top, last ${formatDuration((trail.length - 1) * TRAIL_S)}`;
  const columns = Math.min(trail.length, width - label - ends.length);
  if (columns < 8) return [];
  const bars = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * trail.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * trail.length) / columns));
    const share = Math.max(...trail.slice(from, to)) / most;
    return levels.charAt(Math.min(levels.length - 1, Math.floor(share * levels.length)));
  });
  return [[seg(fit('queued', label, look), 'bold'), seg(bars.join(''), 'first'), seg(ends, 'dim')]];
}

/** What would make the run faster, and by how much; nothing where nothing is known to. */
export function adviceLines(rows: readonly IterationMetrics[], status: RunStatus, place: FlowPlace): Line[] {
  const setup = adviceSetup(status);
  return setup === null ? [] : adviceOf(rows, setup).flatMap((advice, row) => adviceRows(advice, row, place));
}

function adviceRows({ what, gain, how }: Advice, row: number, { label, width, look }: FlowPlace): Line[] {
  const head = joinFitting(
    [
      [seg(what, 'accent')],
      ...(gain === 0 ? [] : [[seg(`up to +${formatShare(gain)} iterations an hour`, 'good')]]),
    ],
    '   ',
    Math.max(0, width - label),
  );
  return [
    [seg(fit(row === 0 ? 'advice' : '', label, look), 'bold'), ...head],
    ...wrap(how, Math.max(10, width - label)).map((text): Line => [seg(' '.repeat(label)), seg(text, 'dim')]),
  ];
}
