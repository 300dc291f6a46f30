import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { AuditAnchor } from '../../facade/launch/audit-anchor.ts';
import { auditHead, hashOfHead, signedText } from '../../store/audit-proof/head.ts';
import { PublicProofKey } from '../../store/audit-proof/proof-key.ts';
import { auditRecord } from '../store/records.ts';
import { withFolder } from '../support/child.ts';
import { onLoopback } from '../support/loopback.ts';
import { openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

describe('an anchor of the audit log', () => {
  it('is sent each signed head in order, and again until it takes it', () =>
    withFolder(async (folder) => {
      const received: string[] = [];
      let refusals = 1;
      const receiver = createServer(async (request, response) => {
        const body = await text(request);
        if (refusals > 0) {
          refusals -= 1;
          response.writeHead(503).end();
          return;
        }
        received.push(body);
        response.writeHead(204).end();
      });
      const { url } = await onLoopback(receiver);
      const store = await openStoreIn(folder, { auditSecret: 'the secret of this test' });
      const { proof } = store.audit;
      assert.ok(proof);
      const failures: unknown[] = [];
      const anchor = new AuditAnchor(proof, {
        url,
        privateAddresses: true,
        onFailure: (cause) => void failures.push(cause),
      });
      for (let number = 0; number < 3; number += 1) {
        store.audit.append(auditRecord());
        await proof.sign();
      }
      await until(() => received.length === 3);
      const key = new PublicProofKey(proof.publicKey.text);
      for (const [at, body] of received.entries()) {
        const { head, hash, publicKey } = JSON.parse(body);
        assert.equal(publicKey, proof.publicKey.text);
        assert.equal(hash, hashOfHead(auditHead.parse(head)));
        assert.equal(head.number, at + 2);
        assert.equal(key.verifies(signedText(head), head.signature), true);
      }
      assert.equal(failures.length, 1);
      await anchor.close();
      await store.close();
    }));

  it('is not reached at a private address unless that is allowed', () =>
    withFolder(async (folder) => {
      let requests = 0;
      const receiver = createServer((_, response) => {
        requests += 1;
        response.writeHead(204).end();
      });
      const { url } = await onLoopback(receiver);
      const store = await openStoreIn(folder, { auditSecret: 'the secret of this test' });
      const failures: unknown[] = [];
      const onFailure = (cause: unknown) => void failures.push(cause);
      const anchor =
        store.audit.proof && new AuditAnchor(store.audit.proof, { url, privateAddresses: false, onFailure });
      store.audit.append(auditRecord());
      await store.audit.proof?.sign();
      await until(() => failures.length === 1);
      assert.equal(requests, 0);
      await anchor?.close();
      await store.close();
    }));
});
