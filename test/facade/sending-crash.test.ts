import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { it } from 'node:test';
import { callTool, mustCall, outcomeOf } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { onLoopback } from '../support/loopback.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { startTestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { onPostgres } from '../support/store.ts';
import { until } from '../support/until.ts';

const key = `ak_sendcras_${'k'.repeat(40)}`;

it('kill -9 of a server in the middle of sending sends nothing twice, and says that it is not known', async () => {
  let received = 0;
  // The far end takes what is sent and never answers.
  const { url, close } = await onLoopback(createServer((request) => request.resume().on('end', () => void received++)));
  const mail = await startMailServer();
  const sent = () => received + mail.mails.length;
  await withFolder(async (folder) => {
    const env = { BOOTSTRAP_API_KEY: key, SMTP_URL: mail.url, PRIVATE_UPSTREAMS: 'on', LOG_LEVEL: 'silent' };
    let server = await startProcess(folder, env);
    // A person, who is not asked first.
    const person = await signIn({ baseUrl: server.baseUrl, adminKey: key });
    const signature = { type: 'signature', secret: `whsec_${Buffer.alloc(24, 7).toString('base64')}` };
    for (const members of [{ kind: 'http' }, { kind: 'webhook', auth: signature }])
      await mustCall(server, person, 'create_connection', {
        ...{ ...members, name: members.kind, baseUrl: url, askFirst: false },
      });
    await mustCall(server, key, 'update_settings', { mailRecipients: { addresses: ['ann@example.com'] } });
    for (const [tool, input] of [
      ['send_http_request', { connection: 'http', method: 'POST', path: '/orders', body: { count: 1 } }],
      ['send_message', { connection: 'webhook', text: 'Sold.' }],
      ['send_mail', { to: ['ann@example.com'], subject: 'Sold', markdown: 'One more.' }],
    ] as const) {
      const before = sent();
      const send = () => callTool(server, person, tool, input, { idempotencyKey: `once ${tool}` });
      const broken = send().catch(() => 'ended');
      await Promise.race([
        until(() => sent() > before),
        broken.then((answer) => tool !== 'send_mail' && assert.fail(`${tool}: ${JSON.stringify(answer)}`)),
      ]);
      await server.stop('SIGKILL');
      await broken;
      server = await startProcess(folder, env);
      let again = await send();
      // In a cluster, the key of a process that died is free some seconds later.
      await until(async () => {
        const isHeld = onPostgres && 'error' in again && /still running/.test(again.error.error);
        if (isHeld) again = await send();
        return !isHeld;
      });
      // A mail that was taken may have been answered in time.
      if (tool !== 'send_mail' || 'error' in again)
        assert.equal('error' in again && again.error.code, 'interrupted', JSON.stringify(again));
      assert.equal(sent(), before + 1, tool);
    }
    await server.stop('SIGTERM');
  });
  await close();
  await mail.close();
});

it('what a far end may have taken is not sent again under its key, and what it cannot have taken is', async () => {
  let received = 0;
  const far = createServer((request) => {
    received += 1;
    request.resume().on('end', () => request.socket.destroy());
  });
  const { url, close } = await onLoopback(far);
  const server = await startTestServer({ PRIVATE_UPSTREAMS: 'on' });
  const person = await signIn(server);
  await mustCall(server, person, 'create_connection', { kind: 'http', name: 'shop', baseUrl: url, askFirst: false });
  const send = async (idempotencyKey: string) => {
    const input = { connection: 'shop', method: 'POST', path: '/orders', body: { count: 1 } };
    return outcomeOf(await callTool(server, person, 'send_http_request', input, { idempotencyKey }));
  };
  assert.deepEqual([await send('taken'), await send('taken'), received], ['unavailable', 'interrupted', 1]);
  await close();
  assert.deepEqual([await send('away'), await send('away')], ['unavailable', 'unavailable']);
  const later = createServer((_, response) => response.end('ok'));
  await once(later.listen(Number(new URL(url).port), '127.0.0.1'), 'listening');
  assert.equal(await send('away'), 'ok');
  later.close();
});

it('kill -9 of a server while it summarises a long thread loses no message, and the next answer has a summary', async () => {
  const provider = await startModelServer();
  await withFolder(async (folder) => {
    const env = { BOOTSTRAP_API_KEY: key, MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny', LOG_LEVEL: 'silent' };
    let server = await startProcess(folder, env);
    await mustCall(server, key, 'create_model_provider', {
      ...{ name: 'small', kind: 'openai-compatible', baseUrl: provider.baseUrl, apiKey: 'sk' },
      models: [{ name: 'window', contextTokens: 8_000 }],
    });
    await mustCall(server, key, 'create_agent', { name: 'ada', displayName: 'Ada', modelPreference: 'small/window' });
    const isSummary = ({ messages }: { readonly messages: readonly unknown[] }) =>
      /summar/i.test(JSON.stringify(messages[0]));
    provider.play(() => ({ text: 'Noted.' }));
    const tell = (threadId?: string) =>
      mustCall(server, key, 'send_chat_message', {
        ...(threadId === undefined ? { agentId: 'ada' } : { threadId }),
        message: 'The lighthouse keeper counts his steps. '.repeat(60),
      });
    const { threadId } = await tell();
    let hung = false;
    provider.play((asked) => {
      hung ||= isSummary(asked);
      return isSummary(asked) ? 'hang' : { text: 'Noted.' };
    });
    let broken: Promise<unknown> = Promise.resolve();
    for (let turn = 0; turn < 40 && !hung; turn += 1) {
      let isOver = false;
      broken = tell(threadId).then(
        () => (isOver = true),
        () => (isOver = true),
      );
      await until(() => hung || isOver);
    }
    assert.ok(hung, 'a summary was begun');
    const { data: before } = await mustCall(server, key, 'list_messages', { id: threadId, limit: 100 });
    await server.stop('SIGKILL');
    await broken;
    provider.play((asked) => ({ text: isSummary(asked) ? 'The keeper counts.' : 'Again.' }));
    server = await startProcess(folder, env);
    let said = await callTool(server, key, 'send_chat_message', { threadId, message: 'Go on.' });
    await until(async () => {
      const isBusy = onPostgres && 'error' in said && said.error.code === 'conflict';
      if (isBusy) said = await callTool(server, key, 'send_chat_message', { threadId, message: 'Go on.' });
      return !isBusy;
    });
    assert.ok('output' in said, JSON.stringify(said));
    const { data, summary } = await mustCall(server, key, 'list_messages', { id: threadId, limit: 100 });
    assert.equal(data.length, before.length + 2);
    assert.match(summary.text ?? summary.content ?? JSON.stringify(summary), /The keeper counts/);
    await server.stop('SIGTERM');
  });
  await provider.close();
});
