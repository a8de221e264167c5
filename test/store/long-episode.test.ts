import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EpisodeBody, resolveLines } from '../../src/domain/episode.ts';
import { BodyScanner } from '../../src/store/body-scan.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { LongEpisode, PAGE_STEPS } from '../../src/store/long-episode.ts';
import { openRunReader } from '../../src/store/queries.ts';
import { Reading } from '../../src/store/reading.ts';
import { figuresOf, nextMarked } from '../../src/store/step-figures.ts';
import { WholeEpisode } from '../../views/step-source.ts';
import { summaryOf, type TemporaryRuns, temporaryRuns } from './fixture.ts';

const STEPS = 3 * PAGE_STEPS + 40;

/** Lines with everything that a scanner of JSON may trip over, most of them seen once. */
function longBody(steps = STEPS, seed = 1): EpisodeBody {
  const lines = Array.from(
    { length: steps + 3 },
    (_, line) => `line ${line} "]}\\ {[ \u00E9\u6587, ${line * seed}`,
  );
  return {
    lines,
    candidateSets: [
      [{ type: 'input', text: 'a"]', kind: 'file' }],
      [{ type: 'read', text: 'b', kind: 'file' }],
    ],
    steps: Array.from({ length: steps }, (_, step) => ({
      observation: [step, step + 1, step + 2],
      candidates: step % 2,
      action: step % 2 === 0 ? { type: 'input', argument: 'a"]' } : { type: 'noop', argument: null },
      probability: 0.5,
      value: step / 10,
      entropy: 1,
      policyVersion: 4,
      effective: step % 7 !== 0,
      reward: step % 50 === 0 ? 0.25 : 0,
      parts: step % 50 === 0 ? [{ name: 'progress', raw: 1, weighted: 0.25, paid: 0.25 }] : [],
      ...(step % 5 < 2 ? { agent: ['speaker', 'listener'][step % 5] } : {}),
      ...(step % 90 === 4 ? { tool: { name: 'move', ok: step % 180 !== 4 } } : {}),
    })),
    finalObservation: [steps + 2, 0],
    finalAgent: 'listener',
  };
}

function episodeOf(body: EpisodeBody, text = JSON.stringify(body)): LongEpisode {
  return new LongEpisode(summaryOf(1, { steps: body.steps.length }), deflateRawSync(text));
}

describe('a long episode', () => {
  it('has on its pages what the whole body has', () => {
    const body = longBody();
    for (const at of [0, 5, PAGE_STEPS, 2 * PAGE_STEPS + 1, STEPS - 1, STEPS, STEPS + 999]) {
      const { from, body: page } = episodeOf(body).page(at);
      const until = from + page.steps.length;
      expect(from).toBe(Math.max(0, Math.floor(Math.min(at, STEPS) / PAGE_STEPS) * PAGE_STEPS - 1));
      for (const [index, step] of page.steps.entries()) {
        const original = body.steps[from + index];
        expect(resolveLines(page, step.observation)).toEqual(resolveLines(body, original?.observation ?? []));
        expect(page.candidateSets[step.candidates]).toEqual(body.candidateSets[original?.candidates ?? 9]);
        expect(step).toMatchObject({
          ...original,
          observation: step.observation,
          candidates: step.candidates,
        });
      }
      const final = until === STEPS ? resolveLines(body, body.finalObservation) : [];
      expect(resolveLines(page, page.finalObservation)).toEqual(final);
      expect(page.finalAgent).toBe(until === STEPS ? 'listener' : undefined);
      // Only what the page needs is handed on.
      expect(page.lines.length).toBeLessThanOrEqual(page.steps.length + 4);
    }
  });

  it('is read whatever the order of its parts and the blanks between them', () => {
    const body = longBody(300);
    const { steps, lines, ...others } = body;
    const text = JSON.stringify({ more: [{ a: ['}"'] }, 1.5e-3, true], steps, ...others, lines }, null, 1);
    expect(episodeOf(body, ` ${text}`).page(0).body.steps).toHaveLength(PAGE_STEPS);
    expect(episodeOf(body, text).page(300).from).toBe(PAGE_STEPS - 1);
  });

  it('has the figures that the steps have', () => {
    const body = longBody();
    const figures = figuresOf({ behaviours: [] }, body.steps);
    const episode = episodeOf(body);
    expect(episode.figures()).toEqual(figures);
    expect(episode.figures()).toEqual(figures);
    const bitByBit = episodeOf(body);
    expect(bitByBit.figures(STEPS - 1)).toBeNull();
    expect(bitByBit.find('line 500 ', 0, 1)).toBe(498);
    expect(bitByBit.figures(1)).toEqual(figures);
    expect([nextMarked(figures, ['paid'], 0, 1), nextMarked(figures, ['paid'], 60, -1)]).toEqual([50, 50]);
    expect(nextMarked(figures, ['toolError'], 0, 1)).toBe(4);
    expect(nextMarked(figures, ['toolError'], 4, -1)).toBeNull();
    expect(nextMarked(figures, ['ineffective', 'paid'], 50, 1)).toBe(56);
  });

  it('finds texts where an episode in memory finds them', () => {
    const body = longBody(PAGE_STEPS + 20);
    const long = episodeOf(body);
    const whole = new WholeEpisode({ summary: long.summary, body });
    fc.assert(
      fc.property(
        fc.constantFrom('LINE 1', 'line 270 ', 'noop', 'A"]', '文', 'nonesuch', '"]}\\'),
        fc.integer({ min: -1, max: PAGE_STEPS + 20 }),
        fc.constantFrom(1 as const, -1 as const),
        (text, from, direction) => {
          let found: number | null | undefined;
          whole.find({ text, from, direction }, (place) => (found = place));
          expect(long.find(text, from, direction)).toBe(found);
        },
      ),
    );
  });

  it('says that it is damaged, and where', () => {
    const body = longBody(20);
    const text = JSON.stringify(body);
    const damaged = (changed: string): LongEpisode => episodeOf(body, changed);
    const error = expect.objectContaining({ code: 'segment-corrupt' });
    expect(() => damaged(text.slice(0, -30)).page(0)).toThrow(error);
    expect(() => damaged('[]').page(0)).toThrow(error);
    expect(() => damaged('').figures()).toThrow(error);
    expect(() => damaged(text.replace('"value":0.3', '"value":"x"')).page(0)).toThrow(/step 4/u);
    expect(() => damaged(text.replace('"observation":[3,', '"observation":[3000,')).page(0)).toThrow(error);
    expect(() => new LongEpisode(summaryOf(1), Buffer.from('no deflate')).page(0)).toThrow(
      /does not unpack/u,
    );
  });
});

