import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { exportStore } from '../../facade/store-copy/export-store.ts';
import { ProofKey } from '../../store/audit-proof/proof-key.ts';
import { openIn } from '../store/folders.ts';
import { auditRecord } from '../store/records.ts';
import { runFile, withFolder } from '../support/child.ts';

const auditSecret = 'the secret of this test';
const key = new ProofKey(auditSecret).publicKey.text;

const verify = (...args: string[]) =>
  runFile('facade/commands/verify-audit.ts', { args, env: { PATH: process.env.PATH ?? '' } });

describe('verify-audit', () => {
  it('checks a copied data folder and an export with the public key alone', () =>
    withFolder(async (folder) => {
      const store = await openIn(folder, { auditSecret });
      for (let number = 0; number < 5; number += 1)
        store.audit.append(auditRecord({ id: `aud_${number}`, at: `2026-03-01T00:00:0${number}.000Z` }));
      const file = join(folder, 'all.ndjson');
      await exportStore(store, file, { version: '1', now: new Date(), isShared: false });
      await store.close();
      for (const path of [folder, file]) {
        const { code, stdout, stderr } = await verify(path, '--key', key);
        assert.equal(code, 0, stdout + stderr);
        assert.match(stdout, /^Intact: 5 entries, 2 heads\.\nLast head: 2:[\w-]{43}, signed at /);
        const other = await verify(path, '--key', new ProofKey('another').publicKey.text);
        assert.deepEqual([other.code, /^Broken: head 1 is changed/.test(other.stdout)], [1, true]);
        const later = await verify(path, '--key', key, '--head', `3:${key}`);
        assert.deepEqual([later.code, /^Broken: head 3 is missing/.test(later.stdout)], [1, true]);
      }
      const segment = join(folder, 'audit/2026-03-01.ndjson');
      await writeFile(segment, (await readFile(segment, 'utf8')).replace(/^.*aud_3.*\n/m, ''));
      const { code, stdout } = await verify(folder, '--key', key);
      assert.equal(code, 1);
      assert.match(stdout, /^Broken: an entry is missing, at 2026-03-01T00:00:02\.000Z\.\n/);
      assert.equal((await verify(folder)).code, 1);
    }));
});
