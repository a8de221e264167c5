import { describe, expect, it } from 'vitest';
import type { IterationMetrics } from '../../../src/domain/run.ts';
import { ChartView } from '../../../views/chart-view.ts';
import { curvesOf } from '../../../views/run-curves.ts';
import { drawChart } from '../../../views/widgets/chart.ts';
import { drawRunCharts, runCharts } from '../../../views/widgets/run-charts.ts';
import { changeOf, eventOf, manifestOf, metricsOf, START } from '../fake-run.ts';
import { BRAILLE, PLAIN, textOf } from '../looks.ts';
import { snapshotOf } from '../snapshot.ts';

const rows = (values: readonly number[]): IterationMetrics[] =>
  values.map((kl, index) => metricsOf(index + 1, { kl, clipFraction: 0.5 }));
/** Held-out success by iteration, from 1 on, as a running mean. */
function smoothed(values: readonly (number | null)[], smoothing: number): readonly number[] {
  const curves = curvesOf(values.map((heldOutSuccess, index) => metricsOf(index + 1, { heldOutSuccess })));
  return curves.curve('heldOutSuccess', { from: 1, to: values.length, smoothing }).ys;
}

const PLAIN_VIEW = new ChartView();
const CHANGE = changeOf({ iteration: 20 });

describe('runCharts', () => {
  it('marks every knob that was turned, on every chart', () => {
    const byConfig = { ...CHANGE, who: 'config', iteration: 30 };
    const charts = runCharts(snapshotOf({ knobChanges: [CHANGE, byConfig] }), PLAIN_VIEW);
    expect(charts.map(({ title }) => title)).toEqual(['env steps/s', 'KL', 'mean reward', 'success']);
    const marks = [
      { x: 20, kind: 'knob' },
      { x: 30, kind: 'knob' },
    ];
    expect(charts.map((chart) => chart.marks)).toEqual([marks, marks, marks, marks]);
  });

  it('marks no change of the schedule: they come all the time', () => {
    const knobChanges = [changeOf({ who: 'schedule', knob: 'lr' }), changeOf({ who: 'guard', iteration: 8 })];
    expect(runCharts(snapshotOf({ knobChanges }), PLAIN_VIEW)[0]?.marks).toEqual([{ x: 8, kind: 'knob' }]);
  });

  it('marks an update that was rolled back where the next one was made', () => {
    const kind = 'update-rolled-back';
    // Row n was made n × 4 s after the start.
    const alarms = [
      eventOf({ kind, time: START + 999_000 }),
      eventOf({ kind, time: START + 41_000 }),
      eventOf(),
    ];
    expect(runCharts(snapshotOf({ alarms }), PLAIN_VIEW)[3]?.marks).toEqual([
      { x: 40, kind: 'trouble' },
      { x: 11, kind: 'trouble' },
    ]);
  });

  it('marks what was done to the run, and leaves that out where a mark would take the place of a value', () => {
    const turns = [eventOf({ kind: 'pause', time: START + 41_000 })];
    const [chart] = runCharts(snapshotOf({ turns }), PLAIN_VIEW);
    expect(chart?.marks).toEqual([{ x: 11, kind: 'event' }]);
    if (chart === undefined) return;
    const [plot, spark] = [8, 1].map((height) =>
      textOf(drawChart(chart, { width: 60, height }, BRAILLE)).join('\n'),
    );
    expect(plot).toContain('╎');
    expect(spark).not.toMatch(/[╎┊│]/u);
  });

  it('has the reward by component, what moves it most first, and what could not be paid', () => {
    const view = new ChartView();
    view.nextPage();
    view.nextPage();
    expect(view.page).toBe('rewards');
    const components = { step: -0.05, success: 0.8, progress: 0.3 };
    const iterations = [metricsOf(1, { components: {} }), metricsOf(2, { components, voidShare: 0.25 })];
    const charts = runCharts(snapshotOf({ iterations }), view);
    const curves = charts.flatMap(({ series }) => series.map(({ label, ys }) => [label, ys]));
    expect(curves).toEqual([
      ['success', [0.8]],
      ['progress', [0.3]],
      ['step', [-0.05]],
      ['void', [metricsOf(1).voidShare, 0.25]],
      ['truncated', expect.any(Array)],
    ]);
    expect(charts).toHaveLength(4);
    for (const look of [BRAILLE, PLAIN]) {
      const grid = { width: 80, columns: 2, height: 5 } as const;
      expect(drawRunCharts(snapshotOf({ iterations }), view, grid, look)).toHaveLength(10);
    }
  });

  it('draws anew what has changed, and nothing else', () => {
    const grid = { width: 80, columns: 2, height: 5 } as const;
    const run = snapshotOf({ iterations: rows([0.1, 0.2, 0.3, 0.2, 0.1, 0.3]) });
    const view = new ChartView();
    const draw = (now = run, by: ChartView = view, look = BRAILLE): unknown =>
      drawRunCharts(now, by, grid, look);
    const first = draw();
    expect(draw()).toBe(first);
    expect(draw({ ...run, now: run.now + 1, events: [eventOf()] })).toBe(first);
    for (const change of [
      { iterations: rows([0.1, 0.2]) },
      { knobChanges: [changeOf()] },
      { turns: [eventOf()] },
      { alarms: [eventOf({ kind: 'update-rolled-back' })] },
      { parentIterations: rows([0.1]) },
      { olderRead: 0.5 },
      { manifest: manifestOf({ parent: { run: 'other', iteration: 1 } }) },
      { status: null },
    ]) {
      const before = draw();
      expect(draw({ ...run, ...change })).not.toBe(before);
    }
    const turns: readonly ((charts: ChartView) => void)[] = [
      (charts) => charts.nextPage(),
      (charts) => charts.nextSmoothing(),
      (charts) => charts.readAt(2),
      (charts) => charts.zoom(1, [1, 6]),
      (charts) => charts.reset(),
    ];
    for (const turn of turns) {
      const before = draw();
      turn(view);
      expect(draw()).not.toBe(before);
    }
    expect(draw(run, view, PLAIN)).not.toBe(draw());
  });

  it('draws the curve of the parent beside its own on every chart, from its own database', () => {
    const manifest = manifestOf({ id: 'b', parent: { run: 'demo-1', iteration: 30 } });
    const parentIterations = Array.from({ length: 50 }, (_, index) => metricsOf(index + 1));
    const iterations = [31, 32, 33].map((iteration) => metricsOf(iteration, { reward: 9 }));
    const run = snapshotOf({ manifest, iterations, parentIterations });
    const charts = runCharts(run, PLAIN_VIEW);
    for (const { series, xs } of charts) {
      const parent = series.find(({ stroke }) => stroke === 'dotted');
      expect(parent?.label).toBe('demo-1@30');
      expect(parent?.xs?.[0]).toBe(10);
      expect(parent?.xs?.at(-1)).toBe(50);
      expect(xs).toEqual([31, 32, 33]);
    }
    // To compare: what the parent had come to at the same iteration.
    expect(charts[2]?.series[1]?.current).toBe(metricsOf(33).reward);
    const drawn = textOf(drawRunCharts(run, PLAIN_VIEW, { width: 130, columns: 2, height: 4 }, BRAILLE));
    expect(drawn[4]).toMatch(/^mean reward ─ 9 {2}· demo-1@30 0\.689 +iter 10\.\.50/u);
    // A branch that is long has as much of its parent before it.
    const long = { ...run, iterations: [metricsOf(31), metricsOf(59)] };
    expect(runCharts(long, PLAIN_VIEW)[0]?.series[1]?.xs?.[0]).toBe(1);
    expect(runCharts({ ...run, parentIterations: [] }, PLAIN_VIEW)[0]?.series).toHaveLength(1);
  });

  it('says both estimates of KL and the age of samples beside the KL chart', () => {
    expect(runCharts(snapshotOf(), PLAIN_VIEW)[1]?.notes).toEqual(['k1/k3 0.019/0.021', 'stale 0.5/2']);
    const iterations = [metricsOf(1, { klK1: null, klK3: null })];
    expect(runCharts(snapshotOf({ iterations }), PLAIN_VIEW)[1]?.notes).toEqual(['stale 0.5/2']);
  });

  it('shows the KL target as a guide, and none when it is 0', () => {
    const run = snapshotOf();
    expect(runCharts(run, PLAIN_VIEW)[1]?.guide).toEqual({ label: 'target 0.02', value: 0.02 });
    const status =
      run.status === null ? null : { ...run.status, knobs: { ...run.status.knobs, kl_target: 0 } };
    expect(runCharts({ ...run, status }, PLAIN_VIEW)[1]?.guide).toBeNull();
  });

  it('leaves held-out success out until it is known', () => {
    expect(runCharts(snapshotOf(), PLAIN_VIEW)[3]?.series[1]?.ys.slice(3, 5)).toEqual([
      Number.NaN,
      expect.closeTo(0.227, 3),
    ]);
  });
});

