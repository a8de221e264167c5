import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment, EnvironmentDefinition } from '../../envs/contract.ts';
import type { Assignment } from '../domain/episode.ts';
import { environmentSeed } from '../domain/episode-seed.ts';
import { errorText } from '../domain/error.ts';
import { episodeSequence } from '../domain/id.ts';
import type { AuditRule, ResetDifference } from '../domain/leak.ts';
import { createRandom, deriveSeed } from '../domain/random.ts';
import type { Observation } from '../domain/space.ts';
import type { Lifeline, WatchedStage } from '../protocol/lifeline.ts';
import { checkObservation } from './answer-check.ts';
import { discard } from './discard.ts';
import { firstDifference, type ResetText, resetText } from './reset-text.ts';
import type { SlotDirectory } from './temp-directories.ts';

/** A used slot that has just been reset. */
export interface UsedReset {
  readonly assignment: Assignment;
  readonly slot: number;
  readonly environment: Environment;
  readonly observation: Observation;
}

export interface ResetAuditOptions {
  readonly rule: AuditRule;
  readonly definition: Pick<EnvironmentDefinition, 'create' | 'createTask'>;
  /** Of the environment. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly lifeline: Lifeline;
  /** A temporary directory for a new environment; absent: it gets none. */
  readonly openDirectory?: () => SlotDirectory;
  /** Longest that the reset of a new environment may take. */
  readonly stepTimeoutMs: number;
  /** Of the draw of resets. */
  readonly seed: number;
  readonly onLeak: (difference: ResetDifference) => void;
  /** An audit that came to no result; once a family. */
  readonly onFailed: (family: string, reason: string) => void;
  /** ms; for tests. */
  readonly now?: () => number;
}

/** Share of the worker's time that audits may take. After each the next one waits until it is in this bound again. */
const MOST_TIME = 0.01;

/**
 * Looks for traces of earlier episodes: now and then, when a used slot has been reset, a new environment is reset with the same
 * task and seed, and first observation and state of both are compared. The episode goes on meanwhile. At most one audit is
 * under way at a time. A family in which a difference was found is marked: slots are rebuilt for each of its episodes.
 */
export class ResetAudit {
  readonly #options: ResetAuditOptions;
  readonly #random;
  readonly #now: () => number;
  readonly #quarantined = new Set<string>();
  readonly #failed = new Set<string>();
  /** When a reset of a family was last audited, ms. */
  readonly #newest = new Map<string, number>();
  #isBusy = false;
  #restUntil = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(options: ResetAuditOptions) {
    this.#options = options;
    this.#random = createRandom(deriveSeed('reset-audit', options.seed));
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether slots must be rebuilt for episodes of this family. */
  isQuarantined(family: string): boolean {
    return this.#quarantined.has(family);
  }

  /** Marks a family. */
  quarantine(family: string): void {
    this.#quarantined.add(family);
  }

  /** How many audits came to a result since the last call. */
  take(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }

  /** To be told of each reset of a used slot, before its first step. Compares later, and never throws. */
  observe(reset: UsedReset): void {
    const { family } = reset.assignment.task;
    if (!this.#isDue(family)) return;
    this.#newest.set(family, this.#now());
    const started = this.#now();
    try {
      const recycled = resetText(reset.observation, reset.environment.getState());
      this.#isBusy = true;
      // Not at once: the slot's own reset is being watched over, and only one thing can be.
      setImmediate(() => void this.#compare(reset, recycled));
    } catch (thrown) {
      this.#fail(family, `the state of a used slot cannot be read: ${errorText(thrown)}`);
    } finally {
      this.#spend(this.#now() - started);
    }
  }

  #isDue(family: string): boolean {
    const { share, everyS } = this.#options.rule;
    if (share === 0 || this.#isBusy || this.#quarantined.has(family)) return false;
    const now = this.#now();
    if (now < this.#restUntil) return false;
    if (this.#random.next() < share) return true;
    return now - (this.#newest.get(family) ?? Number.NEGATIVE_INFINITY) >= everyS * 1000;
  }

  async #compare({ assignment, slot }: UsedReset, recycled: ResetText): Promise<void> {
    const { family } = assignment.task;
    let environment: Environment | null = null;
    const directory = this.#options.openDirectory?.();
    const subject = episodeSequence(assignment.id);
    try {
      const { definition, options } = this.#options;
      const built = this.#watch(subject, 'reset', () => definition.create(options, directory));
      environment = built;
      const seed = environmentSeed(assignment.seed);
      const answer = this.#watch(subject, 'reset', () =>
        built.reset(definition.createTask(assignment.task), seed),
      );
      const observation = answer instanceof Promise ? await this.#inTime(answer) : answer;
      const difference = this.#watch(subject, 'reset', () => {
        checkObservation(observation);
        return firstDifference(recycled, resetText(observation, built.getState()));
      });
      this.#count++;
      // Another worker may have found it meanwhile.
      if (difference !== null && !this.#quarantined.has(family)) {
        this.#quarantined.add(family);
        this.#options.onLeak({ family, episode: assignment.id, slot, ...difference });
      }
    } catch (thrown) {
      this.#fail(family, `a new environment could not be reset for it: ${errorText(thrown)}`);
    } finally {
      this.#isBusy = false;
      this.#watch(subject, 'close', () => void discard(environment, directory));
    }
  }

  async #inTime(answer: Promise<Observation>): Promise<Observation> {
    const { stepTimeoutMs } = this.#options;
    const timer = new AbortController();
    const late = async (): Promise<never> => {
      await sleep(stepTimeoutMs, undefined, { signal: timer.signal, ref: false });
      throw new Error(`no answer within ${stepTimeoutMs} ms`);
    };
    try {
      return await Promise.race([answer, late()]);
    } finally {
      timer.abort();
    }
  }

  /** Does a piece of the audit under the eyes of the watching thread, and counts its time. */
  #watch<T>(subject: number, stage: WatchedStage, work: () => T): T {
    const started = this.#now();
    this.#options.lifeline.begin(subject, stage);
    try {
      return work();
    } finally {
      this.#options.lifeline.end();
      this.#spend(this.#now() - started);
    }
  }

  #spend(ms: number): void {
    this.#restUntil = Math.max(this.#restUntil, this.#now()) + ms / MOST_TIME;
  }

  #fail(family: string, reason: string): void {
    if (this.#failed.has(family)) return;
    this.#failed.add(family);
    this.#options.onFailed(family, reason);
  }
}
