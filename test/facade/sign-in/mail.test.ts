import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { createMailer, type Mailer } from '../../../facade/sign-in/mail.ts';
import { stoppedAtEnd } from '../../support/at-end.ts';
import { ENCODINGS } from '../../support/encodings.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { until } from '../../support/until.ts';

const mail = { to: 'ada@example.com', subject: 'Grüße', text: 'Öffnen Sie\nhttps://example.com/?token=abc=def' };

async function withMailer(
  work: (mailer: Mailer, server: MailServer, log: Record<string, unknown>[]) => Promise<void>,
  smtpUrl = (server: MailServer) => server.url,
): Promise<void> {
  const server = await startMailServer({ user: 'us', pass: 'secret-word' });
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => log.push(JSON.parse(line)) });
  const mailer = createMailer({ smtpUrl: smtpUrl(server), mailFrom: 'Admin <admin@example.com>', logger });
  try {
    await work(mailer, server, log);
  } finally {
    await mailer.close();
    await server.close();
  }
}

const healthOf = async (mailer: Mailer) => (await mailer.health())[0];

describe('mail', () => {
  it('arrives as plain text that no auto-responder answers', async () => {
    await withMailer(async (mailer, server) => {
      mailer.send(mail);
      const received = await server.next();
      assert.deepEqual(received.to, ['ada@example.com']);
      assert.equal(received.text.trim().replaceAll('\r\n', '\n'), mail.text);
      assert.match(received.source, /^From: Admin <admin@example.com>\r$/m);
      assert.match(received.source, /^Auto-Submitted: auto-generated\r$/m);
      assert.match(received.source, /^Content-Type: text\/plain; charset=utf-8\r$/m);
      assert.equal((await healthOf(mailer))?.status, 'ok');
    });
  });

  it('repeats nowhere the password that its server repeats', async () => {
    await withMailer(async (mailer, server, log) => {
      server.refuse(ENCODINGS.map((encode) => encode('secret-word')).join(' '));
      const failed = await mailer.deliver(mail).catch((error: Error) => error);
      mailer.send(mail);
      await until(() => log.length === 2);
      for (const text of [inspect(failed, { depth: 9 }), JSON.stringify(await mailer.health()), JSON.stringify(log)]) {
        assert.match(text, /\[redacted\]/);
        for (const encode of ENCODINGS) assert.ok(!text.includes(encode('secret-word')), text);
      }
    });
  });

  it('that is refused is logged and shows in health until one goes through', async () => {
    await withMailer(async (mailer, server, log) => {
      assert.deepEqual(Object.keys((await healthOf(mailer)) ?? {}), ['name', 'kind', 'status', 'latencyMs']);
      server.refuse('450 Mailbox full');
      mailer.send(mail);
      await until(() => log.length === 2);
      assert.deepEqual(
        log.map(({ msg, subject }) => [msg, subject]),
        [
          ['the mail server does not work', undefined],
          ['a mail was not sent', 'Grüße'],
        ],
      );
      const { status, lastError } = (await healthOf(mailer)) ?? {};
      assert.equal(status, 'down');
      assert.match(lastError ?? '', /Mailbox full/);
      server.refuse(undefined);
      mailer.send(mail);
      await server.next();
      await mailer.close();
      assert.equal((await healthOf(mailer))?.status, 'ok');
    });
  });

  it('waits on its way to a server that says nothing, and closing does not wait with it for ever', async () => {
    const silent = stoppedAtEnd(createServer(() => {})).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address();
    assert.ok(typeof address === 'object' && address);
    const url = `smtp://127.0.0.1:${address.port}`;
    const started = performance.now();
    await withMailer(
      async (mailer) => {
        mailer.send(mail);
        const { latencyMs = 0, ...health } = (await healthOf(mailer)) ?? {};
        assert.ok(latencyMs > 0);
        assert.deepEqual(health, {
          name: 'mail',
          kind: 'smtp',
          status: 'degraded',
          lastError: 'It has not answered yet.',
        });
      },
      () => url,
    );
    assert.ok(performance.now() - started < 30_000);
    silent.close();
  });

  it('never shows the password of the mail server', async () => {
    await withMailer(
      async (mailer, _, log) => {
        const health = JSON.stringify(await mailer.health());
        assert.match(health, /"down"/);
        assert.doesNotMatch(health + JSON.stringify(log), /other-word/);
      },
      (server) => server.url.replace('secret-word', 'other-word'),
    );
  });

  it('is printed where there is no mail server', async (t) => {
    const printed: string[] = [];
    t.mock.method(console, 'log', (text: string) => printed.push(text));
    const mailer = createMailer({ smtpUrl: undefined, mailFrom: 'x@y', logger: pino({ level: 'silent' }) });
    mailer.send(mail);
    assert.match(
      printed[0] ?? '',
      /To: ada@example.com\nSubject: Grüße\n\nÖffnen Sie\nhttps:\/\/example.com\/\?token=abc=def\n/,
    );
    assert.deepEqual(await mailer.health(), [{ name: 'mail', kind: 'console', status: 'ok', latencyMs: 0 }]);
  });
});
