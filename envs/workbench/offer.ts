import { createRandom } from '../../src/domain/random.ts';
import type { Action, ActionType, Candidate } from '../../src/domain/space.ts';
import type { Scenario } from './scenario.ts';

/** Which part of the form the agent has before it: none, one with an empty field, or one that is filled in. */
export type FormState = 'closed' | 'filling' | 'ready';

/** A form offers `input` only while a field is empty, and `confirm` only when none is. */
const LEGAL: Readonly<Record<FormState, readonly ActionType[]>> = {
  closed: ['read', 'select_tool', 'submit', 'noop'],
  filling: ['read', 'select_tool', 'input', 'submit', 'noop'],
  ready: ['read', 'select_tool', 'confirm', 'submit', 'noop'],
};

/**
 * What the agent may do now. Candidates stand in an order drawn once an episode, so that a place in the list tells
 * nothing; the arrays stay the same objects until reading discovers new values.
 */
export class Offer {
  readonly #fixed: readonly Candidate[];
  readonly #inputs: readonly Candidate[];
  /** Values in files that nobody has read yet. */
  readonly #hidden: Set<string>;
  readonly #arguments: Readonly<Record<'read' | 'select_tool' | 'input', ReadonlySet<string>>>;
  #withInputs: readonly Candidate[];

  constructor(scenario: Scenario, seed: number) {
    const random = createRandom(seed);
    const files = scenario.files.map((file) => file.name);
    const values = scenario.files.flatMap((file) => file.values);
    const reads = random.shuffle(files.map((text): Candidate => ({ type: 'read', text, kind: 'file' })));
    const tools = random.shuffle(
      scenario.tray.map((text): Candidate => ({ type: 'select_tool', text, kind: 'tool' })),
    );
    this.#fixed = [...reads, ...tools];
    this.#inputs = random.shuffle([
      ...files.map((text): Candidate => ({ type: 'input', text, kind: 'file' })),
      ...scenario.directories.map((text): Candidate => ({ type: 'input', text, kind: 'directory' })),
      ...scenario.names.map((text): Candidate => ({ type: 'input', text, kind: 'name' })),
      ...values.map((text): Candidate => ({ type: 'input', text, kind: 'value' })),
    ]);
    this.#hidden = new Set(values);
    this.#arguments = {
      read: new Set(files),
      select_tool: new Set(scenario.tray),
      input: new Set(this.#inputs.map((candidate) => candidate.text)),
    };
    this.#withInputs = this.#listAll();
  }

  /** Legal types in this state of the form. */
  legal(form: FormState): readonly ActionType[] {
    return LEGAL[form];
  }

  /** Candidates in this state of the form. */
  candidates(form: FormState): readonly Candidate[] {
    return form === 'filling' ? this.#withInputs : this.#fixed;
  }

  /** Whether this action is on offer in this state of the form. */
  has(action: Action, form: FormState): boolean {
    if (!LEGAL[form].includes(action.type)) return false;
    const { type, argument } = action;
    if (type !== 'read' && type !== 'select_tool' && type !== 'input') return argument === null;
    if (argument === null || !this.#arguments[type].has(argument)) return false;
    return type !== 'input' || !this.#hidden.has(argument);
  }

  /** Adds values that have been read to the inputs. */
  discover(values: readonly string[]): void {
    let changed = false;
    for (const value of values) changed = this.#hidden.delete(value) || changed;
    if (changed) this.#withInputs = this.#listAll();
  }

  #listAll(): readonly Candidate[] {
    return [...this.#fixed, ...this.#inputs.filter((candidate) => !this.#hidden.has(candidate.text))];
  }
}
