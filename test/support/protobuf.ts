/** The members of a message in protobuf, by their numbers; what they mean is for the reader to know. */
export interface Fields {
  has(field: number): boolean;
  messages(field: number): Fields[];
  text(field: number): string;
  hex(field: number): string;
  /** Of an integer. */
  number(field: number): number;
  double(field: number): number;
}

/** Reads https://protobuf.dev/programming-guides/encoding/. */
export function fieldsOf(buffer: Buffer): Fields {
  const found = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = buffer.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      shift += 7n;
    }
  };
  const take = (length: number): Buffer => {
    const taken = buffer.subarray(at, at + length);
    at += length;
    return taken;
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    const value = kind === 0 ? eight(varint()) : take(kind === 2 ? Number(varint()) : kind === 1 ? 8 : 4);
    found.set(tag >> 3, [...(found.get(tag >> 3) ?? []), value]);
  }
  const first = (field: number) => found.get(field)?.[0];
  return {
    has: (field) => found.has(field),
    messages: (field) => (found.get(field) ?? []).map(fieldsOf),
    text: (field) => first(field)?.toString('utf8') ?? '',
    hex: (field) => first(field)?.toString('hex') ?? '',
    number: (field) => Number(whole(first(field))),
    double: (field) => first(field)?.readDoubleLE() ?? 0,
  };
}

function eight(value: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(value);
  return buffer;
}

function whole(value: Buffer | undefined): bigint {
  if (!value) return 0n;
  return value.length === 4 ? BigInt(value.readUInt32LE()) : value.readBigInt64LE();
}
