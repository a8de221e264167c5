import { z } from 'zod';
import { LabError } from '../../src/domain/error.ts';
import { deriveSeed } from '../../src/domain/random.ts';
import { type Action, type Candidate, formatAction, type Observation } from '../../src/domain/space.ts';
import { type Catalog, formatTaskRef, type Task, type TaskRef } from '../../src/domain/task.ts';
import type { Environment, EnvironmentDefinition, StepResult } from '../contract.ts';

/** What one action made of a state. */
export interface Transition<State> {
  readonly state: State;
  /** Raw reward components by name. */
  readonly components: Readonly<Record<string, number>>;
  readonly terminated: boolean;
  /** Only with `terminated`. */
  readonly success: boolean;
}

/**
 * A numeric environment as pure functions of its state. A state is plain JSON (no -0, which JSON has not got) and is never
 * changed: `advance` makes the next one.
 */
export interface NumericModel<State> {
  readonly catalog: Catalog;
  /** What the agent is asked to do, one line: the same for all tasks. */
  readonly text: string;
  readonly difficulty: number;
  /** Texts of the discrete actions; the index of one is its number. */
  readonly actions: readonly string[];
  /** What sort of thing an action is, for its candidate. */
  readonly actionKind: string;
  /** What a task is made of beside its seed, for the index-th of its split. */
  params: (index: number) => Readonly<Record<string, unknown>>;
  /** The state in which a task begins. */
  start(task: Task): State;
  advance(state: State, action: number): Transition<State>;
  /** What the policy sees of a state. */
  features(state: State): readonly number[];
  /** The same for people, one line. */
  describe(state: State): string;
}

const LEGAL = ['input'] as const;
const optionsSchema = z.strictObject({});

/**
 * Makes an environment of a model. Its actions are candidates of type `input`, the same array at every step; its lines are
 * the task's and the state's. `create` throws `environment-invalid` for any option: there are none.
 */
export function defineNumeric<State>(
  model: NumericModel<State>,
  createOracle?: EnvironmentDefinition['createOracle'],
): EnvironmentDefinition {
  const { env } = model.catalog;
  const candidates = model.actions.map(
    (text): Candidate => ({ type: 'input', text, kind: model.actionKind }),
  );
  const numbers = new Map(model.actions.map((text, number) => [text, number]));
  return {
    catalog: model.catalog,
    createTask: (ref) => createTask(model, ref),
    create: (options) => {
      const parsed = optionsSchema.safeParse(options);
      if (!parsed.success) {
        throw new LabError('environment-invalid', {
          message: `options of the environment "${env}": ${z.prettifyError(parsed.error)}`,
          hint: 'it takes none: remove env.options.',
          cause: parsed.error,
        });
      }
      return new NumericEnvironment(model, candidates, numbers);
    },
    ...(createOracle === undefined ? {} : { createOracle }),
  };
}

/** Held-out seeds are odd and training seeds even: no task of one split is one of the other. */
function createTask<State>({ catalog, text, difficulty, params }: NumericModel<State>, ref: TaskRef): Task {
  const family = catalog.families.find(({ name }) => ref.env === catalog.env && name === ref.family);
  if (family === undefined) {
    const names = catalog.families.map(({ name }) => name).join(', ');
    throw new LabError('environment-invalid', {
      message: `there is no task ${formatTaskRef(ref)}: the environment is "${catalog.env}", its families are ${names}`,
      hint: 'name one of these families.',
    });
  }
  const isHeldOut = ref.split === 'held_out';
  const count = isHeldOut ? family.heldOut : family.train;
  if (ref.index >= count) {
    throw new LabError('environment-invalid', {
      message: `there is no task ${formatTaskRef(ref)}: ${family.name} has ${count} ${ref.split} tasks`,
      hint: `use an index from 0 to ${count - 1}.`,
    });
  }
  const drawn = deriveSeed(catalog.env, family.name, ref.split, ref.index);
  const seed = ((drawn & ~1) | (isHeldOut ? 1 : 0)) >>> 0;
  return { ...ref, seed, difficulty, text, params: params(ref.index) };
}

interface Episode<State> {
  readonly task: Task;
  steps: number;
  ended: boolean;
  state: State;
}

class NumericEnvironment<State> implements Environment {
  readonly #model: NumericModel<State>;
  readonly #candidates: readonly Candidate[];
  readonly #numbers: ReadonlyMap<string, number>;
  #episode: Episode<State> | null = null;

  constructor(
    model: NumericModel<State>,
    candidates: readonly Candidate[],
    numbers: ReadonlyMap<string, number>,
  ) {
    this.#model = model;
    this.#candidates = candidates;
    this.#numbers = numbers;
  }

  /** The task says all: an evaluation's tasks then are the same each time. The seed of the episode is not used. */
  reset(task: Task): Observation {
    const state = this.#model.start(task);
    this.#episode = { task, steps: 0, ended: false, state };
    return this.#observe(task, state);
  }

  step(action: Action): StepResult {
    const episode = this.#episode;
    if (episode === null || episode.ended) {
      throw new LabError('environment-invalid', {
        message: `${formatAction(action)} was sent ${episode === null ? 'before an episode' : 'after the end of its episode'}`,
        hint: 'call reset first.',
      });
    }
    const number = action.type === 'input' ? this.#numbers.get(action.argument ?? '') : undefined;
    if (number === undefined) {
      throw new LabError('environment-invalid', {
        message: `${formatAction(action)} was not on offer at step ${episode.steps + 1} of ${formatTaskRef(episode.task)}`,
        hint: `take input with one of: ${this.#model.actions.join(', ')}.`,
      });
    }
    const { state, components, terminated, success } = this.#model.advance(episode.state, number);
    episode.steps++;
    episode.ended = terminated;
    episode.state = state;
    return {
      observation: this.#observe(episode.task, state),
      components,
      terminated,
      success,
      failure: terminated && !success ? 'wrong_result' : null,
      // Time passes whatever is done, so that every step shows something new.
      effective: true,
    };
  }

  getState(): unknown {
    const episode = this.#episode;
    if (episode === null) return null;
    const { task, steps, ended, state } = episode;
    return { task: formatTaskRef(task), seed: task.seed, steps, ended, state };
  }

  fullReset(): void {
    this.#episode = null;
  }

  close(): void {
    this.#episode = null;
  }

  #observe(task: Task, state: State): Observation {
    return {
      lines: [task.text, this.#model.describe(state)],
      legal: LEGAL,
      candidates: this.#candidates,
      features: this.#model.features(state),
    };
  }
}

/** A value to so many decimals as a person reads it; far cheaper than `toFixed`, which a line of every step would feel. */
export function shortNumber(value: number, scale: 10 | 100): number {
  return Math.round(value * scale) / scale;
}
