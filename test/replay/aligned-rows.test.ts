import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EpisodeBody } from '../../src/domain/episode.ts';
import type { ExecutedStep } from '../../src/protocol/replay.ts';
import { alignExecutions } from '../../src/replay/align.ts';
import { type AlignedRows, alignedParts, PackedRows, wholeRows } from '../../src/replay/aligned-rows.ts';
import { type RecordedExecution, recordedExecution } from '../../src/replay/recorded.ts';
import { RecordedPages, type Side, wholeSide } from '../../src/replay/recorded-pages.ts';
import { LongEpisode, PAGE_STEPS } from '../../src/store/long-episode.ts';
import { summaryOf } from '../store/fixture.ts';

function execution(words: readonly number[]): RecordedExecution {
  const steps = words.map((word): ExecutedStep => {
    const action = { type: 'read', argument: `file ${word % 3}` } as const;
    return { lines: ['task', `${word}`], candidates: [], action, effective: true, reward: 0, parts: [] };
  });
  return { steps, finalLines: ['over'], end: { terminated: true, success: true, failure: null } };
}

function packed(left: Side, right: Side): PackedRows {
  const rows = new PackedRows();
  for (const part of alignedParts(left, right)) rows.add(part);
  return rows;
}

function rowsOf(rows: AlignedRows): unknown[] {
  return Array.from({ length: rows.length }, (_, index) => rows.row(index));
}

/** More rows than one part has; where, the numbers say. */
const LONG = 3000;

describe('rows of long executions', () => {
  it('are those of short ones, packed', () => {
    const change = fc.tuple(fc.nat(LONG - 1), fc.nat(9));
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 40 }),
        fc.integer({ min: 1, max: LONG }),
        (changes, length) => {
          const words = Array.from({ length: LONG }, (_, step) => step);
          const left = execution(words);
          for (const [step, word] of changes) words[step] = word;
          const right = execution(words.slice(0, length));
          const expected = wholeRows(alignExecutions(left, right));
          const found = packed(wholeSide(left), wholeSide(right));
          expect(rowsOf(found)).toEqual(rowsOf(expected));
          expect(found.differences).toBe(expected.differences);
          expect(found.row(-1)).toBeUndefined();
          expect(found.row(found.length)).toBeUndefined();
          const places = [-1, 0, 1, 1023, 1024, 1025, found.length - 1, ...changes.map(([step]) => step)];
          for (const place of places) {
            expect(found.nextDifferent(place, 1)).toBe(expected.nextDifferent(place, 1));
            expect(found.nextDifferent(place, -1)).toBe(expected.nextDifferent(place, -1));
          }
        },
      ),
      { numRuns: 10 },
    );
  });

  it('tell how far they are, and refuse what comes behind their end', () => {
    const side = wholeSide(execution(Array.from({ length: LONG }, (_, step) => step)));
    const parts = [...alignedParts(side, side)];
    expect(parts.map(({ step, of }) => [step, of])).toEqual([
      [1024, LONG],
      [2048, LONG],
      [LONG, LONG],
    ]);
    const rows = packed(side, side);
    expect(rows.nextDifferent(0, 1)).toBeNull();
    const [first] = parts;
    if (first === undefined) throw new Error('no part');
    expect(() => rows.add(first)).toThrow(expect.objectContaining({ code: 'protocol-invalid' }));
  });
});

it('a record read by pages is the record', () => {
  const steps = 2 * PAGE_STEPS;
  const body: EpisodeBody = {
    lines: Array.from({ length: steps + 2 }, (_, line) => `line ${line}`),
    candidateSets: [[{ type: 'read', text: 'a', kind: 'file' }]],
    steps: Array.from({ length: steps }, (_, step) => ({
      observation: [step, step + 1],
      candidates: 0,
      action: { type: 'read', argument: 'a' },
      probability: 0.5,
      value: 0,
      entropy: 1,
      policyVersion: 3,
      effective: step % 7 > 0,
      reward: step % 3,
      parts: [],
      agent: ['speaker', 'listener'][step % 2],
    })),
    finalObservation: [steps, steps + 1],
    finalAgent: 'speaker',
  };
  const summary = summaryOf(1, { steps });
  const record = recordedExecution({ summary, body });
  const pages = new RecordedPages(new LongEpisode(summary, deflateRawSync(JSON.stringify(body))));
  expect(pages.steps).toBe(steps);
  expect(Array.from({ length: steps }, (_, step) => pages.step(step))).toEqual(record.steps);
  expect(pages.step(steps)).toBeUndefined();
  const { finalLines, finalAgent, end } = record;
  expect(pages.ending()).toEqual({ steps, finalLines, finalAgent, end });
});
