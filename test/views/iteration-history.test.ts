import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import { Reading } from '../../src/store/reading.ts';
import { writeManifest } from '../../src/store/run-directory.ts';
import { ChartView } from '../../views/chart-view.ts';
import { IterationHistory } from '../../views/iteration-history.ts';
import { LiveRun, runSources } from '../../views/live-run.ts';
import { drawChart } from '../../views/widgets/chart.ts';
import { runCharts } from '../../views/widgets/run-charts.ts';
import { manifestOf, metricsOf as rowOf, type TemporaryRuns, temporaryRuns } from '../store/fixture.ts';
import { BRAILLE, textOf } from './looks.ts';
import { snapshotOf } from './snapshot.ts';

/** The one update of the run with this KL, and an earlier one that a glance would pass over. */
const SPIKES = new Map([
  [777, 9.5],
  [2600, 4.25],
]);
const LENGTH = 3000;
const ALL = Number.MAX_SAFE_INTEGER;
let runs: TemporaryRuns;
let store: RunStore;
let reader: RunReader;

beforeEach(() => {
  runs = temporaryRuns();
  const paths = runs.run();
  writeManifest(paths, manifestOf('run', { state: 'finished' }));
  store = openRunStore(paths);
  for (let iteration = 1; iteration <= LENGTH; iteration += 1) {
    store.appendIteration(rowOf(iteration, { kl: SPIKES.get(iteration) ?? 0.01, reward: iteration }));
  }
  reader = openRunReader(paths);
});
afterEach(() => {
  reader.close();
  store.close();
  runs.remove();
});

/** Reads until nothing is left; how many slices that took. */
function readAll(history: IterationHistory): number {
  let slices = 1;
  while (history.readOlder(reader, 0.01)) slices += 1;
  return slices;
}

describe('a long run', () => {
  it('is there with its newest iterations at once, and whole after some slices', () => {
    const history = new IterationHistory();
    history.refresh(reader, ALL);
    expect(history.rows.at(-1)?.iteration).toBe(LENGTH);
    expect(history.rows.length).toBeLessThan(LENGTH / 2);
    expect(history.olderRead).toBe(0);
    const newest = history.rows[0]?.iteration ?? 0;
    expect(history.curves.span).toEqual([newest, LENGTH]);
    expect(history.readOlder(reader, 0.01)).toBe(true);
    expect(history.olderRead).toBeGreaterThan(0);
    expect(readAll(history)).toBeGreaterThan(5);
    expect(history.olderRead).toBe(1);
    expect(history.curves.span).toEqual([1, LENGTH]);
    expect(history.curves.length).toBe(LENGTH);
    expect(history.curves.valueFrom('kl', 777, 0)).toBe(9.5);
  });

  it('takes in what comes while older ones are read, and forgets whole rows of before later', () => {
    const history = new IterationHistory();
    history.refresh(reader, ALL);
    history.readOlder(reader, 0.01);
    store.appendIteration(rowOf(LENGTH + 1, { kl: 7 }));
    history.refresh(reader, ALL);
    expect(history.curves.span?.[1]).toBe(LENGTH + 1);
    readAll(history);
    expect(history.curves.length).toBe(LENGTH + 1);
    expect(history.curves.newest('kl', 0)).toBe(7);
    for (let more = 2; more <= 1200; more += 1) store.appendIteration(rowOf(LENGTH + more));
    history.refresh(reader, ALL);
    expect(history.rows.length).toBeLessThanOrEqual(1024);
    expect(history.curves.length).toBe(LENGTH + 1200);
    const before = history.rows;
    history.refresh(reader, LENGTH + 1199);
    expect(history.rows).toBe(before);
  });

  it('that goes on from a checkpoint has the new iterations instead of those after it', () => {
    const history = new IterationHistory();
    history.refresh(reader, ALL);
    readAll(history);
    writeManifest(runs.run(), manifestOf('run', { attempt: 2 }));
    history.refresh(reader, 1500);
    store.appendIteration(rowOf(1501, { attempt: 2, kl: 5 }));
    history.refresh(reader, 1500);
    readAll(history);
    expect(history.curves.span).toEqual([1, 1501]);
    expect(history.curves.newest('kl', 0)).toBe(5);
    store.appendIteration(rowOf(1502, { attempt: 2, kl: 6 }));
    history.refresh(reader, 1501);
    expect(history.curves.span).toEqual([1, 1502]);
    // Nobody says how far it is: what lies behind the end of the newest attempt is passed over.
    const later = new IterationHistory();
    later.refresh(reader, ALL);
    expect(later.rows.at(-1)).toMatchObject({ iteration: 1502, attempt: 2 });
  });

  it('shows its extremes at every zoom, and the value at the cursor', () => {
    const history = new IterationHistory();
    history.refresh(reader, ALL);
    readAll(history);
    const run = snapshotOf({ iterations: history.rows, curves: history.curves });
    const view = new ChartView();
    const top = (): string | undefined => {
      const kl = runCharts(run, view)[1];
      return kl === undefined ? undefined : textOf(drawChart(kl, { width: 80, height: 8 }, BRAILLE))[1];
    };
    const all = [1, LENGTH] as const;
    expect(top()).toMatch(/^ {3}9\.5│/u);
    for (const window of [
      [700, 900],
      [500, 1500],
      [1, 2000],
    ] as const) {
      view.reset();
      view.moveCursor(Math.round((window[0] + window[1]) / 2) - LENGTH, all);
      while (view.window === null || view.window[1] - view.window[0] > window[1] - window[0])
        view.zoom(1, all);
      const [from, to] = view.window;
      expect(top(), `iterations ${from} to ${to}`).toMatch(from <= 777 && to >= 777 ? /^ {3}9\.5│/u : /│/u);
    }
    view.reset();
    view.moveCursor(2600 - LENGTH, all);
    expect(runCharts(run, view)[1]?.series[0]?.current).toBe(4.25);
    // What is drawn does not grow with the run.
    view.reset();
    for (const { series } of runCharts(run, view)) {
      for (const { xs, ys } of series) expect([xs?.length, ys.length <= 4096]).toEqual([ys.length, true]);
    }
  });

  it('says how much of it is read, and is followed by the screen', async () => {
    const live = new LiveRun(runSources(runs.run(), new Reading()));
    await live.poll();
    const first = live.snapshot();
    expect(first.olderRead).toBeLessThan(1);
    expect(runCharts(first, new ChartView())[3]?.span).toMatch(/^reading \S+%, iter 2489\.\.3000$/u);
    await expect
      .poll(
        async () => {
          await live.poll();
          return live.snapshot().olderRead;
        },
        { timeout: 20_000 },
      )
      .toBe(1);
    expect(live.snapshot().curves?.span).toEqual([1, LENGTH]);
    expect(runCharts(live.snapshot(), new ChartView())[3]?.span).toBe('iter 1..3000');
    live.close();
  });
});
