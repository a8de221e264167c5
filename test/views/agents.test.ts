import { describe, expect, it } from 'vitest';
import type { EpisodeBody } from '../../src/domain/episode.ts';
import type { StoredEpisode } from '../../src/store/queries.ts';
import { ReplayCursor } from '../../views/replay-cursor.ts';
import { drawReplay } from '../../views/screens/replay.ts';
import { episodeSummary } from '../support/summary.ts';
import { PLAIN, textOf } from './looks.ts';

const AGENTS = ['speaker', 'listener', 'speaker', 'speaker'] as const;

function stepOf(agent: string | undefined, place: number): EpisodeBody['steps'][number] {
  return {
    observation: agent === 'listener' ? [1, 2] : [0, 3],
    candidates: 0,
    action: { type: 'input', argument: `word ${place}` },
    probability: 0.5,
    value: 1,
    entropy: 1,
    policyVersion: 1,
    effective: true,
    reward: place,
    parts:
      place === 1
        ? [
            { name: 'own', raw: 1, weighted: 1, paid: 1 },
            { name: 'gift', raw: 2, weighted: 2, paid: 2, agent: 'speaker' },
          ]
        : [],
    ...(agent === undefined ? {} : { agent }),
  };
}

function episode(
  names: readonly (string | undefined)[],
  rewards: Record<string, number> | undefined,
): StoredEpisode {
  const summary = episodeSummary({ steps: names.length, agentRewards: rewards });
  const body: EpisodeBody = {
    lines: ['task tell', 'task hear', 'heard it', 'said it'],
    candidateSets: [[]],
    steps: names.map((name, place) => stepOf(name, place)),
    finalObservation: [1, 2],
    ...(rewards === undefined ? {} : { finalAgent: 'listener' }),
  };
  return { summary, body };
}

function drawn(cursor: ReplayCursor): string[] {
  const keys = {
    hasRun: true,
    live: false,
    state: null,
    rows: 1,
    isSearching: false,
    canUndo: false,
    completes: false,
    hasReplay: true,
    hasDiff: false,
    eventEpisodes: false,
  };
  const model = { cursor, speed: 0, note: null, searchInput: null, toast: null, keys };
  return textOf(drawReplay(model, { columns: 160, rows: 30 }, PLAIN));
}

describe('the replay of an episode of several agents', () => {
  it('names who acts, sees and is paid', () => {
    const cursor = new ReplayCursor(episode(AGENTS, { speaker: 5, listener: 1 }));
    cursor.moveTo(1);
    const text = drawn(cursor).join('\n');
    expect(text).toMatch(/paid .* speaker 5 {3}listener 1/u);
    expect(text).toMatch(/1 {2}speaker {2}input "word 0"/u);
    expect(text).toMatch(/2 {2}listener input "word 1"/u);
    expect(text).toContain('gift to speaker  raw 2');
    expect(text).toContain('observation of listener before the action');
    cursor.moveTo(4);
    expect(drawn(cursor).join('\n')).toContain('observation of listener after the last step');
  });

  it('marks as new what the agent did not see at its own turn before', () => {
    const { steps } = new ReplayCursor(episode(AGENTS, { speaker: 5, listener: 1 }));
    expect(steps.place(2)?.observation.map(({ fresh }) => fresh)).toEqual([false, false]);
    expect(steps.place(4)?.observation.map(({ fresh }) => fresh)).toEqual([false, false]);
  });

  it('goes from one step of an agent to its next, and back', () => {
    const cursor = new ReplayCursor(episode(AGENTS, { speaker: 5, listener: 1 }));
    expect([cursor.nextTurn(1), cursor.position]).toEqual([true, 2]);
    expect([cursor.nextTurn(1), cursor.position]).toEqual([true, 3]);
    expect([cursor.nextTurn(1), cursor.position]).toEqual([false, 3]);
    expect([cursor.nextTurn(-1), cursor.position]).toEqual([true, 2]);
    cursor.moveTo(1);
    expect([cursor.nextTurn(-1), cursor.position]).toEqual([false, 1]);
  });

  it('says nothing of agents where there is one', () => {
    const text = drawn(new ReplayCursor(episode([undefined, undefined], undefined))).join('\n');
    expect(text).toContain('observation before the action');
    expect(text).not.toMatch(/speaker|undefined/u);
  });
});
