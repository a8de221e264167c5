import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatEffective } from '../../src/config/effective.ts';
import { leafPaths, loadConfig } from '../../src/config/load.ts';
import { parseOverride } from '../../src/config/overrides.ts';
import { LabError } from '../../src/domain/error.ts';

/** The messages of the refusal, one a line. */
function refused(text: string, overrides: readonly string[] = []): string[] {
  try {
    loadConfig(text, { file: 'lab.yaml', overrides: overrides.map(parseOverride), memoryMiB: 8192 });
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    return [thrown.code, ...thrown.message.split('\n')];
  }
  throw new Error('it was accepted');
}

describe('defaults', () => {
  it('an absent and an empty file give the same working config', () => {
    const { config, origins } = loadConfig(null, { file: 'lab.yaml', memoryMiB: 4096 });
    expect(loadConfig('', { file: 'lab.yaml' }).config).toEqual(config);
    expect(loadConfig('# only a comment\n', { file: 'lab.yaml' }).config).toEqual(config);
    expect(config.sampling.slots).toBe(256);
    expect(config.knobs.clip).toBe(0.2);
    expect(config.rewards['success']).toEqual({ weight: 1, cap: null });
    expect(config.hosts).toEqual([
      {
        name: 'local',
        ssh: null,
        sshOptions: [],
        roles: ['worker', 'trainer'],
        workers: 2,
        command: null,
      },
    ]);
    expect(new Set(origins.values())).toEqual(new Set(['default']));
  });

  it('a slice follows a small number of slots, and a host reached by ssh only samples', () => {
    const text = 'sampling: {slots: 16}\nhosts: [{name: here}, {name: gpu, ssh: me@gpu}]';
    const { config } = loadConfig(text, { file: 'lab.yaml' });
    expect(config.sampling.slice).toBe(16);
    expect(config.hosts[1]).toMatchObject({ roles: ['worker'], workers: 1 });
  });

  it('a reward of the table keeps what the file leaves out, a new one needs a weight', () => {
    const text = 'rewards:\n  progress: {cap: 1}\n  speed: {weight: 0.5}\n';
    const { rewards } = loadConfig(text, { file: 'lab.yaml' }).config;
    expect(rewards['progress']).toEqual({ weight: 0.04, cap: 1 });
    expect(rewards['speed']).toEqual({ weight: 0.5, cap: null });
    expect(Object.keys(rewards)).toHaveLength(8);
  });

  it('every key is explained in docs/CONFIG.md', () => {
    const guide = readFileSync(join(import.meta.dirname, '../../docs/CONFIG.md'), 'utf8');
    const { config } = loadConfig(null, { file: 'lab.yaml' });
    const text = 'policy: {kind: features, features: 4}\nschedule: {lr: {points: [[0, 0.001]]}}';
    const other = loadConfig(text, { file: 'lab.yaml' }).config;
    const keys = [...leafPaths(config), ...leafPaths(other)].map((path) => String(path.at(-1)));
    expect(keys.length).toBeGreaterThan(50);
    expect(keys.filter((key) => !/^\d+$/u.test(key) && !guide.includes(`\`${key}\``))).toEqual([]);
  });
});

describe('origins', () => {
  const text = 'seed: 3\nsampling:\n  slots: 64\nhosts:\n  - name: a\n    workers: 2\n';
  const { config, origins } = loadConfig(text, {
    file: 'lab.yaml',
    overrides: [parseOverride('clip=0.1'), parseOverride('sampling.slots=32')],
  });

  it('tell line, command line and default apart', () => {
    expect(config.sampling.slots).toBe(32);
    expect(Object.fromEntries(origins)).toMatchObject({
      seed: 'lab.yaml:1',
      'sampling.slots': 'command line',
      'knobs.clip': 'command line',
      'knobs.kl': 'default',
      'hosts.0.name': 'lab.yaml:5',
      'hosts.0.workers': 'lab.yaml:6',
      'hosts.0.roles': 'default',
    });
  });

  it('stand behind each value of the effective config', () => {
    const lines = formatEffective(config, origins).split('\n');
    expect(lines).toContain('seed: 3 # lab.yaml:1');
    expect(lines).toContain('  slots: 32 # command line');
    expect(lines).toContain('    roles: [ worker, trainer ] # default');
  });
});

