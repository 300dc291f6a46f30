import assert from 'node:assert/strict';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { hashOfHead } from '../../store/audit-proof/head.ts';
import { ProofKey } from '../../store/audit-proof/proof-key.ts';
import { sealOf, withSeal } from '../../store/audit-proof/seal.ts';
import type { KnownHead, Verdict } from '../../store/audit-proof/verdict.ts';
import { verifyAudit } from '../../store/audit-proof/verify.ts';
import { auditOfFolder } from '../../store/lowdb/audit/read-folder.ts';
import { sealLine, unsealLine } from '../../store/lowdb/journal/line.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { openIn, testFolder } from './folders.ts';
import { auditRecord } from './records.ts';

const auditSecret = 'the secret of these tests';
const publicKeys = [new ProofKey(auditSecret).publicKey];
const DAYS = ['2026-03-01', '2026-03-02'];
const SEGMENT = `audit/${DAYS[0]}.ndjson`;
const HEADS = 'audit/heads.ndjson';

function entry(number: number, more: Partial<AuditEntry> = {}): AuditEntry {
  const at = `${DAYS[number % 2]}T00:00:${String(number).padStart(2, '0')}.000Z`;
  const args = number % 3 === 0 ? { name: `Ada ${number}`, size: number } : {};
  return auditRecord({ id: `aud_${number}`, at, arguments: args, ...more });
}

/** A closed store with two chains, of two and one spans, over two days. */
async function written(test: TestContext): Promise<string> {
  const folder = await testFolder(test);
  for (const from of [0, 20]) {
    const store = await openIn(folder, { auditSecret });
    for (let number = from; number < from + 20; number += 1) {
      if (number % 4 === 0) await store.transaction(async (tx) => tx.audit.append(entry(number)));
      else store.audit.append(entry(number));
      if (number === 9) await store.audit.proof?.sign();
    }
    await store.close();
  }
  return folder;
}

async function verified(folder: string, known?: KnownHead): Promise<Verdict> {
  return (await verifyAudit({ ...auditOfFolder(folder), publicKeys, known })).verdict;
}

async function kindOf(folder: string, known?: KnownHead): Promise<string> {
  const { intact, firstProblem } = await verified(folder, known);
  assert.equal(intact, firstProblem === undefined);
  return firstProblem ? `${firstProblem.kind} ${firstProblem.id ?? ''}`.trim() : 'intact';
}

/** A copy of the audit log alone, which each round begins with. */
async function copyOf(test: TestContext, folder: string) {
  const copy = await testFolder(test);
  await cp(join(folder, 'audit'), join(copy, 'audit'), { recursive: true });
  const names = [...DAYS.map((day) => `audit/${day}.ndjson`), HEADS];
  const files = new Map<string, Buffer>();
  for (const name of names) files.set(name, await readFile(join(copy, name)));
  const known = await lastHead(folder);
  return {
    copy,
    files,
    async after(name: string, bytes: Buffer): Promise<string> {
      await writeFile(join(copy, name), bytes);
      const found = await kindOf(copy, known);
      await writeFile(join(copy, name), files.get(name) ?? '');
      return found;
    },
  };
}

async function lastHead(folder: string): Promise<KnownHead> {
  const { lastHead: last } = await verified(folder);
  assert.ok(last);
  return last;
}

function linesOf(bytes: Buffer): string[] {
  return bytes.toString().split('\n').slice(0, -1);
}

const joined = (lines: readonly string[]) => Buffer.from(lines.map((line) => `${line}\n`).join(''));

/** The line with other content, and a checksum that fits it. */
function resealed(line: string, change: (json: Record<string, unknown>) => object): string {
  const sealed = unsealLine(Buffer.from(`${line}\n`), 0);
  assert.ok(sealed);
  return sealLine(sealed.label, JSON.stringify(change(JSON.parse(sealed.json))), 0).text.trimEnd();
}

