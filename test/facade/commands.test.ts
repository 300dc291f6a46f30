import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { readClientConfig } from '../../facade/commands/client-config.ts';
import { callServer } from '../../facade/commands/server-call.ts';
import { killedAtEnd, stoppedAtEnd } from '../support/at-end.ts';
import { mustCall, rest } from '../support/calls.ts';
import { runFile, startProcess, withFolder } from '../support/child.ts';
import { serverForTests } from '../support/server.ts';
import { onPostgres } from '../support/store.ts';
import { withProgram } from '../support/upstream.ts';

const KEY = /^ {2}(ak_\w+)$/m;
const keyIn = (text: string) => KEY.exec(text)?.[1] ?? '';

const PATH = { PATH: process.env.PATH ?? '' };

function blockIn(text: string) {
  const block = JSON.parse(text.slice(text.indexOf('{\n'), text.lastIndexOf('}') + 1));
  return block.mcpServers['agent-admin'];
}

/** The next start on the folder is the first. */
async function printsAddresses(folder: string): Promise<void> {
  const BASE_URL = 'https://admin.example.com/agents';
  const server = await startProcess(folder, { BASE_URL, HOST: 'localhost' });
  const said = /^agent-admin listens on (\S+) and gives clients the address (\S+)$/m.exec(server.stdout);
  assert.equal(said?.[2], BASE_URL);
  assert.match(server.baseUrl, /^http:\/\/(127\.0\.0\.1|\[::1\]):[1-9]\d*$/);
  assert.equal((await rest(server, 'GET', '/api/v1/health', { key: keyIn(server.stdout) })).status, 200);
  assert.equal(blockIn(server.stdout).env.BASE_URL, BASE_URL);
  await server.stop('SIGTERM');
}

async function getsNewKey(folder: string): Promise<void> {
  const { code, stdout } = await runFile('facade/commands/recover-key.ts', { env: { DATA_DIR: folder } });
  assert.equal(code, 0);
  const again = await startProcess(folder);
  assert.ok(await mustCall(again, stdout.trim(), 'list_api_keys'));
  await again.stop('SIGTERM');
  const empty = await runFile('facade/commands/recover-key.ts', { env: { DATA_DIR: join(folder, 'none') } });
  assert.deepEqual([empty.code, /no active owner/.test(empty.stderr)], [1, true]);
}

describe('the first start', () => {
  it('is still to come when a start fails, as on a port in use', async () => {
    await withFolder(async (folder) => {
      const holder = stoppedAtEnd(createServer()).listen(0, '127.0.0.1');
      await once(holder, 'listening');
      const { port } = holder.address() as AddressInfo; // listening on TCP
      const failed = await runFile('facade/main.ts', { env: { DATA_DIR: folder, PORT: String(port) } });
      assert.deepEqual([failed.code, keyIn(failed.stdout)], [1, '']);
      assert.match(failed.stderr, /^The port is taken, .*EADDRINUSE.*\. Stop that one, or set PORT\.$/m);
      holder.close();
      await printsAddresses(folder);
    });
  });

  it('prints a key, a curl line and a Claude Desktop block that work as pasted; recover-key makes a new one', async () => {
    await withFolder(async (folder) => {
      const server = await startProcess(folder);
      const curl = /^ {2}(curl .+)$/m.exec(server.stdout)?.[1] ?? '';
      const { stdout } = await promisify(execFile)('bash', ['-c', curl]);
      assert.deepEqual(JSON.parse(stdout), { data: [], nextCursor: null });

      const another = /^ {2}(API_KEY=.+create_sign_in_link.+)$/m.exec(server.stdout)?.[1] ?? '';
      const made = await promisify(execFile)('bash', ['-c', another], { env: PATH });
      assert.match(made.stdout, new RegExp(`"url": "${server.baseUrl}/sign-in/link\\?token=`));

      const { command, args, env } = blockIn(server.stdout);
      assert.match(server.stdout, /no more than 128 tools/);
      const child = killedAtEnd(spawn(command, args, { cwd: '/', env }));
      child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`);
      let text = '';
      for await (const chunk of child.stdout) text += chunk;
      const names = JSON.parse(text).result.tools.map(({ name }: { name: string }) => name);
      assert.deepEqual(names, ['search_tools', 'describe_tool', 'call_tool']);

      const { data } = await mustCall(server, keyIn(server.stdout), 'list_api_keys');
      const rights = data.map(({ name, scopes }: { name: string; scopes: string[] }) => [name, scopes]);
      assert.deepEqual(rights, [
        ['bootstrap', ['admin']],
        ['Claude Desktop', ['read', 'write']],
      ]);
      assert.ok((await mustCall(server, env.API_KEY, 'create_skill', { name: 'made by the client' })).id);
      await assert.rejects(mustCall(server, env.API_KEY, 'list_api_keys'), /forbidden/);
      assert.equal(await server.stop('SIGTERM'), 0);
      await getsNewKey(folder);
    });
  });

  it('takes BOOTSTRAP_API_KEY without repeating it, and later starts print no key and ignore another one', async () => {
    await withFolder(async (folder) => {
      const key = `ak_boot0000_${'x'.repeat(40)}`;
      const first = await startProcess(folder, { BOOTSTRAP_API_KEY: key });
      assert.ok(!first.stdout.includes(key));
      const curl = /^ {2}(curl .+)$/m.exec(first.stdout)?.[1] ?? '';
      const { stdout } = await promisify(execFile)('bash', ['-c', curl], { env: { BOOTSTRAP_API_KEY: key, ...PATH } });
      assert.deepEqual(JSON.parse(stdout), { data: [], nextCursor: null });
      assert.equal(blockIn(first.stdout).env.API_KEY.slice(0, 3), 'ak_');
      assert.equal((await rest(first, 'GET', '/api/v1/health', { key })).status, 200);
      await first.stop('SIGTERM');
      const other = `ak_boot0001_${'x'.repeat(40)}`;
      const second = await startProcess(folder, { BOOTSTRAP_API_KEY: other, HOST: '0.0.0.0' });
      assert.equal(keyIn(second.stdout), '');
      const { port } = new URL(second.baseUrl);
      const line = `agent-admin listens on http://0.0.0.0:${port} and gives clients the address http://localhost:${port}\n`;
      assert.ok(second.stdout.includes(line), second.stdout);
      const local = { baseUrl: `http://127.0.0.1:${port}` };
      assert.equal((await rest(local, 'GET', '/api/v1/health', { key })).status, 200);
      assert.equal((await rest(local, 'GET', '/api/v1/health', { key: other })).status, 401);
      await second.stop('SIGTERM');
    });
  });

  it('names every problem of the environment at once', async () => {
    const env = {
      PORT: 'x',
      BASE_URL: 'ftp://x',
      LOG_LEVEL: 'loud',
      BOOTSTRAP_API_KEY: 'short',
      ALLOWED_ORIGINS: 'nope',
    };
    const { code, stderr } = await runFile('facade/main.ts', { env });
    assert.equal(code, 1);
    for (const name of Object.keys(env)) assert.match(stderr, new RegExp(`${name}.*: `));
    assert.doesNotMatch(stderr, /at .*\.ts/);
  });
});

