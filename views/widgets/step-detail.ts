import type { StepRecord } from '../../src/domain/episode.ts';
import { ACTION_TYPES, type Candidate, formatAction } from '../../src/domain/space.ts';
import { formatCount, formatMs, formatNumber, formatShare, MISSING } from '../format.ts';
import { fit, joinFitting, type Line, seg, untrusted, wrap } from '../line.ts';
import type { Look } from '../look.ts';

/** A step, what it could have given as an argument, and what goes before its figures. */
export interface StepDetail {
  readonly step: StepRecord;
  readonly candidates: readonly Candidate[];
  readonly head: readonly Line[];
}

/** Columns of names at the left, and of a bar of probability 1. */
const LABEL = 8;
const BAR = 16;

/** Everything about a step but what was observed. */
export function stepFigures({ step, candidates, head }: StepDetail, width: number, look: Look): Line[] {
  const [first = [], ...rest] = head;
  const figures: readonly (readonly [string, string])[] = [
    ['policy version', `v${step.policyVersion}`],
    ['probability', formatShare(step.probability)],
    ['value', formatNumber(step.value)],
    ['entropy', formatNumber(step.entropy)],
    ['reward', signed(step.reward)],
    ['candidates', formatCount(candidates.length)],
    ...(step.ms === undefined ? [] : [['answer after', formatMs(step.ms)] as const]),
    ...(step.state === undefined ? [] : [['state', untrusted(step.state)] as const]),
  ];
  const pieces = [
    first,
    ...figures.map(([name, value]): Line => [seg(`${name} `, 'dim'), seg(value)]),
    ...rest,
  ];
  const action = wrap(untrusted(formatAction(step.action)), Math.max(8, width - LABEL));
  return [
    ...flow(pieces, '   ', width),
    ...action.map((row, index): Line => [labelled(index === 0 ? 'action' : ''), seg(row, 'accent')]),
    ...toolLines(step),
    ...likeliestLines(step, candidates, look),
    ...step.parts.map(
      (part): Line => [
        labelled('reward'),
        seg(untrusted(part.name)),
        ...(part.agent === undefined ? [] : [seg(` to ${untrusted(part.agent)}`, 'accent')]),
        seg(
          `  raw ${formatNumber(part.raw)}  weighted ${formatNumber(part.weighted)}  paid ${signed(part.paid)}`,
        ),
      ],
    ),
  ];
}

function labelled(text: string): Line[number] {
  return seg(text.padEnd(LABEL), 'dim');
}

function toolLines({ tool }: StepRecord): Line[] {
  if (tool === undefined) return [];
  const { name, ok, attempts, ms } = tool;
  const tries = attempts === undefined || attempts === 1 ? '' : `  ${formatCount(attempts)} attempts`;
  const time = ms === undefined ? '' : `  ${formatMs(ms)}`;
  return [
    [
      labelled('tool'),
      seg(untrusted(name)),
      seg(ok ? '  ok' : '  failed', ok ? 'good' : 'bad'),
      seg(tries + time),
    ],
  ];
}

/** The likeliest actions with their probabilities; the one that was taken has a star. */
function likeliestLines(step: StepRecord, candidates: readonly Candidate[], look: Look): Line[] {
  const taken = formatAction(step.action);
  return (step.likeliest ?? []).map(([which, probability], index): Line => {
    const text = choiceText(which, candidates);
    const cells = Math.round(Math.min(1, Math.max(0, probability)) * BAR);
    const bar = (look.glyphs === 'ascii' ? '#' : '█').repeat(cells);
    return [
      labelled(index === 0 ? 'likely' : ''),
      seg(fit(formatShare(probability), 6, look, 'right')),
      seg(` ${fit(bar, BAR, look)} `, 'first'),
      seg(text === taken ? '* ' : '  ', 'accent'),
      seg(untrusted(text), text === taken ? 'accent' : 'plain'),
    ];
  });
}

/** What a number of `likeliest` stands for. */
function choiceText(which: number, candidates: readonly Candidate[]): string {
  if (which < 0) return ACTION_TYPES[-1 - which] ?? MISSING;
  const candidate = candidates[which];
  return candidate === undefined ? MISSING : formatAction({ type: candidate.type, argument: candidate.text });
}

/** Pieces over as many lines as they need. */
function flow(pieces: readonly Line[], separator: string, width: number): Line[] {
  const lines: Line[] = [];
  let rest = pieces;
  while (rest.length > 0) {
    let count = 1;
    while (count < rest.length && fits(rest.slice(0, count + 1), separator, width)) count += 1;
    lines.push(joinFitting(rest.slice(0, count), separator, Number.MAX_SAFE_INTEGER));
    rest = rest.slice(count);
  }
  return lines;
}

function fits(pieces: readonly Line[], separator: string, width: number): boolean {
  const text = pieces.map((piece) => piece.map(({ text: part }) => part).join('')).join(separator);
  return text.length <= width;
}

/** With its sign. */
export function signed(value: number): string {
  return value > 0 ? `+${formatNumber(value)}` : formatNumber(value);
}