it('the effective config loads again to the same config', () => {
  const options = fc.dictionary(fc.stringMatching(/^[a-z#: '"\n-]{0,8}$/u), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(
      options,
      fc.integer({ min: 2, max: 500 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (env, slots, clip) => {
        const source = JSON.stringify({ env: { options: env }, sampling: { slots }, knobs: { clip } });
        const { config, origins } = loadConfig(source, { file: 'lab.yaml' });
        expect(loadConfig(formatEffective(config, origins), { file: 'config.yaml' }).config).toEqual(config);
      },
    ),
    { numRuns: 100 },
  );
});

it('whatever the text, it is a config or a LabError', () => {
  const words = ['a', 'seed', ':', ' ', '\n', '- ', '{', '}', '[', '1', '*a', '&a', '!x', '"', '#', '<<'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 20 }), (pieces) => {
      expect(['accepted', 'config-invalid']).toContain(outcomeOf(pieces.join('')));
    }),
    { numRuns: 500 },
  );
});

function outcomeOf(text: string): string {
  try {
    loadConfig(text, { file: 'lab.yaml' });
    return 'accepted';
  } catch (thrown) {
    return thrown instanceof LabError ? thrown.code : String(thrown);
  }
}

describe('refusals name file and line, key, the value got and what would be right', () => {
  it.each([
    ['sampling:\n  slotz: 1', 'lab.yaml:2: sampling.slotz: unknown key; did you mean "slots"?'],
    ['slots: 12', 'lab.yaml:1: slots: unknown key; there is one at sampling.slots'],
    [
      'trainer: {xyz: 1}',
      'lab.yaml:1: trainer.xyz: unknown key; known here: threads, providers, allowFallback, gamma, lambda,',
    ],
    [
      'hosts:\n  - name: a\n    worker: 2',
      'lab.yaml:3: hosts.0.worker: unknown key; did you mean "workers"?',
    ],
    [
      'policy: {kind: feature}',
      'lab.yaml:1: policy.kind: got "feature", wanted text or features; did you mean "features"?',
    ],
    ['policy: {kind: features}', 'lab.yaml:1: policy.features: got nothing, wanted a number'],
    [
      'policy: {kind: features, features: 4, tokens: 3}',
      'lab.yaml:1: policy.tokens: unknown key; known here: kind, features, window, network,',
    ],
    ['schedule: {lrr: {points: [[0, 0.1]]}}', 'lab.yaml:1: schedule.lrr: unknown key; did you mean "lr"?'],
    [
      'schedule: {lr: {points: [[0, 1]]}}',
      'lab.yaml:1: schedule.lr.points.0: 1 is out of range: lr takes 0 to 0.1',
    ],
    [
      'schedule: {lr: {points: [[5, 0.1], [5, 0.02]]}}',
      'lab.yaml:1: schedule.lr.points.1: is at 5, not after the point before it, 5',
    ],
    ['trainer: {dualClip: 0.5}', 'lab.yaml:1: trainer.dualClip: wanted 0 (off) or more than 1'],
    [
      'sampling: {providers: [cdua]}',
      'lab.yaml:1: sampling.providers.0: got "cdua", wanted cpu or cuda or webgpu or tensorrt or coreml or dml; did you mean "cuda"?',
    ],
    ['trainer: {providers: []}', 'lab.yaml:1: trainer.providers: got [], wanted 1 items or more'],
    ['sampling: {slots: many}', 'lab.yaml:1: sampling.slots: got "many", wanted a number'],
    ['sampling: {slots: 1.5}', 'lab.yaml:1: sampling.slots: got 1.5, wanted a whole number'],
    ['sampling: {slots: 0}', 'lab.yaml:1: sampling.slots: got 0, wanted 1 or more'],
    ['seed: .nan', 'lab.yaml:1: seed: got NaN, wanted a number'],
    ['sampling:', 'lab.yaml:1: sampling: got nothing, wanted keys and values'],
    ['knobs: {clip: 3}', 'lab.yaml:1: knobs.clip: got 3, wanted 1 or less'],
    ['stop: {minutes: 0}', 'lab.yaml:1: stop.minutes: got 0, wanted more than 0'],
    ['name: a b', 'lab.yaml:1: name: got "a b", wanted letters, digits, "-" and "_", 40 at most'],
    [
      'rewards: {progres: {weight: 1}}',
      'lab.yaml:1: rewards.progres: is not a reward component; did you mean "progress"?',
    ],
    [
      'rewards: {mine: {cap: 1}}',
      'lab.yaml:1: rewards.mine: is not one of success, progress, repeat, tool_switch, type_switch, wrong_submit, unread_submit; a component of your own needs a weight',
    ],
    [
      'rewards: {Mine: {weight: 1}}',
      'lab.yaml:1: rewards.Mine: a name takes lower-case letters, digits and "_"',
    ],
    [
      'hosts: [{name: a, roles: [wroker]}]',
      'lab.yaml:1: hosts.0.roles.0: got "wroker", wanted worker or trainer; did you mean "worker"?',
    ],
    ['hosts: []', 'lab.yaml:1: hosts: got [], wanted 1 items or more'],
    [
      'hosts: [{name: a, ssh: -oProxyCommand=x}]',
      'lab.yaml:1: hosts.0.ssh: got "-oProxyCommand=x", wanted a target that ssh knows, as in "user@host"',
    ],
    ['__proto__: {a: 1}', 'lab.yaml:1: __proto__: unknown key; known here: '],
  ])('%j', (text, message) => {
    const [code, first] = refused(text);
    expect(code).toBe('config-invalid');
    expect(first).toContain(message);
  });

  it.each([
    ['seed: 1\nseed: 2', 'lab.yaml:2:1: not valid YAML'],
    ['seed: [1', 'lab.yaml:1:'],
    ['seed: !foo 1', 'lab.yaml:1:7: not valid YAML'],
    ['- 1', 'lab.yaml:1: the file holds a list'],
    ['just text', 'lab.yaml:1: the file holds "just text"'],
  ])('%j is not a config at all', (text, message) => {
    expect(refused(text)[1]).toContain(message);
  });

  it('aliases cannot grow a small file into a huge one', () => {
    const rows = Array.from({ length: 9 }, (_, row) => {
      const items = row === 0 ? 'x' : Array.from({ length: 9 }, () => `*a${row - 1}`).join(', ');
      return `    r${row}: &a${row} [${items}]`;
    });
    expect(refused(`env:\n  options:\n${rows.join('\n')}`)[1]).toContain('too many aliases');
  });

  it('all problems are told at once, up to a bound', () => {
    expect(refused('sampling: {slots: 0, maxSteps: x}')).toHaveLength(3);
    const many = Array.from({ length: 20 }, (_, index) => `key${index}: 1`).join('\n');
    expect(refused(many).at(-1)).toBe('and 12 more');
  });

  it('an override is refused as such, whatever the file says', () => {
    expect(refused('sampling: {slots: 4}', ['sampling.slots=none'])[1]).toBe(
      'command line: sampling.slots: got "none", wanted a number',
    );
    expect(refused('', ['nonsense=1'])[1]).toContain('command line: nonsense: unknown key');
  });
});

