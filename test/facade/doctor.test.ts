import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { clockFinding, withoutSecrets } from '../../facade/doctor/finding.ts';
import { stoppedAtEnd } from '../support/at-end.ts';
import { mustCall } from '../support/calls.ts';
import { runFile, startProcess, withFolder } from '../support/child.ts';
import { freePort } from '../support/free-port.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { startOidcIssuer } from '../support/oidc-issuer.ts';
import { databaseAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { serverForTests } from '../support/server.ts';

const SESSION_SECRET = 'a-secret-that-nobody-may-see-1234';
const ADMIN_KEY = `ak_doctor00_${'k'.repeat(40)}`;
const SECRETS_KEY = Buffer.alloc(32, 9).toString('base64');

/** What the doctor says, by what it is about, and its exit code. */
async function doctor(env: Record<string, string>) {
  const { code, stdout, stderr } = await runFile('facade/commands/doctor.ts', { env });
  assert.equal(stderr, '');
  const lines = stdout.split('\n').flatMap((line) => {
    const [, level = '', about = '', text = ''] = /^(ok|warn|fail) +(.{17}) (.+)$/.exec(line) ?? [];
    return level ? [{ level, about: about.trim(), text }] : [];
  });
  const said = (about: string) =>
    lines.filter((line) => line.about === about).map(({ level, text }) => `${level}: ${text}`);
  return { code, stdout, said };
}

describe('npm run doctor', () => {
  const server = serverForTests();

  it('finds a set-up good, from its address to its models', async () => {
    const [mail, issuer, models] = await Promise.all([
      startMailServer(),
      startOidcIssuer(),
      startModelServer(['tiny']),
    ]);
    const { code, said, stdout } = await doctor({
      DATA_DIR: server.folder,
      BASE_URL: server.baseUrl,
      SMTP_URL: mail.url,
      OIDC_ISSUER: issuer.url,
      OIDC_CLIENT_ID: issuer.clientId,
      MODEL_BASE_URL: models.baseUrl,
      MODEL_NAME: 'tiny',
      SESSION_SECRET,
      SECRETS_KEY,
    });
    assert.equal(code, 0, stdout);
    assert.doesNotMatch(stdout, /^fail/m);
    assert.match(said('address').join(), /^ok: .* answers and is ready/);
    assert.match(said('mail').join(), /^ok: /);
    assert.match(said('sign-in provider').join(), /^ok: .*describes itself/);
    assert.match(said('clock').join(), /^ok: .*\b[0-2] s apart/);
    assert.match(said('models').join(), /^ok: custom.*,ok: .*custom\/tiny/);
    assert.match(said('lock').join(), new RegExp(`^ok: Process ${process.pid} `));
    assert.match(said('secrets').join(), /^ok: /);
    for (const one of [mail, issuer, models]) await one.close();
  });

  it('has the running server say how it sees itself, whatever is set in the own shell', async () => {
    await withFolder(async (folder) => {
      const [elsewhere, models] = [join(folder, 'of-the-shell'), await startModelServer(['tiny'])];
      const running = await startProcess(join(folder, 'data'), {
        BOOTSTRAP_API_KEY: ADMIN_KEY,
        MODEL_BASE_URL: models.baseUrl,
        MODEL_NAME: 'tiny',
        MODEL_API_KEY: 'model-key-of-the-server',
      });
      const shell = { BASE_URL: running.baseUrl, DATA_DIR: elsewhere, SMTP_URL: 'smtp://127.0.0.1:9' };
      const { code, said, stdout } = await doctor({ ...shell, API_KEY: ADMIN_KEY });
      assert.equal(code, 0, stdout);
      assert.match(said('server').join(), /^ok: The server at \S+ says what follows of itself/);
      assert.match(said('data folder').join(), new RegExp(`${folder}/data is for its owner`));
      assert.match(said('lock').join(), new RegExp(`^ok: Process ${running.process.pid} `));
      assert.match(said('models').join(), /^ok: custom.*,ok: .*custom\/tiny/);
      assert.match(said('mail').join(), /^warn: Sign-in links are printed/);
      assert.match(said('store').join(), /^ok: /);
      for (const text of [elsewhere, 'model-key-of-the-server']) assert.ok(!stdout.includes(text), text);
      const own = await doctor(shell);
      assert.match(
        own.said('server').join(),
        /^warn: A server answers at .* of this shell.*set API_KEY to an admin key/,
      );
      assert.match(own.said('data folder').join(), new RegExp(`${elsewhere} is made at the first start`));
      const weak = await mustCall(running, ADMIN_KEY, 'create_api_key', { name: 'weak', scopes: ['agents:read'] });
      const refused = await doctor({ ...shell, API_KEY: weak.secret });
      assert.equal(refused.code, 1);
      assert.match(refused.said('server').join(), /^fail: .*could not be asked \(.*of this shell/);
      await running.stop('SIGTERM');
      const none = await doctor({ ...shell, API_KEY: ADMIN_KEY });
      assert.match(
        none.said('server').join(),
        /^ok: No server answers at .*: what follows is the configuration of this shell/,
      );
      await models.close();
    });
  });

  it('names each fault and what to do, with exit code 1 and no secret', async () => {
    const other = stoppedAtEnd(createServer((_, response) => response.writeHead(404).end())).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const closed = `127.0.0.1:${await freePort()}`;
    await withFolder(async (folder) => {
      const open = join(folder, 'open');
      await mkdir(open);
      await chmod(open, 0o755);
      const { code, said, stdout } = await doctor({
        DATA_DIR: open,
        BASE_URL: elsewhere,
        SMTP_URL: `smtp://user:pass-word-1@${closed}`,
        OIDC_ISSUER: elsewhere,
        OIDC_CLIENT_ID: 'client',
        OIDC_CLIENT_SECRET: 'client-secret-1',
        MODEL_BASE_URL: `http://${closed}/v1`,
        MODEL_API_KEY: 'model-key-1',
        MODEL_NAME: 'tiny',
        DATABASE_URL: `postgres://user:pass-word-2@${closed}/none`,
        SECRETS_KEY,
      });
      assert.equal(code, 1);
      assert.match(said('address').join(), /^fail: .*not agent-admin \(404/);
      assert.match(said('mail').join(), /^fail: .*check SMTP_URL/);
      assert.match(said('sign-in provider').join(), /^fail: .*answers 404: set OIDC_ISSUER/);
      assert.match(said('models').join(), /fail: /);
      assert.match(said('database').join(), /^fail: .*ECONNREFUSED.*Check DATABASE_URL/);
      assert.match(said('data folder').join(), /^warn: .*chmod 700/);
      assert.match(said('secrets').join(), /^ok: SECRETS_KEY is set; .*SESSION_SECRET: kept in the database/);
      for (const secret of ['pass-word-1', 'pass-word-2', 'client-secret-1', 'model-key-1', SECRETS_KEY])
        assert.ok(!stdout.includes(secret), secret);
    });
    const wrong = await doctor({ PORT: 'x', LOG_LEVEL: 'loud' });
    assert.deepEqual([wrong.code, wrong.said('configuration').length], [1, 2]);
    other.close();
  });

  it('looks at the database, its version, room and clock', { skip: withoutPostgres }, async () => {
    const { url, drop } = await testDatabase();
    const { said } = await doctor({ DATABASE_URL: url, DATA_DIR: server.folder, SESSION_SECRET, SECRETS_KEY });
    assert.match(said('database').join(), /^ok: PostgreSQL \d+.*22 of \d+ connections/);
    assert.match(said('clock').join(), /^ok: .*the database are 0 s apart/);
    assert.match(said('tables').join(), /^ok: They are those of this version \(\d{3}-[\w-]+\)\.$/);
    const readOnly = `${url}?options=-c%20default_transaction_read_only%3Don`;
    const refused = await doctor({ DATABASE_URL: readOnly, DATA_DIR: server.folder, SESSION_SECRET, SECRETS_KEY });
    assert.match(refused.said('database').join(), /^fail: It is read-only, .*every change is refused\. Promote it/);
    await drop();
  });

  it('says of a database what the next start does with its tables', { skip: withoutPostgres }, async () => {
    const tablesAt = async (url: string) => {
      const { said } = await doctor({ DATABASE_URL: url, DATA_DIR: server.folder, SESSION_SECRET, SECRETS_KEY });
      return said('tables').join();
    };
    const { url } = await testDatabase();
    const database = databaseAt(url);
    await database.query({ text: `delete from schema_migrations where name > '006-jobs'` });
    assert.match(
      await tablesAt(url),
      /^warn: The next start of this version brings them from 006-jobs to \d{3}-[\w-]+\. .*pg_dump/,
    );
    await database.query({ text: `insert into schema_migrations (name) values ('999-of-tomorrow')` });
    assert.match(await tablesAt(url), /^fail: The database has migration 999-of-tomorrow of a newer version; /);
    const empty = await testDatabase('template0');
    assert.match(await tablesAt(empty.url), /^ok: There are none yet/);
  });

  it('shows no secret whatever an error says, and knows a clock that is wrong', () => {
    const env = { SECRETS_KEY: 'one-key,two-key', SMTP_URL: 'smtp://u:p%40ssword@host', HOME: '/root' };
    const said = withoutSecrets('one-key two-key p@ssword p%40ssword /root', env);
    assert.equal(said, '••• ••• ••• ••• /root');
    assert.equal(clockFinding('x', new Date(Date.now() - 3_600_000)).level, 'fail');
  });
});
