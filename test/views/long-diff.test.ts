import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeBody } from '../../src/domain/episode.ts';
import { alignedParts, PackedRows } from '../../src/replay/aligned-rows.ts';
import type { CompareApart, ComparisonQuestion, Outcome } from '../../src/replay/long-comparison.ts';
import { RecordedPages } from '../../src/replay/recorded-pages.ts';
import { openRunReader } from '../../src/store/queries.ts';
import { Session } from '../../views/session.ts';
import { LONG_STEPS } from '../../views/step-source.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun, summaryOf } from './fake-run.ts';

const STEPS = LONG_STEPS + 1500;
const CHANGED = 2000;
const DRIFT: Outcome = {
  verdict: 'environment drift',
  reason: 'observation at step 2001',
  notes: ['a note'],
};

let fake: FakeRun;
let session: Session;
let asked: ComparisonQuestion[];
/** Whether comparisons that began were given up. */
let signals: AbortSignal[];
/** A comparison goes on with a part each time that this is called. */
let goOn: () => void;

/** Compares in this process, a part whenever the test says so. */
const compare: CompareApart = async (_run, question, { onProgress, signal }) => {
  asked.push(question);
  signals.push(signal);
  const [left, right] =
    question.kind === 'episodes' ? [question.left, question.right] : [question.id, 'e132'];
  const reader = openRunReader(fake.paths);
  try {
    const sides = [left, right].map((id) => new RecordedPages(reader.longEpisode(id)));
    const rows = new PackedRows();
    const [before, after] = sides;
    if (before === undefined || after === undefined) throw new Error('no sides');
    for (const part of alignedParts(before, after)) {
      await new Promise<void>((resolve) => (goOn = resolve));
      if (signal.aborted) return null;
      rows.add(part);
      onProgress(part.step, part.of);
    }
    return { rows, outcome: question.kind === 'again' ? DRIFT : null };
  } finally {
    reader.close();
  }
};

function bodyOf(changed: number | null): EpisodeBody {
  return {
    lines: ['task walk on', 'here', 'there', 'nowhere'],
    candidateSets: [[]],
    steps: Array.from({ length: STEPS }, (_, step) => ({
      observation: [0, step === changed ? 3 : 1 + (step % 2)],
      candidates: 0,
      action: { type: 'noop', argument: null },
      probability: 0.5,
      value: 0,
      entropy: 1,
      policyVersion: 4,
      effective: true,
      reward: 0,
      parts: [],
    })),
    finalObservation: [0, 1],
  };
}

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 4, episodes: 130 });
  for (const [index, changed] of [null, CHANGED].entries()) {
    const body = Buffer.from(JSON.stringify(bodyOf(changed)));
    fake.store.appendEpisodes([{ summary: summaryOf(131 + index, { steps: STEPS }), body }]);
  }
  asked = [];
  signals = [];
  goOn = () => undefined;
  session = new Session({ ...fake.sessionOptions, compare });
  session.open('demo-1');
  session.resize({ columns: 120, rows: 30 });
  await until(() => session.client !== null && session.list.view.rows.length > 0);
});

afterEach(async () => {
  session.close();
  goOn();
  await fake.remove();
});

const { press, screen } = driverOf(() => session);

/** Lets the comparison end. */
async function finish(): Promise<void> {
  await until(() => {
    goOn();
    return session.diff !== null;
  });
}

/** e132 is in front, and marked; then e131 is. */
function compareBoth(): void {
  press('m', 'j', 'd');
}

describe('two long episodes', () => {
  it('are compared beside the drawing: keys go on, and the line of messages says how far it is', async () => {
    compareBoth();
    expect(asked).toEqual([{ kind: 'episodes', left: 'e132', right: 'e131' }]);
    expect(session.screen).toBe('overview');
    expect(session.toast?.text).toBe('reading e132 and e131: Esc gives it up');
    press('j');
    expect(session.list.selected?.id).toBe('e130');
    await until(() => {
      goOn();
      return session.toast?.text === 'comparing 1,000 of 2,500 steps: Esc gives it up';
    });
    // What a key leads to is said all the same.
    press('m');
    expect(session.toast?.text).toMatch(/is marked/u);
    await finish();
    expect(session.screen).toBe('diff');
    expect(session.longDiff.toast).toBeNull();
    expect(screen()[2]).toMatch(/e132 {2}iteration .*e131 {2}iteration/u);
    expect(screen()[1]).toBe('2 rows differ, the first at step 2001');
  });

  it('are given up with esc, which does nothing else then', async () => {
    press('5');
    compareBoth();
    press('escape');
    expect(session.toast?.text).toBe('given up: nothing was compared');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    goOn();
    await new Promise((resolve) => setImmediate(resolve));
    expect(session.diff).toBeNull();
    press('2', 'escape');
    expect(session.screen).toBe('overview');
  });

  it('give way to the next ones, and to another run', () => {
    compareBoth();
    press('d');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    session.open('demo-1');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('are kept for 5 when the user has gone elsewhere', async () => {
    compareBoth();
    press('8');
    await finish();
    await until(() => session.longDiff.toast === null);
    expect(session.screen).toBe('events');
    expect(session.toast?.text).toBe('e132 and e131: compared; 5 shows it');
    press('5');
    expect(session.screen).toBe('diff');
  });
});

describe('a long episode that is done again', () => {
  it('is compared in the same way, and shows the verdict', async () => {
    press('x');
    expect(asked).toEqual([{ kind: 'again', id: 'e132', mode: 'actions' }]);
    expect(session.toast?.text).toBe('doing e132 again: Esc gives it up');
    await finish();
    expect(session.toast?.text).toBe('environment drift: observation at step 2001; a note');
    expect(screen()[1]).toMatch(/^ environment drift {2}observation at step 2001/u);
    expect(screen()[0]).toMatch(/^an episode and its re-execution/u);
  });

  it('says why it could not be', async () => {
    fake.store.appendEpisodes([{ summary: summaryOf(133, { steps: STEPS }), body: Buffer.from('{}') }]);
    await until(() => session.list.view.rows[0]?.id === 'e133');
    press('g', 'X');
    await until(() => session.toast?.tone === 'bad');
    expect(asked).toEqual([{ kind: 'again', id: 'e133', mode: 'policy' }]);
    expect(session.toast?.text).toContain('episode e133 cannot be read');
    expect(session.longDiff.toast).toBeNull();
  });
});