describe('combinations that cannot work are refused', () => {
  it.each([
    [
      'sampling: {stepTimeoutMs: 5000, episodeTimeoutMs: 5000}',
      'sampling.stepTimeoutMs: 5000 must be less than sampling.episodeTimeoutMs, 5000',
    ],
    [
      'sampling: {slots: 2}\nhosts: [{name: a, workers: 4}]',
      'sampling.slots: 2 is less than the 4 workers of all hosts',
    ],
    ['sampling: {slots: 8, slice: 9}', 'sampling.slice: 9 is more than sampling.slots, 8'],
    [
      'sampling: {slots: 8, batch: {minRows: 9}}',
      'sampling.batch.minRows: 9 is more than sampling.slice, 8: no call has so many',
    ],
    [
      'sampling: {batch: {minWindowMs: 5, maxWindowMs: 4}}',
      'sampling.batch.minWindowMs: 5 is more than sampling.batch.maxWindowMs, 4',
    ],
    [
      'sampling: {batchSteps: 600, maxSteps: 700}',
      'sampling.batchSteps: 600 is less than sampling.maxSteps, 700',
    ],
    ['knobs: {minibatch: 9000}', 'knobs.minibatch: 9000 is more than sampling.batchSteps, 8192'],
    ['knobs: {kl_limit: 0.01}', 'knobs.kl_limit: 0.01 is less than knobs.kl_target, 0.02'],
    [
      'policy: {sentences: 2, taskSentences: 2}',
      'policy.taskSentences: 2 must be less than policy.sentences, 2',
    ],
    ['hosts: [{name: a}, {name: a, roles: [worker]}]', 'hosts.1.name: "a" is already the name of hosts.0'],
    ['hosts: [{name: a}, {name: b}]', 'hosts: 2 has the role trainer; wanted exactly one'],
    ['hosts: [{name: a, roles: [worker]}]', 'hosts: none has the role trainer; wanted exactly one'],
    ['hosts: [{name: a, roles: [trainer]}]', 'hosts: none has the role worker; wanted one at least'],
    [
      'hosts: [{name: a, roles: [trainer], workers: 1}, {name: b, roles: [worker]}]',
      'hosts.0.workers: 1, but the roles do not say worker',
    ],
    ['hosts: [{name: a, workers: 0}]', 'hosts.0.workers: 0, but the roles say worker'],
    ['hosts: [{name: a, sshOptions: ["-p", "2"]}]', 'hosts.0.sshOptions: given, but ssh is not'],
    ['sampling: {queueMiB: 1}', 'sampling.queueMiB: 1 does not hold one batch of 8192 steps: wanted'],
    [
      'sampling: {unackedMiB: 1, maxSteps: 5000}',
      'sampling.unackedMiB: 1 does not hold one episode of 5000 steps: wanted',
    ],
    ['sampling: {slots: 100000}\nhosts: [{name: a, workers: 64}]', 'this machine has 8192'],
  ])('%j', (text, message) => {
    const [code, ...lines] = refused(text);
    expect(code).toBe('config-invalid');
    expect(lines.join('\n')).toContain(message);
  });
});

