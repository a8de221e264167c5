import { type KeyContext } from '../key-binding.ts';
import { keyText } from '../keymap.ts';
import { type Size, scrollTo } from '../layout.ts';
import { fit, fitLine, type Line, seg } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import type { Palette, PaletteChoice } from '../palette.ts';
import { drawFooter } from '../widgets/footer.ts';
import { drawInputLine } from '../widgets/input-line.ts';

/** What the palette shows. */
export interface PaletteModel {
  readonly palette: Palette;
  readonly keys: KeyContext;
}

const LABEL_WIDTH = 18;
const KEYS_WIDTH = 16;
const FRAME_ROWS = 3;

/** The line that is typed, and the commands that it finds. */
export function drawPalette({ palette, keys }: PaletteModel, size: Size, look: Look): Line[] {
  const width = size.columns;
  const rows = size.rows - FRAME_ROWS;
  const { choices } = palette;
  const { selected } = palette.cursor;
  const top = scrollTo(selected, 0, rows);
  return [
    drawInputLine(palette.line, width, look, ':'),
    fitLine([seg(symbolsOf(look).rule.repeat(width), 'dim')], width, look),
    ...Array.from({ length: rows }, (_, row): Line => {
      const choice = choices[top + row];
      if (choice === undefined)
        return fitLine([seg(row === 0 ? '  no command is called so' : '', 'dim')], width, look);
      return choiceLine(choice, top + row === selected, width, look);
    }),
    drawFooter('palette', keys, width, look),
  ];
}

function choiceLine(choice: PaletteChoice, selected: boolean, width: number, look: Look): Line {
  const line: Line = [
    seg(selected ? `${symbolsOf(look).pointer} ` : '  ', 'accent'),
    seg(fit(choice.label, LABEL_WIDTH, look)),
    seg(fit(choice.keys.map(keyText).join(' '), KEYS_WIDTH, look), 'accent'),
    seg(choice.description, choice.disabled === null ? 'plain' : 'dim'),
    ...(choice.disabled === null ? [] : [seg(` (not now: ${choice.disabled})`, 'warn')]),
  ];
  const fitted = fitLine(line, width, look);
  return selected ? fitted.map(({ text }) => seg(text, 'selected')) : fitted;
}
