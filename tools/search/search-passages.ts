import { z } from 'zod';
import { type Document, documentFields, foundPassage, passageType } from '../../resources/document.ts';
import { cursor, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { meaningState, searchText } from '../../resources/search.ts';
import type { Filter, Readers } from '../../store/port.ts';
import { mayRead } from '../core/access/read-access.ts';
import { invalidMember } from '../core/errors.ts';
import type { Context } from '../core/registry/context.ts';
import type { Kind } from '../core/registry/define-kind.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { openRank, sealRank } from '../core/registry/paging.ts';
import type { Tool } from '../core/registry/tool.ts';
import { type PassageKind, passageKindsOf, requireReadable } from './passage-kinds.ts';
import { pageOfRanked, type RankedPassage, rankPassages } from './rank-passages.ts';

const input = z.strictObject({
  q: searchText.describe('A question or words.'),
  types: z.array(passageType).min(1).max(4).default(['document']).describe('What to look in.'),
  projectId: recordId.optional(),
  tags: z.array(documentFields.tag).min(1).max(50).optional().describe('Documents with one of these tags.'),
  documentIds: z
    .array(refTo('document', recordId).describe('Document id (`doc_…`), see list_documents.'))
    .min(1)
    .max(100)
    .optional()
    .describe('Look in these only.'),
  limit: z.int().min(1).max(50).default(5).describe('Passages per page.'),
  cursor,
});

export function searchPassagesTool(kinds: readonly Kind[]): Tool {
  const passageKinds = passageKindsOf(kinds);
  return defineTool({
    name: 'search_passages',
    title: 'Search passages',
    description:
      'Find the passages of documents (or memories, skills, messages) that answer a question, by words and meaning, best first, with text and offset: read on with get_document. `weak` marks those that hardly fit; then say that nothing answers it.',
    keywords:
      'answer from the handbook, look something up, what does our documentation say, RAG, retrieve, knowledge base search, cite a source, quote, semantic search, policy question, ask the documents, find the paragraph',
    access: { scope: 'documents:read', grant: 'document:read', narrows: true, selects: { projectId: 'projectId' } },
    annotations: READS,
    input,
    output: z.object({ data: z.array(foundPassage), nextCursor: z.string().nullable(), meaning: meaningState }),
    errors: ['not_found'],

    async handler({ q, types, projectId, tags, documentIds, limit, cursor }, context) {
      const where = { projectId, tags, id: documentIds };
      const isNarrowed = Object.values(where).some((value) => value !== undefined);
      const asked = passageKinds.filter(({ type }) => types.includes(type));
      if (isNarrowed && asked.some(({ type }) => type !== 'document')) {
        throw invalidMember('types', 'projectId, tags and documentIds are for documents alone.');
      }
      requireReadable(asked, context);
      await requireNamed({ projectId, documentIds }, asked, context);
      const bound = { q, where, types: [...types].sort() };
      const after = openRank(cursor, bound);
      const { found, meaning } = await rankPassages(asked, { q, where }, context);
      const { page, next } = pageOfRanked(found, limit, after);
      return { data: page.map((one) => shown(one, asked)), nextCursor: sealRank(next, bound), meaning };
    },
  });
}

/** What the caller names itself is there for it. @throws ToolError (not_found) */
async function requireNamed(
  named: { readonly projectId?: string | undefined; readonly documentIds?: readonly string[] | undefined },
  [documents]: readonly PassageKind[],
  { store, principal, server, fail }: Context<Readers, 'not_found'>,
): Promise<void> {
  const own = server.catalog.get('search_passages')?.tool;
  const { projectId, documentIds = [] } = { ...named, ...absent((own && principal.tools?.fixed?.(own)) ?? {}) };
  const { where, any } = documents?.readable(principal) ?? {};
  const readable = (more: object, limit: number) =>
    store.documents.find({ where: { ...where, ...more }, any: any as Filter<Document>['any'], limit }); // made for documents
  if (documentIds.length > 0) {
    const found = new Set((await readable({ id: documentIds }, documentIds.length)).records.map(({ id }) => id));
    const missing = documentIds.find((id) => !found.has(id));
    if (missing !== undefined)
      throw fail('not_found', `There is no document ${missing} that you may read; see list_documents.`);
  }
  if (projectId === undefined || (await readable({ projectId }, 1)).records.length > 0) return;
  const project = await store.projects.get(projectId);
  const reads = server.catalog.get('get_project')?.tool;
  if (!project || !reads || !(await mayRead(principal, reads, { id: projectId }, project)))
    throw fail('not_found', `There is no project ${projectId} that you may read; see list_projects.`);
}

function absent(members: object): Readonly<Record<string, undefined>> {
  return Object.fromEntries(Object.keys(members).map((name) => [name, undefined]));
}

function shown(
  { found, passage, score, weak }: RankedPassage,
  asked: readonly PassageKind[],
): z.input<typeof foundPassage> {
  const { path, offset, text } = passage;
  const { source, type, record } = found;
  return {
    ...(type === 'document' && { documentId: source.id }),
    ...((asked.length > 1 || type !== 'document') && { type, id: source.id }),
    ...('threadId' in record && type === 'message' && { threadId: String(record.threadId) }),
    ...('revision' in record && { revision: Number(record.revision) }),
    title: source.title,
    path: path.join(' > '),
    offset,
    text,
    score: Math.round(score * 1000) / 1000,
    ...(weak && { weak }),
  };
}
