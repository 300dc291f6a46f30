import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { documentOf } from './openapi-document.ts';
import { openWorkshop, type Workshop } from './openapi-workshop.ts';

let workshop: Workshop;
before(async () => {
  workshop = await openWorkshop(documentOf());
});
after(() => workshop.close());

/** A program of a client; `body` has the typed `client`. */
const program = (body: string) => `
  import createClient from 'openapi-fetch';
  import type { components, paths } from './schema.js';
  const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:9', headers: { Authorization: 'Bearer ak_x' } });
  type NewAgent = paths['/api/v1/agents']['post']['requestBody']['content']['application/json'];
  ${body}
`;

describe('a generated client', () => {
  it('compiles against the document', async () => {
    const said = await workshop.compile(
      program(`
        const { data, error, response } = await client.POST('/api/v1/agents', {
          params: { header: { 'Idempotency-Key': 'k' } },
          body: { name: 'support', displayName: 'Sam', identity: { phone: { enabled: true, provider: 'telephony-provider' } } },
        });
        const status: number = response.status;
        if (error) throw new Error(error.error + error.code + error.issues?.[0]?.path);
        if ('code' in data) throw new Error(data.code + data.approvalId + response.headers.get('Location'));
        const agent: components['schemas']['AgentWithWarnings'] = data;
        const masked: string | undefined = agent.identity?.card?.cardRef;
        const list = await client.GET('/api/v1/agents', { params: { query: { limit: 5, status: 'paused' } } });
        const cursor: string | null | undefined = list.data?.nextCursor;
        const updated = await client.PATCH('/api/v1/agents/{id}', {
          params: { path: { id: agent.id } }, body: { description: null, expectedRevision: agent.revision },
        });
        const diff = await client.GET('/api/v1/versions/{entityType}/{entityId}/{versionId}/diff', {
          params: { path: { entityType: 'agent', entityId: agent.id, versionId: 'ver_x' } },
        });
        const ops: ('equal' | 'add' | 'remove')[] | undefined = diff.data?.lines?.map(({ op }) => op);
        const gone = await client.DELETE('/api/v1/agents/skills/{id}', { params: { path: { id: 'skl_x' } } });
        const waits: components['schemas']['Error'] | undefined = gone.data;
        const answer = await client.POST('/api/v1/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
        console.log(status, masked, cursor, updated.data && 'status' in updated.data && updated.data.status, ops, waits?.approvalId, answer.data?.result);
      `),
    );
    assert.equal(said, '');
  });

  const wrong: Readonly<Record<string, readonly [body: string, error: RegExp]>> = {
    'a path that is not there': [`await client.GET('/api/v1/agent', {});`, /'"\/api\/v1\/agent"' is not assignable/],
    'a method the path does not take': [`await client.DELETE('/api/v1/agents', {});`, /is not assignable/],
    'a missing member': [`await client.POST('/api/v1/agents', { body: { name: 'x' } });`, /'displayName' is missing/],
    'an unknown member': [
      `const body: NewAgent = { name: 'x', displayName: 'y', nickname: 'z' };`,
      /'nickname' does not exist/,
    ],
    'a member that only the server writes': [
      `const body: NewAgent = { name: 'x', displayName: 'y', identity: { phone: { enabled: true, number: '1' } } };`,
      /'number' does not exist/,
    ],
    'a choice that is not offered': [
      `await client.GET('/api/v1/agents', { params: { query: { status: 'gone' } } });`,
      /'"gone"' is not assignable/,
    ],
    'a query parameter of another type': [
      `await client.GET('/api/v1/agents', { params: { query: { limit: '5' } } });`,
      /'string' is not assignable to type 'number/,
    ],
    'a missing path parameter': [`await client.GET('/api/v1/agents/{id}');`, /Expected 2 arguments/],
    'a member the answer does not have': [
      `const { data } = await client.GET('/api/v1/agents'); console.log(data?.data[0]?.nickname);`,
      /'nickname' does not exist/,
    ],
  };
  for (const [what, [body, error]] of Object.entries(wrong)) {
    it(`does not compile with ${what}`, async () => assert.match(await workshop.compile(program(body)), error));
  }
});
