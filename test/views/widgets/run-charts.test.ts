import { describe, expect, it } from 'vitest';
import { drawRunCharts, runCharts } from '../../../views/widgets/run-charts.ts';
import { changeOf, eventOf, manifestOf, metricsOf, START } from '../fake-run.ts';
import { BRAILLE, textOf } from '../looks.ts';
import { snapshotOf } from '../snapshot.ts';

const CHANGE = changeOf({ iteration: 20 });

describe('runCharts', () => {
  it('marks every knob that was turned, on every chart', () => {
    const byConfig = { ...CHANGE, who: 'config', iteration: 30 };
    const charts = runCharts(snapshotOf({ knobChanges: [CHANGE, byConfig] }));
    expect(charts.map(({ title }) => title)).toEqual(['env steps/s', 'KL', 'mean reward', 'success']);
    const marks = [
      { x: 20, kind: 'knob' },
      { x: 30, kind: 'knob' },
    ];
    expect(charts.map((chart) => chart.marks)).toEqual([marks, marks, marks, marks]);
  });

  it('marks no change of the schedule: they come all the time', () => {
    const knobChanges = [changeOf({ who: 'schedule', knob: 'lr' }), changeOf({ who: 'guard', iteration: 8 })];
    expect(runCharts(snapshotOf({ knobChanges }))[0]?.marks).toEqual([{ x: 8, kind: 'knob' }]);
  });

  it('marks an update that was rolled back where the next one was made', () => {
    const kind = 'update-rolled-back';
    // Row n was made n × 4 s after the start.
    const alarms = [
      eventOf({ kind, time: START + 999_000 }),
      eventOf({ kind, time: START + 41_000 }),
      eventOf(),
    ];
    expect(runCharts(snapshotOf({ alarms }))[3]?.marks).toEqual([
      { x: 40, kind: 'trouble' },
      { x: 11, kind: 'trouble' },
    ]);
  });

  it('draws the curve of the parent beside its own on every chart, from its own database', () => {
    const manifest = manifestOf({ id: 'b', parent: { run: 'demo-1', iteration: 30 } });
    const parentIterations = Array.from({ length: 50 }, (_, index) => metricsOf(index + 1));
    const iterations = [31, 32, 33].map((iteration) => metricsOf(iteration, { reward: 9 }));
    const run = snapshotOf({ manifest, iterations, parentIterations });
    const charts = runCharts(run);
    for (const { series, xs } of charts) {
      const parent = series.find(({ stroke }) => stroke === 'dotted');
      expect(parent?.label).toBe('demo-1@30');
      expect(parent?.xs?.[0]).toBe(10);
      expect(parent?.xs?.at(-1)).toBe(50);
      expect(xs).toEqual([31, 32, 33]);
    }
    // To compare: what the parent had come to at the same iteration.
    expect(charts[2]?.series[1]?.current).toBe(metricsOf(33).reward);
    const drawn = textOf(drawRunCharts(run, { width: 130, columns: 2, height: 4 }, BRAILLE));
    expect(drawn[4]).toMatch(/^mean reward ─ 9 {2}· demo-1@30 0\.689 +iter 10\.\.50/u);
    // A branch that is long has as much of its parent before it.
    const long = { ...run, iterations: [metricsOf(31), metricsOf(59)] };
    expect(runCharts(long)[0]?.series[1]?.xs?.[0]).toBe(1);
    expect(runCharts({ ...run, parentIterations: [] })[0]?.series).toHaveLength(1);
  });

  it('says both estimates of KL and the age of samples beside the KL chart', () => {
    expect(runCharts(snapshotOf())[1]?.notes).toEqual(['k1/k3 0.019/0.021', 'stale 0.5/2']);
    const iterations = [metricsOf(1, { klK1: null, klK3: null })];
    expect(runCharts(snapshotOf({ iterations }))[1]?.notes).toEqual(['stale 0.5/2']);
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
