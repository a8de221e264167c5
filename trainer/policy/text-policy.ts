import {
  type ActionLayout,
  actionLayout,
  CANDIDATE_TOKENS,
  type TextPolicySpec,
} from '../../src/domain/policy-spec.ts';
import { ACTION_TYPES, ARGUMENT_TYPES } from '../../src/domain/space.ts';
import {
  createSession,
  joinEngines,
  type PassedOver,
  type Session,
  type SessionOptions,
  type SessionTensor,
  type Tensors,
} from '../session.ts';
import type { InferenceResult, Policy } from './inference.ts';
import { JointDistribution } from './joint-distribution.ts';
import { LineReadings } from './line-readings.ts';
import { LOWEST_LOG_PROBABILITY } from './network-parts.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import { initialWeights } from './parameters.ts';
import { ReadingPlan } from './reading-plan.ts';
import { RowMemory } from './row-memory.ts';
import { answerModel, keysModel, linesModel, readModel } from './text-models.ts';
import { weightFeeds } from './weight-feeds.ts';

/** Lines and candidates after which all are forgotten, in each: at 64 units 6 and 4 MiB of values. */
const MOST_LINES = 8192;
const MOST_CANDIDATES = 16_384;

/**
 * Products of matrices take rows by fours, and one to three that are left over by another kernel whose sums differ in the
 * last bit. With whole blocks, what is computed of a row does not depend on those beside it.
 */
const BLOCK_ROWS = 4;

const MODELS = { lines: linesModel, keys: keysModel, read: readModel, answer: answerModel } as const;
type ModelName = keyof typeof MODELS;

/** Arrays for so many rows of a call. */
interface Buffers {
  readonly rows: number;
  /** [rows, hidden], taken in turns: what a round reads and what it writes. */
  readonly states: readonly [Float32Array, Float32Array];
  /** [rows] */
  readonly lines: Int32Array;
  readonly types: Float32Array;
  readonly queries: Float32Array;
  readonly values: Float32Array;
}

/**
 * The text policy for a sampler, who asks about one observation of an episode after another. Of an observation it computes
 * what is new: lines and candidates that were not seen since the weights changed, and the GRU's steps over lines that were not
 * there before. What it answers is what the whole network says, whatever it remembers and whoever shares the call; one call
 * at a time.
 */
export class TextPolicy implements Policy {
  readonly provider: string;
  readonly fellBackFrom: readonly PassedOver[];
  readonly #spec: TextPolicySpec;
  readonly #layout: ActionLayout;
  readonly #sessions: Readonly<Record<ModelName, Session>>;
  readonly #lines: RowMemory;
  readonly #candidates: RowMemory;
  readonly #readings: LineReadings;
  readonly #plan: ReadingPlan;
  readonly #joint: JointDistribution;
  /** Those of the next call. */
  #next: Float32Array;
  /** Those that everything remembered was computed with, as each model's inputs; and a number for them. */
  #weights: Float32Array | null = null;
  #parameters: Readonly<Record<ModelName, Tensors>>;
  #generation = 0;
  #buffers: Buffers;

  private constructor(spec: TextPolicySpec, sessions: Readonly<Record<ModelName, Session>>) {
    const { provider, fellBackFrom } = joinEngines(Object.values(sessions));
    this.provider = provider;
    this.fellBackFrom = fellBackFrom;
    this.#spec = spec;
    this.#layout = actionLayout(spec);
    this.#sessions = sessions;
    this.#lines = new RowMemory({ row: spec.tokens, value: 3 * spec.hidden }, MOST_LINES);
    this.#candidates = new RowMemory({ row: CANDIDATE_TOKENS, value: spec.embedding }, MOST_CANDIDATES);
    this.#readings = new LineReadings(spec);
    this.#plan = new ReadingPlan(spec, this.#lines, this.#readings);
    this.#joint = new JointDistribution(this.#layout, spec.embedding);
    this.#next = initialWeights(spec, 0);
    this.#parameters = this.#feeds(this.#next);
    this.#buffers = createBuffers(spec, BLOCK_ROWS);
  }

  /** With the weights of seed 0. Throws as `createSession` does. */
  static async create(spec: TextPolicySpec, options: SessionOptions): Promise<TextPolicy> {
    return new TextPolicy(spec, {
      lines: await createSession(MODELS.lines(spec), options),
      keys: await createSession(MODELS.keys(spec), options),
      read: await createSession(MODELS.read(spec), options),
      answer: await createSession(MODELS.answer(spec), options),
    });
  }

  load(weights: Float32Array): void {
    // Checked now; taken over by the next call, since one may be under way.
    this.#feeds(weights);
    this.#next = weights;
  }

