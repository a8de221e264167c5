import type { KeyContext } from '../key-binding.ts';
import type { Size } from '../layout.ts';
import { fit, fitLine, type Line, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import type { Menu } from '../menu.ts';
import { drawFooter } from '../widgets/footer.ts';

const LABEL = 30;

/** Rows of a menu's items on a screen. */
export function menuHeight(size: Size): number {
  return Math.max(1, size.rows - 3);
}

/** What may be chosen, one thing a row. */
export function drawMenu(menu: Menu, keys: KeyContext, size: Size, look: Look): Line[] {
  const rows = menuHeight(size);
  const { items, cursor, title } = menu;
  return [
    fitLine([seg(untrusted(title), 'bold')], size.columns, look),
    fitLine([seg(symbolsOf(look).rule.repeat(size.columns), 'dim')], size.columns, look),
    ...Array.from({ length: rows }, (_, row): Line => {
      const index = cursor.top + row;
      const item = items[index];
      if (item === undefined) return fitLine([], size.columns, look);
      const selected = index === cursor.selected;
      const check = item.checked === undefined ? '' : item.checked ? '[x] ' : '[ ] ';
      const line = fitLine(
        [
          seg(selected ? `${symbolsOf(look).pointer} ` : '  ', 'accent'),
          seg(fit(`${check}${untrusted(item.label)}`, Math.min(LABEL, size.columns - 4), look)),
          seg(`  ${untrusted(item.meaning)}`, 'dim'),
        ],
        size.columns,
        look,
      );
      return selected ? line.map(({ text }) => seg(text, 'selected')) : line;
    }),
    drawFooter('menu', keys, size.columns, look),
  ];
}
