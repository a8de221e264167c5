import type { Environment, StepResult } from '../../envs/contract.ts';
import { createEncodingMemory, type EncodingMemory } from '../../trainer/policy/observation-encoder.ts';
import type { PolicySpec } from '../domain/policy-spec.ts';
import type { Observation } from '../domain/space.ts';
import type { Attachments } from '../protocol/frame.ts';
import type { Components, Payment } from '../rewards/aggregator.ts';
import type { SampleBuffer } from './sample-buffer.ts';

/** Who acts in a slot's episodes, one agent or several in turn: what each sees, and what its samples are paid. */
export interface SlotAgents {
  /** The episode's newest observation; null before the first. */
  readonly newest: Observation | null;
  /** What the policy is to look at: that, unless another agent has a last look. */
  readonly sight: Observation | null;
  /** Numeric features of the newest observations of whoever sees it, oldest first. */
  readonly history: readonly (readonly number[])[];
  /** The encoder's, of whoever sees it. */
  readonly memory: EncodingMemory;
  /** A number for whoever sees it, another one for every agent of every slot. */
  readonly reader: number;
  /** Begins an episode, or ends one: nothing has been seen. */
  clear(): void;
  /** Throws `environment-invalid` unless an observation says for whom it is, where it has to. */
  check(observation: Observation): void;
  /** The same of a step's result, and of whom it pays. */
  checkStep(result: StepResult): void;
  /** Takes over the newest observation. */
  show(observation: Observation): void;
  /** Who acts on it; undefined where that goes without saying. */
  nameOf(observation: Observation): string | undefined;
  /** Components for those who did not act. */
  othersOf(result: StepResult): Readonly<Record<string, Components>> | undefined;
  /** A sample more: the agent whose turn it is acts. */
  act(): void;
  /** Takes note of what the step paid, before the next observation is shown, and gives samples their rewards; null: there are none. */
  pay(payment: Payment, samples: SampleBuffer | null): void;
  /** The episode is cut short, and has a last look. `env`: absent, it cannot be asked what others see. */
  close(env: Environment | null): void;
  /** The value of the last look. Returns whether somebody else has still to look. */
  bootstrap(value: number): boolean;
  /** What the summary says of each; undefined where there is one. */
  rewards(): Record<string, number> | undefined;
  /** V(s_T) of each, where there are several. */
  lastValues(): readonly number[] | undefined;
  /** The tensors of the first `steps` samples: without the one of a step that did not come to its end. */
  tensors(samples: SampleBuffer, steps: number): Attachments;
}

/** The only agent, without a name. */
export class OneAgent implements SlotAgents {
  readonly memory = createEncodingMemory();
  readonly reader: number;
  readonly #window: number;
  newest: Observation | null = null;
  history: (readonly number[])[] = [];

  constructor(slot: number, policy: PolicySpec) {
    this.reader = slot;
    this.#window = windowOf(policy);
  }

  get sight(): Observation | null {
    return this.newest;
  }

  clear(): void {
    this.newest = null;
    this.history = [];
  }

  check(): void {
    // It need not say for whom it is.
  }

  checkStep(): void {
    // Nobody else can be paid.
  }

  show(observation: Observation): void {
    this.newest = observation;
    if (this.#window === 0) return;
    if (this.history.length >= this.#window) this.history.shift();
    this.history.push(observation.features ?? []);
  }

  nameOf(): undefined {
    return undefined;
  }

  othersOf(): undefined {
    return undefined;
  }

  act(): void {
    // Every sample is its own.
  }

  pay({ reward }: Payment, samples: SampleBuffer | null): void {
    samples?.setReward(reward);
  }

  close(): void {
    // It looks at the newest observation.
  }

  bootstrap(): boolean {
    return false;
  }

  rewards(): undefined {
    return undefined;
  }

  lastValues(): undefined {
    return undefined;
  }

  tensors(samples: SampleBuffer, steps: number): Attachments {
    return samples.tensors(steps);
  }
}

/** Observations that an agent's window holds; 0 where the policy looks at no numbers. */
export function windowOf(policy: PolicySpec): number {
  return policy.kind === 'features' ? policy.window : 0;
}
