import { describe, expect, it, vi } from 'vitest';
import type { Environment, EnvironmentDefinition } from '../../envs/contract.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import type { Assignment, EpisodeSummary } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { type AuditRule, auditRuleSchema, type ResetDifference } from '../../src/domain/leak.ts';
import { policySpecSchema } from '../../src/domain/policy-spec.ts';
import { deriveSeed } from '../../src/domain/random.ts';
import type { Observation } from '../../src/domain/space.ts';
import type { Lifeline } from '../../src/protocol/lifeline.ts';
import { ResetAudit } from '../../src/sampling/reset-audit.ts';
import { SamplingWorker } from '../../src/sampling/worker.ts';
import { leaky } from '../support/leaky.ts';
import { settingsOf } from '../support/worker-settings.ts';

const policy = policySpecSchema.parse({ vocabulary: 256, embedding: 8, hidden: 8 });
const FAMILIES = workbench.catalog.families.map(({ name }) => name);
const [FIRST = '', SECOND = ''] = FAMILIES;
const EVERY: AuditRule = { share: 1, everyS: 10 };

function assignment(n: number): Assignment {
  const family = FAMILIES[n % FAMILIES.length] ?? '';
  return {
    id: episodeId(n),
    task: { env: 'workbench', family, split: 'train', index: n % 1000 },
    seed: deriveSeed('audit', n),
    phase: 'train',
    mode: 'sampled',
    iteration: 1,
    attempt: 1,
  };
}

/** Refuses to watch over two things at once, as the real one does without saying so. */
function strictLifeline(): Lifeline & { readonly stage: string | null } {
  let stage: string | null = null;
  return {
    get stage() {
      return stage;
    },
    begin(_subject, begun) {
      if (stage !== null) throw new Error('begun twice');
      stage = begun;
    },
    end() {
      stage = null;
    },
  };
}

/** A worker with a random policy samples until `done` or so many episodes; what its audits found. */
async function sample(
  definition: EnvironmentDefinition,
  options: {
    readonly episodes: number;
    readonly rule?: AuditRule;
    readonly stepTimeoutMs?: number;
    readonly quarantined?: string;
  },
) {
  const { episodes, rule = EVERY, stepTimeoutMs = 60_000, quarantined } = options;
  const summaries: EpisodeSummary[] = [];
  const recycled: boolean[] = [];
  const leaks: (ResetDifference & { readonly episodesBefore: number })[] = [];
  const failures: string[] = [];
  const lifeline = strictLifeline();
  let time = 0;
  const audit = new ResetAudit({
    rule,
    definition,
    options: {},
    lifeline,
    stepTimeoutMs,
    seed: 1,
    onLeak: (leak) => leaks.push({ ...leak, episodesBefore: summaries.length }),
    onFailed: (family, reason) => failures.push(`${family}: ${reason}`),
    // Audits cost nothing by this clock.
    now: () => time,
  });
  if (quarantined !== undefined) audit.quarantine(quarantined);
  let dispatched = 0;
  const worker: SamplingWorker = await SamplingWorker.create({
    settings: settingsOf({
      env: { name: 'workbench', options: {} },
      slots: 6,
      slice: 6,
      policy,
      actor: 'random',
      rewards: DEFAULT_REWARDS,
      maxSteps: 4,
      stepTimeoutMs,
      episodeTimeoutMs: 120_000,
      unackedBytes: 1 << 24,
    }),
    definition,
    lifeline,
    audit,
    send: (message) => {
      if (message.type === 'claim') setImmediate(dispatch, message.count);
      if (message.type !== 'episode') return;
      time++;
      summaries.push(message.summary);
      recycled.push(message.recycled === true);
      worker.ack(message.bytes);
    },
  });
  function dispatch(count: number): void {
    const wanted = Math.min(count, episodes - dispatched);
    worker.dispatch(Array.from({ length: wanted }, () => assignment(++dispatched)));
  }
  worker.go();
  await vi.waitUntil(() => summaries.length >= episodes, { timeout: 20_000, interval: 5 });
  const { audits } = worker.report();
  await worker.stop();
  return { summaries, recycled, leaks, failures, audits };
}

