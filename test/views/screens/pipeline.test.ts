import { describe, expect, it } from 'vitest';
import { lineWidth } from '../../../views/line.ts';
import { drawPipeline, pipelineScrollLimit } from '../../../views/screens/pipeline.ts';
import { childOf, metricsOf, statusOf } from '../fake-run.ts';
import { BRAILLE, COLOUR, PLAIN, textOf } from '../looks.ts';
import { snapshotOf } from '../snapshot.ts';

const KEYS = {
  hasRun: true,
  live: true,
  state: 'running',
  rows: 0,
  canUndo: false,
  completes: false,
  isSearching: false,
  hasReplay: false,
  hasDiff: false,
  eventEpisodes: false,
} as const;
const SIZE = { columns: 120, rows: 40 };

function draw(status = statusOf(), size = SIZE, look = PLAIN, scroll = 0): string[] {
  const run = snapshotOf({ status });
  return textOf(drawPipeline({ run, scroll, toast: null, keys: KEYS }, size, look));
}

describe('the pipeline screen', () => {
  it('shows the oldest of each stage beside what is usual there', () => {
    const stages = [
      { stage: 'step', ageMs: 41_000, p99Ms: 30, subject: 'worker 0@local, slot 1411', count: 3 },
    ] as const;
    const lines = draw(statusOf({ stages: [...stages] }));
    expect(lines.find((line) => line.startsWith('step '))).toMatch(
      /^step +3 +41\.0 s +30 ms {2}worker 0@local, slot 1411/u,
    );
    expect(lines.find((line) => line.startsWith('update '))).toMatch(/^update +0 *$/u);
  });

  it('says which stage has stopped, on this screen and in the header', () => {
    const message = 'update waits for samples: 3 workers stuck in step, slot 1411, 41 s';
    const lines = draw(statusOf({ stall: { stage: 'step', message, ageMs: 41_000 } }));
    expect(lines.filter((line) => line.includes(message))).toHaveLength(2);
    expect(draw().some((line) => line.includes('everything comes through'))).toBe(true);
  });

  it('shows how the policy is asked, the back-pressure and the waste', () => {
    const text = draw().join('\n');
    expect(text).toMatch(/policy +batch 212 of 256 +waited 3\.1 ms +inference 3\.6 ms +window 4 ms/u);
    expect(text).toMatch(
      /back-pressure none +samples queued 3\.81 MiB +slows at 381 MiB . stops at 477 MiB/u,
    );
    expect(text).toMatch(
      /useful 91\.4%.*cut short by a limit 6\.1%.*too old or too many 2\.0%.*void 0\.5%.*of 16m25s slot time/u,
    );
    expect(text).not.toContain('done again');
  });

  it('has the ages of the samples, and how the queue went', () => {
    const pressure = { level: 'none', bytes: 1, softBytes: 5e8, hardBytes: 8 * 2 ** 20 } as const;
    const trail = Array.from({ length: 20 }, (_, at) => (at < 10 ? 0 : 2 ** 22));
    const lines = draw(statusOf({ pressure: { ...pressure, trail } }));
    const at = lines.findIndex((line) => line.startsWith('sample age'));
    expect(lines.slice(at, at + 3)).toEqual([
      expect.stringMatching(/^sample age +0 +75\.0% -{30} *$/u),
      expect.stringMatching(/^in versions +1 +22\.5% -{9} *$/u),
      expect.stringMatching(/^ +2 +2\.5% - *$/u),
    ]);
    expect(lines.find((line) => line.startsWith('queued '))).toMatch(
      /^queued +_{10}\+{10} 8\.00 MiB at the top, last 38s/u,
    );
  });

  it('advises what the measured times speak for, with how that was computed, and is silent otherwise', () => {
    expect(draw().join('\n')).not.toContain('advice');
    const setup = { overlap: true, evaluationEvery: 8, trainerThreads: 2 };
    const slow = Array.from({ length: 12 }, (_, at) =>
      metricsOf(at + 1, { sampleS: 1, updateS: 2, evalS: 1, heldS: 0, staleSteps: 0 }),
    );
    const run = snapshotOf({ status: statusOf({ setup }), iterations: slow });
    const model = { run, scroll: 0, toast: null, keys: KEYS };
    const text = textOf(drawPipeline(model, SIZE, PLAIN)).join('\n');
    expect(text).toMatch(/advice +evaluation\.every 16 \(now 8\) +up to \+14\.3% iterations an hour/u);
    expect(text).toContain(
      'evaluations took 25.0 % of the last 11 iterations; half as many take half of that',
    );
  });

  it('calls out families whose resets leak, and says how many resets were audited', () => {
    expect(draw().join('\n')).toMatch(/resets +audited 210 +leaking none seen/u);
    const leak = {
      family: 'move_rename',
      time: 1,
      episode: 'e77',
      message: 'resets of family move_rename leak \u001B[2J',
    };
    const run = snapshotOf({ status: statusOf({ leaks: [leak] }) });
    const lines = drawPipeline({ run, scroll: 0, toast: null, keys: KEYS }, SIZE, PLAIN);
    const loud = lines.flat().filter(({ tone }) => tone === 'loud');
    expect(loud.map(({ text }) => text.trim())).toEqual([
      '! resets of family move_rename leak \\e[2J',
      'move_rename',
    ]);
    expect(draw(statusOf({ audits: 0 })).join('\n')).toMatch(/resets +audited 0 *\n/u);
  });

  it('tells the shares of the bar apart without colour', () => {
    const bar = draw().find((line) => line.includes('uuuuuuuu'));
    expect(bar).toMatch(/^ +u{24}ct? *$/u);
  });

  it('says of each process what it uses, and what is not known', () => {
    const children = [
      childOf({ resources: { cpu: 0.97, openFiles: 41, tempBytes: null } }),
      childOf({ index: 1, state: 'restarting', restarts: 2, resources: null }),
    ];
    const text = draw(statusOf({ children })).join('\n');
    expect(text).toMatch(/worker 0@local +ready +6,990\/7,000 +0\.97 +900 MiB +41 +-- +0/u);
    expect(text).toMatch(/worker 1@local +restarting .*-- +2/u);
  });

  it('says so where nothing is known', () => {
    const bare = statusOf({ batching: null, pressure: null, waste: null, stages: [] });
    const text = draw(bare).join('\n');
    expect(text).toContain('not asked yet');
    expect(text).toContain('no episode has ended yet');
    const run = snapshotOf({ status: null });
    const lines = textOf(drawPipeline({ run, scroll: 0, toast: null, keys: KEYS }, SIZE, PLAIN));
    expect(lines.join('\n')).toContain('the run does not answer');
  });

  it('fills every size exactly, and scrolls where it does not fit', () => {
    for (const look of [PLAIN, BRAILLE, COLOUR]) {
      for (const size of [
        { columns: 40, rows: 10 },
        { columns: 80, rows: 24 },
        { columns: 200, rows: 50 },
      ]) {
        const run = snapshotOf();
        const lines = drawPipeline({ run, scroll: 0, toast: null, keys: KEYS }, size, look);
        expect(lines).toHaveLength(size.rows);
        expect(lines.map(lineWidth).every((width) => width <= size.columns)).toBe(true);
      }
    }
    const small = { columns: 80, rows: 16 };
    const limit = pipelineScrollLimit(snapshotOf(), small, PLAIN);
    expect(limit).toBeGreaterThan(0);
    expect(draw(statusOf(), small, PLAIN, limit).some((line) => line.startsWith('trainer@'))).toBe(true);
    expect(draw(statusOf(), small, PLAIN, 0).some((line) => line.startsWith('trainer@'))).toBe(false);
  });
});
