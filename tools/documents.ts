import { z } from 'zod';
import { type Document, document, documentFields, documentSummary } from '../resources/document.ts';
import { expectedRevision, pageOf, paging, recordId } from '../resources/fields.ts';
import { refTo } from '../resources/markers.ts';
import { whereAllowed } from './core/access/record-limit.ts';
import { withoutBookkeeping } from './core/history/history.ts';
import { defineKind } from './core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from './core/registry/define-tool.ts';
import { listPage } from './core/registry/paging.ts';
import { requireReferences, restoreWithReferences } from './core/registry/references.ts';

const documentId = refTo('document', recordId).describe('Document id (`doc_…`), see list_documents.');
const { title, content, tags } = documentFields;

const listDocuments = defineTool({
  name: 'list_documents',
  title: 'List documents',
  description:
    'List documents without their content, newest first, optionally by project or tag. Returns a page with `nextCursor`.',
  keywords:
    'knowledge base, articles, wiki, handbook pages, notes, files of text, Notion, Confluence, what is in our knowledge base, all articles',
  access: {
    scope: 'documents:read',
    grant: 'document:read',
    narrows: true,
    selects: { projectId: 'projectId', tag: 'tags' },
  },
  annotations: READS,
  input: z.strictObject({ projectId: recordId.optional(), tag: documentFields.tag.optional(), ...paging }),
  output: pageOf(documentSummary),
  errors: [],

  handler({ projectId, tag, ...input }, { store, principal }) {
    const any = whereAllowed<Document>(principal.rights.limitedTo('document', 'read'), 'id');
    return listPage(store.documents, input, { where: { projectId, tags: tag }, any }, (record) => record);
  },
});

const getDocument = defineTool({
  name: 'get_document',
  title: 'Get document',
  description: 'Read one document with its Markdown content.',
  keywords: 'read an article, open a page, handbook, wiki page, read the handbook, show an article',
  access: { scope: 'documents:read', grant: 'document:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: documentId }),
  output: document,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.documents.read(id),
});

const createDocument = defineTool({
  name: 'create_document',
  title: 'Create document',
  description: 'Create a Markdown document, alone or in a project. Returns it.',
  keywords:
    'write an article, new page, knowledge base entry, note, wiki, publish text, Markdown, policy, put a page into the knowledge base, save this text as a page, write documentation',
  access: { scope: 'documents:write', grant: 'document:write' },
  annotations: CREATES,
  input: z.strictObject({
    title,
    content: content.default(''),
    projectId: recordId.optional(),
    tags: tags.default([]),
  }),
  output: document,
  errors: [],

  async handler({ tags, ...input }, context) {
    await requireReferences(context, input);
    return context.store.documents.insert({ ...input, tags: [...new Set(tags)] });
  },
});

const updateDocument = defineTool({
  name: 'update_document',
  title: 'Update document',
  description:
    'Change fields of a document; given content and tags replace the old ones, null clears projectId. Returns the document. History keeps the old state.',
  keywords:
    'edit an article, change a page, revise text, handbook, edit a page of the handbook, fix a typo in an article',
  access: { scope: 'documents:write', grant: 'document:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: documentId,
    title: title.optional(),
    content: content.optional(),
    projectId: recordId.nullable().optional(),
    tags: tags.optional(),
    expectedRevision,
  }),
  output: document,
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision, tags, ...change }, context) {
    await requireReferences(context, change);
    const distinct = tags && [...new Set(tags)];
    return context.store.documents.update(id, { ...change, tags: distinct }, { expectedRevision });
  },
});

const deleteDocument = defineTool({
  name: 'delete_document',
  title: 'Delete document',
  description: 'Delete a document; restore_version brings it back.',
  keywords: 'remove an article, delete a page',
  access: { scope: 'documents:write', grant: 'document:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: documentId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, { store }) {
    await store.documents.delete(id, { expectedRevision });
    return {};
  },
});

export const documentTools = [listDocuments, getDocument, createDocument, updateDocument, deleteDocument];

export const documentKind = defineKind({
  type: 'document',
  collection: 'documents',
  list: listDocuments,
  get: getDocument,
  update: updateDocument,
  address: { description: 'Markdown of a document.', mimeType: 'text/markdown', text: 'content' },
  refersTo: { projectId: 'project' },
  history: {
    text: 'content',
    payload: withoutBookkeeping,
    prepareRestore: restoreWithReferences,
  },
  purge: 'alone',
});
