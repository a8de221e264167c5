import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { episodeId } from '../../src/domain/id.ts';
import { initialKnobs, type KnobValues } from '../../src/domain/knob.ts';
import { createRandom } from '../../src/domain/random.ts';
import { type Connection, connect } from '../../src/protocol/connection.ts';
import { type Attachments, bytesOf } from '../../src/protocol/frame.ts';
import {
  type FromTrainer,
  fromTrainerSchema,
  type ToTrainer,
  type TrainerSettings,
  type TrainerState,
  trainerSettingsSchema,
} from '../../src/protocol/trainer.ts';
import { randomRows, SMALL, SMALL_LAYOUT } from './small-policy.ts';

type Of<Type extends FromTrainer['type']> = Extract<FromTrainer, { type: Type }>;
interface Received {
  message: FromTrainer;
  attachments: Attachments;
}

function isOf<Type extends FromTrainer['type']>(message: FromTrainer, type: Type): message is Of<Type> {
  return message.type === type;
}

/** The trainer as a real process, spoken to as the run process does. */
class Trainer {
  readonly received: Received[] = [];
  readonly child: ChildProcess;
  readonly connection: Connection<ToTrainer>;
  stderr = '';
  #wake: () => void = () => undefined;

  constructor() {
    this.child = spawn(process.execPath, ['--import', 'tsx', 'trainer/main.ts'], { stdio: 'pipe' });
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.connection = connect<FromTrainer, ToTrainer>({
      input: this.child.stdout!,
      output: this.child.stdin!,
      schema: fromTrainerSchema,
      onMessage: (message, attachments) => {
        const copies = Object.entries(attachments).map(([name, bytes]) => [name, Uint8Array.from(bytes)]);
        this.received.push({ message, attachments: Object.fromEntries(copies) });
        this.#wake();
      },
      onClose: () => this.#wake(),
    });
  }

