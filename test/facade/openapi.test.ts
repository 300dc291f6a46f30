import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { namedSchemas } from '../../facade/openapi/schemas.ts';
import { documentFileRoute, fileRoutes, routes, threadFileRoute } from '../../facade/routes.ts';
import { errorStatus } from '../../resources/error.ts';
import { catalog } from '../../tools/catalog.ts';
import { DELETES, defineTool, READS } from '../../tools/core/registry/define-tool.ts';
import { operations as table } from '../contract/operations-table.ts';
import { pluck } from '../support/pluck.ts';
import { documentOf, operationsOf, refsIn } from './openapi-document.ts';

const document = documentOf();
const operations = operationsOf(document);
const toolOf = (name: string) => catalog.get(name)?.tool ?? assert.fail(`no tool ${name}`);
const operationOf = (place: string) => operations.get(place) ?? assert.fail(`no operation ${place}`);
const mayAsk = (name: string) =>
  !/^(create_session|search_tools|describe_tool|call_tool)$/.test(name) && !toolOf(name).neverAsks;
const asksOnWrite = (name: string) => mayAsk(name) && !toolOf(name).annotations.readOnlyHint;

describe('OpenAPI document', () => {
  it('holds every route, the MCP endpoints, itself and nothing else', () => {
    const expected = [...routes, ...fileRoutes, documentFileRoute, threadFileRoute].map(
      ({ method, path }) => `${method} ${path}`,
    );
    const capsule = '/api/capsules/{id}/mcp';
    const others = ['POST /api/v1/mcp', 'GET /api/v1/openapi', `GET ${capsule}`, `POST ${capsule}`];
    assert.deepEqual([...operations.keys()].sort(), [...expected, ...others].sort());
    assert.deepEqual(operationOf(`POST ${capsule}`).security, [{ capsuleToken: [] }]);
    for (const { method, path, tool } of routes) assert.equal(operationOf(`${method} ${path}`).operationId, tool);
  });

  it('sums up every operation in the words of the specification', () => {
    const summaries = table.map(({ method, path }) => [`${method} ${path}`, operationOf(`${method} ${path}`).summary]);
    assert.deepEqual(
      summaries,
      table.map(({ method, path, summary }) => [`${method} ${path}`, summary]),
    );
    assert.equal(summaries.length, 85);
  });

  it('answers with the status of the route and with every error of its tool', () => {
    for (const { method, path, tool, status } of routes) {
      const { responses } = operationOf(`${method} ${path}`);
      const statuses = Object.keys(responses).map(Number);
      const asks = asksOnWrite(tool) ? [202] : [];
      assert.deepEqual(
        statuses.filter((found) => found < 300),
        [...new Set([...(toolOf(tool).isPending ? [200] : []), status, ...asks])].sort(),
        tool,
      );
      for (const code of toolOf(tool).errors) assert.ok(statuses.includes(errorStatus[code]), `${tool} ${code}`);
      for (const common of [400, 401, 403, 429, 500, 503]) assert.ok(statuses.includes(common), `${tool} ${common}`);
    }
  });

  it('answers 202 with the place of the approval where a call can wait for a person, and names the header of the next call', () => {
    const asked = { $ref: '#/components/responses/ApprovalRequired' };
    for (const { method, path, tool, status } of routes) {
      const { responses, parameters = [] } = operationOf(`${method} ${path}`);
      const isNamed = parameters.some(({ $ref }) => $ref === '#/components/parameters/Approval-Id');
      assert.equal(isNamed, mayAsk(tool), tool);
      if (status !== 202) assert.deepEqual(responses['202'], asksOnWrite(tool) ? asked : undefined, tool);
      assert.deepEqual(responses.default, mayAsk(tool) && !asksOnWrite(tool) ? asked : undefined, tool);
    }
    const waits = document.components.responses?.ApprovalRequired as { headers: object; content: object };
    assert.deepEqual(Object.keys(waits.headers), ['X-Request-Id', 'Location']);
    const either = operationOf('POST /api/v1/agents/flows/{id}/trigger').responses['202'] ?? assert.fail();
    assert.ok('Location' in (either.headers ?? {}));
    const { anyOf } = either.content?.['application/json'].schema ?? assert.fail();
    assert.deepEqual(anyOf, [{ $ref: '#/components/schemas/FlowRun' }, { $ref: '#/components/schemas/Error' }]);
  });

  it('describes the events of operations that stream beside their JSON', () => {
    const streaming = routes.filter(({ tool }) => toolOf(tool).streams);
    assert.deepEqual(pluck(streaming, 'tool'), ['send_chat_message']);
    const { content } = operationOf('POST /api/v1/chat').responses['200'] ?? assert.fail();
    assert.deepEqual(Object.keys(content ?? {}), ['application/json', 'text/event-stream']);
  });

  it('places every input member once: in the path, the query or the body', () => {
    for (const { method, path, tool } of routes) {
      const { parameters = [], requestBody } = operationOf(`${method} ${path}`);
      const own = parameters.filter(({ $ref }) => !$ref);
      const inPath = own.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      assert.deepEqual(inPath, path.match(/\{\w+\}/g) ?? [], tool);
      const { $ref, ...inline } = requestBody?.content['application/json'].schema ?? {};
      const named = document.components.schemas?.[String($ref).split('/').at(-1) ?? ''] as typeof inline | undefined; // a schema
      const body = (named ?? inline).properties ?? {};
      const placed = [...own.map(({ name }) => name), ...Object.keys(body)];
      assert.deepEqual(placed.sort(), Object.keys(toolOf(tool).input.shape).sort(), tool);
    }
  });

  it('describes a file as the body in a form and as bytes, with the same fields beside it', () => {
    const beside = { POST: ['title', 'projectId', 'tags'], PATCH: ['title', 'projectId', 'tags', 'expectedRevision'] };
    for (const { method, path } of fileRoutes) {
      const { parameters = [], requestBody, responses } = operationOf(`${method} ${path}`);
      const content: Record<string, { schema: Record<string, unknown> }> = requestBody?.content ?? assert.fail();
      assert.deepEqual(Object.keys(content), ['application/json', 'multipart/form-data', 'application/octet-stream']);
      const form = content['multipart/form-data']?.schema ?? assert.fail();
      const fields = [...beside[method as keyof typeof beside], 'name', 'sha256'].sort();
      assert.deepEqual(Object.keys(form.properties ?? {}).sort(), ['file', ...fields].sort());
      assert.deepEqual(form.required, ['file']);
      const inQuery = parameters.filter((parameter) => parameter.in === 'query');
      assert.deepEqual(pluck(inQuery, 'name').sort(), fields);
      assert.doesNotMatch(JSON.stringify([form, inQuery]), /"null"/, 'which neither of them can say');
      assert.ok(responses['413'] && responses['415']);
    }
  });

  it('says what right an operation needs', () => {
    const get = operationOf('GET /api/v1/agents/{id}');
    assert.deepEqual([get['x-required-scope'], get['x-required-grant']], ['agents:read', 'agent:read:{id}']);
    assert.match(get.description, /the scope `agents:read`, or of keys with grants `agent:read:\{id\}`/);
    const diff = operationOf('GET /api/v1/versions/{entityType}/{entityId}/{versionId}/diff');
    assert.ok([diff['x-required-scope']].flat().includes('agents:read'));
    assert.ok([diff['x-required-grant']].flat().includes('skill:read:{entityId}'));
    assert.equal(operationOf('GET /api/v1/mcp')['x-required-scope'], undefined);
  });

  it('has no default that is an object, which some generators of clients do not take', () => {
    const defaults = (value: unknown): unknown[] => {
      if (typeof value !== 'object' || value === null) return [];
      const own = 'default' in value && typeof value.default === 'object' && !Array.isArray(value.default);
      return [...(own ? [value] : []), ...Object.values(value).flatMap(defaults)];
    };
    const paths = Object.values(documentOf().paths).flatMap((item) => Object.values(item));
    const operations = paths.map(({ responses: { default: _, ...responses }, ...rest }) => ({ ...rest, responses }));
    assert.deepEqual(defaults(operations), []);
  });

  it('has defaults, limits and choices of the input schema', () => {
    const list = operationOf('GET /api/v1/agents').parameters ?? [];
    const schemas = Object.fromEntries(list.map(({ name, schema }) => [name, schema]));
    assert.deepEqual(schemas.limit, { default: 20, type: 'integer', minimum: 1, maximum: 100 });
    assert.deepEqual(schemas.status, { type: 'string', enum: ['active', 'paused', 'deleted'] });
    const body = operationOf('POST /api/v1/agents').requestBody ?? assert.fail();
    assert.deepEqual(body.content['application/json'].schema.required, ['name', 'displayName']);
    assert.equal(body.required, true);
    assert.equal(operationOf('PATCH /api/v1/agents/{id}').requestBody?.required, false);
  });

  it('refers to named schemas, leaves no reference open and no component unused', () => {
    const refs = new Set(refsIn(document));
    const parts = Object.entries(document.components).filter(([kind]) => kind !== 'securitySchemes');
    const components = parts.flatMap(([kind, named]) =>
      Object.keys(named).map((name) => `#/components/${kind}/${name}`),
    );
    assert.deepEqual([...refs].sort(), components.sort());
    const names = Object.values(namedSchemas).flatMap((named) => Object.keys(named));
    assert.deepEqual(Object.keys(document.components.schemas ?? {}), names.sort());
    const create = operationOf('POST /api/v1/agents').requestBody ?? assert.fail();
    const { identity } = create.content['application/json'].schema.properties as Record<string, unknown>; // of an object
    assert.deepEqual(identity, { $ref: '#/components/schemas/AgentIdentityInput' });
    const botConfig = operationOf('PUT /api/v1/bot-config').requestBody?.content['application/json'].schema;
    assert.deepEqual(botConfig, { $ref: '#/components/schemas/BotConfigUpdate' });
  });

  it('declares every tag, in the order of the specification', () => {
    const used = new Set([...operations.values()].flatMap(({ tags }) => tags));
    assert.deepEqual(new Set(document.tags.map(({ name }) => name)), used);
    assert.deepEqual(
      pluck(document.tags.slice(-2), 'name'),
      ['Versions', 'Documents'],
      'what goes beyond it stands last',
    );
  });
});

