import { z } from 'zod';
import { recordId, timestamp } from '../../../resources/fields.ts';
import type { CollectionDefinition } from '../../collection-definition.ts';
import { collections } from '../../collections.ts';

/** The record that says which version the tables of imported rows had at least. Tables of an earlier version have lost rows. */
export const ROW_VERSIONS = 'rowVersions';
export const ROW_VERSION_ID = 'rov_rows';
/** Users whose imported rows are being removed. The record goes when the rows are gone. */
export const ROW_ERASURES = 'rowErasures';

const bookkeeping = { id: recordId, createdAt: timestamp, updatedAt: timestamp, revision: z.int().min(1) };

function own(idPrefix: string, members: z.ZodRawShape): CollectionDefinition {
  return { schema: z.object({ ...bookkeeping, ...members }), idPrefix, unique: [], indexes: [] };
}

export const allCollections: ReadonlyMap<string, CollectionDefinition> = new Map<string, CollectionDefinition>([
  // A definition for one kind of record is read as one for any kind.
  ...(Object.entries(collections) as [string, CollectionDefinition][]),
  [ROW_VERSIONS, own('rov', { version: z.int().min(0) })],
  [ROW_ERASURES, own('roe', { uid: z.string() })],
]);