describe('the proof in a copied data folder', () => {
  it('says intact of what nobody touched', async (test) => {
    const folder = await written(test);
    const { intact, entries, heads, older, unsigned } = await verified(folder);
    assert.deepEqual(
      { intact, entries, heads, older, unsigned },
      { intact: true, entries: 40, heads: 4, older: 0, unsigned: 0 },
    );
  });

  it('finds each changed byte, and each cut', async (test) => {
    const { files, after } = await copyOf(test, await written(test));
    const place = fc.constantFrom(...files.keys()).chain((name) =>
      fc.record({
        name: fc.constant(name),
        at: fc.nat({ max: (files.get(name)?.length ?? 1) - 1 }),
        by: fc.integer({ min: 1, max: 255 }),
        isCut: fc.boolean(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(place, async ({ name, at, by, isCut }) => {
        const bytes = Buffer.from(files.get(name) ?? '');
        bytes[at] = (bytes[at] ?? 0) ^ by;
        assert.notEqual(await after(name, isCut ? bytes.subarray(0, at) : bytes), 'intact');
      }),
      { numRuns: rounds(400, 20_000) },
    );
  });

  it('names the line that was removed, doubled, moved or put in', async (test) => {
    const { files, after } = await copyOf(test, await written(test));
    for (const [name, bytes] of files) {
      const lines = linesOf(bytes);
      for (const [at, line] of lines.entries()) {
        const { id = `head ${at + 1}` } = JSON.parse(line.slice(line.indexOf('{'))) as { id?: string };
        const without = lines.toSpliced(at, 1);
        const removed = await after(name, joined(without));
        assert.match(removed, name === HEADS ? new RegExp(`^missing (head|${id})`) : /^missing/, `${name} ${at}`);
        const doubled = await after(name, joined(lines.toSpliced(at, 0, line)));
        assert.match(doubled, name === HEADS ? /^added head/ : /^moved/, `${name} ${at} doubled`);
        const next = lines[at + 1];
        if (next === undefined) continue;
        const swapped = await after(name, joined(lines.toSpliced(at, 2, next, line)));
        assert.match(swapped, /^moved/, `${name} ${at} swapped`);
        if (name === HEADS) continue;
        const forged = resealed(line, (json) => ({ ...json, id: 'aud_forged', proof: undefined, salt: undefined }));
        assert.match(await after(name, joined(lines.toSpliced(at, 0, forged))), /^(added|moved) aud_forged/);
      }
    }
  });

  it('names the entry whose line was written again with a checksum that fits', async (test) => {
    const { files, after } = await copyOf(test, await written(test));
    const bytes = files.get(SEGMENT) ?? Buffer.alloc(0);
    const lines = linesOf(bytes);
    const changes: ((json: Record<string, unknown>) => object)[] = [
      (json) => ({ ...json, outcome: 'denied' }),
      (json) => ({ ...json, durationMs: 7 }),
      (json) => ({ ...json, door: 'mcp' }),
      (json) => ({ ...json, tool: 'list_agents' }),
      (json) => ({ ...json, note: 'more' }),
      (json) => ({ ...json, arguments: { name: 'Eve' } }),
      (json) => ({ ...json, arguments: {}, salt: undefined }),
      (json) => ({ ...json, principal: { type: 'api-key', id: 'key_other', name: 'other' } }),
      (json) => ({ ...json, id: 'aud_else' }),
    ];
    for (const [at, line] of lines.entries()) {
      for (const change of changes) {
        const other = resealed(line, change);
        const { id } = JSON.parse(other.slice(other.indexOf('{'))) as { id: string };
        const isSame = other.replace(/^\w+/, '') === line.replace(/^\w+/, '');
        const isWithout = /"arguments":\{\}/.test(line) && /"arguments":\{\}/.test(other) && id !== 'aud_else';
        const found = await after(SEGMENT, joined(lines.toSpliced(at, 1, other)));
        if (isSame || (isWithout && change === changes[6])) assert.equal(found, 'intact');
        else assert.equal(found, `changed ${id}`);
      }
    }
  });

  it('names the entry that was sealed again with the key that its head reveals', async (test) => {
    const { files, after } = await copyOf(test, await written(test));
    const lines = linesOf(files.get(SEGMENT) ?? Buffer.alloc(0));
    const heads = linesOf(files.get(HEADS) ?? Buffer.alloc(0)).map((line) => JSON.parse(line.slice(line.indexOf('{'))));
    for (const [at, line] of lines.entries()) {
      const forged = resealed(line, ({ proof, salt: _, ...json }) => {
        const [chain = '', span, number, before = ''] = String(proof).split('.');
        const head = heads.find((each) => each.span?.chain === chain && each.span.span === Number(span));
        const place = { chain, span: Number(span), number: Number(number), before };
        const forged = { ...(json as AuditEntry), outcome: 'denied' as const };
        return withSeal(forged, sealOf(forged, place, head.span.key));
      });
      const { id } = JSON.parse(forged.slice(forged.indexOf('{'))) as { id: string };
      assert.equal(await after(SEGMENT, joined(lines.toSpliced(at, 1, forged))), `changed ${id}`);
    }
  });

  it('finds a log that was written anew with another key', async (test) => {
    const folder = await written(test);
    const store = await openIn(await testFolder(test), { auditSecret });
    await store.close();
    const other = await testFolder(test);
    const forger = await openIn(other, { auditSecret: 'another' });
    for (let number = 0; number < 40; number += 1) forger.audit.append(entry(number));
    await forger.close();
    assert.equal(await kindOf(other, await lastHead(folder)), 'changed head 1');
    assert.equal((await verified(other)).intact, false);
  });

  it('finds that a day, the heads, or the last head is gone', async (test) => {
    const folder = await written(test);
    const known = await lastHead(folder);
    const copy = await testFolder(test);
    await cp(folder, copy, { recursive: true });
    await rm(join(copy, SEGMENT));
    assert.equal(await kindOf(copy), 'missing');
    await cp(folder, copy, { recursive: true });
    await rm(join(copy, HEADS));
    assert.equal(await kindOf(copy), 'missing head 1');
    await cp(folder, copy, { recursive: true });
    await writeFile(join(copy, HEADS), joined(linesOf(await readFile(join(folder, HEADS))).slice(0, -1)));
    assert.equal((await verified(copy)).unsigned, 20);
    assert.equal(await kindOf(copy, known), `missing head ${known.number}`);
  });

  it('takes a torn last line of a crash for none', async (test) => {
    const folder = await written(test);
    await writeFile(join(folder, SEGMENT), '12345678 - {"id":"aud_torn', { flag: 'a' });
    assert.equal(await kindOf(folder), 'intact');
  });

  it('is vouched for by the next key where the secret was lost', async (test) => {
    const folder = await written(test);
    const store = await openIn(folder, { auditSecret: 'a new one' });
    store.audit.append(entry(41));
    assert.equal((await store.audit.proof?.verify())?.intact, true);
    await store.close();
    const keys = [new ProofKey('a new one').publicKey];
    const { verdict } = await verifyAudit({ ...auditOfFolder(folder), publicKeys: keys });
    assert.equal(verdict.intact, true);
    assert.equal(verdict.entries, 41);
  });

  it('names an anchored head that differs', async (test) => {
    const folder = await written(test);
    const { number } = await lastHead(folder);
    assert.equal(await kindOf(folder, { number, hash: 'x' }), `changed head ${number}`);
    const heads = [];
    for await (const { head } of auditOfFolder(folder).heads) if (head) heads.push(hashOfHead(head));
    assert.equal(await kindOf(folder, { number: 2, hash: heads[1] }), 'intact');
  });
});
