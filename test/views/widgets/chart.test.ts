import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineWidth } from '../../../views/line.ts';
import { type ChartSpec, drawChart } from '../../../views/widgets/chart.ts';
import { BLOCK, BRAILLE, PLAIN, textOf } from '../looks.ts';

function chart(ys: readonly number[], change: Partial<ChartSpec> = {}): ChartSpec {
  return {
    title: 'reward',
    xs: ys.map((_, index) => index + 1),
    series: [{ label: '', ys, tone: 'first', stroke: 'solid', axis: 'left', format: String }],
    guide: null,
    marks: [],
    ...change,
  };
}

const KNOB = { x: 4, kind: 'knob' } as const;
const RAMP = [0, 1, 2, 3, 4, 5, 6, 7];
const SIZE = { width: 31, height: 5 };

describe('drawChart', () => {
  it('draws a ramp in braille with the least and the greatest value beside it', () => {
    expect(textOf(drawChart(chart(RAMP), SIZE, BRAILLE))).toMatchInlineSnapshot(`
      [
        "reward ─ 7                     ",
        "     7│                  ⢀⣀⠤⠔⠒⠉",
        "      │            ⣀⡠⠤⠔⠒⠉⠁     ",
        "      │     ⢀⣀⠤⠔⠒⠊⠉            ",
        "     0│⣀⠤⠔⠒⠉⠁                  ",
      ]
    `);
  });

  it('draws the same ramp in half blocks', () => {
    expect(textOf(drawChart(chart(RAMP), SIZE, BLOCK))).toMatchInlineSnapshot(`
      [
        "reward ─ 7                     ",
        "     7│                   ▄▄▄▀▀",
        "      │            ▄▄▄▀▀▀▀     ",
        "      │      ▄▄▄▀▀▀            ",
        "     0│▄▄▀▀▀▀                  ",
      ]
    `);
  });

  it('draws the same ramp in ASCII', () => {
    expect(textOf(drawChart(chart(RAMP), SIZE, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * 7                     ",
        "     7|                    ****",
        "      |            ********    ",
        "      |    ********            ",
        "     0|****                    ",
      ]
    `);
  });

  it('leaves a gap where a value is NaN, and draws a step in one piece', () => {
    expect(textOf(drawChart(chart([0, 0, 0, Number.NaN, 0, 0, 5, 5]), SIZE, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * 5                     ",
        "     5|                    ****",
        "      |                   *    ",
        "      |                 **     ",
        "     0|********     ****       ",
      ]
    `);
  });

  it('draws a vertical mark at its position and a guide at its level, without hiding the curve', () => {
    const spec = chart(RAMP, { marks: [KNOB], guide: { label: 'target 3', value: 3 } });
    expect(textOf(drawChart(spec, SIZE, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * 7  target 3           ",
        "     7|          |         ****",
        "      |          | ********    ",
        "      |----********------------",
        "     0|****      |             ",
      ]
    `);
  });

  it('leaves out marks of what is not shown instead of drawing them at its edges', () => {
    const marks = [1, 5, 9].map((x) => ({ x, kind: 'event' }) as const);
    const drawn = textOf(drawChart(chart(RAMP, { marks, domain: [4, 6] }), SIZE, PLAIN));
    expect(drawn[1]?.match(/'/gu)).toHaveLength(1);
    expect(drawn[1]?.indexOf("'")).toBeGreaterThan(10);
  });

  it('keeps two curves apart without colour, each on its own scale', () => {
    const spec = chart(RAMP);
    const second = {
      ...spec.series[0]!,
      label: 'clipped',
      ys: [9, 9, 9, 9, 0, 0, 0, 0],
      stroke: 'dashed' as const,
      axis: 'right' as const,
    };
    const both = { ...spec, series: [...spec.series, second] };
    expect(textOf(drawChart(both, { width: 41, height: 5 }, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * 7 o clipped 0                   ",
        "     7|o o o o o o o          ***** 9    ",
        "      |              *********           ",
        "      |     *********o                   ",
        "     0|*****           o o o o o o  0    ",
      ]
    `);
  });

  it('draws a curve to compare with by dots, over its own positions, and says so where there is room', () => {
    const spec = chart(RAMP, { xs: RAMP.map((x) => 5 + x) });
    const parent = {
      ...spec.series[0]!,
      label: 'demo@4',
      shortLabel: 'was',
      xs: [1, 2, 3, 4, 5, 6, 7, 8],
      ys: [0, 0, 0, 0, 7, 7, 7, 7],
      tone: 'guide' as const,
      stroke: 'dotted' as const,
      current: 7,
    };
    const both = { ...spec, series: [...spec.series, parent] };
    expect(textOf(drawChart(both, { width: 41, height: 5 }, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * 7  . demo@4 7                   ",
        "     7|            . . . . .         ****",
        "      |                       *******    ",
        "      |          .     *******           ",
        "     0|. . . . .   ****                  ",
      ]
    `);
    const titleAt = (width: number): string | undefined =>
      textOf(drawChart({ ...both, span: 'iter 1..12' }, { width, height: 5 }, PLAIN))[0]?.trimEnd();
    expect(titleAt(33)).toBe('reward * 7  . demo@4 7 iter 1..12');
    expect(titleAt(32)).toBe('reward * 7  . was 7   iter 1..12');
    expect(titleAt(25)).toBe('reward * 7  . was 7');
    expect(titleAt(18)).toBe('reward * 7');
    const alone = { ...spec, xs: [], series: [{ ...spec.series[0]!, ys: [] }, parent] };
    expect(textOf(drawChart(alone, SIZE, PLAIN)).join('')).not.toContain('waiting');
  });

  it('marks trouble so that it cannot be taken for a turned knob, and above it', () => {
    const marks = [
      { x: 2, kind: 'trouble' },
      { x: 2, kind: 'knob' },
      { x: 6, kind: 'knob' },
    ] as const;
    expect(textOf(drawChart(chart(RAMP, { marks }), SIZE, BRAILLE))[1]).toBe(
      '     7│   ┇            ┊ ⢀⣀⠤⠔⠒⠉',
    );
    expect(textOf(drawChart(chart(RAMP, { marks }), SIZE, PLAIN))[1]).toBe('     7|   !            |   ****');
    const sparkline = textOf(drawChart(chart(RAMP, { marks }), { width: 30, height: 1 }, PLAIN))[0];
    expect(sparkline).toMatch(/!.*\|/u);
  });

  it('puts as many whole notes into the title as fit', () => {
    const notes = ['k1/k3 0.1/0.2', 'stale 1/2'];
    const titleAt = (width: number): string | undefined =>
      textOf(drawChart(chart(RAMP, { notes }), { width, height: 3 }, BRAILLE))[0]?.trimEnd();
    expect(titleAt(40)).toBe('reward ─ 7  k1/k3 0.1/0.2  stale 1/2');
    expect(titleAt(35)).toBe('reward ─ 7  k1/k3 0.1/0.2');
    expect(titleAt(24)).toBe('reward ─ 7');
  });

  it('says that it waits while there is nothing', () => {
    expect(textOf(drawChart(chart([]), { width: 41, height: 4 }, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * NaN                             ",
        "      |                                  ",
        "      |waiting for the first iteration   ",
        "      |                                  ",
      ]
    `);
  });

  it('puts a flat curve in the middle', () => {
    expect(textOf(drawChart(chart([2, 2, 2]), SIZE, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * 2                     ",
        "     3|                        ",
        "      |                        ",
        "      |************************",
        "     1|                        ",
      ]
    `);
  });

  it('keeps a spike that is narrower than a column', () => {
    const ys = Array.from({ length: 1000 }, (_, index) => (index === 500 ? 9 : 0));
    const rows = textOf(drawChart(chart(ys), SIZE, PLAIN));
    expect(rows[1]).toBe('     9|            *            '.slice(0, 31));
  });

  it('becomes one row with a sparkline where there is one row', () => {
    expect(
      textOf(drawChart(chart(RAMP, { marks: [KNOB] }), { width: 30, height: 1 }, BRAILLE)),
    ).toMatchInlineSnapshot(`
      [
        "reward ─ 7      ▁▂▂▃▃▄│▅▆▆▇▇██",
      ]
    `);
    expect(textOf(drawChart(chart(RAMP), { width: 30, height: 1 }, PLAIN))).toMatchInlineSnapshot(`
      [
        "reward * 7      _..--==+**%%##",
      ]
    `);
  });

  it('fills its size exactly, whatever the values', () => {
    const value = fc.oneof(fc.double({ min: -1e6, max: 1e6 }), fc.constant(Number.NaN));
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 60 }),
        fc.integer({ min: 8, max: 120 }),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(BRAILLE, BLOCK, PLAIN),
        (ys, width, height, look) => {
          const rows = drawChart(chart(ys, { marks: [{ x: 3, kind: 'trouble' }] }), { width, height }, look);
          expect(rows.map(lineWidth)).toEqual(Array.from({ length: height }, () => width));
        },
      ),
    );
  });
});
