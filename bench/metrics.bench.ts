import { createRandom } from '../src/domain/random.ts';
import { MetricPyramid } from '../src/store/downsample.ts';
import { metricsOf } from '../test/store/fixture.ts';
import { snapshotOf } from '../test/views/snapshot.ts';
import { ChartView } from '../views/chart-view.ts';
import { RunCurves } from '../views/run-curves.ts';
import { type ChartSpec, drawChart } from '../views/widgets/chart.ts';
import { resample } from '../views/widgets/resample.ts';
import { drawRunCharts, iterationSpan } from '../views/widgets/run-charts.ts';
import { type Benchmark, median } from './benchmark.ts';

const POINTS = 10_000_000;
const ITERATIONS = 1_000_000;
/** The chart that fills a terminal of 200 x 50. */
const SIZE = { width: 200, height: 46 };
const LOOK = { glyphs: 'braille', colour: { theme: 'dark', depth: 256 }, attributes: true } as const;
/** A cell of braille is two dots wide. */
const COLUMNS = SIZE.width * 2;
const ROUNDS = 50;

/** One chart of ten million points, at any zoom: from the points to the lines of the terminal. */
export const metrics: Benchmark = {
  name: 'metrics',
  measures: `drawing a chart of ${POINTS / 1e6} million points, and those of a run of a million iterations`,
  run({ say }) {
    const random = createRandom(1);
    const pyramid = new MetricPyramid();
    const pushing = process.cpuUsage();
    for (let x = 0; x < POINTS; x++) pyramid.push(x, Math.sin(x / 1e6) + random.next() / 10);
    const pushNs = (cpuMs(pushing) * 1e6) / POINTS;
    say(`${pyramid.length} points are there`);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // The whole of it, then ever closer, somewhere: zooming and panning.
      const width = POINTS / 2 ** (round % 20);
      const from = Math.floor(random.next() * (POINTS - width));
      const began = process.cpuUsage();
      const { xs, ys } = pyramid.thinned(from, from + width - 1, COLUMNS);
      drawChart(chartOf(xs, ys), SIZE, LOOK);
      times.push(cpuMs(began));
    }
    const frames = runFrames();
    return Promise.resolve({
      figures: {
        iterations: ITERATIONS,
        runMs: median(frames),
        runMsWorst: Math.max(...frames),
        points: POINTS,
        chartMs: median(times),
        chartMsWorst: Math.max(...times),
        plainMs: plainMs(pyramid),
        pushNs,
      },
      conditions: { columns: COLUMNS, rows: SIZE.height, rounds: ROUNDS },
    });
  },
};

/** CPU time of the four charts of a run's page, at every zoom from the whole of a million iterations to its newest. */
function runFrames(): number[] {
  const curves = new RunCurves();
  for (let iteration = 1; iteration <= ITERATIONS; iteration++) {
    curves.push(metricsOf(iteration, { kl: iteration % 99_991 === 0 ? 1 : Math.sin(iteration / 1e4) }));
  }
  const run = { ...snapshotOf({ iterations: [metricsOf(ITERATIONS)] }), curves };
  return Array.from({ length: 3 }, () => {
    const view = new ChartView();
    return Array.from({ length: 16 }, () => {
      const began = process.cpuUsage();
      drawRunCharts(run, view, { width: SIZE.width, columns: 2, height: SIZE.height / 2 }, LOOK);
      const took = cpuMs(began);
      view.zoom(1, iterationSpan(run));
      return took;
    });
  })
    .slice(1)
    .flat();
}

/** What the same takes point by point, for comparison. */
function plainMs(pyramid: MetricPyramid): number {
  const [from, to] = pyramid.span ?? [0, 0];
  const { xs, ys } = pyramid.thinned(from, to, pyramid.length);
  const began = process.cpuUsage();
  resample({ xs, ys }, [from, to], COLUMNS);
  return cpuMs(began);
}

/** CPU time of this process: what else the machine does is not the chart's. */
function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

function chartOf(xs: readonly number[], ys: readonly number[]): ChartSpec {
  return {
    title: 'ten million',
    xs,
    guide: null,
    marks: [],
    series: [{ label: '', ys, tone: 'first', stroke: 'solid', axis: 'left', format: String }],
  };
}
