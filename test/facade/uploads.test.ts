import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readBody } from '../../facade/http/body.ts';
import { STORED_FILES } from '../../store/lowdb/files/folder.ts';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { onLoopback } from '../support/loopback.ts';
import { startModelServer } from '../support/model-server.ts';
import { randomFrom } from '../support/random.ts';
import { principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';
import { PNG } from '../support/small-files.ts';
import { onPostgres } from '../support/store.ts';
import { until } from '../support/until.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must } = callsOf(server);
const { host, hostname, port } = new URL(server.baseUrl);
await must('create_model_provider', {
  ...{ name: 'seeing', kind: 'openai-compatible', baseUrl: provider.baseUrl, apiKey: 'sk' },
  models: [{ name: 'eye', inputs: ['text', 'image'] }],
});
await must('create_agent', { name: 'iris', displayName: 'Iris', modelPreference: 'seeing/eye' });
after(() => provider.close());

const FORM = '/api/v1/chat';
const COMPLETIONS = '/api/v1/openai/chat/completions';
const MIB = 1024 * 1024;

/** A request whose body does not come to its end. */
function unfinished(key: string, path: string, bytes: number) {
  const isForm = path === FORM;
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  const type = isForm ? 'multipart/form-data; boundary=x' : 'application/json';
  const begin = isForm ? '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' : '{"model":"';
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${key}`, `Content-Type: ${type}`];
  socket.write(`${head.join('\r\n')}\r\nContent-Length: ${8 * MIB}\r\n\r\n${begin}${'a'.repeat(bytes)}`);
  return socket;
}

async function upload(key: string, path = FORM, fields: Readonly<Record<string, string>> = { message: 'hello' }) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob(['text']), 'a.txt');
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${server.baseUrl}${path}`, { method: 'POST', headers, body: form });
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers freely
  return { status: response.status, body: (await response.json()) as any };
}

const imageOf = (bytes: number) =>
  `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(bytes)]).toString('base64')}`;
const completion = (url: string) => ({
  model: 'iris',
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
});
const complete = (key: string, body: object, headers = {}) => rest(server, 'POST', COMPLETIONS, { key, body, headers });
const open = () => must('get_system_health').then(() => undefined);