describe('a reset audit', () => {
  it('finds nothing in an environment that forgets, and counts what it looked at', async () => {
    const { leaks, failures, audits, summaries, recycled } = await sample(workbench, { episodes: 150 });
    expect([leaks, failures]).toEqual([[], []]);
    expect(audits).toBeGreaterThan(30);
    expect(summaries.every(({ trust }) => trust === 'valid')).toBe(true);
    // Six slots, each new once.
    expect(recycled.filter((is) => !is)).toHaveLength(6);
  });

  it('finds a trace in the first observation, marks that family alone, and has its slots rebuilt', async () => {
    let isMarked = false;
    const dirty = { marked: 0, other: 0 };
    const definition = leaky(workbench, { where: 'observation', families: [SECOND] }, (task, earlier) => {
      if (!isMarked || earlier.length === 0) return;
      if (task.family === SECOND) dirty.marked++;
      else dirty.other++;
    });
    const first = await sample(definition, { episodes: 250 });
    expect(first.leaks).toHaveLength(1);
    const [leak] = first.leaks;
    expect(leak).toMatchObject({ family: SECOND, part: 'observation' });
    expect(leak!.recycled.line).toMatch(/^"left over from /u);
    expect(leak!.recycled.text).toContain('left over from');
    expect(leak!.fresh.line).not.toContain('left over from');
    expect(leak!.recycled.sha256).not.toBe(leak!.fresh.sha256);
    const found = first.summaries.find(({ id }) => id === leak!.episode);
    expect(found).toMatchObject({ slot: leak!.slot, task: { family: SECOND } });
    // The worker marked it itself: what began after that had an environment of its own.
    const later = first.summaries.slice(leak!.episodesBefore + 6);
    const laterRecycled = first.recycled.slice(leak!.episodesBefore + 6);
    expect(later.filter(({ task }, at) => task.family === SECOND && laterRecycled[at])).toEqual([]);
    expect(
      later.filter(({ task }, at) => task.family !== SECOND && laterRecycled[at]).length,
    ).toBeGreaterThan(50);
    // And so does one that is told by another worker.
    isMarked = true;
    const told = await sample(definition, { episodes: 150, quarantined: SECOND });
    expect(told.leaks).toEqual([]);
    expect(dirty.marked).toBe(0);
    expect(dirty.other).toBeGreaterThan(50);
  });

  it('finds a trace that is in the state alone', async () => {
    const { leaks } = await sample(leaky(workbench, { where: 'state', families: FAMILIES }), {
      episodes: 300,
    });
    expect(leaks.map(({ family }) => family).toSorted()).toEqual(FAMILIES.toSorted());
    for (const { part, recycled, fresh } of leaks) {
      expect(part).toBe('state');
      expect(recycled.line).toMatch(/"trace": "left over from /u);
      expect(fresh.line?.trim()).toBe('"trace": null');
    }
  });

  it('finds a trace that only some episode leaves, in an instance that had some before', async () => {
    const rare = { where: 'observation', families: [SECOND], from: FIRST, after: 5 } as const;
    const { leaks } = await sample(leaky(workbench, rare), { episodes: 600 });
    expect(leaks.map(({ family, part }) => [family, part])).toEqual([[SECOND, 'observation']]);
  });

  it('compares with an environment that answers later, while the episode goes on', async () => {
    const slow = { where: 'state', families: [FIRST], latencyMs: 3 } as const;
    const { leaks, failures } = await sample(leaky(workbench, slow), { episodes: 150 });
    expect(failures).toEqual([]);
    expect(leaks.map(({ family, part }) => [family, part])).toEqual([[FIRST, 'state']]);
  });

  it('of an environment that forgets and answers later finds nothing', async () => {
    const slow = leaky(workbench, { where: 'observation', families: [], latencyMs: 3 });
    const { leaks, failures, audits } = await sample(slow, { episodes: 100 });
    expect([leaks, failures]).toEqual([[], []]);
    expect(audits).toBeGreaterThan(3);
  });
});

/** The Workbench with something else in each instance's place. */
function changed(change: (environment: Environment, instance: number) => void): EnvironmentDefinition {
  let instances = 0;
  return {
    ...workbench,
    create: (options) => {
      const environment = workbench.create(options);
      change(environment, instances++);
      return environment;
    },
  };
}

describe('an audit that cannot come to a result', () => {
  // Six slots are built first: what is built later is for audits.
  it.each([
    [
      'getState throws',
      changed((environment) => {
        environment.getState = () => {
          throw new Error('no state');
        };
      }),
      /^\w+: the state of a used slot cannot be read: no state$/u,
    ],
    [
      'the state is nothing that JSON can carry',
      changed((environment) => {
        environment.getState = () => 1n;
      }),
      /cannot be read: .*BigInt/u,
    ],
    [
      'a new environment fails at its reset',
      changed((environment, instance) => {
        if (instance < 6) return;
        environment.reset = () => {
          throw new Error('no licence left');
        };
      }),
      /^\w+: a new environment could not be reset for it: no licence left$/u,
    ],
    [
      'a new environment gives something else than an observation',
      changed((environment, instance) => {
        if (instance >= 6) environment.reset = (): Observation => JSON.parse('{"lines":7}');
      }),
      /gave 7 as lines of an observation/u,
    ],
    [
      'a new environment does not answer',
      changed((environment, instance) => {
        if (instance >= 6) environment.reset = () => new Promise(() => undefined);
      }),
      /no answer within 30 ms$/u,
    ],
  ])('because %s says so once a family, and spoils no episode', async (_what, definition, reason) => {
    const slow = changedStep(definition);
    const { leaks, failures, audits, summaries } = await sample(slow, { episodes: 120, stepTimeoutMs: 30 });
    expect(leaks).toEqual([]);
    expect(audits).toBe(0);
    expect(failures.length).toBeGreaterThan(0);
    expect(new Set(failures).size).toBe(failures.length);
    for (const failure of failures) expect(failure).toMatch(reason);
    expect(summaries.every(({ trust }) => trust === 'valid')).toBe(true);
  });
});

/** With steps that take 2 ms, so that an audit that is late is late within the sampling of some episodes. */
function changedStep(definition: EnvironmentDefinition): EnvironmentDefinition {
  return {
    ...definition,
    create: (options) => {
      const environment = definition.create(options);
      const step = environment.step.bind(environment);
      environment.step = async (action) => {
        await new Promise((resolve) => {
          setTimeout(resolve, 2);
        });
        return await step(action);
      };
      return environment;
    },
  };
}

/** An audit with a clock of its own; `resetMs` is how long the reset of a new environment takes by it. */
function clocked(rule: AuditRule, resetMs: number) {
  const clock = { ms: 0, resets: 0 };
  const closedIn: (string | null)[] = [];
  const lifeline = strictLifeline();
  const used = workbench.create({});
  const audit = new ResetAudit({
    rule,
    definition: {
      ...workbench,
      create: (options) => {
        const environment = workbench.create(options);
        const reset = environment.reset.bind(environment);
        environment.reset = (task, seed) => {
          clock.ms += resetMs;
          clock.resets++;
          return reset(task, seed);
        };
        environment.close = () => void closedIn.push(lifeline.stage);
        return environment;
      },
    },
    options: {},
    lifeline,
    stepTimeoutMs: 1000,
    seed: 3,
    onLeak: () => undefined,
    onFailed: () => undefined,
    now: () => clock.ms,
  });
  /** A reset of a used slot each ms, or every few, for so long, of one family or of all in turn. */
  const run = async (ms: number, families: number, eachMs = 1): Promise<number> => {
    const [before, end] = [clock.resets, clock.ms + ms];
    for (let n = 1; clock.ms < end; n++) {
      const next = assignment(FAMILIES.length * n + (n % families));
      const task = workbench.createTask(next.task);
      const observation = await used.reset(task, deriveSeed(next.seed, 'environment'));
      audit.observe({ assignment: next, slot: 0, environment: used, observation });
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      clock.ms += eachMs;
    }
    return clock.resets - before;
  };
  return { run, closedIn };
}

it('an audit closes its environment under the lifeline', async () => {
  const { run, closedIn } = clocked({ share: 1, everyS: 1 }, 0);
  expect(await run(3, 1)).toBe(3);
  await vi.waitUntil(() => closedIn.length === 3);
  expect(closedIn).toEqual(['close', 'close', 'close']);
});

describe('how often resets are audited', () => {
  it('is never at share 0', async () => {
    expect(await clocked({ share: 0, everyS: 1 }, 0).run(1000, 1)).toBe(0);
  });

  it('is that share of them', async () => {
    const audits = await clocked({ share: 0.05, everyS: 86_400 }, 0).run(4000, 1);
    expect(audits).toBeGreaterThan(150);
    expect(audits).toBeLessThan(250);
  });

  it('is once in so many seconds of each family at least', async () => {
    expect(await clocked({ share: 1e-9, everyS: 2 }, 0).run(10_000, 1, 10)).toBe(5);
    expect(await clocked({ share: 1e-9, everyS: 2 }, 0).run(10_000, 4, 10)).toBe(20);
  });

  it('takes a hundredth of the time at most', async () => {
    expect(await clocked({ share: 1, everyS: 1 }, 5).run(20_000, 5, 10)).toBeLessThanOrEqual(40);
    expect(await clocked({ share: 1, everyS: 1 }, 5).run(20_000, 5, 10)).toBeGreaterThan(30);
  });

  it('by default is one in a hundred, and each family every 5 s', () => {
    expect(auditRuleSchema.parse({})).toEqual({ share: 0.01, everyS: 5 });
  });
});
