import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePort } from '../../support/free-port.ts';
import { OAuthClient, signedIn } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';
import { runAuthorizationSuite } from '../conformance/suite.ts';

const server = serverForTests();

describe('the scenarios of the official conformance suite for authorization servers', () => {
  it('pass: metadata, metadata documents, and the code grant', async () => {
    const port = await freePort();
    const { clientId, resource } = await OAuthClient.registered(server, {
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
    });
    const about = { url: server.baseUrl, clientId, port, resource };
    const checks = await runAuthorizationSuite(about, async (url) => {
      const browser = await signedIn(server);
      await browser.open(url);
      await browser.send({ decision: 'allow', give: 'read' });
    });
    assert.deepEqual(
      checks.map(({ id, status, errorMessage }) => [id, status, errorMessage]),
      [
        ['authorization-server-metadata', 'SUCCESS', undefined],
        ['authorization-server-metadata-cimd', 'SUCCESS', undefined],
        ['authorization-code-grant', 'SUCCESS', undefined],
      ],
    );
  });
});