describe('uploads of one caller', () => {
  for (const path of [FORM, COMPLETIONS])
    it(`take turns, and one that stops while it waits keeps the place of no other (${path})`, async () => {
      const key = await makeKey(server, { scopes: ['write'] });
      const first = unfinished(key, path, 300_000);
      await open();
      const second = unfinished(key, path, 2000);
      await open();
      second.destroy();
      await open();
      first.destroy();
      assert.equal((await upload(key)).status, 200);
      assert.equal((await complete(key, completion(imageOf(5 * MIB)))).status, 200);
    });

  it('wait for none that has gone silent', async () => {
    const silent = await onLoopback(
      createServer(async (request, response) => {
        const kind = { largest: MIB, silenceMs: 30, requireType() {} };
        const sender = { request, principal: principalOf({ type: 'api-key', id: 'key_slow' }) };
        const body = await readBody(sender, kind).catch((thrown) => thrown.message);
        response.end(String(body));
      }),
    );
    const ask = (text: string) => {
      const socket = connect(Number(new URL(silent.url).port), '127.0.0.1');
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n${text}`);
      return once(socket, 'data').then(([answer]) => {
        socket.destroy();
        return String(answer);
      });
    };
    assert.match(await ask('four'), /Nothing more of the body came/);
    assert.match(await ask('fives'), /fives$/);
    await silent.close();
  });

  it('that are cut at any byte, many at once, leave no file and keep no place', async () => {
    const key = await makeKey(server, { scopes: ['write'] });
    const random = randomFrom(7);
    const upTo = (most: number) => 1 + Math.floor(random() * most);
    const text = 'x'.repeat(200_000);
    const parts = ['name="message"\r\n\r\nhi', `name="file"; filename="a.txt"\r\n\r\n${text}`];
    const form = `${parts.map((part) => `--x\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}--x--\r\n`;
    const large = JSON.stringify(completion(imageOf(4 * MIB)));
    const cut = (path: string, body: string) =>
      new Promise<void>((resolve) => {
        const type = path === FORM ? 'multipart/form-data; boundary=x' : 'application/json';
        const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${key}`];
        const whole = `${head.join('\r\n')}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
        const socket = connect(Number(port), hostname);
        socket.on('error', () => {}).once('close', () => resolve());
        // Sometimes whole, and then gone before the answer.
        const sent = whole.slice(0, upTo(1.4 * whole.length));
        socket.write(sent, () => setTimeout(() => socket.destroy(), upTo(20)));
      });
    for (let round = 0; round < rounds(3, 30); round += 1) {
      await Promise.all([1, 2, 3, 4].flatMap(() => [cut(FORM, form), cut(COMPLETIONS, large)]));
      assert.equal((await upload(key)).status, 200);
    }
    const folder = join(server.folder, STORED_FILES);
    const known = async () => (await server.store.documentFiles.find({ limit: 10_000 })).records.map(({ id }) => id);
    if (!onPostgres) await until(async () => String(readdirSync(folder).sort()) === String((await known()).sort()));
  });

  it('wait for each other at both doors, and for those of nobody else', async () => {
    const [key, other] = [await makeKey(server, { scopes: ['write'] }), await makeKey(server, { scopes: ['write'] })];
    const first = unfinished(key, COMPLETIONS, 300_000);
    await open();
    let isAnswered = false;
    const waiting = upload(key).finally(() => {
      isAnswered = true;
    });
    assert.equal((await upload(other)).status, 200);
    assert.equal((await complete(key, completion(imageOf(10)))).status, 200, 'a small body waits for none');
    assert.equal(isAnswered, false);
    first.destroy();
    assert.equal((await waiting).status, 200);
  });

  it('let the next one in once the files are kept, while the agent still answers', async () => {
    const key = await makeKey(server, { scopes: ['write'] });
    provider.play(() => 'hang');
    const before = provider.requests.length;
    const leaving = new AbortController();
    const body = JSON.stringify(completion(imageOf(5 * MIB)));
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const asked = { method: 'POST', headers, body, signal: leaving.signal };
    const calls = [1, 2, 3].map(() => fetch(`${server.baseUrl}${COMPLETIONS}`, asked));
    await until(() => provider.requests.length === before + calls.length);
    leaving.abort();
    await Promise.allSettled(calls);
    provider.play(() => ({ text: 'Hello.' }));
  });
});

describe('a form', () => {
  it('is refused with fields in its query, as JSON is, instead of going elsewhere than was said', async () => {
    const { id } = await must('create_thread', { title: 'Secret', visibility: 'restricted' });
    const before = (await must('list_threads')).data.length;
    for (const query of [`threadId=${id}`, 'x=1']) {
      const { status, body } = await upload(server.adminKey, `${FORM}?${query}`);
      assert.deepEqual([status, body.code], [400, 'invalid_input']);
      assert.match(body.error, /takes no query parameters; put the fields into the form/);
    }
    assert.equal((await must('list_threads')).data.length, before);
    const { body } = await upload(server.adminKey, FORM, { message: 'hello', threadId: id });
    assert.equal(body.threadId, id);
  });
});

describe('a form that is none', () => {
  const part = (head: string, bytes = 'x') => `--x\r\nContent-Disposition: form-data; ${head}\r\n\r\n${bytes}\r\n`;
  const file = part('name="file"; filename="a.txt"');
  const post = async (parts: readonly string[], path = FORM) => {
    const headers = {
      Authorization: `Bearer ${server.adminKey}`,
      'Content-Type': 'multipart/form-data; boundary=x',
    };
    const body = `${parts.join('')}--x--\r\n`;
    const response = await fetch(`${server.baseUrl}${path}`, { method: 'POST', headers, body });
    // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers freely
    return { status: response.status, ...((await response.json()) as any) };
  };

  it('is refused for too many parts and too long headers with what to do, however long they are', async () => {
    for (const path of [FORM, '/api/v1/documents']) {
      const many = await post(Array(1000).fill(file), path);
      assert.deepEqual([many.status, /more than 100 fields and files/.test(many.error)], [413, true]);
      for (const letter of ['a', '; ', '\\"']) {
        const long = await post([part(`name="file"; filename="${letter.repeat(10_000_000)}"`)], path);
        assert.deepEqual([long.status, /headers of more than 16384 bytes/.test(long.error)], [413, true], letter);
      }
    }
  });

  it('is refused where a field says again what the files are, instead of being overruled', async () => {
    const named = await post([part('name="message"', 'hi'), part('name="attachments"', '[]'), file]);
    assert.match(named.error, /^attachments is given by the files of the form and as a field/);
    const twice = await post([part('name="message"', 'hi'), part('name="message"', 'hi'), file]);
    assert.equal(twice.error, 'message: Is given more than once; give it once.');
    const document = await post([file], '/api/v1/documents?file=x');
    assert.match(document.error, /^file is given as a file and beside it/);
  });
});

describe('a completion', () => {
  it('may be large for its files alone', async () => {
    const messages = [{ role: 'user', content: 'x'.repeat(900_000) }];
    const long = { model: 'iris', messages: [...Array(5).fill(messages[0]), ...completion(imageOf(10)).messages] };
    const { status, body } = await complete(server.adminKey, long);
    assert.deepEqual([status, body.error.code], [413, 'too_large']);
    assert.match(body.error.message, /more than 4194304 bytes beside its files/);
    assert.equal((await complete(server.adminKey, completion(imageOf(9 * MIB)))).status, 200);
  });

  it('in a thread may hold the files of earlier messages, of which the thread has its own', async () => {
    const { id } = await must('create_thread', { title: 'Pictures' });
    const messages = [...completion(imageOf(4 * MIB)).messages, { role: 'user', content: 'And now?' }];
    const { status } = await complete(server.adminKey, { model: 'iris', messages, metadata: { thread_id: id } });
    assert.equal(status, 200);
  });

  it('is read no further than other bodies of a caller who can ask no agent', async () => {
    const reader = await makeKey(server, { scopes: ['agents:read'] });
    const small = await complete(reader, completion(imageOf(10)));
    assert.equal(small.status, 403);
    const socket = unfinished(reader, COMPLETIONS, 2000);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 403 /);
    socket.destroy();
  });
});
