import type { KnobName } from '../../src/domain/knob.ts';
import { formatNumber, formatShare, MISSING } from '../format.ts';
import { KEYMAP } from '../keymap.ts';
import type { KnobDeskView, KnobView } from '../knob-desk.ts';
import type { PreviewState } from '../knob-proposal.ts';
import { fitLine, joinFitting, type Line, type Segment, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';

const OWN_KEYS: Readonly<Partial<Record<KnobName, string>>> = {
  clip: `${KEYMAP.clipDown.keys[0]} ${KEYMAP.clipUp.keys[0]}`,
  kl: `${KEYMAP.klDown.keys[0]} ${KEYMAP.klUp.keys[0]}`,
};
const SELECTED_KEYS = `${KEYMAP.knobDown.keys[0]} ${KEYMAP.knobUp.keys[0]}`;
/** Below this the keys of a proposed knob give way to what its value would do. */
const ROOMY = 60;

/**
 * The knobs with their values and keys; those with keys of their own and the selected one first, then as many as fit. While
 * values are proposed: those knobs alone, with what they would do.
 */
export function drawKnobRow({ knobs, preview }: KnobDeskView, width: number, look: Look): Line {
  if (preview !== null) return drawProposal(knobs, preview, width, look);
  const pieces = knobs
    .toSorted((left, right) => rank(left) - rank(right))
    .map((knob) => knobPiece(knob, look));
  return fitLine(joinFitting(pieces, '   ', width), width, look);
}

function drawProposal(knobs: readonly KnobView[], preview: PreviewState, width: number, look: Look): Line {
  const proposed = knobs.filter((knob) => knob.proposed !== null);
  const pieces = proposed.map((knob): Line => {
    const { arrow } = symbolsOf(look);
    const keys = keysOf(knob);
    return [
      ...(keys === '' || width < ROOMY ? [] : [seg(`${keys} `, 'accent')]),
      seg(`${knob.label} `, 'bold'),
      seg(knob.value === null ? MISSING : formatNumber(knob.value)),
      seg(` ${arrow} ${formatNumber(knob.proposed ?? Number.NaN)}?`, 'warn'),
    ];
  });
  if (preview.kind === 'refused') {
    const reason = seg(`  no preview: ${untrusted(preview.reason)}`, 'dim');
    return fitLine([...joinFitting(pieces, '  ', width), reason], width, look);
  }
  return fitLine(joinFitting([...pieces, ...previewPieces(preview, look)], '  ', width), width, look);
}

function previewPieces(state: Exclude<PreviewState, { kind: 'refused' }>, look: Look): Line[] {
  if (state.kind === 'asking') return [[seg('asking the trainer', 'dim')]];
  const { now, wouldBe, iteration } = state.preview;
  const arrow = ` ${symbolsOf(look).arrow} `;
  const change = (label: string, from: string, to: string): Line => [
    seg(`${label} `, 'dim'),
    seg(`${from}${arrow}${to}`, from === to ? 'plain' : 'accent'),
  ];
  return [
    change('clipped', formatShare(now.clipFraction), formatShare(wouldBe.clipFraction)),
    change('KL', formatNumber(now.kl), formatNumber(wouldBe.kl)),
    [seg(`on update ${iteration}`, 'dim')],
  ];
}

function rank({ name, selected }: KnobView): number {
  if (name in OWN_KEYS) return 0;
  return selected ? 1 : 2;
}

function keysOf({ name, selected }: KnobView): string {
  return [OWN_KEYS[name], selected ? SELECTED_KEYS : undefined].filter(Boolean).join(' ');
}

function knobPiece(knob: KnobView, look: Look): Line {
  const symbols = symbolsOf(look);
  const keys = keysOf(knob);
  const pending: Segment[] =
    knob.pending === null ? [] : [seg(` ${symbols.arrow} ${formatNumber(knob.pending)}`, 'warn')];
  return [
    ...(keys === '' ? [] : [seg(`${keys} `, 'accent')]),
    seg(`${knob.label} `, knob.selected ? 'bold' : 'dim'),
    seg(knob.value === null ? MISSING : formatNumber(knob.value)),
    ...(knob.schedule === null ? [] : [seg(` ${symbols[knob.schedule]}`, 'accent')]),
    ...pending,
  ];
}
