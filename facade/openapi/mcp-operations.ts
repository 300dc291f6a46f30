import { errorBody } from '../../resources/error.ts';
import type { JsonSchema } from '../../tools/core/registry/json-schema.ts';
import { getMcpStatus } from '../../tools/system.ts';
import { BODY_ERRORS, type Components, headerRefs } from './operation.ts';
import type { Part } from './schemas.ts';
import { jsonRpcRequest, jsonRpcResponse } from './schemas.ts';

/** The unified endpoint: GET is a tool call and opens no stream; POST takes messages. */
export function mcpOperations(get: Part | undefined, components: Components): Record<string, Part> {
  const noStream = components.errors.of(['method_not_allowed']);
  return {
    get: { ...get, responses: { ...(get?.responses as Part), ...noStream } }, // `responses` is always an object
    post: {
      operationId: 'post_mcp',
      tags: ['MCP'],
      summary: 'Unified MCP endpoint, JSON-RPC 2.0 over HTTP',
      description: `What a caller sees is what its scopes or grants allow.\n\n${EVERYONE}`,
      parameters: [...NARROWING, KEY],
      ...exchange(components),
    },
  };
}

export function capsuleMcpOperations(components: Components): Record<string, Part> {
  const { schemas, errors } = components;
  const path = {
    name: 'id',
    in: 'path',
    required: true,
    description: 'Capsule id (`cap_…`).',
    schema: TEXT,
    example: ID,
  };
  const about = { tags: ['Capsules'], security: [{ capsuleToken: [] }] };
  const note = 'Takes the token of the capsule and nothing else. A draft or disabled capsule is refused with 403.';
  return {
    get: {
      ...about,
      operationId: 'get_capsule_mcp_status',
      summary: 'Get MCP status of a capsule',
      description: `Shows that the endpoint is up and how many tools it has. Asking for \`text/event-stream\` is answered 405.\n\n${note}`,
      parameters: [path],
      responses: {
        200: {
          description: 'Done.',
          headers: REQUEST_ID,
          content: { 'application/json': { schema: schemas.schema(getMcpStatus.output, 'output'), example: STATUS } },
        },
        ...errors.of([...ALWAYS, 'invalid_input', 'method_not_allowed']),
      },
    },
    post: {
      ...about,
      operationId: 'post_capsule_mcp',
      summary: 'MCP endpoint of a capsule',
      description: `${PROTOCOL} What a client sees are the tools of the capsule.\n\n${note}`,
      parameters: [path, ...NARROWING, KEY],
      ...exchange(components),
    },
  };
}

const KEY = { $ref: '#/components/parameters/Idempotency-Key' };
const ALWAYS = ['unauthenticated', 'forbidden', 'rate_limited', 'internal', 'unavailable'] as const;

function exchange({ schemas, errors }: Components): Part {
  const answer = schemas.schema(jsonRpcResponse, 'output');
  return {
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schemas.schema(jsonRpcRequest, 'input'),
          example: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_agents', arguments: {} } },
        },
      },
    },
    responses: {
      200: {
        description: 'The answer.',
        headers: REQUEST_ID,
        content: { 'application/json': { schema: answer, example: ANSWER } },
      },
      202: { description: 'The notification was taken.', headers: REQUEST_ID },
      400: {
        description:
          'The message is malformed: an error of JSON-RPC. Or the query or the encoding of the body is: the error of every door.',
        headers: REQUEST_ID,
        content: {
          'application/json': { schema: { anyOf: [answer, schemas.schema(errorBody, 'output')] }, example: REFUSAL },
        },
      },
      ...errors.of([...ALWAYS, ...BODY_ERRORS]),
    },
  };
}

const REQUEST_ID = headerRefs('X-Request-Id');

const PROTOCOL = 'JSON-RPC 2.0 over HTTP.';
const EVERYONE = 'Every authenticated caller may call this; each tool checks its own right.';
const TEXT = { type: 'string' };
const ID = 'cap_06d3jd1m4p7s0v3y6b9e2h5k8n';

const NARROWING = [
  query('tools', 'Show only tools of these names or globs, separated by commas, e.g. `list_*,get_*`.'),
  query('groups', 'Show only tools of these groups, separated by commas, e.g. `agents,threads`.'),
  query('hints', 'Add to inputs what forms need: lengths, titles, `x-ref` (whose id it is), `x-control`.', {
    const: '1',
  }),
  query('mode', 'Show three tools only that search, describe and call all others.', { const: 'search' }),
];

const STATUS = {
  status: 'ok',
  name: 'agent-admin',
  version: '0.1.0',
  protocolVersions: ['2026-07-28', '2025-11-25'],
  tools: 8,
};

const ANSWER = {
  jsonrpc: '2.0',
  id: 1,
  result: {
    content: [{ type: 'text', text: '{"data":[],"nextCursor":null}' }],
    structuredContent: { data: [], nextCursor: null },
  },
};

const REFUSAL = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } };

function query(name: string, description: string, schema: JsonSchema = {}): Part {
  return { name, in: 'query', description, schema: { type: 'string', ...schema } };
}
