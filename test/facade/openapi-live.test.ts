import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { MODERN_VERSION } from '../../facade/mcp/protocol-versions.ts';
import { credential, makeCapsule, rest } from '../support/calls.ts';
import { send, type WireRequest } from '../support/http.ts';
import { startTestServer } from '../support/server.ts';
import { type Document, documentOf, operationsOf, type Parameter } from './openapi-document.ts';
import { openWorkshop } from './openapi-workshop.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const server = await startTestServer();
const document: Document = (await rest(server, 'GET', '/api/v1/openapi', { key: server.adminKey })).body;

/** Compiled against the served document, then run against the server. */
const PROGRAM = `
  import createClient from 'openapi-fetch';
  import type { paths } from './schema.js';

  const { BASE_URL: baseUrl = '', API_KEY: key } = process.env;
  const client = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + key } });
  const body = { name: 'generated', displayName: 'Generated', identity: { email: { alias: 'gen' } } };
  const header = { 'Idempotency-Key': 'once' };
  const created = await client.POST('/api/v1/agents', { body, params: { header } });
  const again = await client.POST('/api/v1/agents', { body, params: { header } });
  if (!created.data) throw new Error(created.error.error);
  if ('code' in created.data) throw new Error(created.data.url);
  const path = { id: created.data.id };
  const paused = await client.PATCH('/api/v1/agents/{id}', { params: { path }, body: { status: 'paused' } });
  const listed = await client.GET('/api/v1/agents', { params: { query: { status: 'paused', limit: 1, includeTotal: true } } });
  const stale = await client.DELETE('/api/v1/agents/{id}', { params: { path, query: { expectedRevision: 1 } } });
  const diff = await client.GET('/api/v1/versions/{entityType}/{entityId}', {
    params: { path: { entityType: 'agent', entityId: path.id } },
  });
  console.log(JSON.stringify({
    replayed: again.response.headers.get('Idempotency-Replayed'),
    same: again.data && 'id' in again.data && again.data.id === path.id,
    status: paused.data && 'status' in paused.data && paused.data.status,
    total: listed.data?.total,
    stale: stale.error?.currentRevision,
    versions: diff.data?.data.map(({ kind }) => kind),
  }));
`;

