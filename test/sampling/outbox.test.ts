import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { episodeId } from '../../src/domain/id.ts';
import type { FromWorker } from '../../src/protocol/worker.ts';
import { Outbox, type Pipe } from '../../src/sampling/outbox.ts';
import { episodeSummary } from '../support/summary.ts';

/** A pipe that takes what it is given when it is told to. */
class FakePipe implements Pipe {
  readonly sent: string[] = [];
  queuedBytes = 0;

  send(message: FromWorker): void {
    this.sent.push(message.type === 'episode' ? message.summary.id : message.type);
    this.queuedBytes += message.type === 'episode' ? message.bytes : 100;
  }
}

const claim: FromWorker = { type: 'claim', count: 1 };

function episode(n: number, bytes: number): FromWorker {
  return { type: 'episode', summary: episodeSummary({ id: episodeId(n) }), bytes, bootstrapValue: null };
}

describe('what a worker sends', () => {
  test('a claim goes before the episodes that the pipe has no room for', () => {
    const pipe = new FakePipe();
    const outbox = new Outbox(pipe, false);
    for (const n of [1, 2, 3, 4, 5]) outbox.send(episode(n, 100_000));
    outbox.send(claim);
    expect(pipe.sent).toEqual(['e1', 'e2', 'claim']);
    expect(outbox.queuedBytes).toBe(500_100);
    pipe.queuedBytes = 0;
    outbox.drain();
    expect(pipe.sent).toEqual(['e1', 'e2', 'claim', 'e3', 'e4']);
  });

  test('news of a leak comes after the episodes that it tells of', () => {
    const pipe = new FakePipe();
    const outbox = new Outbox(pipe, false);
    for (const n of [1, 2, 3]) outbox.send(episode(n, 100_000));
    outbox.send({ type: 'audit_failed', family: 'ordered', reason: 'none' });
    pipe.queuedBytes = 0;
    outbox.drain();
    expect(pipe.sent).toEqual(['e1', 'e2', 'e3', 'audit_failed']);
  });

  test('in lockstep nothing overtakes anything', () => {
    const pipe = new FakePipe();
    const outbox = new Outbox(pipe, true);
    for (const n of [1, 2, 3]) outbox.send(episode(n, 1_000_000));
    outbox.send({ type: 'sync' });
    expect(pipe.sent).toEqual(['e1', 'e2', 'e3', 'sync']);
  });

  test('every episode is sent once, in its order, whatever comes between and however the pipe drains', () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant('episode'), bytes: fc.integer({ min: 0, max: 400_000 }) }),
      fc.record({ kind: fc.constant('claim'), bytes: fc.constant(0) }),
      fc.record({ kind: fc.constant('drain'), bytes: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const pipe = new FakePipe();
        const outbox = new Outbox(pipe, false);
        let [episodes, claims, atOnce] = [0, 0, 0];
        for (const { kind, bytes } of actions) {
          if (kind === 'episode') outbox.send(episode(++episodes, bytes));
          if (kind === 'claim') {
            outbox.send(claim);
            claims++;
            atOnce += Number(pipe.sent.at(-1) === 'claim');
          }
          if (kind === 'drain') {
            pipe.queuedBytes = 0;
            outbox.drain();
          }
        }
        for (let turn = 0; turn <= episodes; turn++) {
          pipe.queuedBytes = 0;
          outbox.drain();
        }
        expect(outbox.queuedBytes - pipe.queuedBytes).toBe(0);
        expect(atOnce).toBe(claims);
        const ids = pipe.sent.filter((each) => each !== 'claim');
        expect(ids).toEqual(Array.from({ length: episodes }, (_, n) => `e${n + 1}`));
        expect(pipe.sent).toHaveLength(episodes + claims);
      }),
    );
  });
});
