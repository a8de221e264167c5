import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KnobValues } from '../../src/domain/knob.ts';
import type { Preview } from '../../src/domain/run.ts';
import { KnobProposal } from '../../views/knob-proposal.ts';
import { PREVIEW } from './fake-run.ts';

type Knobs = Partial<KnobValues>;

/** What was asked, and how to answer. */
interface Question {
  readonly knobs: Knobs;
  readonly resolve: (preview: Preview) => void;
  readonly reject: (error: Error) => void;
}

let asked: Question[];
let sent: [Knobs, string | null][];
let proposal: KnobProposal;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  sent = [];
  proposal = new KnobProposal({
    preview: async (knobs) => await new Promise((resolve, reject) => asked.push({ knobs, resolve, reject })),
    send: (knobs, note) => sent.push([knobs, note]),
    changed: () => undefined,
  });
});

afterEach(() => {
  proposal.drop();
  vi.useRealTimers();
});

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

describe('KnobProposal', () => {
  it('asks once for keys that are held, and sends once when the answer has been seen', async () => {
    for (const to of [0.22, 0.24, 0.26]) {
      proposal.move('clip', to);
      await pass(50);
    }
    expect(asked).toEqual([]);
    await pass(100);
    expect(asked.map(({ knobs }) => knobs)).toEqual([{ clip: 0.26 }]);
    await pass(900);
    asked[0]?.resolve(PREVIEW);
    await pass(1100);
    expect(proposal.preview).toEqual({ kind: 'known', preview: PREVIEW });
    expect(sent).toEqual([]);
    await pass(100);
    expect(sent).toEqual([[{ clip: 0.26 }, null]]);
    expect(proposal.preview).toBeNull();
    await pass(10_000);
    expect(sent).toHaveLength(1);
  });

  it('sends by itself although no answer comes, and says so', async () => {
    proposal.move('kl', 0.1);
    await pass(2999);
    expect(sent).toEqual([]);
    await pass(1);
    expect(sent).toEqual([[{ kl: 0.1 }, 'none came within 3 s']]);
    asked[0]?.resolve(PREVIEW);
    await pass(10_000);
    expect(sent).toHaveLength(1);
  });

  it('sends what has no preview 1.2 s after the last press', async () => {
    proposal.move('clip', 0.22);
    await pass(500);
    asked[0]?.reject(new Error('no update was made yet'));
    await pass(0);
    expect(proposal.preview).toEqual({ kind: 'refused', reason: 'no update was made yet' });
    await pass(699);
    expect(sent).toEqual([]);
    await pass(1);
    expect(sent).toEqual([[{ clip: 0.22 }, 'no update was made yet']]);
  });

  it('never shows the answer to values that are not proposed any more', async () => {
    proposal.move('clip', 0.22);
    await pass(150);
    proposal.move('clip', 0.24);
    asked[0]?.resolve(PREVIEW);
    await pass(0);
    expect(proposal.preview).toEqual({ kind: 'asking' });
    await pass(150);
    expect(asked[1]?.knobs).toEqual({ clip: 0.24 });
  });

  it('has one question on its way: the next is asked when it is answered', async () => {
    proposal.move('clip', 0.22);
    await pass(150);
    proposal.move('clip', 0.24);
    await pass(500);
    expect(asked).toHaveLength(1);
    asked[0]?.reject(new Error('late'));
    await pass(0);
    expect(asked.map(({ knobs }) => knobs)).toEqual([{ clip: 0.22 }, { clip: 0.24 }]);
  });

  it('sends nothing after it was dropped, and nothing twice after it was sent', async () => {
    proposal.move('clip', 0.22);
    await pass(150);
    proposal.drop();
    asked[0]?.resolve(PREVIEW);
    await pass(10_000);
    expect(sent).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    proposal.move('clip', 0.22);
    proposal.send();
    proposal.send();
    await pass(10_000);
    expect(sent).toEqual([[{ clip: 0.22 }, null]]);
  });

  it('is empty once every knob is back where it was', () => {
    proposal.move('clip', 0.22);
    proposal.move('kl', 0.1);
    proposal.move('clip', null);
    expect(proposal.values).toEqual({ kl: 0.1 });
    proposal.move('kl', null);
    expect(proposal.open).toBe(false);
  });
});