describe('the served document', () => {
  it('is the one of this server, at its own address', () => {
    const { servers, info, ...rest } = document as Document & { servers: unknown; info: { version: string } };
    assert.deepEqual(servers, [{ url: server.baseUrl }]);
    const { servers: _, info: __, ...expected } = documentOf() as Document & Record<'servers' | 'info', unknown>;
    assert.deepEqual(rest, expected);
    assert.match(info.version, /^\d+\.\d+\.\d+$/);
  });

  it('makes a client that works', async () => {
    const workshop = await openWorkshop(document);
    try {
      assert.equal(await workshop.compile(PROGRAM), '');
      const said = await workshop.run(PROGRAM, { BASE_URL: server.baseUrl, API_KEY: server.adminKey });
      assert.deepEqual(JSON.parse(said), {
        replayed: 'true',
        same: true,
        status: 'paused',
        total: 1,
        stale: 2,
        versions: ['snapshot', 'snapshot'],
      });
    } finally {
      await workshop.close();
    }
  });

  it('describes what the server answers, also to an example that names records it does not have', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document');
    const schemaAt = (...path: string[]) => ajv.getSchema(`document#/${path.map(escapePointer).join('/')}`);
    const capsule = await makeCapsule(server, { allowedTools: ['list_agents'] });
    for (const [place, { operationId, parameters = [], requestBody, responses, security }] of operationsOf(document)) {
      const [method = '', template = ''] = place.split(' ');
      const body = requestBody?.content['application/json'].example;
      const own = security?.some((scheme) => 'capsuleToken' in scheme);
      const path = template.replace(/\{(\w+)\}/g, (_, name) =>
        own ? capsule.id : String(exampleOf(parameters, name)),
      );
      const key = own ? capsule.token : server.adminKey;
      const needed = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
      const query = new URLSearchParams(
        needed.map(({ name }): [string, string] => [name, String(exampleOf(parameters, name))]),
      );
      const url = query.size > 0 ? `${path}?${query}` : path;
      const answer = await rest(server, method, url, { key, ...(body !== undefined && { body }) });
      const said = `${place}: ${answer.status} ${JSON.stringify(answer.body)}`;
      assert.ok(responses[answer.status], said);
      const refusals = [
        'not_found',
        'conflict',
        'invalid_input',
        ...(security?.length === 0 ? ['unauthenticated'] : []),
      ];
      if (answer.status >= 300) assert.ok(refusals.includes(answer.body.code), said);
      if (method === 'GET' && path === template) assert.ok(answer.status < 300, said);
      if (answer.status === 204) continue;
      const media = ['content', 'application/json', 'schema'];
      const validate =
        answer.status >= 300
          ? schemaAt('components', 'schemas', 'Error')
          : schemaAt('paths', template, method.toLowerCase(), 'responses', String(answer.status), ...media);
      assert.ok(validate?.(answer.body), `${operationId}: ${ajv.errorsText(validate?.errors)} ${said}`);
    }
  });

  it('names the methods of messages that are served, and no other', async () => {
    const schemas = document.components.schemas ?? {};
    const { method } = (schemas.JsonRpcRequest as { properties: { method: { enum: string[] } } }).properties;
    const ask = async (name: string, version: string) => {
      const modern = { 'io.modelcontextprotocol/protocolVersion': version };
      const params = { ...(version === MODERN_VERSION && { _meta: modern }) };
      const message = { jsonrpc: '2.0', ...(!name.startsWith('notifications/') && { id: 1 }), method: name, params };
      const headers = {
        ...credential(server.adminKey),
        ...JSON_TYPE,
        'MCP-Protocol-Version': version,
        'Mcp-Method': name,
      };
      const url = `${server.baseUrl}/api/v1/mcp`;
      return send(url, { method: 'POST', headers, body: JSON.stringify(message) });
    };
    const isServed = async (name: string, version: string) =>
      !(await ask(name, version)).text.includes('"code":-32601');
    for (const name of method.enum)
      assert.ok((await isServed(name, '2025-11-25')) || (await isServed(name, MODERN_VERSION)), name);
    for (const name of ['resources/subscribe', 'tasks/list', 'sampling/createMessage'])
      assert.equal(await isServed(name, '2025-11-25'), false, name);
  });

  it('lists every status that a mistake is answered with, with a body of the form it names', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document');
    const capsule = await makeCapsule(server, { allowedTools: ['list_agents'] });
    const wrong: string[] = [];
    for (const [place, { responses, security }] of operationsOf(document)) {
      const [method = '', template = ''] = place.split(' ');
      const own = security?.some((scheme) => 'capsuleToken' in scheme);
      const path = template.replace(/\{\w+\}/g, own ? capsule.id : 'agt_unknown');
      for (const { name, query = '', keyed, ...mistake } of MISTAKES) {
        if (method === 'GET' && mistake.body !== undefined) continue;
        const headers = {
          ...(keyed !== false && credential(own ? capsule.token : server.adminKey)),
          ...mistake.headers,
        };
        const { status, text } = await send(`${server.baseUrl}${path}${query}`, { ...mistake, method, headers });
        if (status < 400) continue;
        const body = JSON.parse(text);
        const documented = responses[status] as { $ref?: string } | undefined;
        const pointer =
          documented?.$ref ?? `#/paths/${escapePointer(template)}/${method.toLowerCase()}/responses/${status}`;
        const validate = documented && ajv.getSchema(`document${pointer}/content/application~1json/schema`);
        if (!validate?.(body)) wrong.push(`${place}, ${name}: ${status} ${text.slice(0, 80)}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
});

/** What callers do wrong at any operation. */
const MISTAKES: readonly (WireRequest & { readonly name: string; readonly query?: string; readonly keyed?: false })[] =
  [
    { name: 'no credential', keyed: false },
    { name: 'an unknown parameter', query: '?x=1' },
    { name: 'a body that is not JSON', body: '{', headers: JSON_TYPE },
    { name: 'a body of another type', body: 'a=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    { name: 'an unknown encoding', body: '{}', headers: { ...JSON_TYPE, 'Content-Encoding': 'zip' } },
    { name: 'a body that is not compressed', body: '{}', headers: { ...JSON_TYPE, 'Content-Encoding': 'gzip' } },
    { name: 'too large a body', body: `"${'a'.repeat(5 * 1024 * 1024)}"`, headers: JSON_TYPE },
    { name: 'a body that is no object', body: '[]', headers: JSON_TYPE },
    { name: 'an unknown member', body: '{"x": 1}', headers: JSON_TYPE },
    { name: 'too long an idempotency key', headers: { 'Idempotency-Key': 'a'.repeat(300) } },
    { name: 'a stream asked for', headers: { Accept: 'text/event-stream' } },
  ];

function exampleOf(parameters: readonly Parameter[], name: string): unknown {
  return parameters.find((parameter) => parameter.name === name)?.example;
}

function escapePointer(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
