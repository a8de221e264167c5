import type { Scenario } from './scenario.ts';
import type { ToolName } from './tools.ts';

/**
 * Counts the milestones on the way of a task, each at its first time only: the needed reads in their order, and for each
 * job in its turn the tool selected, each parameter given and the run itself. What comes out of turn earns nothing.
 */
export class Progress {
  readonly #scenario: Scenario;
  #unread: readonly string[];
  #reads = 0;
  #jobs = 0;
  /** Milestones reached of the job that is next: the tool, then its parameters. */
  #reached = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#unread = scenario.reads;
  }

  /** Whether something that the task needs was never read. */
  get isUnread(): boolean {
    return this.#unread.length > 0;
  }

  /** Takes note of a file that was read; true at a milestone. */
  read(file: string): boolean {
    if (this.#unread.includes(file)) this.#unread = this.#unread.filter((name) => name !== file);
    if (this.#scenario.reads[this.#reads] !== file) return false;
    this.#reads++;
    return true;
  }

  /** Takes note of the form after a tool was selected or a parameter given; true at a milestone. */
  fill(tool: ToolName, values: readonly string[]): boolean {
    const milestone = values.length + 1;
    if (milestone <= this.#reached || !this.#matches(tool, values)) return false;
    this.#reached = milestone;
    return true;
  }

  /** Takes note of a run that did something; true at a milestone. */
  run(tool: ToolName, values: readonly string[]): boolean {
    if (!this.#matches(tool, values)) return false;
    this.#jobs++;
    this.#reached = 0;
    return true;
  }

  /** Plain numbers for `getState`. */
  getState(): { readonly reads: number; readonly jobs: number; readonly reached: number; unread: string[] } {
    return {
      reads: this.#reads,
      jobs: this.#jobs,
      reached: this.#reached,
      unread: [...new Set(this.#unread)],
    };
  }

  #matches(tool: ToolName, values: readonly string[]): boolean {
    const job = this.#scenario.jobs[this.#jobs];
    if (job?.tool !== tool) return false;
    for (let i = 0; i < values.length; i++) if (job.arguments[i] !== values[i]) return false;
    return true;
  }
}
