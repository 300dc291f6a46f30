import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { type ServerProcess, startProcess, withFolder } from '../../support/child.ts';
import { freePort } from '../../support/free-port.ts';
import { cookieOf, idTokenFor, postIdToken, statusWith } from '../../support/sign-in.ts';
import { openStoreIn } from '../../support/store.ts';
import { WebClient } from '../../support/web-client.ts';

const LINK = /http:\/\/\S+\/sign-in\/link\?token=\S+/;

/** What the server prints from now on, until it prints a link. */
function nextPrintedLink({ process: child }: ServerProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      const [link] = LINK.exec(text) ?? [];
      if (link !== undefined && text.endsWith('-\n\n')) resolve(text);
    });
  });
}

it('a server without a mail server prints links, which a crash neither loses nor makes good again', async () => {
  await withFolder(async (folder) => {
    const env = { PORT: String(await freePort()), LOG_LEVEL: 'error' };
    const client = new WebClient();
    let server = await startProcess(folder, env);
    try {
      const [first = ''] = LINK.exec(server.stdout) ?? [];
      await client.open(first);
      await client.send();
      assert.match(client.page.text, /signed in as <strong>admin@localhost/, 'by the link of the first start');
      await client.send();

      const printed = nextPrintedLink(server);
      await client.send({ email: 'admin@localhost' });
      assert.match(client.page.text, /printed on the console/);
      const text = await printed;
      assert.match(text, /No SMTP_URL is set[\s\S]*To: admin@localhost\nSubject: Sign in to Workspace/);
      const [second = ''] = LINK.exec(text) ?? [];

      await server.stop('SIGKILL');
      server = await startProcess(folder, env);
      await client.open(second);
      await client.send();
      assert.equal(client.page.url.pathname, '/');

      await server.stop('SIGKILL');
      server = await startProcess(folder, env);
      assert.match((await client.open('/')).text, /signed in as/, 'the session goes on');
      for (const used of [first, second]) {
        await client.open(used);
        await client.send();
        assert.equal(client.page.status, 401);
      }
    } finally {
      await server.stop('SIGKILL');
    }
  });
});

const adminKey = `ak_restart0_${'x'.repeat(40)}`;

it('kill -9 and a new start leave sessions, secrets, keys, and what was used up as they were', async () => {
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

it('secrets in the environment are rotated without signing anybody out, until the old one goes', async () => {
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

it('the first start prints a link that signs the owner in, and later starts print none', async () => {
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
