import type { CollectionDefinition } from './collection-definition.ts';
import type { Row } from './row.ts';

/** How much the records take that have these values in the members that their collection counts by. A member that they lack is absent. */
export interface Size {
  readonly values: Readonly<Record<string, string>>;
  readonly records: number;
  /** Bytes of JSON, in UTF-8. */
  readonly bytes: number;
}

type Counts = NonNullable<CollectionDefinition['counts']>;

export class SizeCache {
  readonly #by: Counts['by'];
  readonly #bytes: NonNullable<Counts['bytes']>;
  readonly #sizes = new Map<string, Size>();

  constructor({ by }: Counts, bytes: NonNullable<Counts['bytes']>) {
    this.#by = by;
    this.#bytes = bytes;
  }

  replace(before: Row | undefined, after: Row | undefined): void {
    if (before) this.#add(before, -1);
    if (after) this.#add(after, 1);
  }

  all(): readonly Size[] {
    return [...this.#sizes.values()];
  }

  #add(row: Row, sign: 1 | -1): void {
    const values = Object.fromEntries(this.#by.flatMap((field) => (isText(row[field]) ? [[field, row[field]]] : [])));
    const key = JSON.stringify(values);
    const { records = 0, bytes = 0 } = this.#sizes.get(key) ?? {};
    const sum = { values, records: records + sign, bytes: bytes + sign * this.#bytesOf(row) };
    if (sum.records === 0) this.#sizes.delete(key);
    else this.#sizes.set(key, sum);
  }

  #bytesOf(row: Row): number {
    const noted = row[this.#bytes.noted];
    return typeof noted === 'number' ? noted : bytesOf(row[this.#bytes.of]);
  }
}

export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
