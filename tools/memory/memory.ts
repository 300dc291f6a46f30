import { z } from 'zod';
import {
  agentRef,
  cursor,
  expectedRevision,
  includeTotal,
  limit,
  pageOf,
  plainLine,
  recordId,
  sortBy,
} from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import {
  kindOfMemory,
  type Memory,
  type MemoryRecord,
  memory,
  memoryFields,
  memoryScope,
  memoryTags,
} from '../../resources/memory.ts';
import { searchText, weakMark } from '../../resources/search.ts';
import type { Readers } from '../../store/port.ts';
import { requireSteeringBy } from '../core/access/steering.ts';
import { accessKeysWith, isSeen, seenBy } from '../core/access/visibility.ts';
import { requireNoIssues } from '../core/errors.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { requireReferences } from '../core/registry/references.ts';
import { definedMembers, futureInstant } from '../core/registry/validate.ts';
import { queryFor, rankedPage, searchPage } from './memory-search.ts';
import { findMemory, findReplaced, requireOwnerOfScope } from './rules.ts';

const memoryId = refTo('memory', recordId).describe('Memory id (`mem_…`), see list_memories.');

export const foundMemory = memory.extend({
  score: z.number().min(0).max(1).optional().describe('Only of searches: how well it matches.'),
  weak: weakMark,
});

const filters = {
  agentId: agentRef.optional(),
  threadId: recordId.optional(),
  userId: recordId.optional(),
  scope: memoryScope.optional(),
  kind: kindOfMemory.optional(),
  tag: memoryFields.tag.optional(),
  pinned: z.boolean().optional(),
  superseded: z.boolean().default(false).describe('True shows those that others have replaced.'),
};
const SELECTS = {
  agentId: 'agentId',
  threadId: 'threadId',
  userId: 'userId',
  scope: 'scope',
  kind: 'kind',
  tag: 'tags',
  pinned: 'pinned',
  superseded: 'superseded',
};

export const listMemories = defineTool({
  name: 'list_memories',
  title: 'List memories',
  description: 'List what agents remember, newest first, or with `q` best match first, each with its `score`.',
  keywords:
    'what is remembered, facts known about, recollections, long-term memory, show what bots have stored about somebody, all remembered facts',
  access: { scope: 'memory:read', grant: 'memory:read', narrows: true, selects: SELECTS },
  annotations: READS,
  input: z.strictObject({ ...filters, q: searchText.optional(), ...sortBy(), limit, cursor, includeTotal }),
  output: pageOf(foundMemory),
  errors: [],

  async handler({ q, sort, limit, cursor, includeTotal, ...filters }, { store, principal }) {
    const query = queryFor(filters, principal);
    const page = { limit, cursor, includeTotal };
    if (q === undefined) return listPage(seenBy(store.memories, principal), { ...page, sort }, query, (found) => found);
    const issue = { path: 'sort', message: 'With `q` the best match comes first; leave out `sort`, or `q`.' };
    if (sort !== undefined) requireNoIssues([issue]);
    return searchPage({ store, principal }, q, query, page);
  },
});

const createMemory = defineTool({
  name: 'create_memory',
  title: 'Create memory',
  description:
    'Remember something: a fact, preference, instruction, episode or summary. `supersedes` replaces an older memory, which lists then leave out. Returns the memory.',
  keywords: 'remember this, memorise a fact, note a preference, store knowledge for later, save for next time',
  access: { scope: 'memory:write', grant: 'memory:write' },
  annotations: CREATES,
  input: z.strictObject({
    content: memoryFields.content,
    kind: kindOfMemory.default('fact'),
    scope: memoryFields.scope.default('workspace'),
    agentId: memoryFields.agentId.optional(),
    threadId: memoryFields.threadId.optional(),
    userId: memoryFields.userId.optional(),
    tags: memoryTags.default([]),
    importance: memoryFields.importance.default(0.5),
    pinned: memoryFields.pinned.default(false),
    source: plainLine(memoryFields.source).optional(),
    expiresAt: memoryFields.expiresAt.optional(),
    supersedes: memoryFields.supersedes.optional(),
  }),
  output: memory,
  errors: [],

  async authorize(input, context) {
    const replaced = await replacedBy(context.store, input);
    await requireSteeringBy(context, input, replaced && isSeen(replaced, context.principal) ? replaced : undefined);
  },

  async handler({ expiresAt, tags, ...input }, context) {
    const { store, server } = context;
    requireOwnerOfScope(input);
    await requireReferences(context, input);
    const replaced = input.supersedes === undefined ? undefined : await findReplaced(context, input.supersedes);
    if (replaced) {
      await store.memories.touch(replaced.id, { superseded: true });
    }
    return store.memories.insert({
      ...input,
      tags: [...new Set(tags)],
      superseded: false,
      accessKeys: await accessKeysWith(store, input),
      ...(expiresAt !== undefined && { expiresAt: futureInstant(expiresAt, server.now()) }),
    });
  },
});

