import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { reachOfCapsule } from '../../tools/core/access/capsule-principal.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { startEmbeddingServer } from '../support/embedding-server.ts';
import { openEmbeddingWorld } from '../support/embedding-world.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { principalOf } from '../support/registry.ts';
import { dataFolder, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';

/** What is asked shares its meaning with the caller's own records, and no word: those are searched by the store, which others test. */
const ASKED = ['hound', 'bills', 'repayment', 'vacation', 'passphrase'];
const OWN = ['puppy', 'receipts', 'refund', 'holiday', 'password', 'table', 'window'];
const textOf = (words: readonly string[]) =>
  fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 }).map((all) => all.join(' '));
const question = textOf(ASKED);
const text = textOf([...ASKED, ...OWN]);
const TYPES = ['document', 'memory', 'skill', 'message'];

const provider = await startEmbeddingServer();
const folder = await dataFolder();
closedAtEnd(() => removeFolder(folder));
const world = await openEmbeddingWorld({ folder, baseUrl: provider.baseUrl });
const { must } = world;
const { id: projectId } = await must('create_project', { name: 'Shared' });
const own: string[] = [];
for (const words of ['puppy table', 'receipts window', 'refund', 'holiday password']) {
  own.push((await must('create_document', { title: 'Own', content: words, projectId })).id);
}
await must('create_memory', { content: 'The pet has a holiday.', kind: 'fact', scope: 'workspace' });
await must('create_thread', { title: 'open', messages: [{ role: 'user', content: 'invoices for the window' }] });

/** Each may read the records above and none of those that are hidden below. */
const byGrants = principalOf({ type: 'api-key', id: 'key_grants', grants: own.map((id) => `document:read:${id}`) });
const reader = principalOf({
  type: 'api-key',
  id: 'key_reader',
  scopes: ['documents:read', 'memory:read', 'threads:read'],
});
const fixed = { name: 'test', allowedTools: ['search_passages'], deniedTools: [] };
const capsule: Principal = {
  ...{ type: 'capsule', id: 'cap_test', name: 'test', scopes: [], ownerId: 'usr_owner' },
  ...reachOfCapsule({ ...fixed, constraints: { search_passages: { projectId } } }, catalog),
};
const agent = await must('create_agent', { name: 'ada', displayName: 'Ada', tools: ['search_passages'] });

const documents: readonly [string, Principal, readonly string[]][] = [
  ['grants', byGrants, ['document']],
  ['a capsule with constraints', capsule, ['document']],
  ['an agent', actingFor(byGrants, agent, catalog), ['document']],
];
const guarded: readonly [string, Principal, readonly string[]][] = [['scopes', reader, ['memory', 'message']]];

async function answers(callers: typeof documents, q: string): Promise<string> {
  const all: unknown[] = [];
  for (const [name, caller, types] of callers) {
    all.push([name, await world.mustAs(caller, 'search_passages', { q, limit: 50, types })]);
  }
  return JSON.stringify(all);
}

async function unchangedBy(callers: typeof documents, q: string, hide: () => Promise<unknown>): Promise<void> {
  await until(world.isEmbedded);
  const before = await answers(callers, q);
  assert.match(before, /"meaning":"used"/);
  await hide();
  await until(world.isEmbedded);
  assert.equal(await answers(callers, q), before);
}

describe('search by meaning for those who may not read everything', () => {
  it('answers as if documents that they may not read did not exist', async () => {
    const property = fc.asyncProperty(question, fc.array(text, { minLength: 1, maxLength: 4 }), (q, hidden) =>
      unchangedBy(documents, q, async () => {
        for (const content of hidden) await must('create_document', { title: 'Hidden', content });
      }),
    );
    await fc.assert(property, { numRuns: rounds(8, 60) });
  });

  it('answers as if restricted threads, their messages and memories did not exist', async () => {
    const property = fc.asyncProperty(question, text, (q, content) =>
      unchangedBy(guarded, q, async () => {
        const messages = [{ role: 'user', content }];
        const thread = await must('create_thread', { title: content, visibility: 'restricted', messages });
        await must('create_memory', { content, kind: 'fact', scope: 'thread', threadId: thread.id });
      }),
    );
    await fc.assert(property, { numRuns: rounds(6, 40) });
  });

  it('shows no type of record that the caller may not read', async () => {
    for (const [, caller, types] of documents) {
      for (const type of TYPES.filter((each) => !types.includes(each))) {
        const refused = world.mustAs(caller, 'search_passages', { q: 'hound', types: [type] });
        await assert.rejects(refused, /forbidden|Insufficient|invalid/);
      }
    }
  });
});
