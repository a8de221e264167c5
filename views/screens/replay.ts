import type { EpisodeSummary, StepRecord } from '../../src/domain/episode.ts';
import { FAILURES } from '../../src/domain/failure.ts';
import { formatAction } from '../../src/domain/space.ts';
import { formatTaskRef } from '../../src/domain/task.ts';
import type { StoredEpisode } from '../../src/store/queries.ts';
import { formatCount, formatNumber, formatShare, MISSING } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import { planReplay, type Size, scrollTo } from '../layout.ts';
import { fit, fitLine, joinFitting, type Line, type Segment, seg, untrusted, wrap } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import { type Place, placeAt, type ReplayCursor } from '../replay-cursor.ts';
import type { Toast } from '../toast.ts';
import { outcome, outcomeTone } from '../widgets/episode-table.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawInputLine, type LineInput } from '../widgets/input-line.ts';

/** Everything the replay shows. */
export interface ReplayModel {
  readonly cursor: ReplayCursor;
  /** The search that is being typed. */
  readonly searchInput: LineInput | null;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** One episode: what it was, its steps, and the selected step in full. */
export function drawReplay(model: ReplayModel, size: Size, look: Look): Line[] {
  const { cursor } = model;
  const plan = planReplay(size);
  const steps = drawSteps(cursor, plan.listWidth, plan.listRows, look);
  const details = detailLines(cursor, plan.detailWidth, look);
  const shown: Line[] = Array.from({ length: plan.detailRows }, (_, row) =>
    fitLine(details[cursor.scroll + row] ?? [], plan.detailWidth, look),
  );
  const more = details.length - cursor.scroll - plan.detailRows;
  if (more > 0 && plan.detailRows > 2)
    shown[plan.detailRows - 1] = moreLine(more + 1, plan.detailWidth, look);
  const { bar, rule } = symbolsOf(look);
  const body =
    plan.side === 'left'
      ? shown.map((line, row) => [...(steps[row] ?? []), seg(bar, 'dim'), ...line])
      : [...steps, [seg(rule.repeat(size.columns), 'dim')], ...shown];
  return [
    ...drawEpisodeHeader(cursor.episode, size.columns, look).slice(0, plan.header),
    ...body,
    model.searchInput === null
      ? drawMessageRow({ toast: model.toast, event: null, now: 0 }, size.columns, look)
      : drawInputLine(model.searchInput, size.columns, look),
    drawFooter(model.searchInput === null ? 'replay' : 'filter', model.keys, size.columns, look),
  ];
}

function moreLine(count: number, width: number, look: Look): Line {
  return fitLine(
    [seg(`${symbolsOf(look).down} ${formatCount(count)} more lines (J, PgDn)`, 'accent')],
    width,
    look,
  );
}

/** Rows that the details of the current step take, for scrolling. */
export function detailHeight(cursor: ReplayCursor, size: Size, look: Look): number {
  return detailLines(cursor, planReplay(size).detailWidth, look).length;
}

function drawEpisodeHeader({ summary, body }: StoredEpisode, width: number, look: Look): Line[] {
  const gap = '   ';
  const behaviours: Line[] =
    summary.behaviours.length === 0 ? [] : [[seg(summary.behaviours.join(', '), 'warn')]];
  const components = Object.entries(summary.components).map(
    ([name, paid]): Line => [seg(`${untrusted(name)} `, 'dim'), seg(formatNumber(paid))],
  );
  return [
    joinFitting(
      [
        [seg(`episode ${summary.id}`, 'bold')],
        [seg(` ${outcome(summary)} `, outcomeTone(summary))],
        [seg('reward ', 'dim'), seg(summary.reward === null ? 'void' : formatNumber(summary.reward))],
        [seg('steps ', 'dim'), seg(formatCount(body.steps.length))],
        [seg(untrusted(formatTaskRef(summary.task)), 'accent')],
        [seg('iteration ', 'dim'), seg(String(summary.iteration))],
        [seg(`${summary.phase}, ${summary.mode}`)],
        [seg('seed ', 'dim'), seg(String(summary.seed))],
      ],
      gap,
      width,
    ),
    [seg(endingText(summary))],
    joinFitting([[seg('paid', 'dim')], ...components, ...behaviours], gap, width),
  ].map((line) => fitLine(line, width, look));
}

/** How the episode ended, in words. */
function endingText(summary: EpisodeSummary): string {
  const detail = summary.failureDetail === null ? '' : `: ${untrusted(summary.failureDetail)}`;
  if (summary.success)
    return `succeeded, after ${formatCount(summary.wallMs)} ms on ${untrusted(summary.host)}`;
  if (summary.failure === null) return MISSING;
  const { ending, meaning } = FAILURES[summary.failure];
  return `${ending}: ${meaning}${detail}`;
}

function drawSteps(cursor: ReplayCursor, width: number, rows: number, look: Look): Line[] {
  const { steps } = cursor.episode.body;
  const top = scrollTo(cursor.position, Math.max(0, cursor.position - Math.floor(rows / 2)), rows);
  const last = Math.max(0, cursor.places - rows);
  const first = Math.min(top, last);
  return Array.from({ length: rows }, (_, row) => {
    const index = first + row;
    if (index >= cursor.places) return fitLine([], width, look);
    const selected = index === cursor.position;
    const line = stepRow(steps[index] ?? null, index, width, look);
    const pointer = seg(selected ? `${symbolsOf(look).pointer} ` : '  ', 'accent');
    const fitted = fitLine([pointer, ...line], width, look);
    return selected ? fitted.map(({ text }) => seg(text, 'selected')) : fitted;
  });
}

function stepRow(step: StepRecord | null, index: number, width: number, look: Look): Segment[] {
  const number = fit(step === null ? 'end' : String(index + 1), 6, look, 'right');
  if (step === null) return [seg(`${number}  `, 'dim'), seg('final observation')];
  const reward = fit(step.reward === 0 ? '' : signed(step.reward), 8, look, 'right');
  const action = fit(untrusted(formatAction(step.action)), Math.max(8, width - 18), look);
  return [seg(`${number}  `, 'dim'), seg(action), seg(reward, step.reward < 0 ? 'bad' : 'good')];
}

function detailLines(cursor: ReplayCursor, width: number, look: Look): Line[] {
  const place = placeAt(cursor.episode.body, cursor.position);
  const lines = place.step === null ? endLines(cursor, width) : stepLines(place.step, cursor, width);
  return [...lines, ...observationLines(place, width, look)];
}

function endLines(cursor: ReplayCursor, width: number): Line[] {
  const { body, summary } = cursor.episode;
  const text = `end after ${formatCount(body.steps.length)} steps: ${endingText(summary)}`;
  return wrap(text, width).map((row) => [seg(row, 'bold')]);
}

function stepLines(step: StepRecord, cursor: ReplayCursor, width: number): Line[] {
  const { body } = cursor.episode;
  const figures: readonly (readonly [string, string])[] = [
    ['policy version', `v${step.policyVersion}`],
    ['probability', formatShare(step.probability)],
    ['value', formatNumber(step.value)],
    ['entropy', formatNumber(step.entropy)],
    ['reward', signed(step.reward)],
    ['candidates', formatCount(body.candidateSets[step.candidates]?.length ?? 0)],
  ];
  const head = [
    [seg(`step ${cursor.position + 1}/${cursor.places - 1}`, 'bold')],
    ...figures.map(([label, value]): Line => [seg(`${label} `, 'dim'), seg(value)]),
    ...(step.effective ? [] : [[seg('no effect', 'warn')]]),
  ];
  const action = wrap(untrusted(formatAction(step.action)), Math.max(8, width - 8));
  return [
    ...flow(head, '   ', width),
    ...action.map(
      (row, index): Line => [seg(index === 0 ? 'action  ' : '        ', 'dim'), seg(row, 'accent')],
    ),
    ...step.parts.map(
      (part): Line => [
        seg('reward  ', 'dim'),
        seg(untrusted(part.name)),
        seg(
          `  raw ${formatNumber(part.raw)}  weighted ${formatNumber(part.weighted)}  paid ${signed(part.paid)}`,
        ),
      ],
    ),
  ];
}

function observationLines(place: Place, width: number, look: Look): Line[] {
  const title = place.step === null ? 'observation after the last step' : 'observation before the action';
  const rows = place.observation.flatMap(({ text, fresh }): Line[] =>
    wrap(untrusted(text), Math.max(8, width - 2)).map((row, index) => [
      seg(fresh && index === 0 ? '+ ' : '  ', 'good'),
      seg(row),
    ]),
  );
  return [[seg(`${title} (+ is new)`, 'dim')], ...rows].map((line) => fitLine(line, width, look));
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

function signed(value: number): string {
  return value > 0 ? `+${formatNumber(value)}` : formatNumber(value);
}
