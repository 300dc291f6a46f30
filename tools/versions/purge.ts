import { z } from 'zod';
import { recordId } from '../../resources/fields.ts';
import { orNameOf } from '../../resources/markers.ts';
import type { CollectionName } from '../../store/collections.ts';
import { admits } from '../core/access/record-limit.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import type { CallerContext } from '../core/registry/context.ts';
import type { AuthorizePurge, Kind, Purge } from '../core/registry/define-kind.ts';
import { DELETES, defineTool } from '../core/registry/define-tool.ts';
import { requireUnreferenced } from '../core/registry/references.ts';
import type { Tool } from '../core/registry/tool.ts';

/** Something that can be purged: records of a kind, or users of the product. */
export interface Purgeable {
  readonly type: string;
  readonly resource: string;
  readonly purge: Purge;
  readonly authorizePurge?: AuthorizePurge | undefined;
}

/** The kinds whose records can be purged. */
export function purgeableAmong(kinds: readonly Kind[]): Purgeable[] {
  return kinds.flatMap(({ type, resource, collection, purge, authorizePurge }) => {
    if (!purge) return [];
    return { type, resource, purge: purge === 'alone' ? purgeAlone(type, collection) : purge, authorizePurge };
  });
}

function purgeAlone(type: string, collection: CollectionName): Purge {
  return async (id, context) => {
    await requireUnreferenced(context, type, id);
    return context.store.purge(collection, id);
  };
}

export function purgeTool(purgeable: readonly Purgeable[]): Tool {
  const byType = new Map(purgeable.map((each) => [each.type, each]));
  return defineTool({
    name: 'purge_record',
    title: 'Purge record',
    description:
      'Remove a record, deleted ones too, for good: with its versions, messages and what the audit log holds of its content. Nothing brings it back. Refused while other records refer to it.',
    keywords:
      "GDPR, erase personal data, right to be forgotten, wipe with history, delete permanently, hard delete, delete a person's data completely, wipe without history",
    access: { scope: 'admin', grant: 'record:purge' },
    annotations: DELETES,
    input: z.strictObject({ entityType: z.enum([...byType.keys()]).describe(TAKEN_ALONG), id: recordName }),
    output: z.object({}),
    errors: ['not_found', 'conflict'],

    async authorize({ entityType, id }, context) {
      const found = byType.get(entityType);
      if (found?.authorizePurge && !(await isKept(found, id, context))) await found.authorizePurge(id, context);
    },

    async handler({ entityType, id }, context) {
      const found = byType.get(entityType);
      if (found && !(await isKept(found, id, context)) && (await found.purge(id, context))) return {};
      throw context.fail('not_found', `There is no ${entityType} ${id}, and no history of one; check type and id.`);
    },
  });
}

const TAKEN_ALONG =
  'A task takes its document along, a thread its messages, a user (of the product) all that was imported.';

const recordName = orNameOf(
  ['agent', 'skill', 'flow'],
  recordId.describe(
    'Id of the record, or name of an agent, skill or flow; of a task document that of its task, of a user the uid.',
  ),
  'entityType',
);

/** Whether fixed arguments keep the record from the caller, who then gets `not_found`. */
async function isKept(
  { resource }: Purgeable,
  id: string,
  { store, principal, server }: CallerContext,
): Promise<boolean> {
  const limit = principal.rights.held(resource, 'delete');
  if (!limit) return false;
  const { names, record } = await subjectsIn(store, server.kinds)(resource, id);
  return !admits(limit, { resource, op: 'delete', ids: names, record });
}
