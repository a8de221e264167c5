import { episodeId } from '../../src/domain/id.ts';
import { initialKnobs, type KnobName, type KnobValues } from '../../src/domain/knob.ts';
import { createRandom } from '../../src/domain/random.ts';
import type { KnobChange } from '../../src/domain/run.ts';
import { type Attachments, bytesOf } from '../../src/protocol/frame.ts';
import {
  type FromTrainer,
  type ToTrainer,
  type TrainerSettings,
  trainerSettingsSchema,
} from '../../src/protocol/trainer.ts';
import type { TrainerSnapshot } from '../../src/run/trainer-link.ts';
import { TrainerProcess } from '../../trainer/ppo/trainer-process.ts';
import { randomRows, SMALL, SMALL_LAYOUT } from '../trainer/small-policy.ts';

type Of<Type extends FromTrainer['type']> = Extract<FromTrainer, { type: Type }>;

/** Knobs with which a batch of `update` is four minibatches a pass. */
const KNOBS: KnobValues = { ...initialKnobs(), minibatch: 16 };

/** The trainer without its process around it: told and heard as the run process does, but in turn. */
export class TrainerBench {
  readonly received: FromTrainer[] = [];
  /** What came with the newest state. */
  snapshot: TrainerSnapshot | null = null;
  readonly #process: TrainerProcess;
  #heard: () => void = () => undefined;

  private constructor() {
    this.#process = new TrainerProcess({
      send: (message, attachments) => this.#hear(message, attachments ?? {}),
      warn: () => undefined,
      now: () => 1,
    });
  }

  /** Started, from its snapshot if there is one. */
  static async start(
    knobs: Partial<KnobValues> = {},
    settings: Partial<TrainerSettings> = {},
    from: TrainerSnapshot | null = null,
  ): Promise<TrainerBench> {
    const bench = new TrainerBench();
    await bench.tell(
      {
        type: 'start',
        settings: trainerSettingsSchema.parse({ seed: 4, policy: SMALL, guard: {}, threads: 1, ...settings }),
        knobs: { ...KNOBS, ...knobs },
        state: from?.state ?? null,
        iteration: (from?.state.policyVersion ?? 0) + 1,
      },
      from === null ? {} : { weights: from.weights, optimiser: from.optimiser },
    );
    return bench;
  }

  async tell(message: ToTrainer, attachments: Attachments = {}): Promise<void> {
    await this.#process.handle(message, attachments);
  }

  /** All messages of a type so far. */
  all<Type extends FromTrainer['type']>(type: Type): Of<Type>[] {
    return this.received.filter((message): message is Of<Type> => message.type === type);
  }

  /** The newest message of a type. */
  last<Type extends FromTrainer['type']>(type: Type): Of<Type> {
    const found = this.all(type).at(-1);
    if (found === undefined)
      throw new Error(`no "${type}" among ${this.received.map((one) => one.type).join(', ')}`);
    return found;
  }

  /** Waits for the n-th message of a type, from 1. */
  async until(type: FromTrainer['type'], n: number): Promise<void> {
    while (this.all(type).length < n) {
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Turns one knob; returns what the trainer says of it, null when it waits for the next minibatch. */
  async set(knob: KnobName, value: number, who = 'ann@host', undo = false): Promise<KnobChange | null> {
    const before = this.all('knob').length;
    await this.tell({ type: 'set', knob, value, who, undo });
    return this.all('knob')[before]?.change ?? null;
  }

  /** Eight episodes of eight steps, functions of the seed. */
  async samples(seed: number): Promise<void> {
    const random = createRandom(seed);
    const { size, bare } = SMALL_LAYOUT;
    for (let n = 1; n <= 8; n++) {
      const rows = randomRows(SMALL, 8, random);
      for (let step = 0; step < 8; step++) rows.mask[step * size + bare.submit] = 1;
      await this.tell(
        {
          type: 'samples',
          samples: { id: episodeId(n), steps: 8, terminated: n % 2 === 0, bootstrapValue: 0.3 },
        },
        {
          tokens: bytesOf(Uint16Array.from(rows.tokens)),
          candidates: bytesOf(Uint16Array.from(rows.candidates)),
          mask: bytesOf(Uint8Array.from(rows.mask)),
          actions: bytesOf(
            Uint16Array.from({ length: 8 }, (_, step) => (step % 2 === 0 ? bare.noop : bare.submit)),
          ),
          logProbabilities: bytesOf(uniform(rows.mask)),
          values: bytesOf(new Float32Array(8)),
          rewards: bytesOf(Float32Array.from({ length: 8 }, () => random.next())),
          versions: bytesOf(new Uint32Array(8)),
        },
      );
    }
  }

  /** A whole update on the samples of a seed. */
  async update(iteration: number, seed: number): Promise<void> {
    await this.samples(seed);
    await this.tell({ type: 'update', iteration });
  }

  #hear(message: FromTrainer, { weights, optimiser }: Attachments): void {
    this.received.push(message);
    if (
      (message.type === 'ready' || message.type === 'updated') &&
      weights !== undefined &&
      optimiser !== undefined
    ) {
      this.snapshot = {
        state: message.state,
        weights: Uint8Array.from(weights),
        optimiser: Uint8Array.from(optimiser),
      };
    }
    this.#heard();
  }
}

/** Log-probabilities of a policy that takes all that is legal alike. */
function uniform(mask: Float32Array): Float32Array {
  const { size } = SMALL_LAYOUT;
  return mask.map((legal, at) => {
    const row = Math.floor(at / size) * size;
    return legal === 1 ? -Math.log(mask.subarray(row, row + size).reduce((sum, one) => sum + one, 0)) : -50;
  });
}