describe('OpenAPI operation', () => {
  const access = { scope: 'agents:read', grant: 'agent:read:{id}' };
  const output = z.object({ ok: z.boolean() });
  const handler = async () => ({ ok: true });

  it('of a DELETE takes lists in the body and the rest in the query', () => {
    const input = z.strictObject({ id: z.string(), force: z.boolean().default(false), names: z.array(z.string()) });
    const tool = defineTool({
      ...{ name: 'delete_some', title: 't', description: 'd', access, annotations: DELETES, input, output, errors: [] },
      handler,
    });
    const route = { method: 'DELETE', path: '/api/v1/some/{id}', tool: 'delete_some', status: 204 } as const;
    const extended = documentOf([...routes, route], [{ group: 'System', tool }]);
    const { parameters, requestBody, responses } = extended.paths[route.path]?.delete ?? assert.fail();
    const own = parameters?.filter(({ $ref }) => !$ref) ?? [];
    assert.deepEqual(
      own.map((parameter) => [parameter.name, parameter.in]),
      [
        ['id', 'path'],
        ['force', 'query'],
      ],
    );
    assert.deepEqual(Object.keys(requestBody?.content['application/json'].schema.properties ?? {}), ['names']);
    assert.equal(requestBody?.required, true);
    assert.equal(responses['204']?.content, undefined);
    assert.ok(responses['413'] && responses['415']);
  });

  it('that begins or ends a session describes its cookie, and no other does', () => {
    const session = '/api/v1/auth/session';
    const placesWhere = (holds: (place: string) => boolean) => [...operations.keys()].filter(holds);
    const telling = placesWhere((place) => JSON.stringify(operationOf(place).responses).includes('Set-Cookie'));
    assert.deepEqual(telling, [`POST ${session}`, `DELETE ${session}`]);
    const { security } = document as typeof document & { security: unknown };
    assert.deepEqual(security, [{ apiKey: [] }, { session: [] }], 'holds for all but');
    assert.deepEqual(
      placesWhere((place) => operationOf(place).security !== undefined),
      [`POST ${session}`, 'GET /api/capsules/{id}/mcp', 'POST /api/capsules/{id}/mcp'],
    );
  });

  it('that signs in asks for no other credential', () => {
    const tool = defineTool({
      ...{ name: 'create_session', title: 't', description: 'd', access, annotations: READS, output, errors: [] },
      session: 'begins',
      input: z.strictObject({ idToken: z.string() }),
      handler,
    });
    const route = { method: 'POST', path: '/api/v1/auth/session', tool: 'create_session', status: 201 } as const;
    const other = routes.filter(({ tool: name }) => name !== route.tool);
    const extended = documentOf([...other, route], [{ group: 'Auth', tool }]);
    const { security, description } = extended.paths[route.path]?.post ?? assert.fail();
    assert.deepEqual(security, []);
    assert.match(description, /ID token/);
    assert.equal(extended.tags[0]?.name, 'Auth');
  });

  it('refers to a named schema also where it has another description', () => {
    const { Skill = assert.fail() } = namedSchemas.output;
    const tool = defineTool({
      ...{ name: 'get_some', title: 't', description: 'd', access, annotations: READS, errors: [] },
      input: z.strictObject({ id: z.string() }),
      output: z.object({ count: z.int().min(0).default(0), skill: Skill.describe('The one.').optional() }),
      handler: async () => ({}),
    });
    const route = { method: 'GET', path: '/api/v1/some/{id}', tool: 'get_some', status: 200 } as const;
    const { responses } =
      documentOf([...routes, route], [{ group: 'System', tool }]).paths[route.path]?.get ?? assert.fail();
    const { properties, required } = responses['200']?.content?.['application/json'].schema ?? assert.fail();
    assert.deepEqual(required, ['count'], 'what has a default is always there in an answer');
    assert.deepEqual(properties, {
      count: { default: 0, type: 'integer', minimum: 0 },
      skill: { $ref: '#/components/schemas/Skill', description: 'The one.' },
    });
  });
});