it('the scanner finds the same in a text that comes bit by bit', () => {
  const text = Buffer.from(JSON.stringify(longBody(30)));
  const atOnce = new BodyScanner();
  atOnce.scan(text, Infinity);
  expect(atOnce.isWhole).toBe(true);
  fc.assert(
    fc.property(fc.array(fc.nat(text.length), { maxLength: 12 }), (cuts) => {
      const scanner = new BodyScanner();
      for (const cut of [...cuts.toSorted((a, b) => a - b), text.length])
        scanner.scan(text.subarray(0, cut), Infinity);
      expect(scanner).toEqual(atOnce);
    }),
  );
});

const marked = (
  behaviours: Parameters<typeof figuresOf>[0]['behaviours'],
  steps: Parameters<typeof figuresOf>[1],
) => {
  const figures = figuresOf({ behaviours }, steps);
  return steps.flatMap((_, index) => ((figures.marks[index] ?? 0) & 16 ? [index] : []));
};
const part = (name: string, weighted: number, paid: number) => ({ name, raw: 1, weighted, paid });

describe('marks of a step', () => {
  const step = {
    action: { type: 'noop', argument: null },
    effective: false,
    reward: 0,
    value: 0,
    parts: [],
  } as const;
  it('show a behaviour only where the episode has it, at the steps that make it', () => {
    expect(marked([], [step, step, step, step])).toEqual([]);
    expect(marked(['loop'], [step, step, step, step])).toEqual([2, 3]);
    expect(marked(['invalid_actions'], [step, { ...step, effective: true }])).toEqual([0]);
    const switched = { ...step, effective: true, parts: [part('tool_switch', -0.1, -0.1)] };
    expect(marked(['tool_thrash'], [switched, switched, step, switched])).toEqual([3]);
    expect(marked(['unread_submit'], [step, { ...step, parts: [part('unread_submit', -1, -1)] }])).toEqual([
      1,
    ]);
    const farmed = [part('read', 0.1, 0.1), part('read', 0.1, 0)].map((one) => ({ ...step, parts: [one] }));
    expect(marked(['reward_farming'], farmed)).toEqual([1]);
  });
});

describe('reading beside the drawing', () => {
  let runs: TemporaryRuns;
  beforeEach(() => (runs = temporaryRuns()));
  afterEach(() => runs.remove());

  it('answers from the store, and rejects with what is wrong', async () => {
    const paths = runs.run();
    const body = longBody();
    const store = openRunStore(paths);
    const summary = summaryOf(1, { steps: STEPS });
    store.appendEpisodes([{ summary, body: Buffer.from(JSON.stringify(body)) }]);
    store.close();
    const reading = new Reading();
    expect((await reading.page(paths, 'e1', 0)).summary.steps).toBe(STEPS);
    expect((await reading.figures(paths, 'e1', () => true))?.values).toHaveLength(STEPS);
    expect(await reading.find(paths, 'e1', { text: 'line 500 ', from: 0, direction: 1 })).toBe(498);
    await expect(reading.page(paths, 'e2', 0)).rejects.toMatchObject({ code: 'episode-not-found' });
    await reading.close();
    await expect(reading.run(paths)).rejects.toMatchObject({ code: 'store-failed' });
    const reader = openRunReader(paths);
    expect(reader.summary('e1').id).toBe('e1');
    expect(() => reader.summary('x')).toThrow(expect.objectContaining({ code: 'episode-not-found' }));
    reader.close();
  });
});
