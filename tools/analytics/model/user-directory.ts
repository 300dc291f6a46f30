import type { UserRow } from '../../../resources/imported-rows.ts';
import { comparePositions, OrderedSet } from '../../../store/ordered-set.ts';
import type { Position } from '../../../store/port.ts';

interface UserQuery {
  readonly status?: UserRow['status'] | undefined;
  /** A part of the uid, email or name, in any case. */
  readonly search?: string | undefined;
  /** Includes users with a `deletedAt`. */
  readonly deleted?: boolean | undefined;
  /** Only these users. */
  readonly uids?: readonly string[] | undefined;
}

interface KnownUser {
  readonly row: UserRow;
  /** Position of the row in the log. */
  readonly position: number;
  readonly number: number;
  readonly text: string;
}

const GRAM = 3;

/** Users of the product, by time of creation and by the three-letter pieces of their texts. */
export class UserDirectory {
  readonly #users = new Map<string, KnownUser>();
  /** Users by status, with all of them under ''. The same again for users who are not deleted. */
  readonly #sets = new Map<string, OrderedSet>();
  /** Users by the time of their deletion. */
  readonly #deleted = new OrderedSet();
  /** For each piece, the numbers of the texts that contain it. Earlier texts of a user stay in it and are skipped. */
  readonly #pieces = new Map<string, number[]>();
  readonly #uidOf: string[] = [];

  get size(): number {
    return this.#users.size;
  }

  get(uid: string): UserRow | undefined {
    return this.#users.get(uid)?.row;
  }

  /** Returns the position of the row that no longer counts. */
  put(row: UserRow, position: number): number | undefined {
    const before = this.#users.get(row.uid);
    if (before) this.#unlist(before.row);
    const text = searched([row.uid, row.email, row.name ?? ''].join('\n'));
    const number = before?.text === text ? before.number : this.#index(row.uid, text);
    this.#users.set(row.uid, { row, position, number, text });
    for (const name of setsOf(row)) {
      const set = this.#sets.get(name) ?? new OrderedSet();
      this.#sets.set(name, set);
      set.add(placeOf(row));
    }
    if (row.deletedAt !== undefined) this.#deleted.add(endOf(row));
    return before?.position;
  }

  /** Returns the position of the row that no longer counts. */
  remove(uid: string): number | undefined {
    const before = this.#users.get(uid);
    if (!before) return undefined;
    this.#users.delete(uid);
    this.#unlist(before.row);
    return before.position;
  }

  /** The number of users created before the time. */
  createdBefore(time: number): number {
    return this.#sets.get(setOf({ deleted: true }))?.rank(placeAt(time)) ?? 0;
  }

  /** The number of users created before the time and not deleted before it. */
  thereAt(time: number): number {
    return this.createdBefore(time) - this.#deleted.rank(placeAt(time));
  }

  /** Newest first, starting after the position. */
  *find(query: UserQuery, after?: Position): Generator<UserRow, void> {
    const candidates = this.#candidates(query);
    if (candidates) {
      const rows = [...candidates].flatMap((uid) => this.get(uid) ?? []).filter((row) => this.#matches(row, query));
      rows.sort((a, b) => comparePositions(placeOf(b), placeOf(a)));
      for (const row of rows) if (!after || comparePositions(placeOf(row), after) < 0) yield row;
      return;
    }
    const set = this.#sets.get(setOf(query));
    for (const { id } of set?.descending(0, after ? set.rank(after) : set.size) ?? []) {
      const row = this.get(id);
      if (row && this.#matches(row, query)) yield row;
    }
  }

  count(query: UserQuery): number {
    if (query.search === undefined && !query.uids) return this.#sets.get(setOf(query))?.size ?? 0;
    let count = 0;
    for (const _ of this.find(query)) count += 1;
    return count;
  }

  #unlist(row: UserRow): void {
    for (const name of setsOf(row)) this.#sets.get(name)?.delete(placeOf(row));
    this.#deleted.delete(endOf(row));
  }

  #matches(row: UserRow, { status, search, uids, deleted = false }: UserQuery): boolean {
    if (!deleted && row.deletedAt !== undefined) return false;
    if (status !== undefined && row.status !== status) return false;
    if (uids && !uids.includes(row.uid)) return false;
    return search === undefined || (this.#users.get(row.uid)?.text.includes(searched(search)) ?? false);
  }

  /** Uids that include all matches. Undefined where walking through the list is faster. */
  #candidates({ search, uids }: UserQuery): ReadonlySet<string> | undefined {
    if (uids) return new Set(uids);
    if (search === undefined) return undefined;
    const lists = this.#lists(searched(search));
    const total = lists.reduce((sum, list) => sum + list.length, 0);
    if (total > Math.max(1000, this.size / 10)) return undefined;
    return new Set(lists.flatMap((list) => list.flatMap((number) => this.#current(number))));
  }

  /** For a long text, one list that contains all matches. For a short text, a list for each piece that contains the text. */
  #lists(search: string): readonly (readonly number[])[] {
    if (search.length < GRAM)
      return [...this.#pieces].flatMap(([piece, list]) => (piece.includes(search) ? [list] : []));
    const lists = [...piecesOf(search)].map((piece) => this.#pieces.get(piece) ?? []);
    return [lists.reduce((best, list) => (list.length < best.length ? list : best))];
  }

  #current(number: number): string[] {
    const uid = this.#uidOf[number] ?? '';
    return this.#users.get(uid)?.number === number ? [uid] : [];
  }

  #index(uid: string, text: string): number {
    const number = this.#uidOf.push(uid) - 1;
    // Line breaks at both ends, so that every letter is in some piece.
    for (const piece of piecesOf(`\n\n${text}\n\n`)) {
      const list = this.#pieces.get(piece);
      if (list) list.push(number);
      else this.#pieces.set(piece, [number]);
    }
    return number;
  }
}

function setOf({ status, deleted = false }: Pick<UserQuery, 'status' | 'deleted'>): string {
  return `${status ?? ''}${deleted ? ' and deleted' : ''}`;
}

/** The names of the sets that contain the user. */
function setsOf({ status, deletedAt }: UserRow): string[] {
  const kinds = deletedAt === undefined ? [false, true] : [true];
  return kinds.flatMap((deleted) => [setOf({ deleted }), setOf({ status, deleted })]);
}

/** The form in which texts are compared. */
function searched(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

function placeAt(time: number): Position {
  return { createdAt: new Date(time).toISOString(), id: '' };
}

/** The end of a user is never before the beginning. */
function endOf({ createdAt, deletedAt = '', uid }: UserRow): Position {
  return { createdAt: deletedAt > createdAt ? deletedAt : createdAt, id: uid };
}

function placeOf({ createdAt, uid }: UserRow): Position {
  return { createdAt, id: uid };
}

function piecesOf(text: string): Set<string> {
  const pieces = new Set<string>();
  for (let at = 0; at + GRAM <= text.length; at += 1) pieces.add(text.slice(at, at + GRAM));
  return pieces;
}
