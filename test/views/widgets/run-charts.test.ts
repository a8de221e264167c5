import { describe, expect, it } from 'vitest';
import { drawRunCharts, runCharts } from '../../../views/widgets/run-charts.ts';
import { START } from '../fake-run.ts';
import { BRAILLE, textOf } from '../looks.ts';
import { snapshotOf } from '../snapshot.ts';

const CHANGE = {
  time: START,
  who: 'ann@box',
  knob: 'clip',
  from: 0.2,
  to: 0.22,
  iteration: 20,
  minibatch: 3,
} as const;

describe('runCharts', () => {
  it('marks every knob that was turned, on every chart', () => {
    const byConfig = { ...CHANGE, who: 'config', iteration: 30 };
    const charts = runCharts(snapshotOf({ knobChanges: [CHANGE, byConfig] }));
    expect(charts.map(({ title }) => title)).toEqual(['env steps/s', 'KL', 'mean reward', 'success']);
    expect(charts.map(({ marks }) => marks)).toEqual([
      [20, 30],
      [20, 30],
      [20, 30],
      [20, 30],
    ]);
  });

  it('shows the KL target as a guide, and none when it is 0', () => {
    const run = snapshotOf();
    expect(runCharts(run)[1]?.guide).toEqual({ label: 'target 0.02', value: 0.02 });
    const status =
      run.status === null ? null : { ...run.status, knobs: { ...run.status.knobs, kl_target: 0 } };
    expect(runCharts({ ...run, status })[1]?.guide).toBeNull();
  });

  it('leaves held-out success out until it is known', () => {
    expect(runCharts(snapshotOf())[3]?.series[1]?.ys.slice(3, 5)).toEqual([
      Number.NaN,
      expect.closeTo(0.227, 3),
    ]);
  });
});

describe('drawRunCharts', () => {
  it('draws two beside two at 80 columns, the mark through all of them', () => {
    const run = snapshotOf({ knobChanges: [CHANGE] });
    expect(textOf(drawRunCharts(run, { width: 80, columns: 2, height: 4 }, BRAILLE))).toMatchInlineSnapshot(`
      [
        "env steps/s ─ 53k                       KL ─ 0.0291 ┄ clipped 13.6%  target 0.02",
        "   54k│⠉⠑⠒⠔⠒⠉⠉⠒⠔⠊⠉⠉⠒⠔⠒⠉⠉⠒⠤⠒⠉⠉⠒⠢⠒⠉⠉⠒⠢⠒⠊⠉   0.03│⠕⠉⡑⢄    ⡠⠊⠝⠢⡉┊⠢  ⡔⠉⠑⢄ ⡠ ⠊⡠⠛ 15.0%",
        "      │               ┊                       │╌╌⠈╌⢧⢄⣀⠔⠋╌╌╌⠑⢄⣀⡠⠚╌⣀╌⠤⠣⣀⣀⠔⠁╌      ",
        "     0│               ┊                      0│             ┊              0%   ",
        "mean reward ─ 0.731          iter 1..40 success ─ train 83.7% ┄ held-out 74.4%  ",
        " 0.731│            ⣀⣀⣀⡠⠤⠤⠤⠤⠒⠒⠒⠒⠒⠒⠊⠉⠉⠉⠉⠉   100%│                ┊⣀⣀⣀⣀⣀⣀⣀⣤⠤⣤⠤⣤⠤⣤⠤⣤",
        "      │    ⢀⣀⠤⠤⠒⠊⠉⠉   ┊                       │     ⣀⣀⠤⡤⠔⠶⠒⠒⠉⠛⠉⠋ ⠉ ⠉ ⠉          ",
        "-0.136│⣀⠤⠒⠉⠁          ┊                     0%│⠤⠔⠒⠉⠉           ┊                ",
      ]
    `);
  });

  it('draws them as sparklines below each other', () => {
    expect(
      textOf(drawRunCharts(snapshotOf(), { width: 44, columns: 1, height: 1 }, BRAILLE)),
    ).toMatchInlineSnapshot(`
      [
        "env steps/s ─ 53k      ██▇██▇██▇██▇▇██▇██▇██",
        "KL ─ 0.0291 ┄ clipped… ▇██▆▄▄▆██▇▄▄▆██▇▅▃▅▇█",
        "mean reward ─ 0.731    ▁▂▃▃▄▅▅▆▆▆▇▇▇▇▇██████",
        "success ─ train 83.7%… ▁▂▃▃▄▄▅▅▅▆▆▆▆▆▆▇▇▇▇▇▇",
      ]
    `);
  });
});