describe('how the user looks at the charts', () => {
  const all = [1, 40] as const;

  it('zooms in on the newest, pans, and zooms out until it follows again', () => {
    const view = new ChartView();
    view.zoom(1, all);
    expect(view.window).toEqual([20, 40]);
    view.zoom(1, all);
    expect(view.window).toEqual([30, 40]);
    view.pan(-1, all);
    view.pan(-1, all);
    expect(view.window).toEqual([24, 34]);
    for (let times = 0; times < 20; times++) view.pan(-1, all);
    expect(view.window).toEqual([1, 11]);
    for (let times = 0; times < 3; times++) view.zoom(-1, all);
    expect(view.window).toBeNull();
    view.pan(1, all);
    expect(view.window).toBeNull();
  });

  it('goes along with the run while it shows the newest, and stays where somebody went back to', () => {
    const view = new ChartView();
    view.zoom(1, all);
    expect(view.shown([1, 70])).toEqual([50, 70]);
    const again = new ChartView();
    again.restore(view.state);
    expect(again.shown([1, 70])).toEqual([50, 70]);
    view.pan(-1, [1, 70]);
    expect(view.shown([1, 90])).toEqual([45, 65]);
    view.pan(1, [1, 70]);
    expect(view.shown([1, 90])).toEqual([70, 90]);
    view.moveCursor(-1, [1, 90]);
    expect(view.shown([1, 120])).toEqual([70, 90]);
    view.moveCursor(99, [1, 90]);
    expect([view.cursor, view.shown([1, 120])]).toEqual([null, [100, 120]]);
  });

  it('shows only what is in the window, on that domain', () => {
    const view = new ChartView();
    view.zoom(1, all);
    for (const { xs, domain } of runCharts(snapshotOf(), view)) {
      expect([xs[0], xs.at(-1)]).toEqual([20, 40]);
      expect(domain).toEqual([20, 40]);
    }
    expect(runCharts(snapshotOf(), view)[3]?.span).toBe('iter 20..40');
  });

  it('reads the curves at the cursor, which leaves at the newest', () => {
    const view = new ChartView();
    for (let times = 0; times < 10; times++) view.moveCursor(-1, all);
    expect(view.cursor).toBe(30);
    const chart = runCharts(snapshotOf(), view)[2];
    expect(chart?.series[0]?.current).toBe(metricsOf(30).reward);
    expect(chart?.marks.at(-1)).toEqual({ x: 30, kind: 'cursor' });
    expect(chart?.span).toBe('at iter 30 of 1..40');
    for (let times = 0; times < 11; times++) view.moveCursor(1, all);
    expect(view.cursor).toBeNull();
    view.moveCursor(-99, all);
    expect(view.cursor).toBe(1);
  });

  it('moves the window along with the cursor, and zooms around it', () => {
    const view = new ChartView();
    view.zoom(1, all);
    view.moveCursor(-25, all);
    expect(view.window).toEqual([15, 35]);
    view.zoom(1, all);
    expect(view.window).toEqual([15, 25]);
    view.reset();
    expect([view.window, view.cursor, view.smoothing, view.log]).toEqual([null, null, 0, false]);
  });

  it('smooths without drawing the first values to 0, and leaves gaps', () => {
    expect(smoothed([4, 4, 4], 0.9)).toEqual([4, 4, 4].map((value) => expect.closeTo(value, 9)));
    const ys = smoothed([1, null, 3], 0.5);
    expect(ys[1]).toBeNaN();
    // (0.25·1 + 0.5·3) / 0.75
    expect(ys[2]).toBeCloseTo(7 / 3, 9);
    const view = new ChartView();
    view.nextSmoothing();
    expect(runCharts(snapshotOf(), view)[3]?.span).toBe('mean 0.6, iter 1..40');
  });

  it('has charts of the update and of the families, the weakest first', () => {
    const view = new ChartView();
    view.nextPage();
    expect(runCharts(snapshotOf(), view).map(({ title }) => title)).toEqual([
      'policy loss',
      'value loss',
      'entropy',
      'staleness',
    ]);
    view.nextPage();
    view.nextPage();
    const heldOutByFamily = { move_rename: 0.9, ordered: 0.2, reference: 0.5 };
    const charts = runCharts(snapshotOf({ iterations: [metricsOf(1, { heldOutByFamily })] }), view);
    expect(charts.map(({ title }) => title)).toEqual([
      'held-out',
      'held-out',
      'void share',
      'truncated share',
    ]);
    expect(charts.slice(0, 2).map(({ low, high }) => [low, high])).toEqual([
      [0, 1],
      [0, 1],
    ]);
    expect(charts.flatMap(({ series }) => series.map(({ label }) => label))).toEqual([
      'ordered',
      'reference',
      'move_rename',
      '',
      '',
    ]);
    view.nextPage();
    expect(view.page).toBe('run');
  });

  it('on a log scale puts each power of ten as far from the next, and stays plain where a value is 0', () => {
    const view = new ChartView();
    view.log = true;
    const draw = (values: number[]) =>
      textOf(
        runCharts(snapshotOf({ iterations: rows(values) }), view)
          .slice(1, 2)
          .flatMap((chart) => drawChart(chart, { width: 40, height: 10 }, PLAIN)),
      );
    // The middle value lies in the middle, and the scale begins at the least.
    expect(draw([0.001, 0.01, 0.1])[9]).toMatch(/^ ?0\.001/u);
    expect(draw([0, 0.01, 0.1])[9]).toMatch(/^ +0/u);
  });
});

describe('drawRunCharts', () => {
  it('draws two beside two at 80 columns, the mark through all of them', () => {
    const run = snapshotOf({ knobChanges: [CHANGE] });
    expect(
      textOf(drawRunCharts(run, PLAIN_VIEW, { width: 80, columns: 2, height: 4 }, BRAILLE)),
    ).toMatchInlineSnapshot(`
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
      textOf(drawRunCharts(snapshotOf(), PLAIN_VIEW, { width: 44, columns: 1, height: 1 }, BRAILLE)),
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
