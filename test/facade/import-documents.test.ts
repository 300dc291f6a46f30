import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { runFile, withFolder } from '../support/child.ts';
import { pdfOf } from '../support/document-files.ts';
import { onLoopback } from '../support/loopback.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);

interface Source {
  readonly name: string;
}

const importFolder = (folder: string, ...options: readonly string[]) => importOver(server.baseUrl, folder, options);

function importOver(baseUrl: string, folder: string, options: readonly string[]) {
  const env = { BASE_URL: baseUrl, API_KEY: server.adminKey };
  return runFile('facade/commands/import.ts', { args: ['documents', folder, ...options], env });
}

/** Stands before the server, and lets nothing be written until so many imports have read what is there. */
async function gateAfterLists(imports: number): Promise<string> {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let lists = 0;
  const gate = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const isList = body.includes('"list_documents"');
    if (!isList) await opened;
    const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(`${server.baseUrl}${request.url}`, { method: request.method ?? 'POST', headers, body });
    const text = Buffer.from(await answer.arrayBuffer());
    const replayed = answer.headers.get('idempotency-replayed');
    response.writeHead(answer.status, {
      'Content-Type': 'application/json',
      ...(replayed !== null && { 'Idempotency-Replayed': replayed }),
    });
    response.end(text);
    if (isList) lists += 1;
    if (lists === imports) open();
  });
  return (await onLoopback(gate)).url;
}

