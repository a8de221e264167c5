import { describe, expect, it } from 'vitest';
import type { RunStatus } from '../../../src/domain/run.ts';
import { drawHeader } from '../../../views/widgets/header.ts';
import { childOf, eventOf, manifestOf, metricsOf, START, statusOf } from '../fake-run.ts';
import { BRAILLE, textOf } from '../looks.ts';
import { snapshotOf } from '../snapshot.ts';

function header(change: Parameters<typeof snapshotOf>[0], width = 110, rows = 3): string[] {
  return textOf(drawHeader(snapshotOf(change), width, rows, BRAILLE)).map((line) => line.trimEnd());
}

function trainerOn(provider: string): RunStatus {
  return statusOf({ children: [childOf(), childOf({ role: 'trainer', slots: 0, busySlots: 0, provider })] });
}

describe('the header', () => {
  it('says what the run is, how far it is, how well it does, and that its children are well', () => {
    expect(header({})).toMatchInlineSnapshot(`
      [
        "demo-1  RUNNING                                                     iteration 41 · 3m05s/10m00s · data <1s old",
        "env steps/s 52.1k sampling     success train 83.7%   held-out 74.4%   void 0.1%   train episodes 12,345",
        "workers 1/1  trainer ok   slots busy 6,990/7,000   memory 1,200 MiB   queued steps 1,000/8,000",
      ]
    `);
  });

  it('says when the disk is full, before figures that matter less; without a budget only when that is near', () => {
    const GIB = 2 ** 30;
    const third = (budgetBytes: number | null, fullInS: number | null): string | undefined => {
      const store = { bytes: 1.4 * GIB, budgetBytes, bytesPerHour: GIB, fullInS };
      return header({ status: statusOf({ store }) }, 160)[2];
    };
    expect(third(10 * GIB, 32_400)).toContain('7,000   disk 1.40 GiB of 10.0 GiB full in 9 h   memory');
    expect(third(null, 900_000)).toMatch(/most 2 {3}disk 1\.40 GiB$/u);
    expect(third(null, 2700)).toContain('7,000   disk 1.40 GiB full in 45 min   memory');
  });

  it('calls the newest alert out that holds, and says how many there are beside it', () => {
    const alert = { name: 'stuck', since: START, message: '4 of 9 match', filter: '' };
    const alerts = [alert, { ...alert, name: 'slow', since: START + 1, message: 'too slow' }];
    expect(header({ status: statusOf({ alerts }) })[2]).toBe(
      ' ! o: episodes; alert slow (and 1 more): too slow',
    );
    expect(header({ status: statusOf({ alerts: [alert] }) })[2]).toContain('alert stuck: 4 of 9 match');
    // A child in trouble comes first.
    const children = [childOf({ state: 'restarting', restarts: 1 })];
    expect(header({ status: statusOf({ alerts, children }) })[2]).toContain('restarting');
  });

  it('keeps what matters most at 80 and at 40 columns', () => {
    expect(header({}, 80)).toMatchInlineSnapshot(`
      [
        "demo-1  RUNNING                       iteration 41 · 3m05s/10m00s · data <1s old",
        "env steps/s 52.1k sampling     success train 83.7%   held-out 74.4%   void 0.1%",
        "workers 1/1  trainer ok   slots busy 6,990/7,000   memory 1,200 MiB",
      ]
    `);
    expect(header({}, 40, 2)).toMatchInlineSnapshot(`
      [
        "demo-1  RUNNING             iteration 41",
        "steps/s 52.1k train 83.7% held-out 74.4%",
      ]
    `);
  });

  it('says why a run is stalled', () => {
    const manifest = manifestOf({ state: 'stalled', reason: '5 void episodes in a row: env_crash' });
    expect(header({ manifest })[0]).toContain('STALLED  5 void episodes in a row: env_crash');
  });

  it('turns loud when a worker restarts, and says what is done about it', () => {
    const children = [
      childOf({ state: 'restarting', restarts: 2 }),
      childOf({ role: 'trainer', slots: 0, busySlots: 0 }),
    ];
    const line = drawHeader(snapshotOf({ status: statusOf({ children }) }), 120, 3, BRAILLE)[2] ?? [];
    expect(line[0]).toEqual({
      text: ' ! workers 0/1  trainer ok: worker 0@local restarting, its unfinished episodes are dispatched again (restart 2) ',
      tone: 'loud',
    });
  });

  it('shows trouble even where there are only two rows', () => {
    const children = [childOf(), childOf({ role: 'trainer', state: 'restarting', restarts: 1 })];
    expect(header({ status: statusOf({ children }) }, 130, 2)[1]).toBe(
      ' ! workers 1/1  trainer restarting: trainer restarting from its last good state, sampled episodes are kept (restart 1)',
    );
  });

  const ROLLED_BACK = eventOf({
    level: 'error',
    kind: 'update-rolled-back',
    subject: 'trainer',
    message: 'update 41 rolled back at minibatch 7: KL 0.81 is above 0.5',
    time: START + 161_000,
    episodes: ['e12'],
  });

  it('is loud about an update that was rolled back until another one is made', () => {
    // The newest row was made 160 s after the start.
    const run = { alarms: [ROLLED_BACK], now: START + 999_000, statusAt: START + 999_000 };
    expect(header(run)[2]).toBe(' ! o: episodes; update 41 rolled back at minibatch 7: KL 0.81 is above 0.5');
    const [piece] = drawHeader(snapshotOf(run), 110, 2, BRAILLE)[1] ?? [];
    expect(piece).toMatchObject({ tone: 'loud', text: expect.stringContaining('rolled back') });
    const iterations = [metricsOf(40), metricsOf(41)];
    expect(header({ ...run, iterations })[2]).toContain('workers 1/1');
    const soon = START + 170_000;
    expect(header({ ...run, iterations, now: soon, statusAt: soon })[2]).toContain('rolled back');
  });

  it('says what the trainer runs on when it is not the CPU, or fell back to it', () => {
    expect(header({ status: trainerOn('cuda') })[2]).toMatch(/^workers 1\/1 {2}trainer ok on cuda {3}/u);
    const fell = eventOf({ level: 'warning', kind: 'provider', subject: 'trainer' });
    const alarms = [eventOf({ kind: 'provider', subject: 'worker 0@local' }), fell];
    expect(header({ status: trainerOn('cpu'), alarms })[2]).toMatch(/trainer ok on cpu \(fell back\) {3}/u);
    // A later attempt found what it wanted.
    const mended = [{ ...fell, level: 'info' as const }, ...alarms];
    expect(header({ status: trainerOn('cpu'), alarms: mended })[2]).toMatch(/trainer ok {3}slots/u);
  });

  it('says how many steps were left out because they were stale, even at 80 columns', () => {
    const iterations = [metricsOf(40, { staleSteps: 1200 })];
    expect(header({ iterations }, 80)[2]).toBe(
      'workers 1/1  trainer ok   1,200 stale steps left out   slots busy 6,990/7,000',
    );
  });

  it('says what a run was branched from', () => {
    const manifest = manifestOf({ parent: { run: 'first', iteration: 120 } });
    expect(header({ manifest })[0]).toMatch(/^demo-1 {2}RUNNING {3}branch of first@120 /u);
    expect(header({ manifest }, 72)[0]).toMatch(/^demo-1 {2}RUNNING {4}/u);
  });

  it('calls out a child without a sign of life', () => {
    const children = [childOf({ silentMs: 7200 }), childOf({ role: 'trainer' })];
    expect(header({ status: statusOf({ children }) })[2]).toContain('worker 0@local silent for 7s');
  });

  it('says that a killed run is gone and how to go on', () => {
    const rows = header({ connection: 'gone', now: START + 65_000 });
    expect(rows[0]).toContain('demo-1  DEAD');
    expect(rows[0]).toContain('data 1m05s old');
    expect(rows[2]).toBe(' ! the run process is gone; resume with: agentrl-lab resume demo-1');
  });

  it('says that a stopped run has ended, without alarm', () => {
    const rows = header({
      connection: 'gone',
      manifest: manifestOf({ state: 'stopped', reason: 'asked by a@b' }),
    });
    expect(rows[0]).toContain('STOPPED  asked by a@b');
    expect(rows[2]).toBe('the run has ended; resume with: agentrl-lab resume demo-1');
  });

  it('says why nothing is shown of one that has ended', () => {
    const manifest = manifestOf({ state: 'stopped', reason: null });
    const rows = header({ connection: 'gone', manifest, storeError: 'lab.db is missing or empty' });
    expect(rows[2]).toBe(' ! no history: lab.db is missing or empty');
  });

  it('calls out a run that has stopped answering', () => {
    expect(header({ now: START + 9000 })[2]).toBe(' ! no answer for 9s; figures are old');
  });

  it('shows figures of the last iteration while the run has not answered', () => {
    const rows = header({ connection: 'connecting', status: null, statusAt: 0 });
    expect(rows[0]).toContain('CONNECTING');
    expect(rows[1]).toContain('env steps/s --');
    expect(rows[1]).toContain('policy v40');
  });

  it('makes control characters in texts of other processes visible', () => {
    const manifest = manifestOf({ reason: '\u001B[31mred' });
    expect(header({ manifest })[0]).toContain('\\e[31mred');
  });
});
