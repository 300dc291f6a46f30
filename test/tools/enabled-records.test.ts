import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { BudgetRecord } from '../../resources/budget.ts';
import { StoreUnavailable } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { EnabledRecords } from '../../tools/core/registry/enabled-records.ts';
import { dataFolder, openStoreIn, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

let folder: string;
let store: Store;
let failures: unknown[];
let known: Map<string, BudgetRecord>;
/** What happens between a reading of the budgets and its end. */
let meanwhile: () => Promise<unknown>;
/** Has the records followed as after a lost connection. */
let miss: () => void;
let following: EnabledRecords<'budgets'>;

beforeEach(async () => {
  folder = await dataFolder();
  store = await openStoreIn(folder);
  [failures, known, meanwhile] = [[], new Map(), async () => {}];
  const { budgets } = store;
  following = new EnabledRecords({
    store: {
      onCommit: store.onCommit.bind(store),
      budgets: {
        get: (id) => budgets.get(id),
        read: (id) => budgets.read(id),
        count: (query) => budgets.count(query),
        first: (query) => budgets.first(query),
        async find(query) {
          const page = await budgets.find(query);
          await meanwhile();
          return page;
        },
      },
      cluster: {
        onGap(listener) {
          miss = listener;
          return () => {};
        },
      },
    },
    name: 'budgets',
    put: (budget) => void known.set(budget.id, budget),
    drop: (id) => void known.delete(id),
    settled: () => {},
    onFailure: (cause) => void failures.push(cause),
  });
});
afterEach(async () => {
  following.close();
  await store.close();
  await removeFolder(folder);
});

let made = 0;
function make(): Promise<BudgetRecord> {
  made += 1;
  const own = { key: String(made), subjectKey: `key ${made}`, subject: { type: 'key', id: `key_${made}` } } as const;
  const rules = { measure: 'calls', period: 'day', limit: 1, warnAt: 1, enabled: true } as const;
  const state = { used: 0, reservations: [], renewsAt: '2026-01-02T00:00:00.000Z' };
  return writing(store).budgets.insert({ ...own, ...rules, ...state });
}

const change = (id: string, members: Partial<BudgetRecord>) => writing(store).budgets.update(id, members);
const remove = (id: string) => writing(store).budgets.delete(id);

/** Lets this happen once, while the records are read. */
function whileRead(work: () => Promise<unknown>): void {
  meanwhile = async () => {
    meanwhile = async () => {};
    await work();
  };
}

const limits = () => Object.fromEntries([...known.values()].map(({ id, limit }) => [id, limit]));

describe('the enabled records that a process follows', () => {
  it('are those in the store, with every change made while they were read', async () => {
    const [stays, goes, stops, changes] = [await make(), await make(), await make(), await make()];
    let comes: BudgetRecord | undefined;
    whileRead(async () => {
      await remove(goes.id);
      await change(stops.id, { enabled: false });
      await change(changes.id, { limit: 7 });
      comes = await make();
    });
    await following.start();
    assert.deepEqual(limits(), { [stays.id]: 1, [changes.id]: 7, [comes?.id ?? '']: 1 });
  });

  it('follow what is made, changed, disabled, enabled and deleted', async () => {
    await following.start();
    const { id } = await make();
    assert.deepEqual(limits(), { [id]: 1 });
    await change(id, { limit: 2 });
    assert.deepEqual(limits(), { [id]: 2 });
    await change(id, { enabled: false });
    assert.deepEqual(limits(), {});
    await change(id, { enabled: true });
    assert.deepEqual(limits(), { [id]: 2 });
    await remove(id);
    assert.deepEqual(limits(), {});
  });

  it('are read again after changes were missed, until the store answers', async () => {
    const gone = await make();
    await following.start();
    const later = await make();
    known.delete(later.id); // as if it had not been heard of
    whileRead(async () => {
      throw new StoreUnavailable('the database is away');
    });
    miss();
    await until(() => failures.length === 1);
    assert.deepEqual(limits(), { [gone.id]: 1 });
    await until(() => known.has(later.id));
    assert.deepEqual(limits(), { [gone.id]: 1, [later.id]: 1 });
  });
});
