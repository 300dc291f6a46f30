import { mkdtemp, rm } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../facade/config/config.ts';
import { prepareStore } from '../../facade/launch/first-start.ts';
import { createLogger } from '../../facade/launch/logger.ts';
import { startServer } from '../../facade/server.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';

/**
 * Counts the files and functions of the product that one warmed call executes, from its door to the store and back, by V8's precise
 * coverage. With the word `files` it names the files, with `functions` the functions too.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const WARM_CALLS = 20;
/** After this long nothing of earlier calls is under way: uses of keys and audit entries are written in the background. */
const QUIET_MS = 2000;
const [detail] = process.argv.slice(2);

interface Walk {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly token?: string | undefined;
  readonly body?: (n: number) => object;
}

const KEY = `ak_bench000_${'w'.repeat(43)}`;
const folder = await mkdtemp(join(tmpdir(), 'agent-admin-walk-'));
const config = readConfig({ PORT: '0', LOG_LEVEL: 'silent', BOOTSTRAP_API_KEY: KEY, DATA_DIR: folder });
const store = await openLowdbStore({ folder });
await prepareStore(store, config);
const server = await startServer(config, store, createLogger(config));

async function send({ method, path, token = KEY, body }: Omit<Walk, 'name'>, n = 0): Promise<Record<string, never>> {
  const response = await fetch(server.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body(n)) }),
  });
  const answer = (await response.json()) as { error?: unknown; result?: { isError?: boolean } };
  if (!response.ok || answer.error || answer.result?.isError) throw new Error(JSON.stringify(answer));
  return answer as Record<string, never>; // as the tools declare it
}

const call = (name: string, input: (n: number) => object) => (n: number) => ({
  jsonrpc: '2.0',
  id: n,
  method: 'tools/call',
  params: { name, arguments: input(n) },
});
const agent = await send({
  method: 'POST',
  path: '/api/v1/agents',
  body: () => ({ name: 'walker', displayName: 'Walker', description: 'x' }),
});
const { id } = agent;
const capsule = await send({
  method: 'POST',
  path: '/api/capsules',
  body: () => ({ name: 'walk', status: 'live', allowedTools: ['get_agent'], constraints: { get_agent: { id } } }),
});

const mcp = { method: 'POST', path: '/api/v1/mcp' } as const;
const skill = (n: number) => ({ name: `skill ${Math.random()} ${n}`, instructions: 'x'.repeat(200) });
const walks: Walk[] = [
  { name: 'read, REST', method: 'GET', path: `/api/v1/agents/${id}` },
  { name: 'read, MCP', ...mcp, body: call('get_agent', () => ({ id })) },
  {
    name: 'read, capsule',
    method: 'POST',
    path: `/api/capsules/${capsule.id}/mcp`,
    token: capsule.token,
    body: call('get_agent', () => ({})),
  },
  { name: 'list, REST', method: 'GET', path: '/api/v1/agents?limit=20' },
  { name: 'create, REST', method: 'POST', path: '/api/v1/agents/skills', body: skill },
  { name: 'create, MCP', ...mcp, body: call('create_skill', skill) },
  { name: 'update, MCP', ...mcp, body: call('update_agent', (n) => ({ id, displayName: `Walker ${n}` })) },
];

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The functions executed since it was asked last, by file. */
async function executed(): Promise<Map<string, string[]>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const found = new Map<string, string[]>();
  for (const { url, functions } of result) {
    const file = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : '';
    if (!/^(resources|store|tools|facade)\//.test(file)) continue;
    const names = functions.filter(({ ranges: [range] }) => range && range.count > 0).map((each) => each.functionName);
    if (names.length > 0) found.set(file, names);
  }
  return found;
}

for (const walk of walks) {
  for (let n = 0; n < WARM_CALLS; n += 1) await send(walk, n);
  await setTimeout(QUIET_MS);
  await executed();
  await send(walk, WARM_CALLS);
  const found = await executed();
  const functions = [...found.values()].flat().length;
  console.log(`${walk.name}: ${found.size} files, ${functions} functions`);
  if (detail) {
    for (const [file, names] of [...found].sort()) {
      console.log(`  ${file}${detail === 'functions' ? `: ${names.join(' ')}` : ''}`);
    }
  }
}
session.disconnect();
await server.close();
await store.close();
await rm(folder, { recursive: true, force: true });
