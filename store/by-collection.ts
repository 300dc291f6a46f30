import { type CollectionName, collections } from './collections.ts';

/** A member for each collection, made when first asked for: making all of them took a quarter of the time of a write. */
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
