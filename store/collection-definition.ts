import type { z } from 'zod';

/** What a store keeps of one kind of record, and how it can be queried. It is plain data, so that SQL can be made from it. */
export interface CollectionDefinition<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  /** Ids are `<prefix>_` and 26 characters that sort by creation time. */
  readonly idPrefix: string;
  /** Records of an append-only collection never change, so they have no `updatedAt` and no revision made by the store. */
  readonly appendOnly?: true;
  /** No two records have equal values in all `fields`. A record that lacks one of the fields is not checked. */
  readonly unique: readonly UniqueRule<z.infer<Schema>>[];
  /** Each entry makes equality filters on exactly these fields fast. An array field is indexed by each of its items. */
  readonly indexes: readonly (readonly Field<z.infer<Schema>>[])[];
  /** Text members that queries can sort by, without case and accents. */
  readonly sorts?: readonly Field<z.infer<Schema>>[];
  /** Members that queries look into (`part`): they have columns, so that the records themselves are not read. */
  readonly parts?: readonly Field<z.infer<Schema>>[];
  /** Counts in constant time: by equality filters on `by`, with `quarters` by quarters of an hour, with `bytes` also sizes. */
  readonly counts?: {
    readonly by: readonly Field<z.infer<Schema>>[];
    readonly quarters?: true;
    /** The member with the content, and the member with its size in bytes of JSON. Records without a size are measured. */
    readonly bytes?: { readonly of: Field<z.infer<Schema>>; readonly noted: Field<z.infer<Schema>> };
  };
  /** The member that holds the time when the record expires. From then on no read finds it, and the store may remove it. */
  readonly expires?: Field<z.infer<Schema>>;
  readonly search?: SearchDefinition<z.infer<Schema>>;
}

export interface SearchDefinition<Record> {
  readonly type: string;
  /** Words in these members weigh more than in `text`. The first of them that a record has is shown as its title. */
  readonly title: readonly Field<Record>[];
  readonly text: readonly Field<Record>[];
  /** The record that this one belongs to, and whose visibility it shares. Queries can also filter by that record's members. */
  readonly owner?: { readonly collection: string; readonly field: Field<Record> };
  /** Filter members that have the same values in many records. A store can judge all records with equal values at once. */
  readonly alike?: readonly Field<Record>[];
}

export interface UniqueRule<Record> {
  readonly fields: readonly Field<Record>[];
  readonly ignoreCase?: true;
  readonly except?: { readonly field: Field<Record>; readonly value: string | boolean };
}

type Field<Record> = keyof Record & string;

export function define<Schema extends z.ZodObject>(
  definition: CollectionDefinition<Schema>,
): CollectionDefinition<Schema> {
  return definition;
}
