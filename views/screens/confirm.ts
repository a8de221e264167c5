import type { KeyContext } from '../key-binding.ts';
import type { Size } from '../layout.ts';
import { fitLine, type Line, lineWidth, type Segment, seg, wrap } from '../line.ts';
import { type Look, symbolsOf } from '../look.ts';
import { drawFooter } from '../widgets/footer.ts';

/** A question before something that cannot be undone. The safe answer has the focus first. */
export interface ConfirmModel {
  readonly title: string;
  /** What is affected, in numbers; one paragraph each. */
  readonly body: readonly string[];
  /** What the dangerous answer does, one or two words. */
  readonly verb: string;
  readonly focus: 'cancel' | 'verb';
  readonly keys: KeyContext;
}

const MARGIN = 4;

/** The question in the middle of the screen, its answers below it. */
export function drawConfirm(model: ConfirmModel, size: Size, look: Look): Line[] {
  const inner = Math.min(72, size.columns - MARGIN);
  const answers: Line = [
    ...answer('Cancel', model.focus === 'cancel', look),
    seg('   '),
    ...answer(model.verb, model.focus === 'verb', look),
  ];
  const box: Line[] = [
    [seg(model.title, 'bold')],
    ...model.body.flatMap((text) => wrap(text, inner).map((row): Line => [seg(row)])),
    [],
    answers,
  ];
  const room = size.rows - 1;
  const shown = box.length > room ? [...box.slice(0, room - 1), answers] : box;
  const above = Math.floor((room - shown.length) / 2);
  const left = Math.floor((size.columns - Math.max(inner, ...shown.map(lineWidth))) / 2);
  const lines = Array.from({ length: room }, (_, row): Line => {
    const line = shown[row - above];
    return line === undefined ? [] : [seg(' '.repeat(Math.max(0, left))), ...line];
  });
  return [
    ...lines.map((line) => fitLine(line, size.columns, look)),
    drawFooter('confirm', model.keys, size.columns, look),
  ];
}

function answer(text: string, focused: boolean, look: Look): Segment[] {
  return focused
    ? [seg(`${symbolsOf(look).pointer} `, 'accent'), seg(`[ ${text} ]`, 'selected')]
    : [seg('  '), seg(`[ ${text} ]`)];
}
