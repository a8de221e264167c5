import type { Action, Candidate, Observation } from '../domain/space.ts';
import type { Payment } from '../rewards/aggregator.ts';

/** What the policy said of a step. */
export interface Decision {
  readonly action: Action;
  readonly probability: number;
  readonly value: number;
  readonly entropy: number;
  readonly policyVersion: number;
}

/** Bytes that a slot keeps for its steps from one episode to the next. */
const KEPT_BYTES = 64 * 1024;
const INITIAL_BYTES = 2048;
/** UTF-8 takes at most so many bytes for a UTF-16 unit. */
const MOST_BYTES_PER_UNIT = 3;

/**
 * Collects an episode's steps for the store, as the JSON of an `EpisodeBody`; each line and each set of candidates is kept
 * once. A step becomes bytes at once: with thousands of slots, objects that live for an episode are what the garbage
 * collector spends its time on.
 */
export class EpisodeRecorder {
  #lines: string[] = [];
  readonly #lineIndex = new Map<string, number>();
  #candidateSets: (readonly Candidate[])[] = [];
  /** Lines of the newest observation, and their indices: most of the next one's are the same. May be longer. */
  readonly #newest: string[] = [];
  readonly #newestIndices: number[] = [];
  /** `,` and the JSON of each step, one after the other. */
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #used = 0;
  #length = 0;

  clear(): void {
    this.#lines = [];
    this.#lineIndex.clear();
    this.#candidateSets = [];
    this.#newest.length = 0;
    this.#newestIndices.length = 0;
    if (this.#bytes.byteLength > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.#used = 0;
    this.#length = 0;
  }

  /** Steps so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds a step: the observation before it, what was decided, what came of it and what it was paid. */
  push(observation: Observation, decision: Decision, effective: boolean, payment: Payment): void {
    const { parts } = payment;
    this.#write(
      `,{"observation":[${this.#indices(observation)}]` +
        `,"candidates":${this.#candidateSet(observation.candidates)}` +
        `,"action":${actionJson(decision.action)}` +
        `,"probability":${rounded(decision.probability)}` +
        `,"value":${rounded(decision.value)}` +
        `,"entropy":${rounded(decision.entropy)}` +
        `,"policyVersion":${decision.policyVersion}` +
        `,"effective":${effective ? 'true' : 'false'}` +
        `,"reward":${rounded(payment.reward)}` +
        `,"parts":${parts.length === 0 ? '[]' : JSON.stringify(parts)}}`,
    );
    this.#length++;
  }

  /** The whole body as UTF-8 JSON. */
  encode(final: Observation | null): Uint8Array {
    const finalIndices = final === null ? '' : this.#indices(final);
    const head = `{"lines":${JSON.stringify(this.#lines)},"candidateSets":${JSON.stringify(this.#candidateSets)},"steps":[`;
    const tail = `],"finalObservation":[${finalIndices}]}`;
    // Without the comma before the first.
    const steps = this.#bytes.subarray(Math.min(1, this.#used), this.#used);
    const headBytes = Buffer.byteLength(head);
    // Digits, commas and brackets: a byte each.
    const body = Buffer.allocUnsafe(headBytes + steps.byteLength + tail.length);
    body.write(head, 0);
    body.set(steps, headBytes);
    body.write(tail, headBytes + steps.byteLength, 'latin1');
    return body;
  }

  #write(text: string): void {
    const needed = this.#used + MOST_BYTES_PER_UNIT * text.length;
    if (needed > this.#bytes.byteLength) {
      const grown = Buffer.allocUnsafeSlow(2 * needed);
      this.#bytes.copy(grown, 0, 0, this.#used);
      this.#bytes = grown;
    }
    this.#used += this.#bytes.write(text, this.#used);
  }

  /** `0,1,5` */
  #indices({ lines }: Observation): string {
    const [newest, known] = [this.#newest, this.#newestIndices];
    let text = '';
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i] ?? '';
      // Where it stood before, or one place further on: turns move up when the oldest goes.
      if (line !== newest[i]) {
        known[i] = (line === newest[i + 1] ? known[i + 1] : undefined) ?? this.#indexOf(line);
        newest[i] = line;
      }
      text += i === 0 ? String(known[i]) : `,${known[i]}`;
    }
    return text;
  }

  #indexOf(line: string): number {
    const known = this.#lineIndex.get(line);
    if (known !== undefined) return known;
    const index = this.#lines.push(line) - 1;
    this.#lineIndex.set(line, index);
    return index;
  }

  /** Environments hand out the same array while nothing changes, so only the newest set needs a look. */
  #candidateSet(candidates: readonly Candidate[]): number {
    const newest = this.#candidateSets.length - 1;
    if (newest >= 0 && this.#candidateSets[newest] === candidates) return newest;
    return this.#candidateSets.push(candidates) - 1;
  }
}

function actionJson({ type, argument }: Action): string {
  return argument === null
    ? `{"type":"${type}","argument":null}`
    : `{"type":"${type}","argument":${JSON.stringify(argument)}}`;
}

/** JSON of six decimals: what a reader can use, at half the bytes. */
function rounded(value: number): string {
  // JSON knows no NaN and no infinity.
  return Number.isFinite(value) ? String(Math.round(value * 1e6) / 1e6) : 'null';
}