  async run(rows: number, observations: ObservationArrays, readers?: Int32Array): Promise<InferenceResult> {
    const {
      tokens = new Int32Array(0),
      candidates = new Int32Array(0),
      mask = new Float32Array(0),
    } = observations;
    const asked = readers?.length ?? rows;
    this.#begin(asked, readers);
    this.#plan.plan(tokens, asked, readers ?? null, this.#generation);
    const { slots } = this.#layout;
    this.#joint.list(mask, asked, (row, slot) =>
      this.#candidates.numberOf(candidates, (row * slots + slot) * CANDIDATE_TOKENS),
    );
    try {
      await this.#computeFresh(this.#lines, 'lines', this.#spec.tokens);
      await this.#computeFresh(this.#candidates, 'keys', CANDIDATE_TOKENS);
      await this.#read();
    } catch (thrown) {
      this.#plan.abandon();
      this.#lines.clear();
      this.#candidates.clear();
      throw thrown;
    }
    return this.#answers(mask, asked);
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#sessions).map(async (session) => await session.close()));
  }

  #begin(rows: number, readers: Int32Array | undefined): void {
    if (this.#weights !== this.#next) {
      this.#weights = this.#next;
      this.#parameters = this.#feeds(this.#next);
      this.#generation++;
      this.#lines.clear();
      this.#candidates.clear();
    }
    this.#lines.makeRoom();
    this.#candidates.makeRoom();
    if (readers !== undefined) {
      let last = -1;
      for (const reader of readers) if (reader > last) last = reader;
      this.#readings.makeRoom(last);
    }
    if (wholeBlocks(rows) > this.#buffers.rows) this.#buffers = createBuffers(this.#spec, wholeBlocks(rows));
  }

  /** Of each model, those of the parameters that it has as inputs. */
  #feeds(weights: Float32Array): Readonly<Record<ModelName, Tensors>> {
    const all = weightFeeds(this.#spec, weights);
    const of = ({ inputs }: Session): Tensors =>
      Object.fromEntries(Object.entries(all).filter(([name]) => inputs.includes(name)));
    const { lines, keys, read, answer } = this.#sessions;
    return { lines: of(lines), keys: of(keys), read: of(read), answer: of(answer) };
  }

  async #computeFresh(memory: RowMemory, model: 'lines' | 'keys', width: number): Promise<void> {
    if (memory.fresh === 0) return;
    const rows = wholeBlocks(memory.fresh);
    const pending = memory.pending(rows);
    const [input, output] = model === 'lines' ? ['tokens', 'projected'] : ['candidates', 'keys'];
    await this.#sessions[model].run(
      { ...this.#parameters[model], [input]: { dtype: 'i32', shape: [rows, width], data: pending.rows } },
      { [output]: floatTensor(pending.values, rows) },
    );
    memory.settle();
  }

  /** All rounds of the plan; what the heads say is then in the buffers, by place. */
  async #read(): Promise<void> {
    const { hidden } = this.#spec;
    const { lines, states, types, queries, values } = this.#buffers;
    const projected = this.#lines.values;
    const known = floatTensor(projected, projected.length / (3 * hidden));
    let [from, to] = states;
    for (let round = 0; round < this.#plan.rounds; round++) {
      const rows = wholeBlocks(this.#plan.begin(round, lines, from));
      const isLast = round + 1 === this.#plan.rounds;
      const model = isLast ? 'answer' : 'read';
      await this.#sessions[model].run(
        {
          ...this.#parameters[model],
          projected: known,
          line: { dtype: 'i32', shape: [rows], data: lines.subarray(0, rows) },
          state: floatTensor(from.subarray(0, rows * hidden), rows),
        },
        isLast
          ? {
              types: floatTensor(types.subarray(0, rows * ACTION_TYPES.length), rows),
              queries: floatTensor(queries.subarray(0, rows * this.#queryWidth), rows),
              value: { dtype: 'f32', shape: [rows], data: values.subarray(0, rows) },
            }
          : { next: floatTensor(to.subarray(0, rows * hidden), rows) },
      );
      [from, to] = [to, from];
    }
  }

  #answers(mask: Int32Array | Float32Array, rows: number): InferenceResult {
    const { types, queries, values } = this.#buffers;
    const scores = { types, queries, keys: this.#candidates.values };
    const logProbabilities = new Float32Array(rows * this.#layout.size).fill(LOWEST_LOG_PROBABILITY);
    const answered = new Float32Array(rows);
    for (let place = 0; place < rows; place++) {
      const row = this.#plan.rowAt(place);
      this.#joint.write(mask, row, scores, place, logProbabilities);
      answered[row] = values[place] ?? 0;
    }
    return { logProbabilities, values: answered };
  }

  get #queryWidth(): number {
    return ARGUMENT_TYPES.length * this.#spec.embedding;
  }
}

function createBuffers({ hidden, embedding }: TextPolicySpec, rows: number): Buffers {
  return {
    rows,
    states: [new Float32Array(rows * hidden), new Float32Array(rows * hidden)],
    lines: new Int32Array(rows),
    types: new Float32Array(rows * ACTION_TYPES.length),
    queries: new Float32Array(rows * ARGUMENT_TYPES.length * embedding),
    values: new Float32Array(rows),
  };
}

/** [rows, the rest] */
function floatTensor(data: Float32Array, rows: number): SessionTensor {
  return { dtype: 'f32', shape: [rows, data.length / rows], data };
}

function wholeBlocks(rows: number): number {
  return Math.ceil(rows / BLOCK_ROWS) * BLOCK_ROWS;
}
