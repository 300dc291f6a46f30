import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openTestRegistry, principalOf } from '../support/registry.ts';

/** Nearly as many as an input may have. */
const COUNT = 9900;

/** An object that counts how often it is asked for all of its names, or for a single member. */
function counted() {
  const members = Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [`member${at}`, at]));
  const asked = { names: 0, members: 0 };
  const input = new Proxy(members, {
    ownKeys(target) {
      asked.names += 1;
      return Reflect.ownKeys(target);
    },
    get(target, name, receiver) {
      asked.members += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  return { input, asked };
}

const world = await openTestRegistry();

describe('an input with many members', () => {
  async function call(scopes: string[], input: object) {
    const answer = await world.refused(principalOf({ type: 'api-key', id: 'key_1', scopes }), 'create_skill', input);
    const [entry] = (await world.store.audit.find({ limit: 1 })).records;
    return { code: answer.code, issues: answer.issues, arguments: entry?.arguments ?? {} };
  }

  it('is neither copied nor walked over where the call is refused', async () => {
    const { input, asked } = counted();
    const refused = await call(['read'], input);
    assert.equal(refused.code, 'forbidden');
    assert.ok(asked.members < 5000, `${asked.members} members were looked at`); // as many as the audit entry shows
    assert.ok(asked.names <= 1, `its names were listed ${asked.names} times`);
    assert.deepEqual(Object.keys(refused.arguments), ['truncated']);
    assert.match(String(refused.arguments.truncated), /^\{"member0":"\[unknown member\]","member1":/);
    assert.equal(String(refused.arguments.truncated).length, 4096);
  });

  it('is looked at a few times where its members are unknown', async () => {
    const { input, asked } = counted();
    const invalid = await call(['write'], input);
    assert.equal(invalid.code, 'invalid_input');
    assert.equal(invalid.issues?.length, 100);
    assert.ok(asked.members < 1.1 * COUNT, `${asked.members} members were looked at`);
    assert.ok(asked.names <= 4, `its names were listed ${asked.names} times`);
  });
});

describe('audited arguments', () => {
  it('are cut as the whole text would be', async () => {
    const world = await openTestRegistry();
    const caller = principalOf({ type: 'api-key', id: 'key_1', scopes: ['write'] });
    for (const input of [
      { name: 'n', instructions: 'é"\\\u0001'.repeat(2000) },
      { name: 'n'.repeat(4200), instructions: [[['x'.repeat(90)], {}, [], null, true, 1.5]], x: 1 },
      { instructions: Array.from({ length: 3000 }, (_, at) => ({ at, '': [] })) },
      { instructions: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`m${at}`, `v${at}`])) },
    ]) {
      await world.call(caller, 'create_skill', input);
      const [entry] = (await world.store.audit.find({ limit: 1 })).records;
      const whole = JSON.stringify('x' in input ? { ...input, x: '[unknown member]' } : input);
      const cut = new TextDecoder().decode(Buffer.from(whole).subarray(0, 4096), { stream: true });
      assert.deepEqual(entry?.arguments, { truncated: cut });
    }
  });
});

describe('rows to import', () => {
  it('with many unknown members are answered with ten problems each', async () => {
    const world = await openTestRegistry();
    const bad = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`unknown field ${at}`, at]));
    const caller = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });
    const answer = await world.refused(caller, 'import_records', { type: 'users', records: Array(1000).fill(bad) });
    assert.equal(answer.issues?.length, 10_000);
  });
});
