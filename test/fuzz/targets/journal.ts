import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../../store/errors.ts';
import { journalsIn } from '../../../store/lowdb/files/folder.ts';
import { sealLine, unsealLine } from '../../../store/lowdb/journal/line.ts';
import { openLowdbStore } from '../../../store/lowdb/open.ts';
import type { Store } from '../../../store/port.ts';
import { agentRecord, auditRecord } from '../../store/records.ts';
import { until } from '../../support/until.ts';
import type { Target } from '../target.ts';

/** What a refusal tells the operator to do. */
const REMEDY = /npm run backup|`truncate|`rm|Start the newer version|recreate/;
const NOW = '2026-01-01T00:00:00.000Z';
const now = () => new Date(NOW);

/** The files of a folder, by the names that inputs use for them. */
interface Written {
  readonly files: ReadonlyMap<string, string>;
  readonly paths: ReadonlyMap<string, string>;
}

/**
 * Lines `<file> <verb> <at> <length> <text>` change the files of a folder:
 * cut (a stretch), put (text in its place), gone (the file), old (the file as it was earlier), and for journals
 * line (the content of a line is the text) and end (a further line), whose checksums are made to fit.
 */
export const journal: Target = {
  about: 'files of a data folder: a start has all that was acknowledged, or refuses and says how to recover',
  sources: ['store/lowdb', 'store/collections.ts', 'resources/agent.ts'],
  seeds: [
    'journal cut 10 5 ',
    'journal put 200 1 x\njournal cut 0 0 ',
    'journal gone 0 0 ',
    'journal old 0 0 ',
    'snapshot cut 30 2000 ',
    'snapshot put 0 1 [',
    'snapshot gone 0 0 ',
    'manifest put 128 3 a b',
    'manifest cut 100 28 ',
    'audit cut 300 1 ',
    'audit put 40 10 \0',
    'audit gone 0 0 ',
    'journal end 0 0 {"put":{"agents":[{"id":"agt_9","createdAt":"2026-01-01T00:00:00.000Z"}]}}',
    `journal end 0 0 {"put":{"agents":[${JSON.stringify({ ...agentRecord('z', { id: 'agt_9' }), createdAt: NOW, updatedAt: NOW, revision: 1 })}]},"delete":{"agents":["agt_1"]}}`,
    `journal end 0 0 {"audit":[${JSON.stringify(auditRecord({ id: 'aud_z', at: NOW }))}],"pruned":"2025-01-01","erased":["agt_4"]}`,
    'journal line 0 0 {"format":1,"generation":2}',
    'journal line 1 0 {"put":{"none":[]},"delete":{"agents":["none"]}}',
  ],
  async open() {
    const written = await write();
    return {
      run: (input) => judge(written, input.toString('latin1')),
      close() {},
    };
  },
};

/** A snapshot with a journal behind it. Times and ids are fixed, so that inputs mean the same in each run. */
async function write(): Promise<Written> {
  const folder = newFolder();
  await open(folder, (store) => fill(store, 0, 3));
  await open(
    folder,
    async (store) => {
      await fill(store, 3, 4);
      await until(() => journalsIn(folder).length === 1 && filesIn(folder).get('db.json')?.includes('agt_3') === true);
    },
    1,
  );
  await open(folder, (store) => fill(store, 4, 6));
  const old = filesIn(folder);
  await open(folder, (store) => fill(store, 6, AGENTS));
  const files = filesIn(folder);
  const paths = new Map<string, string>();
  for (const [kind, pattern] of Object.entries(KINDS)) {
    const path =
      [...files.keys()].find((each) => pattern.test(each)) ?? assert.fail(`no ${kind} in ${[...files.keys()]}`);
    paths.set(kind, path);
    files.set(`old ${path}`, old.get(path) ?? '');
  }
  rmSync(folder, { recursive: true });
  return { files, paths };
}

const KINDS = { journal: /^journal-/, snapshot: /^db\.json$/, manifest: /^manifest$/, audit: /^audit\/.*ndjson$/ };
const AGENTS = 9;

async function open(folder: string, work: (store: Store) => Promise<void>, compactBytes?: number): Promise<void> {
  const store = await openLowdbStore({ folder, now, ...(compactBytes !== undefined && { compactBytes }) });
  await work(store);
  await store.close();
}

async function fill(store: Store, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 1) {
    await store.transaction(async (tx) => {
      await tx.agents.insert(agentRecord(`a${at}`, { id: `agt_${at}` }));
      tx.audit.append(auditRecord({ id: `aud_${at}`, tool: `t${at}`, at: NOW }));
    });
  }
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'agent-admin-fuzzed-'));
}

