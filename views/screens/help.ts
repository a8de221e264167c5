import { type KeyContext, type Screen } from '../key-binding.ts';
import { ACTION_NAMES, bindingOf, disabledReason, keyText } from '../keymap.ts';
import type { Size } from '../layout.ts';
import { fit, fitLine, type Line, seg } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import { markSigns } from '../widgets/chart.ts';
import { drawFooter } from '../widgets/footer.ts';

/** What help shows: the keys of one screen. */
export interface HelpModel {
  readonly of: Screen;
  /** Rows above the window. */
  readonly scroll: number;
  readonly keys: KeyContext;
}

const KEYS_WIDTH = 18;
const FRAME_ROWS = 3;

/** The keys that work on a screen, and why some do not just now. */
export function drawHelp(model: HelpModel, size: Size, look: Look): Line[] {
  const width = size.columns;
  const rows = size.rows - FRAME_ROWS;
  const lines = helpLines(model, look);
  return [
    fitLine([seg(`keys: ${model.of}`, 'bold')], width, look),
    fitLine([seg(symbolsOf(look).rule.repeat(width), 'dim')], width, look),
    ...Array.from({ length: rows }, (_, row) => fitLine(lines[model.scroll + row] ?? [], width, look)),
    drawFooter('help', model.keys, width, look),
  ];
}

/** How far help can be scrolled. */
export function helpScrollLimit(model: HelpModel, size: Size, look: Look): number {
  return Math.max(0, helpLines(model, look).length - (size.rows - FRAME_ROWS));
}

function helpLines(model: HelpModel, look: Look): Line[] {
  // A knob that shows its preview is a matter of a second: its keys are explained with those of the screen below.
  const screens: readonly Screen[] = model.of === 'overview' ? ['overview', 'knob'] : [model.of];
  const names = ACTION_NAMES.filter((name) => screens.some((one) => bindingOf(name).screens.includes(one)));
  const lines = names.map((name): Line => {
    const { keys, description } = bindingOf(name);
    const reason = disabledReason(name, model.keys);
    return [
      seg(fit(keys.map(keyText).join(' '), KEYS_WIDTH, look), 'accent'),
      seg(description, reason === null ? 'plain' : 'dim'),
      ...(reason === null ? [] : [seg(` (not now: ${reason})`, 'warn')]),
    ];
  });
  return model.of === 'overview' ? [...lines, [], ...signLines(look)] : lines;
}

/** What the signs on the overview mean that do not explain themselves. */
function signLines(look: Look): Line[] {
  const { rising, falling, unmoved, dotted } = symbolsOf(look);
  const trends = [...new Set([rising, falling, unmoved])].join(' ');
  const { knob, trouble } = markSigns(look);
  return [
    [trends, "behind a knob: the config's schedule moves it; turning it ends that, undo takes it up again"],
    [knob, 'through the charts: a knob was turned, not by the schedule'],
    [trouble, 'through the charts: an update was rolled back'],
    [dotted, 'on the charts: the run that this one was branched from'],
  ].map(([sign = '', meaning = '']): Line => [seg(fit(sign, KEYS_WIDTH, look), 'accent'), seg(meaning)]);
}
