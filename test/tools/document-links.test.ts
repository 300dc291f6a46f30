import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { pdfOf } from '../support/document-files.ts';
import { onLoopback } from '../support/loopback.ts';
import { startTestServer } from '../support/server.ts';

const { url: far } = await onLoopback(
  createServer((request, response) => {
    if (request.url === '/moved') return response.writeHead(302, { Location: '/handbook.pdf' }).end();
    if (request.url === '/missing') return response.writeHead(404).end('no');
    if (request.url === '/endless') {
      const more = () => void (!response.destroyed && response.write(Buffer.alloc(1024 * 1024), more));
      return more();
    }
    response.end(pdfOf(['At a link']));
  }),
);
const open = callsOf(await startTestServer({ PRIVATE_UPSTREAMS: 'on' }));
const byDefault = callsOf(await startTestServer());
const guarded = callsOf(await startTestServer({ PRIVATE_UPSTREAMS: 'off' }));

const linked = (path: string) => ({ file: { name: 'handbook.pdf', url: `${far}${path}` } });

describe('a document of a link', () => {
  it('is made of the file that the server reads there', async () => {
    const { content, source } = await open.must('create_document', linked('/handbook.pdf'));
    assert.deepEqual([content, source.name], ['## Page 1\n\nAt a link', 'handbook.pdf']);
  });

  it('is refused for a redirect, an error, a file without end and a closed port', async () => {
    assert.match((await open.refused('create_document', linked('/moved'))).error, /redirects/);
    assert.match((await open.refused('create_document', linked('/missing'))).error, /HTTP 404/);
    assert.equal((await open.refused('create_document', linked('/endless'))).code, 'too_large');
    const closed = { file: { name: 'a.pdf', url: 'http://127.0.0.1:9/a.pdf' } };
    assert.match((await open.refused('create_document', closed)).error, /ECONNREFUSED/);
  });

  it('reads nothing at private addresses where the server may not', async () => {
    const hosts = [
      far,
      'http://localhost:1',
      'http://169.254.169.254',
      'http://[::ffff:127.0.0.1]:1',
      'http://2130706433',
    ];
    const asked = hosts.flatMap((host) => [byDefault, guarded].map((server) => ({ host, server })));
    for (const { host, server } of asked) {
      const { code, issues } = await server.refused('create_document', {
        file: { name: 'a.pdf', url: `${host}/a.pdf` },
      });
      assert.deepEqual([code, issues?.[0]?.path], ['invalid_input', 'file.url'], host);
      assert.match(issues?.[0]?.message ?? '', /(private or |link-)local.*links must be public; send the file/, host);
    }
    assert.equal(
      (await guarded.refused('create_document', { file: { name: 'a', url: 'file:///etc/passwd' } })).code,
      'invalid_input',
    );
  });

  it('reads nothing at link-local addresses and those of cloud metadata, whatever is set', async () => {
    for (const host of ['169.254.169.254', '[::ffff:169.254.169.254]', '[fe80::1]', '[fd00:ec2::254]', '2852039166']) {
      const { issues } = await open.refused('create_document', { file: { name: 'a', url: `http://${host}/latest` } });
      assert.match(issues?.[0]?.message ?? '', /link-local.*send the file itself\.$/, host);
    }
  });

  it('takes a link or bytes, not both', async () => {
    const both = { file: { ...linked('/handbook.pdf').file, data: 'AAAA' } };
    assert.equal((await open.refused('create_document', both)).issues?.[0]?.path, 'file.data');
  });
});
