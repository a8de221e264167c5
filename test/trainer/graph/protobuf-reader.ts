/** One field of a message, in the order they come. */
export interface Field {
  readonly field: number;
  readonly integer: bigint;
  /** Empty for a varint field. */
  readonly bytes: Uint8Array;
}

/** The fields of a message; those that are messages themselves are read by a further call. */
export function decode(data: Uint8Array): Field[] {
  const fields: Field[] = [];
  let offset = 0;
  while (offset < data.byteLength) {
    const tag = varint(data, offset);
    const value = varint(data, tag.next);
    const isBytes = (tag.value & 7n) === 2n;
    const end = isBytes ? value.next + Number(value.value) : value.next;
    fields.push({
      field: Number(tag.value >> 3n),
      integer: BigInt.asIntN(64, value.value),
      bytes: data.subarray(value.next, end),
    });
    offset = end;
  }
  return fields;
}

/** The numbers of a packed repeated field. */
export function packed(data: Uint8Array): bigint[] {
  const numbers: bigint[] = [];
  for (let offset = 0; offset < data.byteLength; ) {
    const { value, next } = varint(data, offset);
    numbers.push(BigInt.asIntN(64, value));
    offset = next;
  }
  return numbers;
}

function varint(data: Uint8Array, offset: number): { value: bigint; next: number } {
  let [value, shift, next] = [0n, 0n, offset];
  for (;;) {
    const byte = BigInt(data[next++]!);
    value |= (byte & 127n) << shift;
    shift += 7n;
    if (byte < 128n) return { value, next };
  }
}
