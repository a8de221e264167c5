import type { RewardPart } from '../domain/reward.ts';
import type { Action, Candidate, Observation } from '../domain/space.ts';
import type { ToolUse } from '../domain/tool.ts';
import type { Payment } from '../rewards/aggregator.ts';
import { JsonBytes } from './json-bytes.ts';
import { LineIndex } from './line-index.ts';
import { outgoingMemory } from './outgoing-memory.ts';

/** What the policy said of a step. */
export interface Decision {
  readonly action: Action;
  readonly probability: number;
  readonly value: number;
  readonly entropy: number;
  readonly policyVersion: number;
  /** The likeliest actions, `which, probability, which, …`, where they are kept: see `Likeliest`. */
  readonly likeliest?: readonly number[] | undefined;
}

/** What came of a step beside its reward; each where it is known. */
export interface Outcome {
  readonly effective: boolean;
  readonly tool?: ToolUse | undefined;
  /** ms that the environment was waited for. */
  readonly ms?: number | undefined;
  /** Hash of the state after the step. */
  readonly state?: string | undefined;
  /** JSON of what its tools asked of the outside: a list of `RecordedCall`. */
  readonly calls?: string | undefined;
  /** Who acted, in an episode of several agents. */
  readonly agent?: string | undefined;
}

/** Bytes that a slot keeps for its steps from one episode to the next. */
const KEPT_BYTES = 64 * 1024;
/** What stands before an episode's steps and after them is made in here, by one recorder after another. */
const head = new JsonBytes();
const tail = new JsonBytes();
/** Where each candidate of the set that was written last ends in it. */
const ends: number[] = [];

/**
 * Collects an episode's steps for the store, as the JSON of an `EpisodeBody`; each line and each set of candidates is kept
 * once. A step becomes bytes at once: with thousands of slots, objects that live for an episode are what the garbage
 * collector spends its time on.
 */
export class EpisodeRecorder {
  readonly #lines = new LineIndex();
  #candidateSets: (readonly Candidate[])[] = [];
  /** Lines of the newest observation, and their indices, -1 for none: most of the next one's are the same. May be longer. */
  readonly #newest: string[] = [];
  readonly #newestIndices: number[] = [];
  /** `,` and the JSON of each step, one after the other. */
  readonly #steps = new JsonBytes();
  #length = 0;

  clear(): void {
    this.#lines.clear();
    this.#candidateSets = [];
    // Not emptied: an array that is gives its memory back.
    this.#newestIndices.fill(-1);
    this.#steps.clear(KEPT_BYTES);
    this.#length = 0;
  }

