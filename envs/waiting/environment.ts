import { z } from 'zod';
import { LabError } from '../../src/domain/error.ts';
import { createRandom, deriveSeed, type RandomStream } from '../../src/domain/random.ts';
import { type Action, type Candidate, formatAction, type Observation } from '../../src/domain/space.ts';
import { formatTaskRef, type Task } from '../../src/domain/task.ts';
import type { Environment, Eventual, StepResult } from '../contract.ts';
import { stepsOf } from './tasks.ts';

const MINUTE_MS = 60_000;

const optionsSchema = z.strictObject({
  /** How long a call of a tool takes, ms; 0 answers at once. */
  latencyMs: z.number().min(0).max(MINUTE_MS).default(100),
  /** Each call takes `latencyMs` × a number drawn uniformly from 1 ± this. */
  jitter: z.number().min(0).max(1).default(0),
  /** How long a reset takes, ms; 0 answers at once. */
  resetMs: z.number().min(0).max(MINUTE_MS).default(0),
  /** How long building one takes, ms, from `create` on: the first reset waits for what is left of it. */
  buildMs: z.number().min(0).max(MINUTE_MS).default(0),
});
type Options = z.infer<typeof optionsSchema>;

const TOOLS = ['alpha', 'beta', 'gamma', 'delta'] as const;
const LEGAL = ['select_tool'] as const;
/** The tools in every order that they are offered in; the same arrays each time, since encodings are cached by them. */
const OFFERS = TOOLS.map((_, from): readonly Candidate[] =>
  [...TOOLS.slice(from), ...TOOLS.slice(0, from)].map((text) => ({
    type: 'select_tool',
    text,
    kind: 'tool',
  })),
);

const NOTHING = Object.freeze({});
const PROGRESS = Object.freeze({ progress: 1 });
const SUCCESS = Object.freeze({ progress: 1, success: 1 });

interface Episode {
  readonly task: Task;
  readonly steps: number;
  readonly random: RandomStream;
  readonly offer: readonly Candidate[];
  asked: string;
  calls: number;
  right: number;
}

/** A live one. Throws `environment-invalid` for options that it has not got. */
export function createWaiting(options: Readonly<Record<string, unknown>>): Environment {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) {
    throw new LabError('environment-invalid', {
      message: `options of the environment "waiting": ${z.prettifyError(parsed.error)}`,
      hint: 'it takes latencyMs, resetMs and buildMs (milliseconds), and jitter (0 to 1).',
      cause: parsed.error,
    });
  }
  return new Waiting(parsed.data);
}

class Waiting implements Environment {
  readonly #options: Options;
  #built: Eventual<void>;
  #timer: NodeJS.Timeout | undefined;
  #episode: Episode | null = null;

  constructor(options: Options) {
    this.#options = options;
    this.#built = this.#build();
  }

  reset(task: Task, seed: number): Eventual<Observation> {
    const steps = stepsOf(task);
    const random = createRandom(deriveSeed('waiting', 'episode', seed));
    const [asked, offer] = [random.pick(TOOLS), random.pick(OFFERS)];
    const episode: Episode = { task, steps, random, offer, asked, calls: 0, right: 0 };
    this.#episode = episode;
    const observation = observe(episode);
    if (this.#built === undefined) return this.#later(this.#options.resetMs, observation);
    return this.#resetOnceBuilt(this.#built, observation);
  }

  step(action: Action): Eventual<StepResult> {
    const episode = this.#episode;
    if (episode === null || episode.calls === episode.steps) {
      throw new LabError('environment-invalid', {
        message: `${formatAction(action)} was sent ${episode === null ? 'before an episode' : 'after the end of its episode'}`,
        hint: 'call reset first.',
      });
    }
    const { latencyMs, jitter } = this.#options;
    const drawn = latencyMs * (1 + jitter * (2 * episode.random.next() - 1));
    return this.#later(drawn, advance(episode, action));
  }

  getState(): unknown {
    if (this.#episode === null) return null;
    const { task, random, asked, calls, right } = this.#episode;
    return { task: formatTaskRef(task), seed: task.seed, asked, calls, right, random: random.getState() };
  }

  fullReset(): Eventual<void> {
    this.close();
    this.#built = this.#build();
    return this.#built;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#episode = null;
  }

  /** Undefined once it is there. */
  #build(): Eventual<void> {
    const { buildMs } = this.#options;
    if (buildMs === 0) return undefined;
    return new Promise((resolve) => {
      this.#timer = setTimeout(() => {
        this.#built = undefined;
        resolve();
      }, buildMs);
    });
  }

  async #resetOnceBuilt(built: Eventual<void>, observation: Observation): Promise<Observation> {
    await built;
    return await this.#later(this.#options.resetMs, observation);
  }

  /** In whole ms: timers of the same length share one list in Node, so that thousands of them cost little. */
  #later<T>(ms: number, value: T): Eventual<T> {
    const whole = Math.round(ms);
    if (whole === 0) return value;
    return new Promise((resolve) => {
      this.#timer = setTimeout(resolve, whole, value);
    });
  }
}

/** A call of any tool takes the task further; only that of the one asked for is right. */
function advance(episode: Episode, action: Action): StepResult {
  const offered = action.type === 'select_tool' && TOOLS.some((tool) => tool === action.argument);
  if (!offered) {
    throw new LabError('environment-invalid', {
      message: `${formatAction(action)} was not on offer in ${formatTaskRef(episode.task)}`,
      hint: `take select_tool with one of: ${TOOLS.join(', ')}.`,
    });
  }
  const isRight = action.argument === episode.asked;
  episode.calls++;
  episode.right += Number(isRight);
  const terminated = episode.calls === episode.steps;
  const success = terminated && episode.right === episode.steps;
  episode.asked = episode.random.pick(TOOLS);
  const components = success ? SUCCESS : PROGRESS;
  return {
    observation: observe(episode),
    components: isRight ? components : NOTHING,
    terminated,
    success,
    failure: terminated && !success ? 'wrong_result' : null,
    effective: true,
  };
}

function observe({ task, offer, asked, calls, right }: Episode): Observation {
  return {
    lines: [task.text, `screen asks for ${asked}`, `${calls} calls made and ${right} right`],
    legal: LEGAL,
    candidates: offer,
  };
}
