import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { guides } from '../../facade/guides/guides.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { mustCall } from '../support/calls.ts';
import { withFolder } from '../support/child.ts';
import { FULL } from '../support/full.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
/** A third is DuckDB, a tenth what reads PDF, DOCX and HTML. */
const MOST_BYTES = 215_000_000;

/** The folder of the program: a full run installs what `npm pack` makes, as its users do; others take the project itself. */
async function installed(folder: string): Promise<string> {
  if (!FULL) return root;
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
  const [tarball = ''] = await readdir(folder);
  await run('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder });
  assert.ok((await bytesIn(join(folder, 'node_modules'))) < MOST_BYTES, 'is small enough to try');
  return join(folder, 'node_modules/agent-admin');
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = files.filter((file) => file.isFile()).map((file) => stat(join(file.parentPath, file.name)));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}

/** Starts the stdio door as the entry of a registry says; whether the server behind it answers with the version of the entry. */
async function throughManifest(own: string, program: string, env: Record<string, string>): Promise<boolean> {
  const { version, packages } = JSON.parse(await readFile(join(own, 'facade/deploy/server.json'), 'utf8'));
  const [{ packageArguments, environmentVariables }] = packages;
  const known = new Set(['PATH', 'HOME', ...environmentVariables.map(({ name }: { name: string }) => name)]);
  const door = run(
    program,
    packageArguments.map(({ value }: { value: string }) => value),
    { env: Object.fromEntries(Object.entries(env).filter(([name]) => known.has(name))) },
  );
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'host', version: '1' } };
  door.child.stdin?.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  const { stdout } = await door;
  return JSON.parse(stdout).result.serverInfo.version === version;
}

describe('the packed package', () => {
  if (FULL)
    it('is the same, byte by byte, whoever packs it', async () => {
      await withFolder(async (folder) => {
        await run('git', ['clone', '-q', root, join(folder, 'other')]);
        const hashes = [root, join(folder, 'other')].map(async (cwd) => {
          const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd });
          return (Object.values(JSON.parse(stdout))[0] as { integrity: string }).integrity;
        });
        const [here, there] = await Promise.all(hashes);
        assert.equal(here, there);
      });
    });

  it('holds what it needs to run, and nothing else', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd: root });
    const { files } =
      Object.values(JSON.parse(stdout) as Record<string, { files: readonly { path: string }[] }>)[0] ?? assert.fail();
    for (const { name } of guides)
      assert.ok(
        files.some(({ path }) => path === `facade/guides/${name}.md`),
        name,
      );
    const tops = new Set(
      files.map(({ path }) =>
        path
          .split('/')
          .slice(0, path.startsWith('data/') ? 2 : 1)
          .join('/'),
      ),
    );
    assert.deepEqual([...tops].sort(), [
      ...[
        '.claude-plugin',
        'LICENSE',
        'README.md',
        'data/demo',
        'data/examples',
        'data/openapi',
        'data/tools',
        'facade',
        'package.json',
      ],
      ...['resources', 'store', 'tools', 'tsconfig.json'],
    ]);
  });

  it('starts in an empty folder with the packages it needs alone, keeps its data there, and has its commands', async () => {
    await withFolder(async (made) => {
      const folder = await realpath(made);
      const own = await installed(folder);
      const { bin } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8'));
      const program = join(own, bin['agent-admin']);
      assert.equal((await stat(program)).mode & 0o111, 0o111, 'npm makes it a program');
      const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder, PORT: '0' };
      const server = killedAtEnd(spawn(program, { cwd: folder, env }));
      let said = '';
      await new Promise<void>((listens, ended) => {
        for (const stream of [server.stdout, server.stderr])
          stream.on('data', (chunk) => {
            said += chunk;
            if (said.includes('The data is in ')) listens();
          });
        server.once('exit', () => ended(new Error(said)));
      });
      assert.match(said, new RegExp(`^The data is in ${join(folder, 'data/local')}\\.$`, 'm'));
      const block = JSON.parse(said.slice(said.indexOf('{\n'), said.indexOf('\n}\n') + 2));
      const { command, args } = block.mcpServers['agent-admin'];
      assert.deepEqual([command, ...args], [process.execPath, join(own, 'facade/launch/launch.mjs'), 'commands/stdio']);
      const baseUrl = /^agent-admin listens on (\S+)$/m.exec(said)?.[1] ?? '';
      const key = /^ {2}(ak_\w+)$/m.exec(said)?.[1] ?? '';
      assert.deepEqual((await mustCall({ baseUrl }, key, 'list_agents')).data, []);
      for (const page of ['sign-in', 'guides', ...guides.map(({ name }) => `guides/${name}`)])
        assert.equal((await fetch(`${baseUrl}/${page}`)).status, 200, page);

      const called = await run(program, ['tool', 'check_health'], { env: { ...env, BASE_URL: baseUrl, API_KEY: key } });
      assert.equal(JSON.parse(called.stdout).status, 'ok');
      assert.equal(await throughManifest(own, program, { ...env, BASE_URL: baseUrl, API_KEY: key }), true);
      const help = await run(program, ['--help'], { env });
      for (const name of ['start', 'demo', 'tool', 'import', 'stdio', 'backup', 'recover-key'])
        assert.match(help.stdout, new RegExp(`^  ${name} `, 'm'));
      const completed = await run('bash', ['-c', `source <("$0" completion bash); complete -p agent-admin`, program], {
        env,
      });
      assert.match(completed.stdout, /recover-key/);
      const refused = await run(program, ['nothing'], { env }).catch((error) => error);
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /^There is no command "nothing"\./);
      const ended = once(server, 'exit');
      server.kill();
      await ended; // else it still writes into the folder that goes
    });
  });
});
