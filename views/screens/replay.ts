import type { EpisodeSummary, StepRecord } from '../../src/domain/episode.ts';
import { FAILURES } from '../../src/domain/failure.ts';
import { formatAction } from '../../src/domain/space.ts';
import { formatTaskRef } from '../../src/domain/task.ts';
import { formatCount, formatNumber, MISSING } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import { planReplay, type Size, scrollTo } from '../layout.ts';
import { fit, fitLine, joinFitting, type Line, type Segment, seg, untrusted, wrap } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import type { ReplayCursor } from '../replay-cursor.ts';
import type { Place, StepSource } from '../step-source.ts';
import type { Toast } from '../toast.ts';
import { agentColumns, agentName, agentPieces } from '../widgets/agent-name.ts';
import { outcome, outcomeTone } from '../widgets/episode-table.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';
import { drawInputLine, type LineInput } from '../widgets/input-line.ts';
import { sparkline, thinCurve } from '../widgets/sparkline.ts';
import { signed, stepFigures } from '../widgets/step-detail.ts';

/** Everything the replay shows. */
export interface ReplayModel {
  readonly cursor: ReplayCursor;
  /** Steps a second that it plays by itself; 0 while it does not. */
  readonly speed: number;
  /** What somebody wrote down about the episode, or null. */
  readonly note: string | null;
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
    ...drawEpisodeHeader(model, size.columns, look).slice(0, plan.header),
    ...drawCurves(cursor, size.columns, look).slice(0, plan.curves),
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

function drawEpisodeHeader({ cursor, speed, note }: ReplayModel, width: number, look: Look): Line[] {
  const { summary, count } = cursor.steps;
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
        [seg('steps ', 'dim'), seg(formatCount(count))],
        ...(speed === 0 ? [] : [[seg(`playing ${speed}/s`, 'warn')]]),
        [seg(untrusted(formatTaskRef(summary.task)), 'accent')],
        [seg('iteration ', 'dim'), seg(String(summary.iteration))],
        [seg(`${summary.phase}, ${summary.mode}`)],
        [seg('seed ', 'dim'), seg(String(summary.seed))],
      ],
      gap,
      width,
    ),
    [
      seg(endingText(summary)),
      ...(note === null ? [] : [seg('   note ', 'dim'), seg(untrusted(note), 'accent')]),
    ],
    joinFitting(
      [[seg('paid', 'dim')], ...components, ...agentPieces(summary, look), ...behaviours],
      gap,
      width,
    ),
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

/** Value and reward over the steps, with the place of the step that is shown. */
function drawCurves({ steps, position }: ReplayCursor, width: number, look: Look): Line[] {
  const { figures, problem } = steps;
  if (figures === null) {
    const text = problem === null ? 'reading all steps' : `! ${untrusted(problem)}`;
    return [fitLine([seg(text, problem === null ? 'dim' : 'bad')], width, look), []];
  }
  const curve = (name: string, all: Float32Array, tone: 'first' | 'second'): Line => {
    const { values, scale } = thinCurve(all);
    const range = ` ${formatNumber(scale.low)}..${formatNumber(scale.high)}`;
    const room = width - CURVE_LABEL - range.length;
    const drawn = sparkline(
      values,
      scale,
      { width: room, tone, cursor: (position * values.length) / Math.max(1, all.length) },
      look,
    );
    return fitLine([seg(name.padEnd(CURVE_LABEL), 'dim'), ...drawn, seg(range, 'dim')], width, look);
  };
  return [curve('value', figures.values, 'first'), curve('reward', figures.rewards, 'second')];
}

const CURVE_LABEL = 8;

function drawSteps(cursor: ReplayCursor, width: number, rows: number, look: Look): Line[] {
  const top = scrollTo(cursor.position, Math.max(0, cursor.position - Math.floor(rows / 2)), rows);
  const last = Math.max(0, cursor.places - rows);
  const first = Math.min(top, last);
  return Array.from({ length: rows }, (_, row) => {
    const index = first + row;
    if (index >= cursor.places) return fitLine([], width, look);
    const selected = index === cursor.position;
    const line = stepRow(cursor.steps, index, width, look);
    const pointer = seg(selected ? `${symbolsOf(look).pointer} ` : '  ', 'accent');
    const fitted = fitLine([pointer, ...line], width, look);
    return selected ? fitted.map(({ text }) => seg(text, 'selected')) : fitted;
  });
}

function stepRow(steps: StepSource, index: number, width: number, look: Look): Segment[] {
  const step = steps.step(index);
  const number = fit(step === null ? 'end' : String(index + 1), 6, look, 'right');
  if (step === null) return [seg(`${number}  `, 'dim'), seg('final observation')];
  if (step === undefined) return [seg(`${number}  `, 'dim'), seg('being read', 'dim')];
  const reward = fit(step.reward === 0 ? '' : signed(step.reward), 8, look, 'right');
  const failed = step.tool?.ok === false;
  const mark = failed ? symbolsOf(look).warning : ' ';
  const { summary } = steps;
  const names = agentColumns(summary);
  const action = fit(untrusted(formatAction(step.action)), Math.max(8, width - 18 - names), look);
  return [
    seg(number, 'dim'),
    seg(`${mark} `, 'bad'),
    ...(step.agent === undefined ? [] : [agentName(step.agent, summary, look, names)]),
    seg(action, step.effective ? 'plain' : 'dim'),
    seg(reward, step.reward < 0 ? 'bad' : 'good'),
  ];
}

function detailLines(cursor: ReplayCursor, width: number, look: Look): Line[] {
  const place = cursor.steps.place(cursor.position);
  if (place === null) {
    const { problem } = cursor.steps;
    return [problem === null ? [seg('being read', 'dim')] : [seg(`! ${untrusted(problem)}`, 'bad')]];
  }
  const lines =
    place.step === null ? endLines(cursor, width) : stepLines(place, place.step, cursor, { width, look });
  return [...lines, ...observationLines(place, width, look)];
}

function endLines({ steps: { summary, count } }: ReplayCursor, width: number): Line[] {
  const text = `end after ${formatCount(count)} steps: ${endingText(summary)}`;
  return wrap(text, width).map((row) => [seg(row, 'bold')]);
}

function stepLines(
  place: Place,
  step: StepRecord,
  cursor: ReplayCursor,
  { width, look }: { readonly width: number; readonly look: Look },
): Line[] {
  const head = [
    [seg(`step ${cursor.position + 1}/${cursor.places - 1}`, 'bold')],
    ...(step.agent === undefined ? [] : [[agentName(step.agent, cursor.steps.summary, look)]]),
    ...(step.effective ? [] : [[seg('no effect', 'warn')]]),
  ];
  return stepFigures({ step, candidates: place.candidates, head }, width, look);
}

function observationLines(place: Place, width: number, look: Look): Line[] {
  const of = place.agent === undefined ? '' : ` of ${untrusted(place.agent)}`;
  const title = `observation${of} ${place.step === null ? 'after the last step' : 'before the action'}`;
  const rows = place.observation.flatMap(({ text, fresh }): Line[] =>
    wrap(untrusted(text), Math.max(8, width - 2)).map((row, index) => [
      seg(fresh && index === 0 ? '+ ' : '  ', 'good'),
      seg(row),
    ]),
  );
  return [[seg(`${title} (+ is new)`, 'dim')], ...rows].map((line) => fitLine(line, width, look));
}
