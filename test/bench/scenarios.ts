import type { Subject } from './servers.ts';

export const KEY = `ak_bench000_${'b'.repeat(43)}`;

export interface Scenario {
  readonly name: string;
  readonly connections: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly token?: string;
  readonly gzip?: true;
  readonly body?: (n: number) => object;
}

export const headersFor = ({ token = KEY, gzip }: Pick<Scenario, 'token' | 'gzip'>) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  ...(gzip && { 'accept-encoding': 'gzip' }),
});
const rpc = (method: string, params?: object) => () => ({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });

interface Capsule {
  readonly id: string;
  readonly token: string;
}

/** A capsule of 8 tools, with every limit a capsule can have. */
export async function makeCapsule({ baseUrl, id: agentId }: Subject): Promise<Capsule> {
  const body = {
    name: 'bench',
    status: 'live',
    allowedTools: ['get_agent', '*_skill', 'list_skills', 'list_agents', 'update_agent'],
    deniedTools: ['purge_*'],
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    constraints: { get_agent: { id: agentId } },
  };
  const answer = await fetch(`${baseUrl}/api/capsules`, {
    method: 'POST',
    headers: headersFor({}),
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Capsule; // as the tool declares it
}

export function reads({ id }: Subject, capsule: Capsule): Scenario[] {
  const mcp = { connections: 64, method: 'POST', path: '/api/v1/mcp' } as const;
  const inCapsule = { ...mcp, path: `/api/capsules/${capsule.id}/mcp`, token: capsule.token };
  const get = { connections: 64, method: 'GET' } as const;
  return [
    { ...mcp, name: 'tools/call get_agent', body: rpc('tools/call', { name: 'get_agent', arguments: { id } }) },
    { ...inCapsule, name: 'tools/call get_agent, capsule', body: rpc('tools/call', { name: 'get_agent' }) },
    { ...mcp, name: 'tools/list, gzip', gzip: true, body: rpc('tools/list') },
    { ...mcp, name: 'tools/list', body: rpc('tools/list') },
    { ...inCapsule, name: 'tools/list, capsule, gzip', gzip: true, body: rpc('tools/list') },
    { ...get, name: 'GET /api/v1/agents/{id}', path: `/api/v1/agents/${id}` },
    { ...get, name: 'GET /api/v1/agents?status=paused', path: '/api/v1/agents?status=paused' },
  ];
}

export function writes(run: string): Scenario[] {
  return [1, 64].map((connections) => ({
    name: `POST /api/v1/agents/skills, ${connections} callers`,
    connections,
    method: 'POST',
    path: '/api/v1/agents/skills',
    body: (n) => ({ name: `${run} ${connections} ${n}`, instructions: 'x'.repeat(200) }),
  }));
}
