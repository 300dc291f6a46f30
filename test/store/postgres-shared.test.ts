import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { readConfig } from '../../facade/config/config.ts';
import { readSecrets } from '../../facade/launch/secrets.ts';
import type { Cluster } from '../../store/cluster-port.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { createRateLimit } from '../../tools/core/access/rate-limit.ts';
import type { ToolError } from '../../tools/core/errors.ts';
import { Issuer } from '../../tools/sign-in/issuer.ts';
import { SECRETS_KEY } from '../support/cluster.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const DAY = 24 * 60 * 60_000;

/** Waits until a period that ends in so many milliseconds is over. */
function over(ms: number): Promise<void> {
  const end = performance.now() + ms;
  return until(() => performance.now() > end);
}

describe('what processes share in PostgreSQL', { skip: withoutPostgres }, () => {
  let stores: readonly Store[] = [];
  let end = async () => {};
  before(async () => {
    const { url, drop } = await testDatabase();
    stores = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })]);
    end = drop;
  });
  after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await end();
  });

  const clusters = (): readonly [Cluster, Cluster] => {
    const [one, other] = stores.map(({ cluster }) => cluster);
    assert.ok(one && other);
    return [one, other];
  };

  it('counts begin anew when their period is over', async () => {
    const [one, other] = clusters();
    const periodMs = 1000;
    assert.equal((await one.count('a', 2, periodMs)).points, 2);
    const { points, endsInMs } = await other.count('a', 1, periodMs);
    assert.ok((points === 3 && endsInMs <= periodMs) || points === 1, `${points}`);
    await over(endsInMs);
    assert.equal((await one.count('a', 1, periodMs)).points, 1);
    assert.ok((await other.count('a', 0, periodMs)).endsInMs > 0);
  });

  it('a limit lets callers through again after its period, in every process', async () => {
    const limits = clusters().map((cluster) => createRateLimit(3, 'calls', { cluster, periodMs: 2000 }));
    /** Undefined where the call is let through. */
    const refusal = (at: number) => limits[at]?.('key').then(undefined, (error: ToolError) => error);
    for (let call = 0; call < 3; call += 1) await refusal(call % 2);
    let seconds = 0;
    for (const at of [0, 1]) {
      await until(async () => {
        seconds = (await refusal(at))?.detail.retryAfterSeconds ?? 0;
        return seconds > 0;
      });
    }
    await over(seconds * 1000);
    for (const at of [0, 1]) assert.equal(await refusal(at), undefined);
  });

  it('keys that signed tokens are kept when a new one follows, for all processes', async () => {
    const [first, second] = stores;
    assert.ok(first && second);
    const config = readConfig({ SECRETS_KEY });
    const start = new Date();
    const later = () => new Date(start.getTime() + 91 * DAY);
    const before = await readSecrets(config, first, () => start);
    const { idToken } = new Issuer('http://localhost', before.signingKeys, later).issue({
      id: 'usr_1',
      email: 'a@b.c',
    });
    const rotated = await readSecrets(config, second, later);
    const kids = [rotated.signingKeys.kid, before.signingKeys.kid];
    assert.notEqual(kids[0], kids[1]);
    for (const keys of [rotated.signingKeys, await before.renewedKeys?.()]) {
      assert.ok(keys);
      assert.deepEqual([...keys.publicKeys.keys()], kids);
      assert.deepEqual(
        keys.jwks.keys.map((key) => 'kid' in key && key.kid),
        kids,
      );
      assert.equal((await new Issuer('http://localhost', keys, later).verify(idToken)).subject, 'usr_1');
    }
  });
});

describe('what the database holds for a process, where its answer was lost', { skip: withoutPostgres }, () => {
  /** A cluster whose answers to the statement are lost so many times, and another one on the same database. */
  async function losing(test: TestContext, statement: string, times: number) {
    const { url, drop } = await testDatabase();
    test.after(drop);
    const lost = { times: 0 };
    const proxy = await TcpProxy.before(url, (connection) => {
      let isAsked = false;
      return {
        up(bytes) {
          isAsked = bytes.includes(`${statement}\0`);
          return bytes;
        },
        down(bytes) {
          if (!isAsked || lost.times >= times) return bytes;
          lost.times += 1;
          connection.reset();
          return Buffer.alloc(0);
        },
      };
    });
    const [one, other] = await Promise.all(
      [proxy.inFrontOf(url), url].map(async (each) => {
        const store = await openPostgresStore({ url: each });
        test.after(() => store.close());
        return store.cluster;
      }),
    );
    assert.ok(one && other);
    return { one, other, lost };
  }

  it('is the hold of who asked for it, and of nobody else', async (test) => {
    const { one, other, lost } = await losing(test, 'cluster_hold', 1);
    const release = await one.hold('call');
    assert.deepEqual(lost, { times: 1 });
    assert.ok(release);
    assert.deepEqual([await one.hold('call'), await other.hold('call')], [undefined, undefined]);
    await release();
    assert.ok(await other.hold('call'));
  });

  it('is given up where all attempts failed', async (test) => {
    const { one, other } = await losing(test, 'cluster_hold', 20);
    await assert.rejects(one.hold('call'));
    await until(async () => (await other.hold('call')) !== undefined);
  });

  it('is given up where the answer to that was lost', async (test) => {
    const { one, other, lost } = await losing(test, 'cluster_release', 20);
    await (await one.hold('call'))?.();
    assert.ok(lost.times > 0);
    await until(async () => (await other.hold('call')) !== undefined);
  });
});
