/** Writes protocol buffers' wire format: as much of it as an ONNX file needs. */
export class ProtoWriter {
  readonly #chunks: Uint8Array[] = [];

  /** A varint field: int32, int64, enum. Negative numbers take ten bytes, as the format has it. */
  integer(field: number, value: number): this {
    this.#chunks.push(tag(field, 0), varint(value));
    return this;
  }

  /** A fixed32 field holding a float. */
  float(field: number, value: number): this {
    const data = Buffer.alloc(4);
    data.writeFloatLE(value);
    this.#chunks.push(tag(field, 5), data);
    return this;
  }

  /** A length-delimited field. */
  bytes(field: number, value: Uint8Array): this {
    this.#chunks.push(tag(field, 2), varint(value.byteLength), value);
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, 'utf8'));
  }

  message(field: number, value: ProtoWriter): this {
    return this.bytes(field, value.finish());
  }

  /** A packed repeated field of varints. */
  integers(field: number, values: readonly number[]): this {
    return this.bytes(field, Buffer.concat(values.map(varint)));
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}

function tag(field: number, wireType: number): Uint8Array {
  return varint(field * 8 + wireType);
}

function varint(value: number): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
