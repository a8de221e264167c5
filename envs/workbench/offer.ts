import { createRandom, type RandomStream } from '../../src/domain/random.ts';
import type { Action, ActionType, Candidate } from '../../src/domain/space.ts';
import { recordOf } from '../../src/domain/table.ts';
import type { Scenario } from './scenario.ts';
import { TOOL_NAMES } from './tools.ts';

/** Which part of the form the agent has before it: none, one with an empty field, or one that is filled in. */
export type FormState = 'closed' | 'filling' | 'ready';

/** A form offers `input` only while a field is empty, and `confirm` only when none is. */
const LEGAL: Readonly<Record<FormState, readonly ActionType[]>> = {
  closed: ['read', 'select_tool', 'submit', 'noop'],
  filling: ['read', 'select_tool', 'input', 'submit', 'noop'],
  ready: ['read', 'select_tool', 'confirm', 'submit', 'noop'],
};

/** The same of every episode: what lives for an episode is what collecting garbage costs. */
const TOOL_CANDIDATES = recordOf(
  TOOL_NAMES,
  (text): Candidate => ({ type: 'select_tool', text, kind: 'tool' }),
);

/** What can be given to a form, in the order of the scenario. */
function inputsOf({ files, directories, names }: Scenario): Candidate[] {
  const inputs: Candidate[] = [];
  for (const { name: text } of files) inputs.push({ type: 'input', text, kind: 'file' });
  for (const text of directories) inputs.push({ type: 'input', text, kind: 'directory' });
  for (const text of names) inputs.push({ type: 'input', text, kind: 'name' });
  for (const text of valuesIn(files)) inputs.push({ type: 'input', text, kind: 'value' });
  return inputs;
}

/** Values in files. */
function valuesIn(files: Scenario['files']): string[] {
  const values: string[] = [];
  for (const file of files) for (const value of file.values) values.push(value);
  return values;
}

/**
 * What the agent may do now. Candidates stand in an order drawn once an episode, so that a place in the list tells
 * nothing; the arrays stay the same objects until reading discovers new values.
 */
export class Offer {
  readonly #scenario: Scenario;
  readonly #random: RandomStream;
  readonly #fixed: readonly Candidate[];
  /** In their order; null until a form asks for them: many an episode ends before. */
  #inputs: readonly Candidate[] | null = null;
  /** Values in files that nobody has read yet. */
  #hidden: readonly string[];
  /** Null until a form asks for it. */
  #withInputs: readonly Candidate[] | null = null;

  constructor(scenario: Scenario, seed: number) {
    this.#scenario = scenario;
    this.#random = createRandom(seed);
    const { files, tray } = scenario;
    const reads = files.map(({ name: text }): Candidate => ({ type: 'read', text, kind: 'file' }));
    const tools = tray.map((name) => TOOL_CANDIDATES[name]);
    this.#fixed = [...this.#random.shuffle(reads), ...this.#random.shuffle(tools)];
    this.#hidden = valuesIn(files);
  }

  /** Legal types in this state of the form. */
  legal(form: FormState): readonly ActionType[] {
    return LEGAL[form];
  }

  /** Candidates in this state of the form. */
  candidates(form: FormState): readonly Candidate[] {
    if (form !== 'filling') return this.#fixed;
    this.#withInputs ??= this.#listAll();
    return this.#withInputs;
  }

  /** Whether this action is on offer in this state of the form. */
  has(action: Action, form: FormState): boolean {
    if (!LEGAL[form].includes(action.type)) return false;
    const { type, argument } = action;
    if (type !== 'read' && type !== 'select_tool' && type !== 'input') return argument === null;
    if (argument === null || (type === 'input' && this.#hidden.includes(argument))) return false;
    // So few that a list is searched faster than a set is made.
    const offered = type === 'input' ? this.#allInputs() : this.#fixed;
    return offered.some((candidate) => candidate.type === type && candidate.text === argument);
  }

  /** Adds values that have been read to the inputs. */
  discover(values: readonly string[]): void {
    if (!values.some((value) => this.#hidden.includes(value))) return;
    this.#hidden = this.#hidden.filter((value) => !values.includes(value));
    this.#withInputs = null;
  }

  #listAll(): readonly Candidate[] {
    return [
      ...this.#fixed,
      ...this.#allInputs().filter((candidate) => !this.#hidden.includes(candidate.text)),
    ];
  }

  #allInputs(): readonly Candidate[] {
    this.#inputs ??= this.#random.shuffle(inputsOf(this.#scenario));
    return this.#inputs;
  }
}
