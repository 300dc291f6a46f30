import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type CollectionName, collections } from '../../store/collections.ts';
import type { Query, Reader } from '../../store/port.ts';
import { rounds } from '../support/full.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../support/registry.ts';
import { CallHistory, type HistoryCall } from './call-history.ts';
import { comparable, differenceOf, isList, type Json, RANKED, TwinNames } from './twin-names.ts';

const SEED = Number(process.env.HISTORY_SEED ?? 20261122);
const CALLS = Number(process.env.HISTORY_CALLS ?? rounds(120, 2000));
/** Of the calls with a well-formed input, most must do something, else the history says little. */
const LEAST_DONE = 0.33;

const [owner, colleague] = [`usr_${'0'.repeat(25)}1`, `usr_${'0'.repeat(25)}2`];
const callers = [
  principalOf({ type: 'session', id: owner, ownerId: owner, scopes: ['admin'] }),
  principalOf({ type: 'session', id: colleague, ownerId: colleague, scopes: ['read', 'write'] }),
  principalOf({ type: 'api-key', id: `key_${'0'.repeat(25)}1`, ownerId: owner, scopes: ['read'] }),
  principalOf({
    type: 'api-key',
    id: `key_${'0'.repeat(25)}2`,
    ownerId: colleague,
    grants: ['agent:read', 'memory:*', 'thread:*', 'version:*', 'database-record:*'],
  }),
];

describe('a history of calls', { skip: withoutPostgres }, () => {
  let at = Date.parse('2026-03-01T00:00:00.000Z');
  const now = () => new Date(at);
  let [embedded, postgres] = [{}, {}] as TestRegistry[] as [TestRegistry, TestRegistry]; // opened before any test
  const names = new TwinNames();
  let count = 0;

  before(async () => {
    console.log(`HISTORY_SEED=${SEED} HISTORY_CALLS=${CALLS}`);
    embedded = await openTestRegistry(now, undefined, undefined, 'lowdb');
    postgres = await openTestRegistry(now, undefined, undefined, 'postgres');
    for (const { store } of [embedded, postgres])
      await store.transaction(async (tx) => {
        await tx.adminUsers.insert({ id: owner, email: 'owner@example.com', role: 'owner', isActive: true });
        await tx.adminUsers.insert({ id: colleague, email: 'other@example.com', role: 'member', isActive: true });
      });
  });

  async function answer({ registry }: TestRegistry, { tool, caller, idempotencyKey }: HistoryCall, input: Json) {
    const principal = callers[caller] ?? assert.fail();
    const idempotency = idempotencyKey === undefined ? undefined : { key: idempotencyKey, operation: tool };
    const call = { principal, tool, input, door: 'mcp' as const, requestId: `request-${count}`, idempotency };
    return comparable(await registry.call(call));
  }

  function assertSame(one: Json, other: Json, what: string): void {
    const difference = differenceOf(names.expected(one, other), other);
    if (difference !== undefined)
      assert.fail(
        `call ${count} of seed ${SEED}, ${what.slice(0, 2000)}: embedded and PostgreSQL differ at ${difference}`,
      );
  }

  async function make(call: HistoryCall): Promise<Json> {
    const input = comparable(call.input);
    const ask = RANKED.test(call.tool) ? allPages : answer;
    const one = await ask(embedded, call, input);
    const other = await ask(postgres, call, names.translated(input));
    assertSame(one, other, `${call.tool} ${JSON.stringify(input)}`);
    return one;
  }

  /** What all pages hold, sorted by its words, without its ranks; nothing where the stores find different things, on as many pages. */
  async function allPages(own: TestRegistry, call: HistoryCall, input: Json): Promise<Json> {
    const pages: Json[] = [];
    for (let cursor: Json | undefined; ; ) {
      const page = await answer(own, call, cursor ? { ...(input as object), cursor } : input);
      const { data, nextCursor, ...rest } = ((page as { output?: Json }).output ?? { error: page }) as JsonObject;
      if (!saysAll(input)) return rest.error ?? null;
      pages.push(...(data && isList(data) ? data : []));
      if (!nextCursor) return unranked({ data: pages, rest });
      cursor = nextCursor;
    }
  }

  it(`has the same answers, errors, pages, totals, versions and metrics on both stores: ${CALLS} calls`, async () => {
    const history = new CallHistory(SEED, callers.length, [owner, colleague]);
    let done = 0;
    for (count = 1; count <= CALLS; count += 1) {
      at += 1000;
      const call = history.next();
      // Entries of reads are written within a second, which is not what is compared.
      if (call.tool === 'list_audit_entries')
        await Promise.all([embedded.store.audit.flush(), postgres.store.audit.flush()]);
      const said = await make(call);
      history.learn(call, said);
      if (JSON.stringify(said).startsWith('{"ok":true')) done += 1;
    }
    assert.ok(done > CALLS * LEAST_DONE, `${done} of ${CALLS} calls succeeded`);
  });

  it('leaves the same records behind', async () => {
    for (const name of Object.keys(collections) as CollectionName[]) {
      const [one, other] = await Promise.all([embedded, postgres].map((own) => allOf(own.store[name])));
      assertSame(one ?? null, other ?? null, name);
    }
  });

  it('leaves the same audit entries behind', async () => {
    await Promise.all([embedded, postgres].map(({ store }) => store.audit.flush()));
    const [one, other] = await Promise.all([embedded, postgres].map(({ store }) => allOf(store.audit)));
    assertSame(one ?? null, other ?? null, 'the audit log');
  });
});

async function allOf(reader: { find(query: never): ReturnType<Reader<object>['find']> }): Promise<Json> {
  const all: object[] = [];
  for (let after: Query<object>['after']; ; ) {
    // Readers of any collection take a query without conditions.
    const { records, next } = await reader.find({ limit: 500, after } as never);
    all.push(...records);
    if (!next) return comparable(all);
    after = next;
  }
}

type JsonObject = { readonly [member: string]: Json };

/**
 * Whether both stores find the same. Of several words, those that weigh little are not enough, and how rare a word is, each store counts in
 * its own way.
 */
function saysAll(input: Json): boolean {
  const { q } = input as { readonly q?: Json }; // an object, or refused before anything is looked for
  return typeof q !== 'string' || !/\S\s+\S/.test(q);
}

function unranked(value: Json): Json {
  if (value === null || typeof value !== 'object') return value;
  if (isList(value)) return value.map(unranked).sort((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (name === 'score' ? [] : [[name, unranked(item)]])),
  );
}

/** Without ids, which differ between the stores. */
const textOf = (value: Json) => JSON.stringify(value).replaceAll(/[a-z]{3}_[0-9a-z]{26}/g, '');
