import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { HostSpec } from '../../src/domain/host.ts';
import { WorkerDesk } from '../../src/run/worker-desk.ts';
import { childOf } from '../views/fake-run.ts';

const HOSTS = ['local', 'big', 'spare'].map(
  (name): HostSpec => ({ name, ssh: null, sshOptions: [], roles: ['worker'], workers: 1, command: null }),
);

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

/** A pool of places without processes, and what the desk does with them. */
class Pool {
  places = [
    { worker: 0, host: 'local' },
    { worker: 1, host: 'local' },
    { worker: 2, host: 'big' },
  ];
  readonly did: string[] = [];
  readonly names = new Map(this.places.map(({ worker, host }) => [worker, `worker ${worker}@${host}`]));

  name(worker: number): string {
    return this.names.get(worker) ?? '';
  }

  add({ name }: HostSpec, slots: number): number {
    const worker = this.names.size;
    this.places.push({ worker, host: name });
    this.names.set(worker, `worker ${worker}@${name}`);
    this.did.push(`add ${worker} ${slots}`);
    return worker;
  }

  startWorker(worker: number): void {
    this.did.push(`start ${worker}`);
  }

  setResting(worker: number, resting: boolean): void {
    this.did.push(`${resting ? 'rest' : 'work'} ${worker}`);
  }

  restart(worker: number, reason: string, isIdle: boolean): void {
    this.did.push(`restart ${worker} ${isIdle ? 'idle' : 'now'}: ${reason}`);
  }

  async remove(worker: number): Promise<void> {
    this.did.push(`remove ${worker}`);
    this.places = this.places.filter((place) => place.worker !== worker);
  }
}

class Bench {
  readonly root: string;
  readonly pool = new Pool();
  readonly events: string[] = [];
  readonly inFlight: Record<number, number> = {};
  readonly desk: WorkerDesk;

  constructor(root = mkdtempSync(join(tmpdir(), 'lab-desk-'))) {
    this.root = root;
    if (!directories.includes(root)) directories.push(root);
    this.desk = new WorkerDesk({
      workers: this.pool,
      dispatcher: {
        inFlightAt: (worker) => this.inFlight[worker] ?? 0,
        setCatalog: () => {
          throw new Error('another version');
        },
      },
      life: {
        fail: (kind, subject, reason) => this.events.push(`the run fails: ${kind} ${subject}: ${reason}`),
        refuseEnding: () => undefined,
      },
      journal: {
        command: (who, kind, subject, message) => this.events.push(`${who}: ${kind} ${subject}: ${message}`),
        event: (level, kind, subject, message) => this.events.push(`${level} ${kind} ${subject}: ${message}`),
        log: () => undefined,
      },
      paths: { root },
      hosts: HOSTS,
      slots: 48,
    });
  }

  act(action: 'drain' | 'undrain' | 'restart' | 'remove', target: string, now = false): string[] {
    return this.desk.act('ann@x', { action, targets: [target], now });
  }

  drainOf(index: number): unknown {
    return this.desk.withDrain(childOf({ index })).drain;
  }
}

describe('draining', () => {
  it('gives no new episodes, tells when the last is in, and undrain takes it back', () => {
    const bench = new Bench();
    bench.inFlight[1] = 7;
    expect(bench.act('drain', '1')).toEqual(['worker 1@local']);
    expect(bench.drainOf(1)).toEqual({ end: 'rest', left: 7 });
    expect(bench.drainOf(0)).toBeNull();
    expect(bench.events).toEqual(['ann@x: drain worker 1@local: gets no new episodes (7 in flight)']);
    bench.inFlight[1] = 0;
    bench.desk.tick(Date.now());
    bench.desk.tick(Date.now());
    expect(bench.events.slice(1)).toEqual([
      expect.stringMatching(/^info drained worker 1@local: nothing is/u),
    ]);
    bench.act('undrain', 'worker 1@local');
    expect(bench.drainOf(1)).toBeNull();
    expect(bench.pool.did).toEqual(['rest 1', 'work 1']);
  });

  it('of a host is that of all its workers', () => {
    const bench = new Bench();
    expect(bench.act('drain', 'local')).toEqual(['worker 0@local', 'worker 1@local']);
    expect(bench.pool.did).toEqual(['rest 0', 'rest 1']);
  });

  it('refuses a target that there is none of, and names those there are', () => {
    const bench = new Bench();
    expect(() => bench.act('drain', 'bigg')).toThrow('"bigg" is not a worker or host with workers');
    expect(() => bench.desk.add('ann@x', 'bigg', null)).toThrow('"bigg" is not a host of this run');
    expect(bench.pool.did).toEqual([]);
  });
});

