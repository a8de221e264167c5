import type { StageTimes } from '../domain/episode.ts';
import type { ToolCount, ToolStatistics, ToolUse } from '../domain/tool.ts';

/** Tools of one episode that are counted by name; more are counted in the sums only. */
const MAX_NAMES = 32;

type Count = { -readonly [Key in keyof ToolCount]: ToolCount[Key] };

/** Counts what an episode's row says of tools and of where its time went. */
export class EpisodeTally {
  /** ms in the environment's steps. */
  stepMs = 0;
  #resetMs = 0;
  #began = 0;
  #calls = 0;
  #failed = 0;
  readonly #byName = new Map<string, Count>();

  /** An episode begins with its reset. */
  begin(): void {
    this.stepMs = 0;
    this.#resetMs = 0;
    this.#calls = 0;
    this.#failed = 0;
    // Emptying a map makes another table.
    if (this.#byName.size > 0) this.#byName.clear();
    this.#began = performance.now();
  }

  /** The first observation is there. */
  endReset(): void {
    this.#resetMs = performance.now() - this.#began;
  }

  tool({ name, ok, ms }: ToolUse): void {
    this.#calls++;
    if (!ok) this.#failed++;
    let count = this.#byName.get(name);
    if (count === undefined) {
      if (this.#byName.size >= MAX_NAMES) return;
      count = { calls: 0, failed: 0 };
      this.#byName.set(name, count);
    }
    count.calls++;
    if (!ok) count.failed++;
    if (ms !== undefined) count.ms = rounded((count.ms ?? 0) + ms);
  }

  tools(): ToolStatistics {
    return { calls: this.#calls, failed: this.#failed, byName: Object.fromEntries(this.#byName) };
  }

  /** What of so many ms was spent where. */
  stages(wallMs: number): StageTimes {
    const rest = Math.max(0, wallMs - this.#resetMs - this.stepMs);
    return { resetMs: rounded(this.#resetMs), stepMs: rounded(this.stepMs), inferenceMs: rounded(rest) };
  }
}

/** To a hundredth: more would only make rows longer. */
function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