describe('overrides', () => {
  it('name a knob or any key, and their values are YAML', () => {
    expect(parseOverride('clip=0.1')).toEqual({ path: ['knobs', 'clip'], value: 0.1 });
    expect(parseOverride('stop.minutes=null')).toEqual({ path: ['stop', 'minutes'], value: null });
    expect(parseOverride('hosts.0.workers=2')).toEqual({ path: ['hosts', 0, 'workers'], value: 2 });
  });

  it('reach into lists, the default ones too', () => {
    const options = { file: 'lab.yaml', overrides: [parseOverride('hosts.0.workers=2')] };
    expect(loadConfig('', options).config.hosts[0]).toMatchObject({ name: 'local', workers: 2 });
    const given = loadConfig('hosts: [{name: a}]', options).config.hosts[0];
    expect(given).toMatchObject({ name: 'a', workers: 2 });
  });

  it('that name nothing are refused', () => {
    expect(() => parseOverride('clip')).toThrow('"clip" is not an assignment; wanted key=value');
    expect(() => parseOverride('=1')).toThrow('is not an assignment');
    expect(refused('', ['hosts.3.workers=2'])[1]).toContain('there is no hosts.3');
    expect(refused('seed: 1', ['seed.x=2'])[1]).toContain('there is no seed.x');
  });
});
