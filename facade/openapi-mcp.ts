import type { JsonSchema } from '../tools/json-schema.ts';
import { jsonRpcRequest, jsonRpcResponse } from './openapi-json-rpc.ts';
import { BODY_ERRORS, type Components, headerRefs } from './openapi-operation.ts';
import type { Part } from './openapi-schemas.ts';

/** `POST /api/v1/mcp`, which is no tool call. */
export function mcpOperation({ schemas, errors }: Components): Part {
  const answer = schemas.schema(jsonRpcResponse, 'output');
  return {
    operationId: 'post_mcp',
    tags: ['MCP'],
    summary: 'Unified MCP endpoint',
    description: DESCRIPTION,
    parameters: [
      query('tools', 'Show only tools of these names or globs, separated by commas, e.g. `list_*,get_*`.'),
      query('groups', 'Show only tools of these groups, separated by commas, e.g. `agents,threads`.'),
      query('mode', 'Show three tools only that search, describe and call all others.', { const: 'search' }),
    ],
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
        description: 'The message is malformed.',
        headers: REQUEST_ID,
        content: { 'application/json': { schema: answer, example: REFUSAL } },
      },
      ...errors.of([
        ...(['unauthenticated', 'forbidden', 'rate_limited', 'internal', 'unavailable'] as const),
        ...BODY_ERRORS,
      ]),
    },
  };
}

const REQUEST_ID = headerRefs('X-Request-Id');

const DESCRIPTION = `JSON-RPC 2.0 over HTTP. What a caller sees is what its scopes or grants allow.

Every authenticated caller may call this; each tool checks its own right.`;

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