  /** Steps so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds a step: the observation before it, what was decided, what came of it and what it was paid. */
  push(observation: Observation, decision: Decision, outcome: Outcome, payment: Payment): void {
    const { action, likeliest } = decision;
    const out = this.#steps;
    out.ascii(',{"observation":[');
    this.#writeIndices(observation, out);
    out.ascii('],"candidates":');
    out.integer(this.#candidateSet(observation.candidates));
    out.ascii(',"action":{"type":');
    out.string(action.type);
    out.ascii(',"argument":');
    if (action.argument === null) out.ascii('null');
    else out.string(action.argument);
    out.ascii('},"probability":');
    out.rounded(decision.probability);
    out.ascii(',"value":');
    out.rounded(decision.value);
    out.ascii(',"entropy":');
    out.rounded(decision.entropy);
    out.ascii(',"policyVersion":');
    out.integer(decision.policyVersion);
    out.ascii(outcome.effective ? ',"effective":true,"reward":' : ',"effective":false,"reward":');
    out.rounded(payment.reward);
    out.ascii(',"parts":[');
    writeParts(payment.parts, out);
    if (likeliest !== undefined) writeLikeliest(likeliest, out);
    out.ascii(']');
    writeOutcome(outcome, out);
    out.ascii('}');
    this.#length++;
  }

  /**
   * The whole body as UTF-8 JSON. `resetCalls`: JSON of what tools asked of the outside before the first step. `finalAgent`: whose
   * turn it would be, in an episode of several agents.
   */
  encode(final: Observation | null, resetCalls?: string, finalAgent?: string): Uint8Array {
    // It may bring lines that are new.
    tail.clear(KEPT_BYTES);
    tail.ascii('],"finalObservation":[');
    if (final !== null) this.#writeIndices(final, tail);
    tail.ascii(']');
    if (resetCalls !== undefined) {
      tail.ascii(',"resetCalls":');
      tail.json(resetCalls);
    }
    if (finalAgent !== undefined) {
      tail.ascii(',"finalAgent":');
      tail.string(finalAgent);
    }
    tail.ascii('}');
    head.clear(KEPT_BYTES);
    head.ascii('{"lines":[');
    for (let i = 0; i < this.#lines.count; i++) {
      if (i > 0) head.ascii(',');
      head.string(this.#lines.line(i));
    }
    head.ascii('],"candidateSets":[');
    writeSets(this.#candidateSets, head);
    head.ascii('],"steps":[');
    // Without the comma before the first.
    const steps = this.#steps.view().subarray(Math.min(1, this.#steps.length));
    const length = head.length + steps.byteLength + tail.length;
    // Its tensors come next.
    const at = outgoingMemory.takeBefore(length);
    const { bytes } = outgoingMemory;
    bytes.set(head.view(), at);
    bytes.set(steps, at + head.length);
    bytes.set(tail.view(), at + head.length + steps.byteLength);
    return new Uint8Array(bytes.buffer, at, length);
  }

  /** Writes `0,1,5`. */
  #writeIndices({ lines }: Observation, out: JsonBytes): void {
    const [newest, known] = [this.#newest, this.#newestIndices];
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i] ?? '';
      // Where it stood before, or one place further on: turns move up when the oldest goes.
      let index = line === newest[i] ? (known[i] ?? -1) : -1;
      if (index < 0) {
        index = line === newest[i + 1] ? (known[i + 1] ?? -1) : -1;
        if (index < 0) index = this.#lines.indexOf(line);
        newest[i] = line;
        known[i] = index;
      }
      if (i > 0) out.ascii(',');
      out.integer(index);
    }
  }

  /** Environments hand out the same array while nothing changes, so only the newest set needs a look. */
  #candidateSet(candidates: readonly Candidate[]): number {
    const newest = this.#candidateSets.length - 1;
    if (newest >= 0 && this.#candidateSets[newest] === candidates) return newest;
    return this.#candidateSets.push(candidates) - 1;
  }
}

/** Sets of one episode begin with the same candidates for the most part: those are copied from the set before. */
function writeSets(sets: readonly (readonly Candidate[])[], out: JsonBytes): void {
  let [before, startBefore]: [readonly Candidate[], number] = [[], 0];
  for (const [place, set] of sets.entries()) {
    out.ascii(place === 0 ? '[' : ',[');
    const start = out.length;
    let i = 0;
    while (i < set.length && set[i] === before[i]) i++;
    out.repeat(startBefore, i === 0 ? 0 : (ends[i - 1] ?? 0));
    for (; i < set.length; i++) {
      const candidate = set[i];
      if (candidate === undefined) continue;
      out.ascii(i === 0 ? '{"type":"' : ',{"type":"');
      out.ascii(candidate.type);
      out.ascii('","text":');
      out.string(candidate.text);
      out.ascii(',"kind":');
      out.string(candidate.kind);
      out.ascii('}');
      ends[i] = out.length - start;
    }
    out.ascii(']');
    [before, startBefore] = [set, start];
  }
}

/** `which` and probability of each, in the list that `parts` has left open. */
function writeLikeliest(likeliest: readonly number[], out: JsonBytes): void {
  for (let i = 0; i < likeliest.length; i += 2) {
    out.ascii(i === 0 ? '],"likeliest":[[' : ',[');
    out.integer(likeliest[i] ?? 0);
    out.ascii(',');
    out.rounded(likeliest[i + 1] ?? 0);
    out.ascii(']');
  }
}

function writeOutcome({ tool, ms, state, calls, agent }: Outcome, out: JsonBytes): void {
  if (tool !== undefined) {
    out.ascii(',"tool":{"name":');
    out.string(tool.name);
    out.ascii(tool.ok ? ',"ok":true' : ',"ok":false');
    if (tool.ms !== undefined) {
      out.ascii(',"ms":');
      out.rounded(tool.ms);
    }
    if (tool.attempts !== undefined) {
      out.ascii(',"attempts":');
      out.integer(tool.attempts);
    }
    out.ascii('}');
  }
  if (ms !== undefined) {
    out.ascii(',"ms":');
    out.integer(ms);
  }
  if (state !== undefined) {
    out.ascii(',"state":');
    out.string(state);
  }
  if (calls !== undefined) {
    out.ascii(',"calls":');
    out.json(calls);
  }
  if (agent !== undefined) {
    out.ascii(',"agent":');
    out.string(agent);
  }
}

function writeParts(parts: readonly RewardPart[], out: JsonBytes): void {
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part === undefined) continue;
    out.ascii(i === 0 ? '{"name":' : ',{"name":');
    out.string(part.name);
    out.ascii(',"raw":');
    out.number(part.raw);
    out.ascii(',"weighted":');
    out.number(part.weighted);
    out.ascii(',"paid":');
    out.number(part.paid);
    if (part.agent !== undefined) {
      out.ascii(',"agent":');
      out.string(part.agent);
    }
    out.ascii('}');
  }
}
