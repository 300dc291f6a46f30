import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { STORED_FILES } from '../../store/lowdb/files/folder.ts';
import { mustCall } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { rounds } from '../support/full.ts';
import { until } from '../support/until.ts';

const key = `ak_abcdefgh_${'x'.repeat(43)}`;
/** Takes the parser longer than it may have. */
const SLOW = `<html>${'<div>'.repeat(200_000)}x`;

/** Processes that convert files, by their parents. */
function converters(): { readonly pid: number; readonly parent: number }[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8', maxBuffer: 1e8 }).split('\n');
  return lines
    .filter((line) => line.includes('side-process/child.mjs'))
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0]) => ({ pid, parent }));
}

it('a crash of the server in the middle of a conversion leaves no half document and no process', async () => {
  await withFolder(async (folder) => {
    const dataDir = join(folder, 'data');
    const first = await startProcess(dataDir, { BOOTSTRAP_API_KEY: key });
    const headers = { Authorization: `Bearer ${key}` };
    const send = (name: string, body: string) =>
      fetch(`${first.baseUrl}/api/v1/documents?name=${name}`, { method: 'POST', headers, body });
    const before = converters().map(({ pid }) => pid);
    assert.equal((await send('kept.html', '<html><p>Kept')).status, 201);
    const [own] = converters().filter(({ pid }) => !before.includes(pid));
    assert.ok(own);
    const cut = send('cut.html', SLOW).catch(() => 'cut off');
    const busy = async () => {
      const [, , , , , , , , , , , , , used] = execFileSync('cat', [`/proc/${own.pid}/stat`], {
        encoding: 'utf8',
      }).split(' ');
      return Number(used);
    };
    const idle = await busy();
    await until(async () => (await busy()) > idle + 50); // hundredths of a second
    await first.stop('SIGKILL');
    assert.equal(await cut, 'cut off');
    await until(async () => !converters().some(({ pid }) => pid === own.pid));
    const second = await startProcess(dataDir);
    const { data } = await mustCall(second, key, 'list_documents', {});
    assert.deepEqual(
      data.map(({ title }: { title: string }) => title),
      ['kept'],
    );
    await second.stop('SIGTERM');
  });
});

it('a crash in the middle of uploads leaves each document with its whole file, and no file without a document', async () => {
  await withFolder(async (folder) => {
    const dataDir = join(folder, 'data');
    const headers = { Authorization: `Bearer ${key}` };
    const hashes = new Map<string, string>();
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const server = await startProcess(dataDir, { BOOTSTRAP_API_KEY: key });
      let answered = 0;
      const upload = async (at: number) => {
        for (let number = 0; ; number += 1) {
          const name = `${round}-${at}-${number}.html`;
          const body = `<html><p>${name}<!--${'x'.repeat(1_500_000)}-->`;
          hashes.set(name, hash('sha256', body));
          const { status } = await fetch(`${server.baseUrl}/api/v1/documents?name=${name}`, {
            method: 'POST',
            headers,
            body,
          });
          if (status === 201) answered += 1;
        }
      };
      const uploads = [0, 1, 2].map((at) => upload(at).catch(() => 'cut off'));
      await until(() => answered > 3);
      await server.stop('SIGKILL');
      await Promise.all(uploads);
    }
    const server = await startProcess(dataDir);
    const data: { readonly id: string; readonly source: { readonly name: string } }[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await mustCall(server, key, 'list_documents', { limit: 100, ...(cursor && { cursor }) });
      data.push(...page.data);
      cursor = page.nextCursor;
    }
    assert.ok(data.length > 3);
    for (const { id, source } of data) {
      const response = await fetch(`${server.baseUrl}/api/v1/documents/${id}/file`, { headers });
      assert.equal(response.status, 200, source.name);
      const bytes = Buffer.from(await response.arrayBuffer());
      assert.equal(hash('sha256', bytes), hashes.get(source.name));
    }
    const files = join(dataDir, STORED_FILES);
    if (existsSync(files)) assert.equal(readdirSync(files).length, data.length);
    await server.stop('SIGTERM');
  });
});
