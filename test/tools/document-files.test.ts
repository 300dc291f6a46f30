import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import {
  docxOf,
  encryptedPdf,
  heading,
  paragraph,
  pdfBomb,
  pdfOf,
  spreadsheet,
  table,
} from '../support/document-files.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);
const key = server.adminKey;

const fileOf = (name: string, bytes: Buffer | string) => ({ name, data: Buffer.from(bytes).toString('base64') });
const made = (name: string, bytes: Buffer | string) => must('create_document', { file: fileOf(name, bytes) });
const problem = (name: string, bytes: Buffer | string) => refused('create_document', { file: fileOf(name, bytes) });

describe('create_document of a file', () => {
  it('makes a heading of each page of a PDF, by which passages are found', async () => {
    const document = await made(
      'Handbook.pdf',
      pdfOf(['Refunds are paid\nwithin 5 days. An exam-\nple.', '', 'Opening hours']),
    );
    assert.equal(
      document.content,
      '## Page 1\n\nRefunds are paid\nwithin 5 days. An example.\n\n## Page 3\n\nOpening hours',
    );
    assert.equal(document.title, 'Handbook');
    const { data } = await must('search_passages', { q: 'opening hours', documentIds: [document.id] });
    assert.deepEqual([data[0].path, data[0].text], ['Page 3', 'Opening hours']);
  });

  it('keeps headings and tables of a DOCX', async () => {
    const body = `${heading('Refunds')}${paragraph('Paid &amp; done.')}${heading('Above', 2)}${table([
      ['Sum', 'Who'],
      ['500|', 'finance'],
    ])}`;
    const { content, source } = await made('a.docx', docxOf(body));
    assert.equal(
      content,
      '# Refunds\n\nPaid & done.\n\n## Above\n\n| Sum | Who |\n| --- | --- |\n| 500\\| | finance |',
    );
    assert.match(source.mimeType, /wordprocessingml/);
  });

  it('takes the readable part of HTML, and nothing that runs', async () => {
    const page = `<!doctype html><html><head><title>Refunds</title><script>alert(1)</script><style>p{}</style></head><body onload="alert(2)">
      <nav>Home</nav><main><h1>Paid</h1><p onclick="alert(3)">In <a href="https://a.example/">5 days</a>, <a href="javascript:alert(4)">now</a>.<img src=x onerror=alert(5)></p><iframe src="//x"></iframe></main><footer>Imprint</footer></body></html>`;
    const { title, content } = await made('page.html', page);
    assert.deepEqual([title, content], ['Refunds', '# Paid\n\nIn [5 days](https://a.example/), now.']);
  });

  it('repeats the columns of a CSV in each part', async () => {
    const rows = Array.from({ length: 40 }, (_, index) => `"Product; ${index}";${'long '.repeat(12)}`);
    const { content } = await made('prices.csv', `name;about\n${rows.join('\n')}\n`);
    const parts: string[] = content.split(/^(?=## )/m);
    assert.ok(parts.length > 2);
    for (const part of parts)
      assert.match(part, /^## Rows \d+ to \d+\n\n\| name \| about \|\n\| --- \| --- \|\n\| Product; /);
    assert.match(content, /^## Rows 1 to \d+$/m);
    assert.equal(content.match(/Product; /g)?.length, 40);
  });

  it('reads text in UTF-8, UTF-16 and Windows-1252, and keeps Markdown as it is', async () => {
    const text = 'Grüße – ok';
    assert.equal((await made('a.txt', text)).content, text);
    assert.equal(
      (await made('a.txt', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]))).content,
      text,
    );
    assert.equal((await made('a.txt', Buffer.from('Gr\xfc\xdfe', 'latin1'))).content, 'Grüße');
    const markdown = '# My *title*\n\n- one\n\n<b>two</b>\n';
    const { title, content } = await made('notes.md', markdown);
    assert.deepEqual([title, content], ['My title', markdown]);
  });

  it('goes by the content, not by the name', async () => {
    assert.match((await made('a.txt', pdfOf(['It is a PDF']))).content, /It is a PDF/);
    const wrong = await problem('a.pdf', 'just text');
    assert.deepEqual([wrong.code, /named \.pdf.*text/.test(wrong.error)], ['unsupported_media_type', true]);
    assert.match((await problem('a.docx', pdfOf(['x']))).error, /named \.docx/);
  });

  it('says of what it was made, and takes a title instead', async () => {
    const bytes = Buffer.from('hello');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const input = { title: 'Mine', tags: ['a'], file: { ...fileOf('x/y/hello.txt', bytes), sha256 } };
    const { title, source, tags } = await must('create_document', input);
    assert.deepEqual(source, { name: 'x/y/hello.txt', mimeType: 'text/plain', sizeBytes: 5, sha256 });
    assert.deepEqual([title, tags], ['Mine', ['a']]);
    assert.equal((await made('x/y/hello.txt', bytes)).title, 'hello');
    const other = await refused('create_document', { file: { ...fileOf('a.txt', 'hallo'), sha256 } });
    assert.deepEqual([other.code, other.issues?.[0]?.path], ['invalid_input', 'file.sha256']);
  });

  it('replaces the text of a document, as a further version', async () => {
    const { id, revision } = await made('a.md', '# One');
    const file = fileOf('a.md', '# Two');
    const changed = await must('update_document', { id, file, expectedRevision: revision });
    assert.deepEqual([changed.content, changed.title, changed.revision], ['# Two', 'One', 2]);
    assert.equal((await refused('update_document', { id, file, expectedRevision: 1 })).code, 'conflict');
    assert.equal((await refused('update_document', { id, file, content: 'x' })).issues?.[0]?.path, 'content');
    const unchanged = await must('update_document', { id, file });
    assert.equal(unchanged.revision, 2);
  });

  it('requires a title, or a file with bytes', async () => {
    assert.equal((await refused('create_document', { content: 'x' })).issues?.[0]?.path, 'title');
    assert.equal((await refused('create_document', { file: { name: 'a.txt' } })).issues?.[0]?.path, 'file.data');
  });

  it('leaves the bytes out of the audit log', async () => {
    const { id } = await made('audited.txt', 'the very bytes');
    const { data } = await must('list_audit_entries', { recordId: id });
    assert.match(JSON.stringify(data[0].arguments), /audited\.txt.*\[14 bytes\]/);
    assert.ok(!JSON.stringify(data).includes(Buffer.from('the very bytes').toString('base64')));
  });
});

describe('files that are no documents', () => {
  const cases: readonly (readonly [what: string, name: string, () => Buffer, code: string, next: RegExp])[] = [
    ['an encrypted PDF', 'a.pdf', encryptedPdf, 'invalid_input', /remove the password/],
    ['a scanned PDF', 'a.pdf', () => pdfOf(['', '']), 'invalid_input', /OCR/],
    ['a truncated PDF', 'a.pdf', () => pdfOf(['a', 'b']).subarray(0, 500), 'invalid_input', /incomplete or damaged/],
    [
      'a PDF of noise',
      'a.pdf',
      () => Buffer.from('%PDF-1.7\n\0\x01junk\n%%EOF'),
      'invalid_input',
      /incomplete or damaged/,
    ],
    ['10,000 pages', 'a.pdf', () => pdfOf(Array(10_000).fill('x')), 'too_large', /10000 pages, more than 2000; split/],
    [
      'a PDF with too much text',
      'a.pdf',
      () => pdfOf(Array(700).fill(`${'word '.repeat(17)}\n`.repeat(20))),
      'too_large',
      /before page \d+/,
    ],
    [
      'a DOCX that grows',
      'a.docx',
      () => docxOf('', { parts: { 'word/x.xml': new Uint8Array(100e6) } }),
      'too_large',
      /unpacks to more than/,
    ],
    [
      'a DOCX with entities',
      'a.docx',
      () => docxOf(paragraph('&x;'), { prolog: '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>' }),
      'invalid_input',
      /entities/,
    ],
    [
      'a DOCX cut off',
      'a.docx',
      () => docxOf(paragraph('x')).subarray(0, 500),
      'invalid_input',
      /incomplete or damaged/,
    ],
    ['a DOCX without text', 'a.docx', () => docxOf(''), 'invalid_input', /OCR/],
    ['a spreadsheet', 'a.xlsx', () => spreadsheet(), 'unsupported_media_type', /CSV/],
    [
      'an old Word file',
      'a.doc',
      () => Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1'),
      'unsupported_media_type',
      /save it as DOCX/,
    ],
    ['a picture', 'a.png', () => Buffer.from('\x89PNG\r\n', 'latin1'), 'unsupported_media_type', /OCR/],
    [
      'bytes',
      'a.txt',
      () => Buffer.from([1, 0, 2, 3]),
      'unsupported_media_type',
      /PDF, DOCX, HTML, Markdown, text and CSV/,
    ],
    ['nothing', 'a.txt', () => Buffer.alloc(0), 'invalid_input', /empty/],
    [
      'HTML nested without end',
      'a.html',
      () => Buffer.from(`<html>${'<b><i>'.repeat(20_000)}x`),
      'invalid_input',
      /damaged or unusual/,
    ],
    [
      'HTML of scripts',
      'a.html',
      () => Buffer.from('<html><script>document.write("x")</script>'),
      'invalid_input',
      /no text/,
    ],
    [
      'text that is too long',
      'a.txt',
      () => Buffer.alloc(1_000_001, 'x'),
      'too_large',
      /500000 .*into 3 files or more/,
    ],
  ];
  for (const [what, name, bytes, code, next] of cases) {
    it(`are refused with the next step: ${what}`, async () => {
      const error = await problem(name, bytes());
      assert.deepEqual([error.code, next.test(error.error)], [code, true], error.error);
    });
  }

  it('end in their own process, where they take its memory: a PDF that grows', async () => {
    const { code, error } = await problem('a.pdf', pdfBomb(400_000_000));
    assert.equal(code, 'too_large', error);
    assert.equal((await made('after.pdf', pdfOf(['still works']))).content, '## Page 1\n\nstill works');
  });
});

describe('a file over REST', () => {
  const form = (bytes: Buffer | string, name: string, fields: Record<string, string> = {}) => {
    const body = new FormData();
    for (const [field, value] of Object.entries(fields)) body.append(field, value);
    body.append('file', new Blob([new Uint8Array(Buffer.from(bytes))]), name);
    return body;
  };
  async function sent(
    method: string,
    path: string,
    body: Buffer | string | FormData,
    headers: Record<string, string> = {},
  ) {
    const all = { Authorization: `Bearer ${key}`, ...headers };
    const given = Buffer.isBuffer(body) ? new Uint8Array(body) : body;
    const answer = await fetch(`${server.baseUrl}${path}`, { method, body: given, headers: all });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    const parsed: any = await answer.json();
    return { status: answer.status, headers: answer.headers, body: parsed };
  }

  it('is a form as curl -F sends it, with the other members as fields', async () => {
    const { id: projectId } = await must('create_project', { name: 'files' });
    const body = form(pdfOf(['In a form']), 'Größe.pdf', { projectId, tags: 'a,b' });
    const { status, body: document } = await sent('POST', '/api/v1/documents', body);
    assert.equal(status, 201, JSON.stringify(document));
    assert.deepEqual([document.title, document.tags, document.projectId], ['Größe', ['a', 'b'], projectId]);
    assert.equal(document.content, '## Page 1\n\nIn a form');
  });

  it('is the body as curl --data-binary sends it, with the name in the query', async () => {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const made = await sent('POST', '/api/v1/documents?name=a.md&title=T', '# One', type);
    assert.deepEqual([made.status, made.body.title, made.body.content], [201, 'T', '# One']);
    const path = `/api/v1/documents/${made.body.id}?name=a.md&expectedRevision=1`;
    const changed = await sent('PATCH', path, '# Two', { 'Content-Type': 'text/markdown' });
    assert.deepEqual([changed.status, changed.body.content, changed.body.revision], [200, '# Two', 2]);
    assert.equal((await sent('PATCH', path, '# Three')).status, 409);
  });

  it('may also be JSON, as of any route', async () => {
    const made = await rest(server, 'POST', '/api/v1/documents', { key, body: { title: 'J', content: 'c' } });
    assert.deepEqual([made.status, made.body.title], [201, 'J']);
  });

  it('of 20 MB arrives whole, and of more is refused', async () => {
    const body = pdfOf(['Large']);
    const filler = Buffer.alloc(20 * 1024 * 1024 - body.length, '\n');
    const whole = Buffer.concat([body.subarray(0, 9), filler, body.subarray(9)]);
    const large = await sent('POST', '/api/v1/documents?name=large.pdf', whole);
    assert.deepEqual([large.status, large.body.source?.sizeBytes], [201, 20 * 1024 * 1024], JSON.stringify(large.body));
    const more = await sent('POST', '/api/v1/documents?name=large.pdf', Buffer.concat([whole, Buffer.from('x')]));
    assert.deepEqual([more.status, more.body.code], [413, 'too_large']);
    assert.equal((await sent('POST', '/api/v1/documents', form(whole, 'large.pdf'))).status, 201);
  });

  it('is made once under an idempotency key, and conflicts with other bytes', async () => {
    const headers = { 'Idempotency-Key': 'file-1' };
    const first = await sent('POST', '/api/v1/documents?name=i.txt', 'one', headers);
    const again = await sent('POST', '/api/v1/documents?name=i.txt', 'one', headers);
    assert.deepEqual([again.body.id, again.headers.get('Idempotency-Replayed')], [first.body.id, 'true']);
    assert.equal((await sent('POST', '/api/v1/documents?name=i.txt', 'two', headers)).status, 409);
  });

  it('requires the right before it is read, a name, and one file', async () => {
    const reader = await makeKey(server, { scopes: ['read'] });
    const refusal = await sent('POST', '/api/v1/documents?name=a.txt', 'x', { Authorization: `Bearer ${reader}` });
    assert.equal(refusal.status, 403);
    assert.match((await sent('POST', '/api/v1/documents', 'x')).body.error, /\?name=/);
    const none = new FormData();
    none.append('title', 'x');
    assert.match((await sent('POST', '/api/v1/documents', none)).body.error, /field `file`/);
    const type = { 'Content-Type': 'multipart/form-data; boundary=x' };
    assert.equal((await sent('POST', '/api/v1/documents', 'nothing of a form', type)).status, 400);
    assert.equal((await sent('POST', '/api/v1/documents?name=a.txt&nmae=b', 'x')).status, 400);
  });

  it('waits for others of its caller, and all arrive', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `at-once-${index}.pdf`);
    const answers = await Promise.all(
      names.map((name) => sent('POST', `/api/v1/documents?name=${name}`, pdfOf([`Text of ${name}`]))),
    );
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.content]),
      names.map((name) => [201, `## Page 1\n\nText of ${name}`]),
    );
  });
});