describe('a restart', () => {
  it('waits for the last episode; a worker that was drained is so afterwards', () => {
    const bench = new Bench();
    bench.inFlight[0] = 1;
    bench.act('restart', '0');
    expect(bench.pool.did).toEqual(['rest 0']);
    bench.inFlight[0] = 0;
    bench.desk.tick(Date.now());
    expect(bench.pool.did.slice(1)).toEqual(['work 0', 'restart 0 idle: was restarted by ann@x']);
    expect(bench.drainOf(0)).toBeNull();

    bench.act('drain', '2');
    bench.act('restart', '2');
    expect(bench.pool.did.slice(3)).toEqual([
      'rest 2',
      'rest 2',
      'rest 2',
      'restart 2 idle: was restarted by ann@x',
    ]);
    expect(bench.drainOf(2)).toEqual({ end: 'rest', left: 0 });
  });

  it('at once does not wait', () => {
    const bench = new Bench();
    bench.inFlight[0] = 9;
    bench.act('restart', '0', true);
    expect(bench.pool.did).toEqual(['work 0', 'restart 0 now: was restarted by ann@x']);
  });
});

describe('workers come and go', () => {
  it('one is added with the usual slots, or as many as are asked for', () => {
    const bench = new Bench();
    expect(bench.desk.add('ann@x', 'spare', null)).toBe('worker 3@spare');
    expect(bench.desk.add('ann@x', 'big', 5)).toBe('worker 4@big');
    expect(bench.pool.did).toEqual(['add 3 16', 'start 3', 'add 4 5', 'start 4']);
  });

  it('the last one stays', () => {
    const bench = new Bench();
    bench.act('remove', 'local', true);
    expect(bench.pool.did).toEqual(['remove 0', 'remove 1']);
    expect(() => bench.act('remove', 'big')).toThrow('a run keeps one worker at least');
  });

  it('the last one ends the run where it can never work, added or not: none would be left', () => {
    const bench = new Bench();
    bench.desk.add('ann@x', 'spare', null);
    bench.act('remove', 'local', true);
    bench.act('remove', 'big', true);
    bench.desk.refuse(3, 'worker-refused', 'no such provider');
    expect(bench.events.at(-1)).toBe('the run fails: worker-refused worker 3@spare: no such provider');
    expect(bench.pool.did.at(-1)).toBe('remove 2');
  });

  it('an added one that can never work leaves; one of the config is the run’s matter', () => {
    const bench = new Bench();
    bench.desk.add('ann@x', 'spare', null);
    bench.desk.refuse(3, 'worker-refused', 'no such provider');
    expect(bench.pool.did.at(-1)).toBe('remove 3');
    bench.desk.refuse(0, 'worker-refused', 'no such provider');
    const catalog = { env: 'x', version: '1', families: [], maxSteps: 1 };
    expect(bench.desk.admit(1, catalog)).toBe(false);
    expect(bench.events.slice(1)).toEqual([
      'error worker-refused worker 3@spare: no such provider; it leaves the run',
      'the run fails: worker-refused worker 0@local: no such provider',
      'the run fails: workers-disagree run: another version',
    ]);
  });
});

describe('the next attempt of the run', () => {
  it('has the workers that were added, not those that left, and drained ones drained', () => {
    const first = new Bench();
    first.desk.add('ann@x', 'spare', 5);
    first.act('remove', '0');
    first.act('drain', '3');
    const next = new Bench(first.root);
    expect(next.pool.did).toEqual(['add 3 5', 'remove 0', 'rest 3']);
    expect(next.drainOf(3)).toEqual({ end: 'rest', left: 0 });
    expect(next.events).toEqual([]);
    next.act('undrain', '3');
    expect(new Bench(first.root).pool.did).toEqual(['add 3 5', 'remove 0']);
  });

  it('forgets it where the config has other workers, or the file is damaged, and says so', () => {
    const first = new Bench();
    first.act('drain', '0');
    const kept = join(first.root, 'workers.json');
    writeFileSync(kept, JSON.stringify({ configured: 9, added: [], removed: [1], drained: [] }));
    const other = new Bench(first.root);
    expect(other.pool.did).toEqual([]);
    expect(other.events).toEqual([expect.stringContaining('the config has other workers or hosts')]);
    for (const changes of [
      { added: [], removed: [0, 1, 2], drained: [] },
      { added: [], removed: [], drained: [3] },
    ]) {
      writeFileSync(kept, JSON.stringify({ configured: 3, ...changes }));
      const unsound = new Bench(first.root);
      expect(unsound.pool.did).toEqual([]);
      expect(unsound.events).toEqual([expect.stringContaining('names workers that there are not')]);
    }
    writeFileSync(kept, '{');
    const damaged = new Bench(first.root);
    expect(damaged.pool.did).toEqual([]);
    expect(damaged.events).toEqual([expect.stringContaining('workers.json is damaged')]);
  });
});
