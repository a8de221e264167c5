const INITIAL_BYTES = 2048;
/** UTF-8 takes at most so many bytes for a UTF-16 unit. */
const MOST_BYTES_PER_UNIT = 3;
/** Below this, a whole number has digits that an integer of 32 bits can be divided into. */
const INT32_LIMIT = 2 ** 31;
/** Numbers with so many digits or fewer are written by the shortest decimal that reads back as them. */
const EXACT_LIMIT = 1e15;
const MILLION = 1e6;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;

/**
 * JSON written into bytes, piece by piece, the same bytes as `JSON.stringify` makes: most of what an episode consists of is
 * short and plain, and a string made of it first, to be encoded afterwards, takes three times as long.
 */
export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #used = 0;

  get length(): number {
    return this.#used;
  }

  /** Begins anew; memory beyond `kept` bytes is given back. */
  clear(kept: number): void {
    this.#used = 0;
    if (this.#bytes.byteLength > kept) this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  }

  /** What was written: a view, until the next write. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#used);
  }

  /** ASCII as it is. */
  ascii(text: string): void {
    const { length } = text;
    this.#reserve(length);
    const bytes = this.#bytes;
    const at = this.#used;
    for (let i = 0; i < length; i++) bytes[at + i] = text.charCodeAt(i);
    this.#used = at + length;
  }

  /** So many of the bytes written from `start` on, once more. */
  repeat(start: number, length: number): void {
    this.#reserve(length);
    this.#bytes.copyWithin(this.#used, start, start + length);
    this.#used += length;
  }

  /** A JSON string. */
  string(text: string): void {
    const { length } = text;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    let at = this.#used;
    bytes[at++] = QUOTE;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
        this.#encode(JSON.stringify(text));
        return;
      }
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.#used = at;
  }

  /** A number in all its digits; `null` for one that JSON does not know. */
  number(value: number): void {
    if (Number.isInteger(value)) this.integer(value);
    else this.ascii(Number.isFinite(value) ? String(value) : 'null');
  }

  integer(value: number): void {
    if (value < 0 || value >= INT32_LIMIT) this.ascii(String(value));
    else {
      let digits = 1;
      for (let rest = value; rest >= 10; rest = (rest / 10) | 0) digits++;
      this.#digits(value, digits);
    }
  }

  /** A number of six decimals, what a reader can use, without zeros at its end; `null` for one that JSON does not know. */
  rounded(value: number): void {
    const millionths = Math.round(value * MILLION);
    if (!(Math.abs(millionths) < EXACT_LIMIT)) {
      this.number(millionths / MILLION);
      return;
    }
    const size = Math.abs(millionths);
    const whole = Math.floor(size / MILLION);
    let decimals = size - whole * MILLION;
    if (millionths < 0) this.#byte(MINUS);
    this.integer(whole);
    if (decimals === 0) return;
    let digits = 6;
    while (decimals % 10 === 0) {
      decimals /= 10;
      digits--;
    }
    this.#byte(POINT);
    this.#digits(decimals, digits);
  }

  /** JSON that is there already. */
  json(text: string): void {
    this.#encode(text);
  }

  #byte(code: number): void {
    this.#reserve(1);
    this.#bytes[this.#used++] = code;
  }

  /** The last so many digits of a number of 32 bits. */
  #digits(value: number, count: number): void {
    this.#reserve(count);
    const bytes = this.#bytes;
    let rest = value;
    for (let at = this.#used + count - 1; at >= this.#used; at--) {
      const shorter = (rest / 10) | 0;
      bytes[at] = ZERO + rest - 10 * shorter;
      rest = shorter;
    }
    this.#used += count;
  }

  #encode(text: string): void {
    this.#reserve(MOST_BYTES_PER_UNIT * text.length);
    this.#used += this.#bytes.write(text, this.#used);
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.byteLength) return;
    const grown = Buffer.allocUnsafeSlow(2 * (this.#used + bytes));
    this.#bytes.copy(grown, 0, 0, this.#used);
    this.#bytes = grown;
  }
}
