/** JSON, as answers, records and entries are compared. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

const ID = /\b[a-z]{3}_[0-9a-z]{26}\b/g;
/** Members with secrets, what is made of them, and places of pages: each store has others, always the same for the same thing. */
const RANDOM = /^(nextCursor|secret|sealed|token|prefix|tokenPrefix|\w*[hH]ash|state)$/;
/** The stores rank what a search finds in orders of their own, so pages end at other places. */
export const RANKED = /^(search|search_memories|search_passages)$/;
/** Ids that count imported rows as they came: with gaps that each engine leaves. */
const COUNTED = /^[a-z]+:\d{16}$/;
const MEASURED = /^(durationMs|tookMs|p\d+Ms)$/;
/** In JSON: a backslash, a NUL, half a character. */
const ESCAPED = /\\\\|\\u0000|\\ud[89a-f][0-9a-f]{2}/g;

/** What one store calls a record, a page or a secret, and what another store calls it that lives through the same. */
export class TwinNames {
  readonly #names = new Map<string, string>();
  readonly #given = new Set<string>();

  /** What the other store must say where this one says `one`. Names that are new are learned where both stand at the same place. */
  expected(one: Json, other: Json): Json {
    this.#learn(one, other);
    return this.translated(one);
  }

  translated(value: Json): Json {
    if (typeof value === 'string') return this.#names.get(value) ?? value.replaceAll(ID, (id) => this.#nameOf(id));
    if (value === null || typeof value !== 'object') return value;
    if (isList(value)) return value.map((item) => this.translated(item));
    return Object.fromEntries(
      Object.entries(value).map(([member, item]) => [this.#nameOf(member), this.translated(item)]),
    );
  }

  #nameOf(one: string): string {
    return this.#names.get(one) ?? one;
  }

  #learn(one: Json, other: Json, member = ''): void {
    if (typeof one === 'string' && typeof other === 'string') {
      if (RANDOM.test(member) || (COUNTED.test(one) && COUNTED.test(other))) this.#same(one, other);
      const [ids, others] = [one.match(ID) ?? [], other.match(ID) ?? []];
      if (ids.length === others.length) for (const [at, id] of ids.entries()) this.#same(id, others[at] ?? id);
    }
    if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object') return;
    for (const [name, item] of Object.entries(one)) {
      const counterpart = Object.getOwnPropertyDescriptor(other, this.#nameOf(name))?.value;
      if (counterpart !== undefined) this.#learn(item, counterpart, isList(one) ? member : name);
    }
  }

  /** A name stands for one thing: neither is learned again, nor one that another thing has. */
  #same(one: string, other: string): void {
    if (this.#names.has(one) || this.#given.has(other)) return;
    this.#names.set(one, other);
    this.#given.add(other);
  }
}

/** The value as JSON has it, without what was measured, and with characters replaced that one of the stores replaces in audit entries. */
export function comparable(value: unknown): Json {
  const text: string | undefined = JSON.stringify(value, (member, item) => {
    const ofSearch = typeof item === 'object' && item !== null && RANKED.test(item.tool) && item.arguments;
    if (ofSearch) return { ...item, arguments: { ...ofSearch, cursor: undefined } };
    // PostgreSQL's audit entries do not name such an unknown member.
    if (member === '__proto__') return undefined;
    return MEASURED.test(member) ? 0 : item;
  });
  return JSON.parse((text ?? 'null').replaceAll(ESCAPED, (found) => (found === '\\\\' ? found : '\ufffd')));
}

/** Where two values first differ, and what they are there. Undefined where they are equal. */
export function differenceOf(one: Json, other: Json, path = ''): string | undefined {
  const isDeep = one !== null && other !== null && typeof one === 'object' && typeof other === 'object';
  if (!isDeep || isList(one) !== isList(other))
    return one === other ? undefined : `${path || 'the whole'}: ${shortened(one)} and ${shortened(other)}`;
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const [mine, theirs] = [one, other].map((value) => Object.getOwnPropertyDescriptor(value, name)?.value ?? ABSENT);
    const found = differenceOf(mine, theirs, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const ABSENT = '(absent)';
const shortened = (value: Json) => JSON.stringify(value).slice(0, 600);

export function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

export function idsIn(value: unknown): readonly string[] {
  return JSON.stringify(value).match(ID) ?? [];
}