function write(folder: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

async function imported(root: string): Promise<Map<string, { id: string; revision: number; tags: string[] }>> {
  const { data } = await must('list_documents', { limit: 100 });
  const own = data.filter(({ source }: { source?: Source }) => source?.name.startsWith(`${root}/`));
  return new Map(own.map((document: { source: Source }) => [document.source.name.slice(root.length + 1), document]));
}

describe('npm run import -- documents', () => {
  it('makes a document of each file, and again only of those that changed', async () => {
    await withFolder(async (folder) => {
      write(folder, { 'a.md': '# A', 'b/c.txt': 'C', 'b/d.pdf': pdfOf(['D']), 'e.exe': 'no', '.git/f.md': 'hidden' });
      const first = await importFolder(folder, '--as', 'one', '--tags', 'x,y');
      assert.deepEqual(
        [first.code, first.stdout],
        [0, 'documents: 3 new, 0 changed, 0 unchanged, 0 refused, 1 of other types left out.\n'],
        first.stderr,
      );
      assert.match(first.stderr, /^Left out: e\.exe\. Taken are \.pdf .*--also exe takes those that are text\.$/m);
      const before = await imported('one');
      assert.deepEqual([...before.keys()].sort(), ['a.md', 'b/c.txt', 'b/d.pdf']);
      assert.deepEqual(before.get('a.md')?.tags, ['x', 'y']);
      write(folder, { 'b/c.txt': 'Changed', 'new.md': '# New' });
      const second = await importFolder(folder, '--as', 'one', '--tags', 'z');
      assert.match(second.stdout, /^documents: 1 new, 1 changed, 2 unchanged, 0 refused/);
      const after = await imported('one');
      assert.equal(after.get('b/c.txt')?.id, before.get('b/c.txt')?.id);
      assert.deepEqual([after.get('b/c.txt')?.revision, after.get('a.md')?.revision], [2, 1]);
    });
  });

  it('lists removed files, and deletes their documents where asked to', async () => {
    await withFolder(async (folder) => {
      write(folder, { 'a.md': '# A', 'b.md': '# B' });
      await importFolder(folder, '--as', 'two');
      rmSync(join(folder, 'b.md'));
      const listed = await importFolder(folder, '--as', 'two');
      assert.match(listed.stdout, /1 unchanged, 0 refused, 1 removed \(--delete-removed deletes them\)/);
      assert.match(listed.stderr, /^b\.md is no longer there: doc_/);
      const tried = await importFolder(folder, '--as', 'two', '--delete-removed', '--dry-run');
      assert.match(tried.stdout, /^would be documents: /);
      assert.equal((await imported('two')).size, 2);
      assert.match((await importFolder(folder, '--as', 'two', '--delete-removed')).stdout, /1 deleted/);
      assert.deepEqual([...(await imported('two')).keys()], ['a.md']);
    });
  });

  it('takes files with other endings where they are named, and keeps their documents when they are not', async () => {
    await withFolder(async (folder) => {
      write(folder, { 'a.md': '# A', 'conf.yaml': 'port: 80', 'code.PY': 'print(1)', 'x.bin': '\0' });
      const first = await importFolder(folder, '--as', 'also', '--also', 'yaml, .py');
      assert.equal(first.stdout, 'documents: 3 new, 0 changed, 0 unchanged, 0 refused, 1 of other types left out.\n');
      const second = await importFolder(folder, '--as', 'also', '--delete-removed');
      assert.match(
        second.stdout,
        /^documents: 0 new, 0 changed, 1 unchanged, 0 refused, 3 of other types left out\.$/m,
      );
      assert.match(second.stderr, /Left out: code\.PY, conf\.yaml, x\.bin\./);
      assert.deepEqual([...(await imported('also')).keys()].sort(), ['a.md', 'code.PY', 'conf.yaml']);
    });
  });

  it('asks for the folder', async () => {
    const { code, stderr } = await runFile('facade/commands/import.ts', { args: ['documents'] });
    assert.deepEqual([code, stderr.split(':')[0]], [1, 'Name the folder']);
  });

  it('names each file that is refused with the reason, takes the others and ends with 1', async () => {
    await withFolder(async (folder) => {
      write(folder, { 'bad.pdf': 'no PDF', 'good.md': '# Good' });
      const { code, stdout, stderr } = await importFolder(folder, '--as', 'three');
      assert.deepEqual([code, stdout], [1, 'documents: 1 new, 0 changed, 0 unchanged, 1 refused.\n']);
      assert.match(stderr, /^bad\.pdf: The file is named \.pdf/);
    });
  });

  it('sends files that are too large for a call as the body of a request', async () => {
    await withFolder(async (folder) => {
      const [page, filler] = [pdfOf(['Large']), Buffer.alloc(5_000_000, '\n')];
      write(folder, { 'large.pdf': Buffer.concat([page.subarray(0, 9), filler, page.subarray(9)]) });
      const { code, stdout, stderr } = await importFolder(folder, '--as', 'four', '--tags', 'l');
      assert.equal(code, 0, `${stdout}${stderr}`);
      assert.deepEqual((await imported('four')).get('large.pdf')?.tags, ['l']);
    });
  });

  it('makes one document of each file where two imports of a folder run at the same time', async () => {
    const gate = await gateAfterLists(2);
    await withFolder(async (folder) => {
      const [page, filler] = [pdfOf(['Large']), Buffer.alloc(5_000_000, '\n')];
      const large = Buffer.concat([page.subarray(0, 9), filler, page.subarray(9)]);
      write(folder, { 'a.md': '# A', 'b.txt': 'B', 'c.pdf': pdfOf(['C']), 'large.pdf': large });
      const both = await Promise.all([1, 2].map(() => importOver(gate, folder, ['--as', 'five'])));
      for (const { code, stdout, stderr } of both) assert.equal(code, 0, `${stdout}${stderr}`);
      const { data } = await must('list_documents', { limit: 100 });
      const names = data.flatMap(({ source }: { source?: Source }) => source?.name.match(/^five\/.*/) ?? []);
      assert.deepEqual(names.sort(), ['five/a.md', 'five/b.txt', 'five/c.pdf', 'five/large.pdf']);
      const created = both.map(({ stdout }) => Number(/(\d+) new/.exec(stdout)?.[1]));
      assert.equal(
        created.reduce((sum, count) => sum + count, 0),
        4,
        both.map(({ stdout }) => stdout).join(''),
      );
    });
  });

  it('makes a document again that was deleted or purged, also of a file that was imported or refused today', async () => {
    await withFolder(async (folder) => {
      write(folder, { 'a.md': '# A', 'b.md': '# B', 'bad.pdf': 'no PDF' });
      assert.equal((await importFolder(folder, '--as', 'six')).code, 1);
      const before = await imported('six');
      for (const { id } of before.values()) await must('delete_document', { id });
      await must('purge_record', { entityType: 'document', id: before.get('b.md')?.id });
      write(folder, { 'bad.pdf': pdfOf(['Mended']) });
      const { code, stdout, stderr } = await importFolder(folder, '--as', 'six');
      assert.deepEqual([code, stdout], [0, 'documents: 3 new, 0 changed, 0 unchanged, 0 refused.\n'], stderr);
      const after = await imported('six');
      assert.deepEqual([...after.keys()].sort(), ['a.md', 'b.md', 'bad.pdf']);
      assert.notEqual(after.get('a.md')?.id, before.get('a.md')?.id);
    });
  });

  it('refuses a folder that is not there or has nothing to import, so that nothing is deleted by mistake', async () => {
    await withFolder(async (folder) => {
      assert.match((await importFolder(join(folder, 'missing'))).stderr, /There is no folder/);
      assert.match(
        (await importFolder(folder, '--as', 'two', '--delete-removed')).stderr,
        /has no files of these types/,
      );
    });
  });
});