  /** The n-th message of a type, from 0, as soon as it is there. */
  async get<Type extends FromTrainer['type']>(
    type: Type,
    n = 0,
  ): Promise<{ message: Of<Type>; attachments: Attachments }> {
    for (;;) {
      const found = this.received.flatMap(({ message, attachments }) =>
        isOf(message, type) ? [{ message, attachments }] : [],
      )[n];
      if (found !== undefined) return found;
      if (this.child.exitCode !== null)
        throw new Error(`exit ${this.child.exitCode} before "${type}": ${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  start(
    knobs: Partial<KnobValues> = {},
    from?: { state: TrainerState; attachments: Attachments },
    options: Partial<TrainerSettings> = {},
  ): void {
    const settings = trainerSettingsSchema.parse({
      seed: 4,
      policy: SMALL,
      guard: {},
      threads: 2,
      ...options,
    });
    this.connection.send(
      {
        type: 'start',
        settings,
        knobs: { ...initialKnobs(), minibatch: 16, ...knobs },
        state: from?.state ?? null,
        iteration: (from?.state.policyVersion ?? 0) + 1,
      },
      from?.attachments,
    );
  }

  /** `count` episodes of 8 steps, functions of the seed. */
  sendSamples(count: number, seed: number, reward = 1): void {
    const random = createRandom(seed);
    const { size } = SMALL_LAYOUT;
    for (let n = 1; n <= count; n++) {
      const rows = randomRows(SMALL, 8, random);
      this.connection.send(
        {
          type: 'samples',
          samples: { id: episodeId(n), steps: 8, terminated: n % 2 === 0, bootstrapValue: 0.3 },
        },
        {
          tokens: bytesOf(Uint16Array.from(rows.tokens)),
          candidates: bytesOf(Uint16Array.from(rows.candidates)),
          mask: bytesOf(Uint8Array.from(rows.mask)),
          actions: bytesOf(new Uint16Array(8).fill(SMALL_LAYOUT.bare.noop)),
          logProbabilities: bytesOf(rows.mask.map((legal) => (legal === 1 ? Math.log(1 / size) : -50))),
          values: bytesOf(new Float32Array(8)),
          rewards: bytesOf(Float32Array.from({ length: 8 }, () => reward * random.next())),
          versions: bytesOf(new Uint32Array(8)),
        },
      );
    }
  }

  set(knob: keyof KnobValues, value: number): void {
    this.connection.send({ type: 'set', knob, value, who: 'ann@host', undo: false });
  }

  preview(id: number, knobs: Partial<KnobValues>): void {
    this.connection.send({ type: 'preview', id, knobs });
  }

  async exited(): Promise<number | null> {
    if (this.child.exitCode === null) await once(this.child, 'exit');
    return this.child.exitCode;
  }
}

const started: Trainer[] = [];
function launch(): Trainer {
  const trainer = new Trainer();
  started.push(trainer);
  return trainer;
}
afterEach(() => {
  for (const { child } of started.splice(0)) child.kill('SIGKILL');
});

describe('the trainer process', () => {
  test('goes on from its state to the very same weights', async () => {
    const options = { rewardWindow: 12, advantages: 'minibatch', valueClip: 0.2 } as const;
    const first = launch();
    first.start({}, undefined, options);
    const ready = await first.get('ready');
    expect(ready.message.state).toMatchObject({ policyVersion: 0, adamStep: 0 });
    expect(ready.attachments['optimiser']!.byteLength).toBe(2 * ready.attachments['weights']!.byteLength);
    first.sendSamples(8, 1);
    first.connection.send({ type: 'update', iteration: 1 });
    const middle = await first.get('updated');
    expect(middle.message).toMatchObject({ iteration: 1, state: { policyVersion: 1, adamStep: 12 } });
    expect(middle.message.metrics.minibatches).toBe(12);
    expect(middle.message.state.rewardWindow).toHaveLength(8);
    expect(middle.attachments['weights']).not.toEqual(ready.attachments['weights']);
    first.sendSamples(8, 2);
    first.connection.send({ type: 'update', iteration: 2 });
    const last = await first.get('updated', 1);

    const second = launch();
    second.start({}, { state: middle.message.state, attachments: middle.attachments }, options);
    const resumed = await second.get('ready');
    expect(resumed.attachments).toEqual(middle.attachments);
    second.sendSamples(8, 2);
    second.connection.send({ type: 'update', iteration: 2 });
    const same = await second.get('updated');
    expect(same.attachments).toEqual(last.attachments);
    expect(same.message.state).toEqual(last.message.state);
    expect(last.message.state.rewardWindow).toHaveLength(12);
    expect(last.message.metrics.staleness).toBe(1);
    first.connection.send({ type: 'stop' });
    expect(await first.exited()).toBe(0);
    second.connection.close();
    expect(await second.exited()).toBe(0);
  });

  test('takes knobs at once while idle, and rests and goes on between minibatches', async () => {
    const trainer = launch();
    trainer.start({ epochs: 50 });
    await trainer.get('ready');
    trainer.set('clip', 0.3);
    const idle = await trainer.get('knob');
    expect(idle.message.change).toMatchObject({
      knob: 'clip',
      from: 0.2,
      to: 0.3,
      who: 'ann@host',
      iteration: 1,
      minibatch: 0,
    });
    trainer.sendSamples(8, 1);
    trainer.connection.send({ type: 'pause' });
    trainer.connection.send({ type: 'update', iteration: 7 });
    trainer.set('kl', 0.5);
    const resting = await trainer.get('knob', 1);
    expect(resting.message.change).toMatchObject({ knob: 'kl', iteration: 7, minibatch: 0 });
    trainer.connection.send({ type: 'resume' });
    await trainer.get('alive');
    trainer.set('epochs', 1);
    const during = await trainer.get('knob', 2);
    expect(during.message.change).toMatchObject({ knob: 'epochs', from: 50, to: 1, iteration: 7 });
    const { message } = await trainer.get('updated');
    expect(message.metrics.minibatches).toBeLessThan(200);
    expect(message.metrics.minibatches).toBeGreaterThanOrEqual(during.message.change.minibatch);
    expect(message.metrics.klCoefficient).toBe(0.5);
    expect(message.state.knobs).toMatchObject({ clip: 0.3, epochs: 1 });
  });

  test('drops an update that is not finite, and says so', async () => {
    const trainer = launch();
    trainer.start();
    await trainer.get('ready');
    trainer.sendSamples(2, 1, Number.NaN);
    trainer.connection.send({ type: 'update', iteration: 1 });
    const { message } = await trainer.get('rejected');
    expect(message).toMatchObject({ iteration: 1, reason: 'rewards or values are not finite', spot: null });
    trainer.sendSamples(2, 1);
    trainer.connection.send({ type: 'update', iteration: 2 });
    expect((await trainer.get('updated')).message.state.policyVersion).toBe(1);
  });

  test('ends when asked in the middle of an update, paused or not', async () => {
    const trainer = launch();
    trainer.start();
    await trainer.get('ready');
    trainer.sendSamples(2, 1);
    trainer.connection.send({ type: 'pause' });
    trainer.connection.send({ type: 'update', iteration: 1 });
    trainer.connection.send({ type: 'stop' });
    expect(await trainer.exited()).toBe(0);
  });

  test('refuses work before it is started, and samples of another shape', async () => {
    const early = launch();
    early.connection.send({ type: 'update', iteration: 1 });
    expect(await early.exited()).toBe(1);
    expect(early.stderr).toContain('the trainer was given work before "start"');
    const trainer = launch();
    trainer.start();
    await trainer.get('ready');
    trainer.connection.send({
      type: 'samples',
      samples: { id: episodeId(1), steps: 1, terminated: true, bootstrapValue: null },
    });
    expect(await trainer.exited()).toBe(1);
    expect(trainer.stderr).toContain('samples of e1: "tokens" has no bytes');
  });
});

describe('a preview', () => {
  test('without an update to tell it from is refused, with the reason', async () => {
    const trainer = launch();
    trainer.start();
    await trainer.get('ready');
    trainer.preview(3, { clip: 0.1 });
    expect((await trainer.get('preview')).message).toEqual({
      type: 'preview',
      id: 3,
      preview: null,
      reason: 'no update was made yet since the trainer started',
    });
  });
});
