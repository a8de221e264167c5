import type { Environment, StepResult } from '../../envs/contract.ts';
import { createEncodingMemory, type EncodingMemory } from '../../trainer/policy/observation-encoder.ts';
import type { PolicySpec } from '../domain/policy-spec.ts';
import type { Observation } from '../domain/space.ts';
import type { Attachments } from '../protocol/frame.ts';
import type { Payment } from '../rewards/aggregator.ts';
import { checkAgent, checkObservation, checkPaid } from './answer-check.ts';
import type { SampleBuffer } from './sample-buffer.ts';
import { OneAgent, type SlotAgents, windowOf } from './slot-agents.ts';

/** The agents of a slot: those that a catalog names, or the only one. */
export function createAgents(
  slot: number,
  names: readonly string[] | undefined,
  policy: PolicySpec,
): SlotAgents {
  return names === undefined ? new OneAgent(slot, policy) : new Team(slot, names, policy);
}

/** What an agent has seen and done in the running episode. */
interface Member {
  readonly name: string;
  readonly memory: EncodingMemory;
  history: (readonly number[])[];
  /** Its newest observation; null before the first. */
  seen: Observation | null;
  /** Its newest sample; -1 before the first. */
  sample: number;
  reward: number;
  /** V(s_T) of an episode that was cut short. */
  lastValue: number;
}

/**
 * Several agents, who act one at a time under one policy. Each sees its own observations alone, so that each has a window of its
 * own; a sample is one agent's step, and what that agent is paid until its next turn is the sample's reward.
 */
class Team implements SlotAgents {
  readonly #slot: number;
  readonly #members: readonly Member[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #window: number;
  /** Of each sample, the place of its agent. */
  readonly #turns: number[] = [];
  #newest: Observation | null = null;
  /** Whose it is. */
  #current = 0;
  /** Who has still to look, and at what. */
  #closing: { readonly place: number; readonly observation: Observation }[] = [];

  constructor(slot: number, names: readonly string[], policy: PolicySpec) {
    this.#slot = slot;
    this.#members = names.map((name) => ({
      name,
      memory: createEncodingMemory(),
      history: [],
      seen: null,
      sample: -1,
      reward: 0,
      lastValue: 0,
    }));
    this.#places = new Map(names.map((name, place) => [name, place]));
    this.#window = windowOf(policy);
  }

  get newest(): Observation | null {
    return this.#newest;
  }

  get sight(): Observation | null {
    return this.#closing[0]?.observation ?? this.#newest;
  }

  get history(): readonly (readonly number[])[] {
    return this.#at(this.#looking).history;
  }

  get memory(): EncodingMemory {
    return this.#at(this.#looking).memory;
  }

  get reader(): number {
    return this.#slot * this.#members.length + this.#looking;
  }

  clear(): void {
    this.#turns.length = 0;
    this.#newest = null;
    this.#current = 0;
    this.#closing = [];
    for (const member of this.#members) {
      member.history = [];
      member.seen = null;
      member.sample = -1;
      member.reward = 0;
      member.lastValue = 0;
    }
  }

  check(observation: Observation): void {
    checkAgent(observation, this.#places);
  }

  checkStep({ observation, paid }: StepResult): void {
    checkAgent(observation, this.#places);
    checkPaid(paid, this.#places);
  }

  show(observation: Observation): void {
    this.#newest = observation;
    this.#current = this.#places.get(observation.agent ?? '') ?? 0;
    this.#see(this.#at(this.#current), observation);
  }

  nameOf({ agent }: Observation): string | undefined {
    return agent;
  }

  othersOf({ paid }: StepResult): StepResult['paid'] {
    return paid;
  }

  act(): void {
    this.#at(this.#current).sample = this.#turns.push(this.#current) - 1;
  }

  pay({ reward, parts }: Payment, samples: SampleBuffer | null): void {
    samples?.setReward(0);
    let own = reward;
    for (const { agent, paid } of parts) {
      if (agent === undefined) continue;
      own -= paid;
      this.#credit(this.#at(this.#places.get(agent) ?? 0), paid, samples);
    }
    this.#credit(this.#at(this.#current), own, samples);
  }

  close(env: Environment | null): void {
    this.#closing = [];
    for (const [place, member] of this.#members.entries()) {
      // Who has not acted has no value to go on from.
      if (member.sample < 0) continue;
      const observation = place === this.#current ? undefined : env?.look?.(member.name);
      if (observation !== undefined) {
        checkObservation(observation);
        checkAgent(observation, new Map([[member.name, place]]));
        this.#see(member, observation);
      }
      if (member.seen !== null) this.#closing.push({ place, observation: member.seen });
    }
  }

  bootstrap(value: number): boolean {
    const looked = this.#closing.shift();
    if (looked !== undefined) this.#at(looked.place).lastValue = value;
    return this.#closing.length > 0;
  }

  rewards(): Record<string, number> {
    return Object.fromEntries(this.#members.map(({ name, reward }) => [name, reward]));
  }

  lastValues(): readonly number[] {
    return this.#members.map(({ lastValue }) => lastValue);
  }

  tensors(samples: SampleBuffer, steps: number): Attachments {
    return { ...samples.tensors(steps), agents: Uint8Array.from(this.#turns.slice(0, steps)) };
  }

  /** Place of whoever the policy looks through. */
  get #looking(): number {
    return this.#closing[0]?.place ?? this.#current;
  }

  /** Before an agent's first turn there is no action that a reward could be for: it is the episode's alone. */
  #credit(member: Member, paid: number, samples: SampleBuffer | null): void {
    member.reward += paid;
    if (member.sample >= 0) samples?.addReward(member.sample, paid);
  }

  #see(member: Member, observation: Observation): void {
    member.seen = observation;
    if (this.#window === 0) return;
    member.history = [...member.history, observation.features ?? []].slice(-this.#window);
  }

  #at(place: number): Member {
    const member = this.#members[place];
    if (member === undefined) throw new Error(`there is no agent ${place}`);
    return member;
  }
}
