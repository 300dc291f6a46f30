import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mustCall } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { decided, signedIn } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';
import { until } from '../../support/until.ts';

const server = serverForTests();
const suite = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'));

describe('the official conformance suite for authorization servers', () => {
  it('passes with all its scenarios', async () => {
    const port = await freePort();
    const client = await mustCall(server, server.adminKey, 'create_oauth_client', {
      name: 'Conformance',
      redirectUris: [`http://127.0.0.1:${port}/callback`],
      confidential: false,
    });
    const hook = fileURLToPath(new URL('../conformance/node-20.ts', import.meta.url));
    const asked = ['--url', server.baseUrl, '--client-id', client.clientId, '--port', String(port)];
    const resource = ['--resource', `${server.baseUrl}/api/v1/mcp`];
    const args = [
      '--import',
      'tsx',
      '--import',
      hook,
      join(suite, 'dist/index.js'),
      'authorization',
      ...asked,
      ...resource,
    ];
    const child = spawn(process.execPath, args);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk;
      });
    }
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    const shown = /^(http\S+\/oauth\/authorize\?\S+)$/m;
    await until(() => isOver || shown.test(said));
    const browser = await signedIn(server);
    await browser.open(shown.exec(said)?.[1] ?? assert.fail(said));
    await fetch(await decided(browser, { decision: 'allow', give: 'read' }));
    assert.equal(await ended, 0, said);
    assert.doesNotMatch(said, /FAILURE|WARNING/);
    assert.match(said, /Total: 3 passed, 0 failed/);
  });
});
