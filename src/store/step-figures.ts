import type { EpisodeSummary, StepRecord } from '../domain/episode.ts';
import type { RewardPart } from '../domain/reward.ts';
import { formatAction } from '../domain/space.ts';

/** What may be jumped to in an episode, and the bit that marks a step with it. */
export const STEP_MARKS = { paid: 1, ineffective: 2, tool: 4, toolError: 8, behaviour: 16 } as const;
export type StepMark = keyof typeof STEP_MARKS;

/** Figures of all steps of an episode, in order. */
export interface StepFigures {
  readonly rewards: Float32Array;
  readonly values: Float32Array;
  /** Bits of STEP_MARKS. */
  readonly marks: Uint8Array;
  /** Of each step a number for who acted; 0 where nobody is named. */
  readonly turns: Uint8Array;
}

/** What figures are made of. */
export type FiguredStep = Pick<StepRecord, 'action' | 'effective' | 'reward' | 'value' | 'tool' | 'agent'> & {
  readonly parts: readonly RewardPart[];
};

/** An action without effect makes a loop when it comes so often, and switches of tools a thrash (src/rewards/behaviours.ts). */
const REPETITIONS = 3;
/** Slack for sums of floating-point payments. */
const EPSILON = 1e-9;

/** The figures of an episode, taken step by step. A step shows a behaviour if the episode has it, and the step is part of it. */
export class StepFigureBuilder {
  readonly #figures: StepFigures;
  readonly #behaviours: ReadonlySet<string>;
  /** How often each action had no effect. */
  readonly #vain = new Map<string, number>();
  readonly #agents = new Map<string | undefined, number>([[undefined, 0]]);
  #switches = 0;
  #step = 0;

  constructor({ behaviours }: Pick<EpisodeSummary, 'behaviours'>, steps: number) {
    this.#behaviours = new Set(behaviours);
    this.#figures = {
      rewards: new Float32Array(steps),
      values: new Float32Array(steps),
      marks: new Uint8Array(steps),
      turns: new Uint8Array(steps),
    };
  }

  get figures(): StepFigures {
    return this.#figures;
  }

  add(step: FiguredStep): void {
    const { rewards, values, marks, turns } = this.#figures;
    rewards[this.#step] = step.reward;
    values[this.#step] = step.value;
    let bits = 0;
    if (step.parts.length > 0) bits |= STEP_MARKS.paid;
    if (!step.effective) bits |= STEP_MARKS.ineffective;
    if (step.tool !== undefined) bits |= STEP_MARKS.tool;
    if (step.tool?.ok === false) bits |= STEP_MARKS.toolError;
    if (this.#behaviours.size > 0 && this.#shows(step)) bits |= STEP_MARKS.behaviour;
    marks[this.#step] = bits;
    const turn = this.#agents.get(step.agent) ?? this.#agents.size;
    this.#agents.set(step.agent, turn);
    turns[this.#step] = turn;
    this.#step += 1;
  }

  #shows({ action, effective, parts, agent }: FiguredStep): boolean {
    const has = this.#behaviours;
    if (!effective && has.has('invalid_actions')) return true;
    if (!effective && has.has('loop')) {
      const key = `${agent ?? ''}: ${formatAction(action)}`;
      const count = (this.#vain.get(key) ?? 0) + 1;
      this.#vain.set(key, count);
      if (count >= REPETITIONS) return true;
    }
    return parts.some(({ name, raw, weighted, paid }) => {
      if (name === 'tool_switch' && has.has('tool_thrash')) return (this.#switches += 1) >= REPETITIONS;
      if (name === 'unread_submit' && has.has('unread_submit')) return raw > 0;
      // What a cap has cut off was earned beyond it.
      return has.has('reward_farming') && weighted > 0 && paid < weighted - EPSILON;
    });
  }
}

/** The figures of steps that are all there. */
export function figuresOf(
  summary: Pick<EpisodeSummary, 'behaviours'>,
  steps: readonly FiguredStep[],
): StepFigures {
  const builder = new StepFigureBuilder(summary, steps.length);
  for (const step of steps) builder.add(step);
  return builder.figures;
}

/** The next step of the agent that acts in one, or the one before; null when there is none. */
export function nextTurn({ turns }: StepFigures, from: number, direction: 1 | -1): number | null {
  const turn = turns[from];
  for (let step = from + direction; step >= 0 && step < turns.length; step += direction) {
    if (turns[step] === turn) return step;
  }
  return null;
}

/** The next step with any of some marks, from one (not itself) on, or before it; null when there is none. */
export function nextMarked(
  { marks }: StepFigures,
  wanted: readonly StepMark[],
  from: number,
  direction: 1 | -1,
): number | null {
  const mask = wanted.reduce((bits, mark) => bits | STEP_MARKS[mark], 0);
  for (let step = from + direction; step >= 0 && step < marks.length; step += direction) {
    if (((marks[step] ?? 0) & mask) !== 0) return step;
  }
  return null;
}
