import { z } from 'zod';
import { cursor, expectedRevision, includeTotal, limit, pageOf, recordId } from '../../resources/fields.ts';
import { orAgentName } from '../../resources/markers.ts';
import { type EntityType, entityType, type VersionRecord, version, versionDiff } from '../../resources/version.ts';
import { collections } from '../../store/collections.ts';
import { StaleRevision } from '../../store/errors.ts';
import type { Readers } from '../../store/port.ts';
import type { Access, AccessByInput } from '../access/guarded-tool.ts';
import { accessFor } from '../access/requirement.ts';
import { mayKnowOf } from '../access/visibility.ts';
import { entities } from '../kinds.ts';
import type { Context } from '../registry/context.ts';
import { CREATES, defineTool, READS } from '../registry/define-tool.ts';
import { LARGEST_PAGE, listPage } from '../registry/paging.ts';
import type { Tool } from '../registry/tool.ts';
import { diffPayloads } from './diffing.ts';
import { type Entity, type Payload, shownPayload, showVersion } from './history.ts';

const byType = new Map<EntityType, Entity>(entities.map((entity) => [entity.type, entity]));

/** History follows its record: callers who may get (or update) the record may read (or restore) its history. */
function accessOf(which: 'getTool' | 'updateTool'): AccessByInput {
  const perType = new Map(
    entities.map((entity) => [entity.type as string, onEntity(accessFor(entity[which].access, {}))]),
  );
  const among = [...perType.values()];
  const [fallback] = among;
  if (!fallback) throw new Error('No entity has a history.');
  return {
    among,
    of(input) {
      const type = 'entityType' in input ? input.entityType : undefined;
      return (typeof type === 'string' && perType.get(type)) || fallback;
    },
  };
}

function onEntity({ scope, grant }: Access): Access {
  return { scope, grant: [grant].flat().map((text) => text.replace('{id}', '{entityId}')) };
}

/** Who is held to some tools, as a capsule is, needs the one that gets (or updates) the record. */
function actsAs(which: 'getTool' | 'updateTool'): NonNullable<Tool['actsAs']> {
  return {
    tools: entities.map((entity) => entity[which]),
    of: (input) => entities.find(({ type }) => 'entityType' in input && input.entityType === type)?.[which],
  };
}

const readAccess = accessOf('getTool');
const asGetTool = actsAs('getTool');
const entityId = orAgentName(recordId.describe('Id of the record, e.g. `agt_…`; an agent goes by its name too.'), {
  member: 'entityType',
  is: 'agent',
});
const path = { entityType, entityId };
const versionPath = { ...path, versionId: recordId.describe('Version id (`ver_…`), see list_versions.') };

const listVersions = defineTool({
  name: 'list_versions',
  title: 'List versions',
  description: 'List the states a record has had, newest first, with who made each. Deleted records keep theirs.',
  access: readAccess,
  actsAs: asGetTool,
  annotations: READS,
  input: z.strictObject({ ...path, limit, cursor, includeTotal }),
  output: pageOf(version),
  errors: ['not_found'],

  async handler({ entityType, entityId, ...input }, context) {
    const { store } = context;
    const entity = await entityWithHistory(context, entityType, entityId);
    const query = { where: { entityType, entityId } };
    const page = await listPage(store.versions, input, query, (found) => found, LARGEST_PAGE);
    return { ...page, data: await Promise.all(page.data.map((found) => showVersion(entity, found, store))) };
  },
});

const getVersion = defineTool({
  name: 'get_version',
  title: 'Get version',
  description: 'Read one earlier state of a record: content, payload, author, time.',
  access: readAccess,
  actsAs: asGetTool,
  annotations: READS,
  input: z.strictObject(versionPath),
  output: version,
  errors: ['not_found'],

  async handler(input, context) {
    const entity = await entityWithHistory(context, input.entityType, input.entityId);
    return showVersion(entity, await findVersion(context, input), context.store);
  },
});

const diffVersion = defineTool({
  name: 'diff_version',
  title: 'Diff version',
  description: 'Show what changed from another state of the record (by default the one before) to this version.',
  access: readAccess,
  actsAs: asGetTool,
  annotations: READS,
  input: z.strictObject({
    ...versionPath,
    against: z
      .string()
      .min(1)
      .max(200)
      .default('previous')
      .describe('Where to start: `previous`, `current`, a version id or a revision number.'),
  }),
  output: versionDiff,
  errors: ['not_found', 'too_large'],

  async handler({ against, ...input }, context) {
    const entity = await entityWithHistory(context, input.entityType, input.entityId);
    const target = await findVersion(context, input);
    const start = await startOfDiff(context, target, against);
    const shown = (payload: Payload) => shownPayload(entity, payload, context.store);
    return diffPayloads(entity, [await shown(start), await shown(target.payload)], context.fail);
  },
});