function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  return new Map(
    paths.filter((path) => !path.includes('lock')).map((path) => [path, readFileSync(join(folder, path), 'latin1')]),
  );
}

async function judge(written: Written, input: string): Promise<void> {
  const files = new Map([...written.files].filter(([path]) => !path.startsWith('old ')));
  const changed = new Set<string>();
  let isSealed = false;
  for (const line of input.split('\n').slice(0, 20)) {
    const [, kind = '', verb = '', at = '0', length = '0', text = ''] =
      /^(\w+) (\w+) (\d+) (\d+) (.*)$/s.exec(line) ?? [];
    const path = written.paths.get(kind);
    const bytes = path === undefined ? undefined : files.get(path);
    if (path === undefined || bytes === undefined) continue;
    const made = changedBytes(bytes, {
      verb,
      at: Number(at),
      length: Number(length),
      text,
      old: written.files.get(`old ${path}`),
    });
    if (made === bytes) continue;
    isSealed ||= verb === 'line' || verb === 'end';
    changed.add(kind);
    if (made === undefined) files.delete(path);
    else files.set(path, made);
  }
  const folder = newFolder();
  try {
    for (const [path, bytes] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes, 'latin1');
    }
    await start(folder, { isOneDamaged: !isSealed && changed.size <= 1 && files.has('manifest') });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Change {
  readonly verb: string;
  readonly at: number;
  readonly length: number;
  readonly text: string;
  readonly old: string | undefined;
}

function changedBytes(bytes: string, { verb, at, length, text, old }: Change): string | undefined {
  const place = Math.min(at, bytes.length);
  if (verb === 'cut') return bytes.slice(0, place) + bytes.slice(place + length);
  if (verb === 'put') return bytes.slice(0, place) + text + bytes.slice(place + length);
  if (verb === 'gone') return undefined;
  if (verb === 'old') return old;
  if (verb === 'line' || verb === 'end') return resealed(bytes, verb === 'end' ? undefined : at, text);
  return bytes;
}

/** The journal with other content in a line, or with a further line, and all checksums as if it had been written so. */
function resealed(bytes: string, at: number | undefined, json: string): string {
  let crc = 0;
  let read = 0;
  let text = '';
  const lines = bytes.split('\n').filter((line) => line !== '');
  for (const [index, line] of lines.entries()) {
    const raw = Buffer.from(`${line}\n`, 'latin1');
    // The first line goes on from the snapshot.
    const sealed =
      index === 0
        ? {
            label: line.split(' ')[1] ?? '',
            json: line.slice(line.indexOf('{')),
            crc: Number.parseInt(line.slice(0, 8), 16),
          }
        : unsealLine(raw, read);
    if (!sealed) return bytes;
    read = sealed.crc;
    if (index === 0) {
      crc = sealed.crc;
      text = `${line}\n`;
    } else {
      const made = sealLine(sealed.label, index === at ? Buffer.from(json, 'latin1').toString() : sealed.json, crc);
      crc = made.crc;
      text += Buffer.from(made.text).toString('latin1');
    }
  }
  if (at !== undefined) return text;
  const label = String(Number(lines.at(-1)?.split(' ')[1] ?? 0) + 1);
  return text + Buffer.from(sealLine(label, Buffer.from(json, 'latin1').toString(), crc).text).toString('latin1');
}

async function start(folder: string, { isOneDamaged }: { isOneDamaged: boolean }): Promise<void> {
  let store: Store;
  try {
    store = await openLowdbStore({ folder, now });
  } catch (error) {
    assert.ok(error instanceof OperatorError, error instanceof Error ? error.stack : String(error));
    assert.match(error.message, REMEDY);
    return;
  }
  const first = await contentsOf(store);
  if (isOneDamaged) assert.deepEqual(first, { agents: AGENTS, entries: AGENTS });
  await store.transaction((tx) => tx.agents.insert(agentRecord('late')));
  await store.close();
  const again = await openLowdbStore({ folder, now });
  const second = await contentsOf(again);
  await again.close();
  assert.deepEqual(second, { ...first, agents: first.agents + 1 });
}

async function contentsOf(store: Store): Promise<{ agents: number; entries: number }> {
  const { records } = await store.agents.find({ limit: 100 });
  const { records: entries } = await store.audit.find({ limit: 100 });
  return { agents: records.length, entries: entries.length };
}
