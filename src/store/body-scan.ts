/** Where the elements of an array stand in a text: the bytes of element `i` are `start(i)` up to, and without, `end(i)`. */
export class Spans {
  #bounds = new Uint32Array(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  start(index: number): number {
    return this.#bounds[2 * index] ?? 0;
  }

  end(index: number): number {
    return this.#bounds[2 * index + 1] ?? 0;
  }

  add(start: number, end: number): void {
    const at = 2 * this.#length;
    if (at === this.#bounds.length) {
      const grown = new Uint32Array(2 * at);
      grown.set(this.#bounds);
      this.#bounds = grown;
    }
    this.#bounds[at] = start;
    this.#bounds[at + 1] = end;
    this.#length += 1;
  }
}

/** The arrays of an episode's body, by name. */
const PARTS = ['lines', 'candidateSets', 'steps', 'finalObservation'] as const;
type Part = (typeof PARTS)[number];

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;
/** What the walk says where the text ends, or is not JSON. */
const NOWHERE = -1;

/**
 * Finds the parts of an episode's body (UTF-8 JSON) without parsing them, at about a nanosecond a byte: parsing all of a long
 * episode to show one page of it takes seconds. It is given a longer and longer start of the text, and goes on where it stopped.
 */
export class BodyScanner {
  readonly parts: Readonly<Record<Part, Spans>> = {
    lines: new Spans(),
    candidateSets: new Spans(),
    steps: new Spans(),
    finalObservation: new Spans(),
  };
  /** Where `finalAgent` stands, which only episodes of several agents have; empty until it was read. */
  readonly finalAgent = new Spans();
  #at = 0;
  /** The array that it stands in. */
  #array: Spans | null = null;
  #isWhole = false;

  /** The text was read to the end of the body; otherwise it is the start of one, or no body. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Reads on in a text that begins with all that was read before, until it has found so many steps and all before them. */
  scan(text: Uint8Array, steps: number): void {
    if (this.#at === 0 && !this.#open(text)) return;
    while (!this.#isWhole && this.parts.steps.length < steps) {
      const went =
        this.#array === null ? this.#readEntry(text) : this.#readElements(text, this.#array, steps);
      if (!went) return;
    }
  }

  #open(text: Uint8Array): boolean {
    const at = skipSpace(text, 0);
    if (text[at] !== OPEN_OBJECT) return false;
    this.#at = at + 1;
    return true;
  }

  /** One key with its value, or up to the first element of an array that is wanted. False where the text ends in it. */
  #readEntry(text: Uint8Array): boolean {
    let at = skipSpace(text, this.#at);
    if (text[at] === COMMA) at = skipSpace(text, at + 1);
    this.#isWhole = text[at] === CLOSE_OBJECT;
    if (text[at] !== QUOTE) return this.#isWhole;
    const keyEnd = skipString(text, at);
    if (keyEnd === NOWHERE) return false;
    const key = Buffer.from(text.buffer, text.byteOffset + at + 1, keyEnd - at - 2).toString('utf8');
    at = skipSpace(text, keyEnd);
    if (text[at] !== COLON) return false;
    at = skipSpace(text, at + 1);
    const part = PARTS.find((name) => name === key);
    if (part !== undefined && text[at] === OPEN_ARRAY) {
      this.#array = this.parts[part];
      this.#at = at + 1;
      return true;
    }
    const end = skipValue(text, at);
    if (end === NOWHERE) return false;
    if (key === 'finalAgent') this.finalAgent.add(at, end);
    this.#at = end;
    return true;
  }

  /** False where the text ends before the array does. */
  #readElements(text: Uint8Array, spans: Spans, steps: number): boolean {
    while (this.parts.steps.length < steps) {
      let at = skipSpace(text, this.#at);
      if (text[at] === COMMA) at = skipSpace(text, at + 1);
      if (text[at] === CLOSE_ARRAY) {
        this.#at = at + 1;
        this.#array = null;
        return true;
      }
      const end = skipValue(text, at);
      if (end === NOWHERE) return false;
      spans.add(at, end);
      this.#at = end;
    }
    return true;
  }
}

function skipSpace(text: Uint8Array, from: number): number {
  let at = from;
  while (at < text.length && (text[at] ?? 0) <= SPACE) at += 1;
  return at;
}

/** The place behind a value. */
function skipValue(text: Uint8Array, from: number): number {
  const first = text[from];
  if (first === QUOTE) return skipString(text, from);
  if (first === OPEN_ARRAY || first === OPEN_OBJECT) return skipNested(text, from);
  let at = from;
  for (; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte <= SPACE) {
      // Something that is no value would otherwise be walked over for ever.
      return at === from ? NOWHERE : at;
    }
  }
  return NOWHERE;
}

function skipNested(text: Uint8Array, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = skipString(text, at);
      if (at === NOWHERE) return NOWHERE;
      continue;
    }
    at += 1;
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth += 1;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return NOWHERE;
}

function skipString(text: Uint8Array, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  return NOWHERE;
}
