import type { KnobName } from '../../src/domain/knob.ts';
import { formatNumber, MISSING } from '../format.ts';
import { KEYMAP } from '../keymap.ts';
import type { KnobView } from '../knob-desk.ts';
import { fitLine, joinFitting, type Line, type Segment, seg } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';

const OWN_KEYS: Readonly<Partial<Record<KnobName, string>>> = {
  clip: `${KEYMAP.clipDown.keys[0]} ${KEYMAP.clipUp.keys[0]}`,
  kl: `${KEYMAP.klDown.keys[0]} ${KEYMAP.klUp.keys[0]}`,
};
const SELECTED_KEYS = `${KEYMAP.knobDown.keys[0]} ${KEYMAP.knobUp.keys[0]}`;

/** The knobs with their values and keys; those with keys of their own and the selected one first, then as many as fit. */
export function drawKnobRow(knobs: readonly KnobView[], width: number, look: Look): Line {
  const pieces = knobs
    .toSorted((left, right) => rank(left) - rank(right))
    .map((knob) => knobPiece(knob, look));
  return fitLine(joinFitting(pieces, '   ', width), width, look);
}

function rank({ name, selected }: KnobView): number {
  if (name in OWN_KEYS) return 0;
  return selected ? 1 : 2;
}

function knobPiece(knob: KnobView, look: Look): Line {
  const keys = [OWN_KEYS[knob.name], knob.selected ? SELECTED_KEYS : undefined].filter(Boolean).join(' ');
  const pending: Segment[] =
    knob.pending === null ? [] : [seg(` ${symbolsOf(look).arrow} ${formatNumber(knob.pending)}`, 'warn')];
  return [
    ...(keys === '' ? [] : [seg(`${keys} `, 'accent')]),
    seg(`${knob.label} `, knob.selected ? 'bold' : 'dim'),
    seg(knob.value === null ? MISSING : formatNumber(knob.value)),
    ...pending,
  ];
}
