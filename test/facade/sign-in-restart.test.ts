import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { startProcess, withFolder } from '../support/child.ts';
import { freePort } from '../support/free-port.ts';
import { cookieOf, idTokenFor, postIdToken, statusWith } from '../support/sign-in.ts';
import { openStoreIn } from '../support/store.ts';

const adminKey = `ak_restart0_${'x'.repeat(40)}`;

describe('kill -9 and a new start', () => {
  it('leave sessions, secrets, keys, and what was used up as they were', async () => {
    await withFolder(async (folder) => {
      const env = { PORT: String(await freePort()), BOOTSTRAP_API_KEY: adminKey };
      const first = { ...(await startProcess(folder, env)), adminKey };
      const [used, unused] = [await idTokenFor(first), await idTokenFor(first)];
      const cookie = cookieOf(await postIdToken(first, used));
      await first.stop('SIGKILL');
      const second = await startProcess(folder, env);
      assert.equal(await statusWith(second, cookie), 200);
      assert.equal((await postIdToken(second, used)).status, 401);
      assert.equal((await postIdToken(second, unused)).status, 201);
      await second.stop('SIGTERM');
    });
  });
});

describe('secrets in the environment', () => {
  it('are rotated without signing anybody out, until the old one goes', async () => {
    await withFolder(async (folder) => {
      const env = { PORT: String(await freePort()), BOOTSTRAP_API_KEY: adminKey };
      const [old, next] = ['o'.repeat(40), 'n'.repeat(40)];
      const first = { ...(await startProcess(folder, { ...env, SESSION_SECRET: old })), adminKey };
      const cookie = cookieOf(await postIdToken(first, await idTokenFor(first)));
      await first.stop('SIGTERM');
      for (const [secrets, status] of [
        [`${next},${old}`, 200],
        [next, 401],
      ] as const) {
        const server = await startProcess(folder, { ...env, SESSION_SECRET: secrets });
        assert.equal(await statusWith(server, cookie), status);
        await server.stop('SIGTERM');
      }
    });
  });
});

describe('the first start', () => {
  it('prints a link that signs the owner in, and later starts print none', async () => {
    await withFolder(async (folder) => {
      const server = await startProcess(folder, { ADMIN_EMAIL: 'Owner@Example.com' });
      const [url = ''] = /^ {2}http\S+\/sign-in\/link\?token=\S+$/m.exec(server.stdout) ?? [];
      await server.stop('SIGTERM');
      const store = await openStoreIn(folder);
      const secret = new URL(url.trim()).searchParams.get('token') ?? '';
      const { records } = await store.signInLinks.find({ limit: 2 });
      assert.deepEqual(
        records.map(({ hash, email, browserHash }) => [hash, email, browserHash]),
        [[createHash('sha256').update(secret).digest('hex'), 'owner@example.com', undefined]],
      );
      await store.close();
      const again = await startProcess(folder);
      assert.doesNotMatch(again.stdout, /sign-in/);
      await again.stop('SIGTERM');
    });
  });
});
