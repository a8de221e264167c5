import type { FormState } from './offer.ts';
import { TOOL_NAMES, TOOLS, type Tool, type ToolName } from './tools.ts';

const SHOWN_RUNS = 2;

/** The form of the selected tool, and how it and the last runs look on the screen. */
export class Form {
  #tool: ToolName | null = null;
  #fields: Tool['fields'] = [];
  #values: string[] = [];
  #history: string[] = [];

  get tool(): ToolName | null {
    return this.#tool;
  }

  get values(): readonly string[] {
    return this.#values;
  }

  get state(): FormState {
    if (this.#tool === null) return 'closed';
    return this.#values.length < this.#fields.length ? 'filling' : 'ready';
  }

  /** Label of the field to be filled next; undefined when there is none. */
  get nextField(): string | undefined {
    return this.#fields[this.#values.length];
  }

  /** Opens the empty form of a tool in the tray. */
  open(name: string): ToolName {
    const tool = TOOL_NAMES.find((each) => each === name);
    if (tool === undefined) throw new RangeError(`no tool "${name}"`);
    this.#tool = tool;
    this.#fields = TOOLS[tool].fields;
    this.#values = [];
    return tool;
  }

  /** Fills the next field. */
  fill(value: string): void {
    this.#values.push(value);
  }

  /** Closes the form; `ran` is the tool if its run did something. */
  close(ran: ToolName | null): void {
    this.#tool = null;
    this.#fields = [];
    this.#values = [];
    if (ran === null) return;
    this.#history.push(ran);
    if (this.#history.length > SHOWN_RUNS) this.#history.shift();
  }

  /** The screen in at most 14 words: `screen ran move tool rename file bakel next name`. */
  format(): string {
    let text = 'screen';
    if (this.#history.length > 0) text += ` ran ${this.#history.join(' ')}`;
    if (this.#tool === null) return `${text} no tool`;
    text += ` tool ${this.#tool}`;
    for (let i = 0; i < this.#values.length; i++) text += ` ${this.#fields[i]} ${this.#values[i]}`;
    const next = this.nextField;
    return next === undefined ? `${text} ready` : `${text} next ${next}`;
  }
}
