import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ServerProcess, startProcess, withFolder } from '../../support/child.ts';
import { freePort } from '../../support/free-port.ts';
import { WebClient } from '../../support/web-client.ts';

const LINK = /http:\/\/\S+\/sign-in\/link\?token=\S+/;

/** What the server prints from now on, until it prints a link. */
function nextPrintedLink({ process: child }: ServerProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      const [link] = LINK.exec(text) ?? [];
      if (link !== undefined && text.endsWith('-\n\n')) resolve(text);
    });
  });
}

describe('a server without a mail server', () => {
  it('prints links, which a crash neither loses nor makes good again', async () => {
    await withFolder(async (folder) => {
      const env = { PORT: String(await freePort()), LOG_LEVEL: 'error' };
      const client = new WebClient();
      let server = await startProcess(folder, env);
      try {
        const [first = ''] = LINK.exec(server.stdout) ?? [];
        await client.open(first);
        await client.send();
        assert.match(client.page.text, /signed in as <strong>admin@localhost/, 'by the link of the first start');
        await client.send();

        const printed = nextPrintedLink(server);
        await client.send({ email: 'admin@localhost' });
        assert.match(client.page.text, /printed on the console/);
        const text = await printed;
        assert.match(text, /No SMTP_URL is set[\s\S]*To: admin@localhost\nSubject: Sign in to Workspace/);
        const [second = ''] = LINK.exec(text) ?? [];

        await server.stop('SIGKILL');
        server = await startProcess(folder, env);
        await client.open(second);
        await client.send();
        assert.equal(client.page.url.pathname, '/');

        await server.stop('SIGKILL');
        server = await startProcess(folder, env);
        assert.match((await client.open('/')).text, /signed in as/, 'the session goes on');
        for (const used of [first, second]) {
          await client.open(used);
          await client.send();
          assert.equal(client.page.status, 401);
        }
      } finally {
        await server.stop('SIGKILL');
      }
    });
  });
});
