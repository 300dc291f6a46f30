import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { canonicalize } from 'json-canonicalize';
import { withoutSeal } from '../../store/audit-proof/seal.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import { storedColumns } from '../../store/rows/table-rows.ts';
import type { AnyRecord, Part } from './contents.ts';

/** How much there is of something, and a sum of hashes that is the same in any order. */
interface Digest {
  readonly count: number;
  readonly sum: string;
}

const MODULUS = 2n ** 64n;

export class Digests {
  readonly #sums = new Map<string, { count: number; sum: bigint }>();
  /** Records that expire before this time are not counted: they may go while the others are looked at. */
  readonly expiredBy: string;

  constructor(expiredBy: string) {
    this.expiredBy = expiredBy;
  }

  add(part: Part): void {
    const name = nameOf(part);
    const found = this.#sums.get(name) ?? { count: 0, sum: 0n };
    for (const text of textsOf(part, this.expiredBy)) {
      found.count += 1;
      found.sum = (found.sum + BigInt(`0x${hash('sha256', text).slice(0, 16)}`)) % MODULUS;
    }
    this.#sums.set(name, found);
  }

  of(name: string): Digest {
    const { count, sum } = this.#sums.get(name) ?? { count: 0, sum: 0n };
    return { count, sum: sum.toString(16) };
  }

  get names(): string[] {
    return [...this.#sums.keys()];
  }
}

export function differing(one: Digests, other: Digests): string[] {
  const names = [...new Set([...one.names, ...other.names])];
  return names.filter((name) => !isDeepStrictEqual(one.of(name), other.of(name)));
}

/** A time by which what is compared will have been looked at. */
export const soon = () => new Date(Date.now() + SOON_MS).toISOString();
const SOON_MS = 30 * 60_000;

export function nameOf(part: Part): string {
  if ('records' in part) return part.records;
  if ('file' in part) return 'files';
  return 'audit' in part ? 'audit log' : `rows of ${part.rows}`;
}

/** A text for each thing in the part, the same wherever it is kept. */
function* textsOf(part: Part, expiredBy: string): Generator<string> {
  if ('records' in part) {
    for (const record of part.of) if (!isExpired(part.records, record, expiredBy)) yield canonicalize(record);
  } else if ('file' in part) yield `${part.file} ${part.bytes}`;
  else if ('audit' in part) for (const entry of part.audit) yield canonicalize(withoutSeal(entry));
  else {
    const columns = storedColumns(part.rows);
    for (const row of part.of) yield JSON.stringify(columns.map((column) => row[column] ?? null));
  }
}

function isExpired(name: CollectionName, record: AnyRecord, by: string): boolean {
  const { expires } = collections[name] as { readonly expires?: string };
  const at = expires && record[expires];
  return typeof at === 'string' && Date.parse(at) <= Date.parse(by);
}
