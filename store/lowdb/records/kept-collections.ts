import { z } from 'zod';
import { recordId, timestamp } from '../../../resources/fields.ts';
import { type CollectionDefinition, collections } from '../../collections.ts';

/** Which file of imported rows counts, and how far: a record, so that it commits with the transaction that added them. */
export const ROW_FILES = 'rowFiles';
export const ROW_FILE_ID = 'rof_rows';

const rowFiles: CollectionDefinition = {
  schema: z.object({
    id: recordId,
    file: z.int().min(1).default(1),
    end: z.int().min(0),
    head: z.int().min(0).default(0),
    shift: z.int().min(0).default(0),
    createdAt: timestamp,
    updatedAt: timestamp,
    revision: z.int().min(1),
  }),
  idPrefix: 'rof',
  unique: [],
  indexes: [],
};

/** What this store keeps as records: the collections of the port, and its own. */
export const keptCollections: ReadonlyMap<string, CollectionDefinition> = new Map<string, CollectionDefinition>([
  // A definition of a narrower record is read as one of any.
  ...(Object.entries(collections) as unknown as [string, CollectionDefinition][]),
  [ROW_FILES, rowFiles],
]);