describe('a running server', () => {
  const server = serverForTests();

  // A database serves several processes, and is copied by its own tools.
  const itInFolder = onPostgres ? () => {} : it;

  itInFolder('keeps a second process off its data folder', async () => {
    for (const file of ['facade/main.ts', 'facade/commands/recover-key.ts']) {
      const { code, stderr } = await runFile(file, { env: { DATA_DIR: server.folder, PORT: '0' } });
      assert.equal(code, 1);
      assert.match(stderr, /open in process/);
    }
  });

  it('is called by npm run tool, which prints output, or the error and exit code 1', async () => {
    const env = { BASE_URL: server.baseUrl, API_KEY: server.adminKey };
    const tool = (...args: string[]) => runFile('facade/commands/tool.ts', { args, env });
    const made = await tool('create_skill', '{"name": "by command"}');
    assert.deepEqual([made.code, JSON.parse(made.stdout).name], [0, 'by command']);
    for (const [args, message] of [
      [['create_skill', '{"name": ""}'], /invalid_input/],
      [['create_skill', '{'], /not valid JSON/],
      [['create_skil'], /Similar names: create_skill/],
      [[], /Usage/],
    ] as const) {
      const { code, stderr } = await tool(...args);
      assert.equal(code, 1);
      assert.match(stderr, message);
    }
    const noKey = await runFile('facade/commands/tool.ts', {
      args: ['list_agents'],
      env: { BASE_URL: server.baseUrl },
    });
    assert.match(noKey.stderr, /API_KEY: must hold an API key/);
    const away = { ...env, BASE_URL: 'http://127.0.0.1:1' };
    const gone = await runFile('facade/commands/tool.ts', { args: ['list_agents'], env: away });
    assert.match(gone.stderr, /No server answers at/);
  });

  it('shows what each command takes, and runs nothing', async () => {
    const commands = ['start', 'demo', 'tool', 'import', 'stdio', 'backup', 'export', 'import-all', 'export-audit'];
    for (const [nth, command] of [...commands, 'verify-audit', 'doctor', 'recover-key'].entries()) {
      const args = [command, nth % 2 === 0 ? '--help' : '-h'];
      const { code, stdout } = await runFile('facade/commands/agent-admin.ts', { args, env: PATH });
      assert.equal(code, 0, command);
      assert.match(stdout, new RegExp(`Usage: .*${command}|^${command} `), command);
    }
  });

  it('says so when something else answers in its place', async () => {
    const proxy = createServer((socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>');
    }).listen(0, '127.0.0.1');
    stoppedAtEnd(proxy);
    await once(proxy, 'listening');
    const BASE_URL = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const config = readClientConfig({ BASE_URL, API_KEY: server.adminKey });
    await assert.rejects(callServer(config, 'list_agents', {}), {
      message: `The server at ${BASE_URL}/api/v1/mcp is not agent-admin (HTTP 502); check BASE_URL.`,
    });
    proxy.close();
  });

  it('prints the text of a tool of an integration that answers with content alone', async () => {
    await withProgram(server, [], async () => {
      const env = { BASE_URL: server.baseUrl, API_KEY: server.adminKey };
      const args = ['program__echo', '{"text": "said back"}'];
      const { code, stdout } = await runFile('facade/commands/tool.ts', { args, env });
      assert.deepEqual([code, stdout], [0, 'said back\n']);
    });
  });

  it('has its audit entries exported by range, one a line, newest first, each once', async () => {
    const from = server.clock.now().toISOString();
    for (let call = 0; call < 3; call += 1) await mustCall(server, server.adminKey, 'list_skills', { limit: call + 1 });
    const env = { ...PATH, BASE_URL: server.baseUrl, API_KEY: server.adminKey };
    const run = (...args: string[]) => runFile('facade/commands/export-audit.ts', { args, env });
    const { code, stdout, stderr } = await run('--from', from);
    assert.equal(code, 0, stderr);
    const entries = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      entries.filter(({ tool }) => tool === 'list_skills').map((entry) => entry.arguments.limit),
      [3, 2, 1],
    );
    assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length);
    assert.equal((await run('--to', '2000-01-01')).stdout, '');
    for (const [args, said] of [
      [['--form', from], /Unknown option '--form'.*Usage:/s],
      [['--from', 'yesterday'], /from/],
    ] as const) {
      const refused = await run(...args);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, said);
    }
  });

  it('is spoken to through the stdio door, which answers every request even when the server does not', async () => {
    const ask = (API_KEY: string, input: string, BASE_URL = server.baseUrl) =>
      runFile('facade/commands/stdio.ts', { env: { BASE_URL, API_KEY }, input });
    const list = `${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' })}\n`;
    const refused = JSON.parse((await ask('ak_wrong', list)).stdout);
    assert.deepEqual([refused.id, refused.error.code], [7, -32000]);
    assert.match(refused.error.message, /does not accept API_KEY/);
    const lines = (await ask('ak_wrong', 'garbage\n5\n[]\n')).stdout.trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).error.code),
      [-32700, -32600, -32600],
    );
    const method = `${JSON.stringify({ jsonrpc: '2.0', id: 8, method: 'x/y' })}\n`;
    const unknown = JSON.parse((await ask(server.adminKey, method)).stdout);
    assert.deepEqual([unknown.id, unknown.error.code], [8, -32601]);
    const down = JSON.parse((await ask('ak_any', list, 'http://127.0.0.1:1')).stdout);
    assert.match(down.error.message, /No server answers/);
  });

  itInFolder('is backed up while it runs; the copy starts and has everything', async () => {
    await withFolder(async (folder) => {
      const copy = join(folder, 'copy');
      const { id } = await mustCall(server, server.adminKey, 'create_agent', { name: 'kept', displayName: 'Kept' });
      const env = { DATA_DIR: server.folder };
      const backup = await runFile('facade/commands/backup.ts', { args: [copy], env });
      assert.equal(backup.code, 0, backup.stderr);
      const restored = await startProcess(copy);
      assert.equal((await mustCall(restored, server.adminKey, 'get_agent', { id })).name, 'kept');
      await restored.stop('SIGTERM');
      const again = await runFile('facade/commands/backup.ts', { args: [copy], env });
      assert.deepEqual([again.code, again.stderr.includes('\n    at ')], [1, false]);
    });
  });

  it('is read by the command line of the MCP Inspector', async () => {
    const header = `Authorization: Bearer ${server.adminKey}`;
    const target = [`${server.baseUrl}/api/v1/mcp`, '--transport', 'http', '--header', header];
    // It looks for its own package.json from the folder it is run in.
    const cwd = new URL('../../node_modules/@modelcontextprotocol/inspector-cli/build', import.meta.url);
    const inspect = async (...more: string[]) => {
      const { stdout } = await promisify(execFile)(process.execPath, ['index.js', ...target, ...more], { cwd });
      return JSON.parse(stdout);
    };
    const { tools } = await inspect('--method', 'tools/list');
    assert.ok(tools.some(({ name }: { name: string }) => name === 'get_agent'));
    const call = ['--method', 'tools/call', '--tool-name', 'create_skill', '--tool-arg', 'name=inspected'];
    assert.equal((await inspect(...call)).structuredContent.name, 'inspected');
  });
});