const restoreVersion = defineTool({
  name: 'restore_version',
  title: 'Restore version',
  description:
    'Bring a record, deleted ones too, back to an earlier state. Writes and returns a new version; an equal state writes nothing and returns the current one.',
  access: accessOf('updateTool'),
  actsAs: actsAs('updateTool'),
  annotations: { ...CREATES, idempotentHint: true },
  input: z.strictObject({
    ...versionPath,
    expectedRevision: expectedRevision.describe(
      'Refuse with `conflict` unless this is the latest revision of the record.',
    ),
  }),
  output: version,
  errors: ['not_found', 'conflict'],

  async handler({ expectedRevision, ...input }, context) {
    const { store } = context;
    const { entityId } = input;
    const entity = await entityWithHistory(context, input.entityType, entityId);
    const target = await findVersion(context, input);
    const latest = await latestVersion(store, input);
    if (expectedRevision !== undefined && expectedRevision !== latest.revision)
      throw new StaleRevision(latest.revision);

    const records = store[entity.collection] as unknown as AnyHistory; // of the entity's own kind, as is its schema
    const current = await records.get(entityId);
    const { schema } = collections[entity.collection];
    const state = schema.parse({ ...target.payload, updatedAt: target.createdAt, revision: latest.revision });
    const prepared = entity.prepareRestore
      ? await entity.prepareRestore(state as never, current as never, context)
      : state;
    const {
      updatedAt: _,
      revision: __,
      ...restored
    } = prepared as Payload & { updatedAt?: unknown; revision?: unknown };
    const note = { kind: 'restore', changeDescription: `Restored revision ${target.revision}` } as const;
    if (current) await records.update(entityId, { ...clearing(current), ...restored }, note);
    else await records.insert({ ...restored, revision: latest.revision + 1 }, note);
    return showVersion(entity, await latestVersion(store, input), store);
  },
});

export const versionTools = [listVersions, getVersion, diffVersion, restoreVersion];

interface AnyHistory {
  get(id: string): Promise<Payload | undefined>;
  insert(record: Payload, note: object): Promise<unknown>;
  update(id: string, change: Payload, options: object): Promise<unknown>;
}

/** A change that removes every member of the record; those with a bookkeeping meaning stay. */
function clearing(record: Payload): Payload {
  const kept = new Set(['id', 'createdAt', 'updatedAt', 'revision']);
  return Object.fromEntries(Object.keys(record).map((member) => [member, kept.has(member) ? undefined : null]));
}

type Place = { readonly entityType: EntityType; readonly entityId: string };

type Caller = Pick<Context<Readers, 'not_found'>, 'store' | 'principal' | 'fail'>;

/** The kind of a record that has a history of which the caller may know. */
async function entityWithHistory(caller: Caller, entityType: EntityType, entityId: string): Promise<Entity> {
  const entity = byType.get(entityType);
  const count = entity ? await caller.store.versions.count({ where: { entityType, entityId } }) : 0;
  if (entity && count > 0 && (await mayKnowOf(caller, entity, entityId))) return entity;
  throw caller.fail('not_found', `There is no history of ${entityType} ${entityId}; check type and id.`);
}

async function findVersion(
  { store, fail }: Caller,
  { entityType, entityId, versionId }: Place & { readonly versionId: string },
): Promise<VersionRecord> {
  const found = await store.versions.get(versionId);
  if (found?.entityType === entityType && found.entityId === entityId) return found;
  throw fail(
    'not_found',
    `The ${entityType} ${entityId} has no version ${versionId}; list_versions shows those it has.`,
  );
}

async function latestVersion(store: Readers, { entityType, entityId }: Place): Promise<VersionRecord> {
  const { records } = await store.versions.find({ where: { entityType, entityId }, limit: 1 });
  const [latest] = records;
  if (!latest) throw new Error(`${entityType} ${entityId} lost its history.`);
  return latest;
}

async function startOfDiff(caller: Caller, target: VersionRecord, against: string): Promise<Payload> {
  const { store, fail } = caller;
  if (against === 'current') return (await latestVersion(store, target)).payload;
  if (against === 'previous' && target.revision === 1) return {};
  const revision = against === 'previous' ? target.revision - 1 : Number(against);
  if (!/^[0-9]+$/.test(against) && against !== 'previous') {
    return (await findVersion(caller, { ...target, versionId: against })).payload;
  }
  const { entityType, entityId } = target;
  const { records } = await store.versions.find({ where: { entityType, entityId, revision }, limit: 1 });
  const [found] = records;
  if (!found) throw fail('not_found', `The ${entityType} ${entityId} has no revision ${against}; see list_versions.`);
  return found.payload;
}