export const getMemory = defineTool({
  name: 'get_memory',
  title: 'Get memory',
  description: 'Read one memory, superseded ones too. Expired ones are gone.',
  keywords: 'show one memory, remembered fact',
  access: { scope: 'memory:read', grant: 'memory:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: memoryId }),
  output: memory,
  errors: ['not_found'],

  handler: ({ id }, context) => findMemory(context, id),
});

export const updateMemory = defineTool({
  name: 'update_memory',
  title: 'Update memory',
  description:
    'Change fields of a memory; null clears an optional one. Returns the memory. History keeps the old state.',
  keywords:
    'correct a remembered fact, pin a memory, change what is remembered, fix a wrong fact, correct what a bot believes',
  access: { scope: 'memory:write', grant: 'memory:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: memoryId,
    content: memoryFields.content.optional(),
    kind: kindOfMemory.optional(),
    scope: memoryFields.scope.optional(),
    agentId: memoryFields.agentId.nullable().optional(),
    threadId: memoryFields.threadId.nullable().optional(),
    userId: memoryFields.userId.nullable().optional(),
    tags: memoryTags.optional(),
    importance: memoryFields.importance.optional(),
    pinned: memoryFields.pinned.optional(),
    source: plainLine(memoryFields.source).nullable().optional(),
    expiresAt: memoryFields.expiresAt.nullable().optional(),
    expectedRevision,
  }),
  output: memory,
  errors: ['not_found', 'conflict'],

  async authorize({ id, expectedRevision: _, expiresAt: __, tags: ___, ...members }, context) {
    const current = await context.store.memories.get(id);
    if (current && isSeen(current, context.principal)) {
      await requireSteeringBy(context, current, { ...current, ...definedMembers(members) });
    }
  },

  async handler({ id, expectedRevision, expiresAt, tags, ...members }, context) {
    const { store, server } = context;
    const current = await findMemory(context, id);
    requireOwnerOfScope({ ...current, ...definedMembers(members) });
    await requireReferences(context, members);
    const change = {
      ...members,
      tags: tags && [...new Set(tags)],
      accessKeys: await accessKeysWith(store, { ...current, ...definedMembers(members) }, current),
      expiresAt: expiresAt && futureInstant(expiresAt, server.now()),
    };
    return store.memories.update(id, change, { expectedRevision });
  },
});

export const deleteMemory = defineTool({
  name: 'delete_memory',
  title: 'Delete memory',
  description: 'Forget a memory; a memory that it superseded is current again. restore_version brings it back.',
  keywords: 'forget this, unlearn, remove a remembered fact, make a bot forget something',
  access: { scope: 'memory:write', grant: 'memory:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: memoryId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async authorize({ id }, context) {
    const current = await context.store.memories.get(id);
    if (!current || !isSeen(current, context.principal)) return;
    await requireSteeringBy(context, current, await replacedBy(context.store, current));
  },

  async handler({ id, expectedRevision }, context) {
    await findMemory(context, id);
    await restoreSuperseded(context.store, await context.store.memories.delete(id, { expectedRevision }));
    return {};
  },
});

export const searchMemories = defineTool({
  name: 'search_memories',
  title: 'Search memories',
  description:
    'Recall what is known about something: the memories that best match a question or keywords, by words and meaning, best first, each with its `score`. Returns a page with `nextCursor`.',
  keywords:
    'recall, what do you know about, look up remembered facts, semantic memory, what does the bot know about a topic, find a remembered preference',
  access: { scope: 'memory:read', grant: 'memory:read', narrows: true, selects: SELECTS },
  annotations: READS,
  view: 'search',
  input: z.strictObject({
    q: searchText,
    agentId: filters.agentId,
    scope: filters.scope,
    kind: filters.kind,
    tag: filters.tag,
    limit,
    cursor,
    includeTotal,
  }),
  output: pageOf(foundMemory),
  errors: [],

  async handler({ q, limit, cursor, includeTotal, ...filters }, caller) {
    const query = queryFor({ ...filters, superseded: false }, caller.principal);
    const page = { limit, cursor, includeTotal };
    return caller.server.semanticSearch?.isOn ? rankedPage(caller, q, query, page) : searchPage(caller, q, query, page);
  },
});

export const memoryTools = [getMemory, updateMemory, deleteMemory, searchMemories];
export const pathMemoryTools = [listMemories, createMemory];

/** The memory that becomes valid when this one is deleted, if no other one supersedes it. */
export async function replacedBy(
  { memories }: Pick<Readers, 'memories'>,
  { supersedes }: Pick<Memory, 'supersedes'>,
): Promise<MemoryRecord | undefined> {
  return supersedes === undefined ? undefined : memories.get(supersedes);
}

/** Called after a memory was deleted. A memory that no other one supersedes becomes valid again. */
export async function restoreSuperseded(
  store: Pick<HistoryWriters, 'memories'>,
  { supersedes }: Pick<Memory, 'supersedes'>,
): Promise<void> {
  const replaced = supersedes === undefined ? undefined : await store.memories.get(supersedes);
  if (!replaced) return;
  const others = await store.memories.count({ where: { supersedes: replaced.id } });
  if (others === 0) await store.memories.touch(replaced.id, { superseded: false });
}
