import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeBody, EpisodeSummary, StepRecord } from '../../src/domain/episode.ts';
import { drawScreen } from '../../views/screen.ts';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun, summaryOf } from './fake-run.ts';
import { PLAIN, textOf } from './looks.ts';

let fake: FakeRun;
let session: Session;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 1, episodes: 3 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  session.resize({ columns: 120, rows: 30 });
  while (session.client === null || session.list.view.rows.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  press('enter');
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

const { press, screen } = driverOf(() => session);

const place = (): number | undefined => session.replay?.position;

describe('search in a replay', () => {
  it('finds what was seen where it came up, and what was done, without regard to case', () => {
    press('/', ...Array.from('EVIL'));
    expect(screen().at(-2)).toBe('/ EVIL_');
    press('enter');
    expect(place()).toBe(1);
    press('/', 'ctrl-u', ...Array.from('input'), 'enter');
    expect(place()).toBe(0);
    press('/', 'ctrl-u', ...Array.from('done'), 'enter');
    expect(place()).toBe(2);
  });

  it('goes from match to match round the end', () => {
    // The first line of the episode, and its action.
    press('/', ...Array.from('notes.txt'), 'enter');
    expect(place()).toBe(0);
    press(']');
    expect(session.toast?.text).toBe('no other step has "notes.txt"');
    press('/', 'ctrl-u', 'e', 'enter', ']', ']', ']');
    expect(place()).toBe(0);
    press('[');
    expect(place()).toBe(2);
  });

  it('says that nothing is found, or searched, and leaves on Esc', () => {
    press(']');
    expect(session.toast?.text).toBe('nothing is searched: / searches');
    press('/', ...Array.from('nonesuch'), 'enter');
    expect(session.toast?.text).toBe('no step has "nonesuch"');
    press('/', 'escape');
    expect(session.replay?.search).toBe('');
    expect(session.front).toBe('replay');
  });
});

it('goes to steps that were paid or had no effect', () => {
  press('>');
  expect(place()).toBe(1);
  press('>');
  expect(session.toast?.text).toBe('no later step was paid or had no effect');
  press('<');
  expect(place()).toBe(0);
  press('<');
  expect(session.toast?.text).toBe('no earlier step was paid or had no effect');
});

/** Stores an episode of so many steps, and opens it. */
async function openEpisode(steps: number, change: Partial<EpisodeSummary> = {}): Promise<void> {
  fake.store.appendEpisodes([
    { summary: summaryOf(4, { steps, ...change }), body: Buffer.from(JSON.stringify(bodyOf(steps))) },
  ]);
  press('escape', 'g');
  await until(() => session.list.view.total === 4 && session.list.selected?.id === 'e4');
  press('enter');
  await until(() => session.replay?.episode.summary.id === 'e4');
}

function bodyOf(steps: number): EpisodeBody {
  return {
    lines: ['task', 'a needle', ...Array.from({ length: steps }, (_, step) => `turn ${step + 1}`)],
    candidateSets: [[{ type: 'input', text: 'notes.txt', kind: 'file' }]],
    steps: Array.from({ length: steps }, (_, step) => ({
      observation: [0, ...(step === 700 ? [1] : []), step + 2],
      candidates: 0,
      action: { type: 'input', argument: 'notes.txt' },
      probability: 0.7,
      value: step / steps,
      entropy: 0.4,
      policyVersion: 4,
      effective: false,
      reward: step === 20 ? 0.1 : 0,
      parts: step === 20 ? [{ name: 'progress', raw: 1, weighted: 0.1, paid: 0.1 }] : [],
      ...(step === 1 ? RECORDED : {}),
    })),
    finalObservation: [0],
  };
}

const RECORDED: Partial<StepRecord> = {
  likeliest: [
    [0, 0.7],
    [-5, 0.2],
    [9, 0.001],
  ],
  tool: { name: 'move', ok: false, attempts: 3, ms: 1234 },
  ms: 1500,
  state: 'ab12cd',
};

describe('what is recorded of a step', () => {
  it('is shown: likeliest actions, the tool with its attempts, the time, the state', async () => {
    await openEpisode(30, { behaviours: ['loop'] });
    press('j');
    const text = screen().join('\n');
    expect(text).toContain('answer after 1.5 s');
    expect(text).toContain('state ab12cd');
    expect(text).toContain('tool    move  failed  3 attempts  1.2 s');
    expect(text).toMatch(/likely +70\.0% █{11} +\* input "notes\.txt"/u);
    expect(text).toMatch(/20\.0% █{3} +submit/u);
    expect(text).toMatch(/0\.1% +--/u);
    expect(text).toMatch(/› +2! {1}input/u);
    expect(textOf(drawScreen(session, PLAIN)).join('\n')).toMatch(/70\.0% #{11} +\* input/u);
  });

  it('has curves of value and reward, with the place of the step', async () => {
    await openEpisode(30);
    const [value = '', reward = ''] = screen().filter((line) => /^(?:value|reward) {2}/u.test(line));
    expect(value).toMatch(/^value +[▁-█]{30} 0\.\.0\.967$/u);
    expect(reward).toMatch(/^reward +▁{20}█▁{9} 0\.\.0\.1$/u);
  });

  it('can be jumped to: rewards, tool errors, behaviours, the failure', async () => {
    await openEpisode(30, { behaviours: ['loop'] });
    press('a');
    expect(place()).toBe(20);
    press('a');
    expect(session.toast?.text).toBe('no later step was paid');
    press('T');
    expect(place()).toBe(1);
    press('t');
    expect(session.toast?.text).toBe('no later step has a tool that failed');
    press('b');
    expect(place()).toBe(2);
    press('B');
    expect(session.toast?.text).toBe('no earlier step is part of a behaviour');
    press('f');
    expect(place()).toBe(30);
  });
});

describe('playing', () => {
  it('goes on by itself, faster with every press, until another key', async () => {
    await openEpisode(30);
    press('.', '.', '.', '.');
    expect(screen()[0]).toContain('playing 8/s');
    await until(() => (place() ?? 0) >= 2);
    press('k');
    expect(session.player.speed).toBe(0);
    const at = place();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(place()).toBe(at);
    press('.', '.', '.', '.', '.');
    expect(session.player.speed).toBe(1);
    press('G', '.', '.', '.', '.');
    await until(() => session.player.speed === 0);
  });
});

describe('a long episode', () => {
  it('is read a page at a time, and jumped and searched in as a whole', async () => {
    await openEpisode(1500);
    expect(screen()[0]).toContain('steps 1,500');
    await until(() => session.replay?.steps.figures !== null);
    press('G');
    expect(screen().join('\n')).toContain('being read');
    await until(() => screen().join('\n').includes('end after 1,500 steps'));
    press('k');
    expect(screen().join('\n')).toContain('+ turn 1500');
    press('g', '/', ...Array.from('needle'), 'enter');
    await until(() => place() === 700);
    await until(() => screen().join('\n').includes('+ a needle'));
    press(']');
    await until(() => session.toast?.text === 'no other step has "needle"');
    press('A');
    expect(place()).toBe(20);
  });

  it('says what of it cannot be read', async () => {
    const body = JSON.stringify(bodyOf(1500)).replace('"value":0.8,', '"value":"x",');
    fake.store.appendEpisodes([{ summary: summaryOf(4, { steps: 1500 }), body: Buffer.from(body) }]);
    press('escape', 'g');
    await until(() => session.list.selected?.id === 'e4');
    press('enter');
    await until(() => session.replay?.episode.summary.id === 'e4' && session.replay.steps.problem !== null);
    expect(screen().join('\n')).toMatch(/! episode e4 cannot be read: step 1201/u);
    press('a');
    expect(session.toast?.text).toBe('the steps are still being read');
  });
});
