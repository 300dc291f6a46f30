import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { beforeEach, describe, it } from 'node:test';
import type { RowStore } from '../../../store/rows-port.ts';
import { catalog } from '../../../tools/catalog.ts';
import { createRegistry, type Registry } from '../../../tools/core/registry/registry.ts';
import { openTestRegistry, principalOf, testFacts } from '../../support/registry.ts';
import { until } from '../../support/until.ts';

const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });

/** The rows of the store, read only when the test lets them. */
class Held {
  readonly signals: (AbortSignal | undefined)[] = [];
  #open: () => void = () => {};
  #gate: Promise<void> = Promise.resolve();
  readonly rows: RowStore;

  constructor(store: RowStore) {
    const read: RowStore['read'] = async (work, options) => {
      this.signals.push(options?.signal);
      await this.#gate;
      return store.read(work, options);
    };
    this.rows = new Proxy(store, { get: (target, name) => (name === 'read' ? read : memberOf(target, name)) });
  }

  close(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}

function memberOf(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name, target);
  return typeof member === 'function' ? member.bind(target) : member;
}

let held: Held;
let registry: Registry;
const under = await openTestRegistry();
beforeEach(() => {
  held = new Held(under.store.rows);
  const server = testFacts(under.store, { now: () => new Date('2026-06-10T10:00:00Z'), catalog, rows: held.rows });
  registry = createRegistry({ store: under.store, server, onFailure: () => {} });
});
const ask = (tool: string, signal?: AbortSignal, input = {}) =>
  registry.call({ principal: admin, tool, input, door: 'mcp', requestId: 'test', signal });
async function outputOf(tool: string, input = {}): Promise<object> {
  const answer = await ask(tool, undefined, input);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.output;
}
/** Until so many answers are being worked out. */
async function begun(count: number): Promise<void> {
  while (held.signals.length < count) await new Promise(setImmediate);
}

describe('an answer', () => {
  it('is worked out once for all who ask the same at the same time or after that', async () => {
    held.close();
    const asked = [ask('get_mrr'), ask('get_mrr'), ask('get_mrr'), ask('get_churn')];
    await begun(2);
    held.open();
    const [first, ...others] = await Promise.all([...asked, ask('get_mrr')]);
    assert.ok(first?.ok);
    for (const other of [others[0], others[1], others[3]]) assert.deepEqual(other, first);
    assert.equal(held.signals.length, 2);
  });

  it('is worked out on while somebody waits for it, and given up when nobody does', async () => {
    held.close();
    const [one, other] = [new AbortController(), new AbortController()];
    const asked = [ask('get_ltv', one.signal), ask('get_ltv', other.signal)];
    await begun(1);
    await until(async () => [one, other].every(({ signal }) => getEventListeners(signal, 'abort').length > 0));
    one.abort();
    await asked[0];
    const [signal] = held.signals;
    assert.equal(signal?.aborted, false);
    other.abort();
    await asked[1];
    assert.equal(signal?.aborted, true);
    const again = ask('get_ltv');
    await begun(2);
    held.open();
    assert.ok((await again).ok);
  });

  it('is checked once, and can be changed by nobody, also with the period before', async () => {
    for (const input of [{}, { compare: 'previous' }, { interval: 'day' }]) {
      const first = await outputOf('get_traffic_channels', input);
      assert.equal(await outputOf('get_traffic_channels', input), first);
      const { totals } = first as { totals: { visitors: number } }; // a member of every metric
      assert.throws(() => {
        totals.visitors = 7;
      }, TypeError);
    }
  });

  it('is another one as soon as rows or settings are others', async () => {
    const before = await outputOf('get_traffic_visitors');
    const visit = { id: 'kept', visitorId: 'v', at: '2026-06-10T09:00:00Z', page: '/' };
    await outputOf('import_records', { type: 'visits', records: [visit] });
    const after = await outputOf('get_traffic_visitors');
    assert.notDeepEqual(after, before);
    assert.equal(await outputOf('get_traffic_visitors'), after);
    await outputOf('update_settings', { timezone: 'Asia/Tokyo' });
    assert.notDeepEqual(await outputOf('get_traffic_visitors'), after);
  });
});
