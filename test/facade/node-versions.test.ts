import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { killedAtEnd } from '../support/at-end.ts';
import { callTool, mustCall, rest } from '../support/calls.ts';
import { withFolder } from '../support/child.ts';
import { FULL } from '../support/full.ts';
import { send } from '../support/http.ts';
import { judgeProgram, judgesLack } from '../support/judges.ts';
import { pluck } from '../support/pluck.ts';
import { signIn } from '../support/sign-in.ts';
import { openStdio } from '../support/stdio.ts';
import { inEra, post } from './mcp-requests.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const KEY = `ak_versions_${'k'.repeat(40)}`;
/** The packages of test/judges, in the order in which one takes over the data of the other. */
const PACKAGES = ['node22', 'node24', 'node26'];
const isTheirs = process.platform === 'linux' && process.arch === 'x64';
const skip = isTheirs
  ? (judgesLack(...PACKAGES) ?? false)
  : `other versions of Node.js are packed for Linux on x64 alone, and this is ${process.platform} on ${process.arch}`;
if (FULL && skip) console.log(`SKIPPED: the server on other versions of Node.js: ${skip}.`);

/** The package as npm installs it, below `folder`, with the packages of the project beside it. */
async function unpackedIn(folder: string): Promise<string> {
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'agent-admin');
  await mkdir(own, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
  await run('tar', ['-xzf', join(folder, stdout.trim()), '-C', own, '--strip-components=1']);
  const packages = (await readdir(join(root, 'node_modules'))).filter((name) => /^[@\w]/.test(name));
  for (const name of packages) await symlink(await realpath(join(root, 'node_modules', name)), join(modules, name));
  return join(own, 'facade/launch/agent-admin.mjs');
}

interface Started {
  readonly baseUrl: string;
  said(): string;
  /** As a service manager ends it; its exit code. */
  stop(): Promise<number | null>;
}

async function start(node: string, program: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Started> {
  const server = killedAtEnd(spawn(node, [program], { cwd, env }));
  const ended = once(server, 'close');
  let said = '';
  const baseUrl = await new Promise<string>((listens, fails) => {
    for (const stream of [server.stdout, server.stderr])
      stream.on('data', (chunk) => {
        said += chunk;
        const [, address] = /listens on (\S+).*\n/.exec(said) ?? [];
        if (address) listens(address);
      });
    ended.then(() => fails(new Error(said)), fails);
  });
  return {
    baseUrl,
    said: () => said,
    async stop() {
      server.kill('SIGTERM');
      return (await ended)[0];
    },
  };
}

/** What every door says of the agents. */
async function namesByDoor(server: Started, node: string, program: string): Promise<Record<string, string[]>> {
  const names: Record<string, string[]> = {};
  const { status, body } = await rest(server, 'GET', '/api/v1/agents', { key: KEY });
  assert.equal(status, 200);
  names.rest = pluck(body.data, 'name');
  for (const era of ['legacy', 'modern'] as const) {
    const { message, headers } = inEra(era, 'tools/call', { name: 'list_agents', arguments: {} });
    const answer = await post(`${server.baseUrl}/api/v1/mcp`, message, { token: KEY, headers });
    names[era] = pluck(answer.body.result.structuredContent.data, 'name');
  }
  const stdio = openStdio(server.baseUrl, KEY, [node, program, 'stdio']);
  const { result } = await stdio.ask('tools/call', { name: 'list_agents', arguments: {} });
  names.stdio = pluck(result.structuredContent.data, 'name');
  assert.equal(await stdio.end(), 0);
  assert.equal(stdio.stderr(), '');
  return names;
}

/** The page of the dashboard for a person who signed in, and all that it loads at once. */
async function openPage(server: Started): Promise<void> {
  const cookie = await signIn({ ...server, adminKey: KEY });
  const page = await send(`${server.baseUrl}/`, { headers: { Cookie: cookie } });
  assert.equal(page.status, 200);
  const parts = [...page.text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
  assert.ok(
    parts.some((path) => path?.endsWith('.js')),
    page.text,
  );
  for (const path of parts) assert.equal((await send(`${server.baseUrl}${path}`)).status, 200, path);
}

/** It refuses what would fill its memory, which each version counts differently. */
async function fillMemory(server: Started): Promise<void> {
  let refusal: string | undefined;
  for (let n = 0; refusal === undefined && n < 2000; n += 1) {
    const input = { name: `artifact ${n}`, mimeType: 'text/plain', content: `${n} `.repeat(60_000) };
    const answer = await callTool(server, KEY, 'create_artifact', input);
    if ('error' in answer) refusal = answer.error.error;
  }
  assert.match(refusal ?? '', /memory of the process \(140 MB\) is nearly full/);
  assert.equal(await server.stop(), 0);
}

describe('the packed package on other versions of Node.js', { skip: FULL && skip }, () => {
  if (!FULL) return;
  const versions = PACKAGES.map((name) => ({ name, node: skip ? '' : judgeProgram(name) }));

  before(async () => {
    for (const { name, node } of versions) {
      const { stdout } = await run(node, ['--version']);
      assert.equal(`node${/^v(\d+)/.exec(stdout)?.[1]}`, name, 'the version that the test says it is');
    }
  });

  it('answers at every door, is examined and backed up, stops at SIGTERM, and takes over the data of the version before', async () => {
    await withFolder(async (made) => {
      const folder = await realpath(made);
      const program = await unpackedIn(folder);
      const written: string[] = [];
      for (const { name, node } of versions) {
        const env = {
          PATH: `${dirname(node)}:${process.env.PATH}`,
          HOME: folder,
          PORT: '0',
          BOOTSTRAP_API_KEY: KEY,
          DATA_DIR: join(folder, 'data'),
        };
        const server = await start(node, program, folder, env);
        await mustCall(server, KEY, 'create_agent', { name, displayName: name });
        written.push(name);
        const byDoor = await namesByDoor(server, node, program);
        for (const [door, names] of Object.entries(byDoor)) assert.deepEqual(names.sort(), written, `${name}: ${door}`);
        await openPage(server);

        const asked = { ...env, BASE_URL: server.baseUrl, API_KEY: KEY };
        const doctor = await run(node, [program, 'doctor'], { cwd: folder, env: asked });
        assert.match(doctor.stdout, /\n0 failed, /, name);
        const copy = join(folder, `backup-${name}`);
        const backup = await run(node, [program, 'backup', copy], { cwd: folder, env: asked });
        assert.match(backup.stdout, /was copied to .* and checked\.$/m, name);
        for (const { stderr } of [doctor, backup]) assert.equal(stderr, '', name);

        const small = { DATA_DIR: join(folder, `small-${name}`), NODE_OPTIONS: '--max-old-space-size=140' };
        await fillMemory(await start(node, program, folder, { ...env, ...small }));

        assert.equal(await server.stop(), 0, `${name}: ${server.said()}`);
        assert.doesNotMatch(server.said(), /\(node:\d+\)|"level":"?(warn|error|fatal|[456]0)/, name);
      }
    });
  });
});
