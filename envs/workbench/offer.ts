import { createRandom } from '../../src/domain/random.ts';
import type { Action, ActionType, ArgumentType, Candidate } from '../../src/domain/space.ts';
import type { Scenario } from './scenario.ts';

/** Which part of the form the agent has before it: none, one with an empty field, or one that is filled in. */
export type FormState = 'closed' | 'filling' | 'ready';

/** A form offers `input` only while a field is empty, and `confirm` only when none is. */
const LEGAL: Readonly<Record<FormState, readonly ActionType[]>> = {
  closed: ['read', 'select_tool', 'submit', 'noop'],
  filling: ['read', 'select_tool', 'input', 'submit', 'noop'],
  ready: ['read', 'select_tool', 'confirm', 'submit', 'noop'],
};

/** What a scenario offers, before it is shuffled. */
interface Stock {
  readonly reads: readonly Candidate[];
  readonly tools: readonly Candidate[];
  readonly inputs: readonly Candidate[];
  /** Values in files. */
  readonly values: readonly string[];
  /** So few that a list is searched faster than a set is made. */
  readonly arguments: Readonly<Record<ArgumentType, readonly string[]>>;
}

function createStock({ files, directories, names, tray }: Scenario): Stock {
  const fileNames = files.map((file) => file.name);
  const values = files.flatMap((file) => file.values);
  const inputs = [
    ...fileNames.map((text): Candidate => ({ type: 'input', text, kind: 'file' })),
    ...directories.map((text): Candidate => ({ type: 'input', text, kind: 'directory' })),
    ...names.map((text): Candidate => ({ type: 'input', text, kind: 'name' })),
    ...values.map((text): Candidate => ({ type: 'input', text, kind: 'value' })),
  ];
  return {
    reads: fileNames.map((text): Candidate => ({ type: 'read', text, kind: 'file' })),
    tools: tray.map((text): Candidate => ({ type: 'select_tool', text, kind: 'tool' })),
    inputs,
    values,
    arguments: {
      read: fileNames,
      select_tool: tray,
      input: inputs.map((candidate) => candidate.text),
    },
  };
}

/**
 * What the agent may do now. Candidates stand in an order drawn once an episode, so that a place in the list tells
 * nothing; the arrays stay the same objects until reading discovers new values.
 */
export class Offer {
  readonly #fixed: readonly Candidate[];
  readonly #inputs: readonly Candidate[];
  /** Values in files that nobody has read yet. */
  #hidden: readonly string[];
  readonly #arguments: Stock['arguments'];
  /** Null until a form asks for it. */
  #withInputs: readonly Candidate[] | null = null;

  constructor(scenario: Scenario, seed: number) {
    const random = createRandom(seed);
    const stock = createStock(scenario);
    const reads = random.shuffle(stock.reads);
    const tools = random.shuffle(stock.tools);
    this.#fixed = [...reads, ...tools];
    this.#inputs = random.shuffle(stock.inputs);
    this.#hidden = stock.values;
    this.#arguments = stock.arguments;
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
    if (argument === null || !this.#arguments[type].includes(argument)) return false;
    return type !== 'input' || !this.#hidden.includes(argument);
  }

  /** Adds values that have been read to the inputs. */
  discover(values: readonly string[]): void {
    if (!values.some((value) => this.#hidden.includes(value))) return;
    this.#hidden = this.#hidden.filter((value) => !values.includes(value));
    this.#withInputs = null;
  }

  #listAll(): readonly Candidate[] {
    return [...this.#fixed, ...this.#inputs.filter((candidate) => !this.#hidden.includes(candidate.text))];
  }
}
