import { z } from 'zod';
import { recordId, timestamp } from '../../../resources/fields.ts';
import type { CollectionDefinition } from '../../collection-definition.ts';
import { collections } from '../../collections.ts';

/** The record that says which version the tables of imported rows had at least. Tables of an earlier version have lost rows. */
export const ROW_VERSIONS = 'rowVersions';
export const ROW_VERSION_ID = 'rov_rows';

const rowVersions: CollectionDefinition = {
  schema: z.object({
    id: recordId,
    version: z.int().min(0),
    createdAt: timestamp,
    updatedAt: timestamp,
    revision: z.int().min(1),
  }),
  idPrefix: 'rov',
  unique: [],
  indexes: [],
};

/** Users whose imported rows are being removed. The record goes when the rows are gone. */
export const ROW_ERASURES = 'rowErasures';

const rowErasures: CollectionDefinition = {
  schema: z.object({
    id: recordId,
    uid: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
    revision: z.int().min(1),
  }),
  idPrefix: 'roe',
  unique: [],
  indexes: [],
};

/** The collections of this store: those of the port, and its own. */
export const allCollections: ReadonlyMap<string, CollectionDefinition> = new Map<string, CollectionDefinition>([
  // A definition for one kind of record is read as one for any kind.
  ...(Object.entries(collections) as [string, CollectionDefinition][]),
  [ROW_VERSIONS, rowVersions],
  [ROW_ERASURES, rowErasures],
]);
