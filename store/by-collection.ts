import { type CollectionName, collections } from './collections.ts';

/**
 * Has a member for each collection, made when it is first asked for. A call uses two or three of thirty collections, and making all the
 * members took a quarter of the time of a write.
 */
export abstract class ByCollection<Member> {
  readonly #made = new Map<CollectionName, Member>();

  static {
    for (const name of Object.keys(collections) as CollectionName[]) {
      Object.defineProperty(ByCollection.prototype, name, {
        get(this: ByCollection<unknown>) {
          return this.#member(name);
        },
      });
    }
  }

  protected abstract make(collection: CollectionName): Member;

  #member(collection: CollectionName): Member {
    let member = this.#made.get(collection);
    if (member === undefined) {
      member = this.make(collection);
      this.#made.set(collection, member);
    }
    return member;
  }
}
