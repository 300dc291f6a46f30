import { z } from 'zod';
import {
  type Document,
  document,
  documentFields,
  documentFile,
  documentPart,
  documentSummary,
} from '../../resources/document.ts';
import { expectedRevision, pageOf, paging, recordId, sortBy } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { LONGEST_INDEXED } from '../../store/search-text.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { invalidMember } from '../core/errors.ts';
import { withoutBookkeeping } from '../core/history/history.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { requireReferences, restoreWithReferences } from '../core/registry/references.ts';
import { sourceOf } from '../embeddings/texts.ts';
import { fileInput, stageFile } from './file-input.ts';
import { passageFinder } from './find-passages.ts';
import { fileOf, forgetFiles, keepFile } from './originals.ts';

const documentId = refTo('document', recordId).describe('Document id (`doc_…`), see list_documents.');
const { title, content, tags } = documentFields;
/** In longer ones the search of all kinds shows the first match instead of the best passage. */
const LONGEST_PREVIEWED = 50_000;
/** What create_document and update_document answer. */
const written = document.extend({ warnings: z.array(z.string()).optional().describe('What to do better, and why.') });
const LONGEST_PART = 100_000;
const USUAL_PART = 8000;

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
  input: z.strictObject({
    projectId: recordId.optional(),
    tag: documentFields.tag.optional(),
    ...sortBy('title'),
    ...paging,
  }),
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
  description:
    'Read one document with its Markdown content, or with `offset`, `limit` or `around` a part of it, with what is before and after in `part`.',
  keywords: 'read an article, open a page, handbook, wiki page, read the handbook, show an article, read on, next part',
  access: { scope: 'documents:read', grant: 'document:read:{id}' },
  annotations: READS,
  input: z.strictObject({
    id: documentId,
    offset: z.int().min(0).optional().describe('Read from this character on.'),
    limit: z
      .int()
      .min(1)
      .max(LONGEST_PART)
      .optional()
      .describe(`Characters to read. Default of a part: ${USUAL_PART}.`),
    around: z.int().min(0).optional().describe('Read around this character, such as the offset of a passage.'),
    file: z.boolean().default(false).describe('Add a link to the file it was made of.'),
  }),
  output: document.extend({ part: documentPart.optional(), file: documentFile.optional() }),
  errors: ['not_found'],

  async handler({ id, file, ...asked }, { store, server, fail }) {
    const record = await store.documents.read(id);
    const kept = file ? await fileOf(record, store) : undefined;
    const url = `${server.baseUrl ?? ''}/api/v1/documents/${id}/file`;
    const found = { ...record, ...(kept && { file: { id: kept.id, url } }) };
    const { offset, limit = USUAL_PART, around } = asked;
    if (offset === undefined && around === undefined && asked.limit === undefined) return found;
    if (offset !== undefined && around !== undefined) {
      throw fail('invalid_input', 'Invalid input', {
        issues: [{ path: 'around', message: 'Give offset or around, not both.' }],
      });
    }
    const { content } = found;
    const from = between(
      content,
      Math.min(offset ?? Math.max(0, (around ?? 0) - Math.floor(limit / 2)), content.length),
    );
    const next = between(content, from + limit);
    return {
      ...found,
      content: content.slice(from, next),
      part: { offset: from, total: content.length, nextOffset: next < content.length ? next : null },
    };
  },
});

/** The place, or the one behind it where it is inside of a character. */
function between(text: string, place: number): number {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(place - 1, place + 1)) ? place + 1 : place;
}

const createDocument = defineTool({
  name: 'create_document',
  title: 'Create document',
  description:
    'Create a Markdown document, alone or in a project, of `content` or a `file` (PDF, DOCX, HTML, Markdown, text, CSV). Returns it.',
  keywords:
    'upload a PDF or Word file, import a document, write an article, new page, knowledge base entry, note, wiki, publish text, Markdown, policy, put a page into the knowledge base, save this text as a page, write documentation',
  access: { scope: 'documents:write', grant: 'document:write' },
  annotations: { ...CREATES, openWorldHint: true },
  input: z.strictObject({
    title: title.optional().describe('Required without `file`.'),
    content: content.optional(),
    file: fileInput.optional(),
    projectId: recordId.optional(),
    tags: tags.default([]),
  }),
  output: written,
  errors: ['too_large', 'unsupported_media_type'],
  isPlain: ({ file }) => file === undefined,
  stage: (input, context) => stageFile(input, context),

  async handler({ title, content = '', file: _, tags, ...input }, context, { made, file }) {
    if (title === undefined && !made) throw invalidMember('title', 'Give a title, or a file to take it from.');
    await requireReferences(context, input);
    const from = made ?? { title: '', content };
    const record = { ...input, ...from, title: title ?? from.title, tags: [...new Set(tags)] };
    const created = await context.store.documents.insert(record);
    await keepFile(context.store, created.id, file);
    return withWarnings(created);
  },
});

function withWarnings(record: Document): z.input<typeof written> {
  if (record.content.length <= LONGEST_INDEXED) return record;
  const most = LONGEST_INDEXED.toLocaleString('en');
  const warning = `Search by words reads the first ${most} characters alone; split it into documents of at most so many.`;
  return { ...record, warnings: [warning] };
}

const updateDocument = defineTool({
  name: 'update_document',
  title: 'Update document',
  description:
    'Change fields of a document; given content, file and tags replace the old ones, null clears projectId. Returns the document. History keeps the old state.',
  keywords:
    'edit an article, change a page, revise text, handbook, edit a page of the handbook, fix a typo in an article',
  access: { scope: 'documents:write', grant: 'document:write:{id}' },
  annotations: { ...UPDATES, openWorldHint: true },
  input: z.strictObject({
    id: documentId,
    title: title.optional(),
    content: content.optional(),
    file: fileInput.optional(),
    projectId: recordId.nullable().optional(),
    tags: tags.optional(),
    expectedRevision,
  }),
  output: written,
  errors: ['not_found', 'conflict', 'too_large', 'unsupported_media_type'],
  isPlain: ({ file }) => file === undefined,
  stage: stageFile,

  async handler({ id, file: _, expectedRevision, tags, ...change }, context, { made, file }) {
    await requireReferences(context, change);
    const distinct = tags && [...new Set(tags)];
    const given = { ...change, ...(made && { content: made.content, source: made.source }), tags: distinct };
    const updated = await context.store.documents.update(id, given, { expectedRevision });
    await keepFile(context.store, id, file);
    return withWarnings(updated);
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
  delete: deleteDocument,
  address: { description: 'Markdown of a document.', mimeType: 'text/markdown', text: 'content' },
  refersTo: { projectId: 'project' },
  history: {
    text: 'content',
    payload: withoutBookkeeping,
    prepareRestore: restoreWithReferences,
  },
  purge: 'alone',
  forget: forgetFiles,
  search: {
    async passage(record, query) {
      if (record.content.length > LONGEST_PREVIEWED) return undefined;
      const [best] = await passageFinder.find([sourceOf('documents', record)], query);
      if (!best) return undefined;
      const { path, offset, text } = best.passage;
      return { revision: record.revision, path: path.join(' > '), offset, text };
    },
  },
});
