import { z } from 'zod';
import { type ArtifactRecord, artifact, artifactFields, artifactSummary } from '../resources/artifact.ts';
import { expectedRevision, pageOf, paging, recordId, sortBy } from '../resources/fields.ts';
import { refTo } from '../resources/markers.ts';
import type { Readers } from '../store/port.ts';
import { whereAllowed } from './core/access/record-limit.ts';
import { accessKeysWith, isSeen, mayKnowOf, seenBy } from './core/access/visibility.ts';
import { invalidMember } from './core/errors.ts';
import { withoutBookkeeping } from './core/history/history.ts';
import type { Context } from './core/registry/context.ts';
import { defineKind } from './core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from './core/registry/define-tool.ts';
import { listPage } from './core/registry/paging.ts';
import { requireReferences, restoreWithReferences } from './core/registry/references.ts';

const artifactId = refTo('artifact', recordId).describe('Artifact id (`art_…`), see list_artifacts.');
const { name, mimeType, content, data } = artifactFields;

const listArtifacts = defineTool({
  name: 'list_artifacts',
  title: 'List artifacts',
  description:
    'List artifacts (what agents made: tables, pictures, code) without their content, newest first. Returns a page with `nextCursor`.',
  keywords:
    'generated files, images, exports, attachments, what agents produced, downloads, which files have bots made, all generated files',
  access: {
    scope: 'artifacts:read',
    grant: 'artifact:read',
    narrows: true,
    selects: { projectId: 'projectId', threadId: 'threadId', mimeType: 'mimeType' },
  },
  annotations: READS,
  input: z.strictObject({
    projectId: recordId.optional(),
    threadId: recordId.optional(),
    mimeType: z.string().min(1).max(200).optional(),
    ...sortBy('name'),
    ...paging,
  }),
  output: pageOf(artifactSummary),
  errors: [],

  handler({ projectId, threadId, mimeType, ...input }, { store, principal }) {
    const any = whereAllowed<ArtifactRecord>(principal.rights.limitedTo('artifact', 'read'), 'id');
    const seen = seenBy(store.artifacts, principal);
    return listPage(seen, input, { where: { projectId, threadId, mimeType }, any }, showArtifact);
  },
});

const getArtifact = defineTool({
  name: 'get_artifact',
  title: 'Get artifact',
  description: 'Read one artifact: text in `content`, anything else in base64 in `data`.',
  keywords: 'download a file, open an image, attachment content, download the file a bot made, show the picture',
  access: { scope: 'artifacts:read', grant: 'artifact:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: artifactId }),
  output: artifact,
  errors: ['not_found'],

  handler: async ({ id }, context) => showArtifact(await findArtifact(context, id)),
});

const createArtifact = defineTool({
  name: 'create_artifact',
  title: 'Create artifact',
  description:
    'Keep something that was made, alone or in a project or thread: give either `content` or `data`. Returns it.',
  keywords:
    'store a file, upload, save an image, attach, keep a generated table, code or picture, store a file, upload a file',
  access: { scope: 'artifacts:write', grant: 'artifact:write' },
  annotations: CREATES,
  input: z.strictObject({
    name,
    mimeType,
    content: content.optional(),
    data: data.optional(),
    projectId: recordId.optional(),
    threadId: recordId.optional().describe('Thread that it comes from (`thr_…`).'),
  }),
  output: artifact,
  errors: [],

  async handler(input, context) {
    requireOne(input);
    await requireReferences(context, input);
    const accessKeys = await accessKeysWith(context.store, input);
    return showArtifact(await context.store.artifacts.insert({ ...input, accessKeys }));
  },
});

const updateArtifact = defineTool({
  name: 'update_artifact',
  title: 'Update artifact',
  description:
    'Change fields of an artifact; given `content` or `data` replaces what it held, null clears projectId or threadId. Returns the artifact. History keeps the old state.',
  keywords: 'replace a file, new content of an attachment',
  access: { scope: 'artifacts:write', grant: 'artifact:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: artifactId,
    name: name.optional(),
    mimeType: mimeType.optional(),
    content: content.optional(),
    data: data.optional(),
    projectId: recordId.nullable().optional(),
    threadId: recordId.nullable().optional(),
    expectedRevision,
  }),
  output: artifact,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision, content, data, ...change }, context) {
    const { store } = context;
    const current = await findArtifact(context, id);
    const inside = content === undefined && data === undefined ? {} : { content: content ?? null, data: data ?? null };
    if (content !== undefined) requireOne({ content, data });
    await requireReferences(context, change);
    const { threadId = current.threadId } = change;
    const accessKeys = await accessKeysWith(store, { threadId }, current);
    return showArtifact(await store.artifacts.update(id, { ...change, ...inside, accessKeys }, { expectedRevision }));
  },
});

const deleteArtifact = defineTool({
  name: 'delete_artifact',
  title: 'Delete artifact',
  description: 'Delete an artifact; restore_version brings it back.',
  keywords: 'remove a file, delete an image',
  access: { scope: 'artifacts:write', grant: 'artifact:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: artifactId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    await findArtifact(context, id);
    await context.store.artifacts.delete(id, { expectedRevision });
    return {};
  },
});

export const artifactTools = [listArtifacts, getArtifact, createArtifact, updateArtifact, deleteArtifact];

const ARTIFACTS = { type: 'artifact', collection: 'artifacts' } as const;

export const artifactKind = defineKind({
  ...ARTIFACTS,
  list: listArtifacts,
  get: getArtifact,
  update: updateArtifact,
  delete: deleteArtifact,
  refersTo: { projectId: 'project', threadId: 'thread' },
  address: {
    description: 'What is in an artifact, under its own media type.',
    mimeType: undefined,
    text: 'content',
    blob: 'data',
  },
  history: {
    payload: (record) => {
      const { accessKeys: _, ...payload } = withoutBookkeeping(record);
      return payload;
    },

    async prepareRestore(state, current, context) {
      const restored = await restoreWithReferences(state, current, context);
      return { ...restored, accessKeys: await accessKeysWith(context.store, restored, current) };
    },
  },

  purge: async (id, context) => (await mayKnowOf(context, ARTIFACTS, id)) && context.store.purge('artifacts', id),
});

async function findArtifact(
  { store, principal, fail }: Context<Readers, 'not_found'>,
  id: string,
): Promise<ArtifactRecord> {
  const found = await store.artifacts.get(id);
  if (found && isSeen(found, principal)) return found;
  throw fail('not_found', `There is no artifact ${id}; list_artifacts shows the ones you can see.`);
}

function showArtifact(record: ArtifactRecord): z.input<typeof artifact> {
  const { content = '', data } = record;
  return { ...record, sizeBytes: data === undefined ? Buffer.byteLength(content) : Buffer.byteLength(data, 'base64') };
}

function requireOne(inside: { readonly content?: unknown; readonly data?: unknown }): void {
  if ((inside.content === undefined) !== (inside.data === undefined)) return;
  throw invalidMember('content', 'Give either `content` (text) or `data` (base64), and not both.');
}
