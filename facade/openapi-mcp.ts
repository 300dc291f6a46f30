import { z } from 'zod';
import type { JsonSchema } from '../tools/json-schema.ts';
import type { Components } from './openapi-operation.ts';

/** A message to the MCP endpoint. Notifications have no id. */
export const jsonRpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional().describe('Omit for notifications.'),
  method: z.enum(['initialize', 'tools/list', 'tools/call']),
  params: z.record(z.string(), z.unknown()).optional(),
});

/** The answer to a message with an id: `result`, or `error` where the message itself was at fault. */
export const jsonRpcResponse = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).optional(),
  result: z.record(z.string(), z.unknown()).optional().describe('A failed tool call is a result with `isError`.'),
  error: z
    .object({ code: z.int(), message: z.string(), data: z.unknown().optional() })
    .optional()
    .describe('JSON-RPC 2.0 error.'),
});

/** `POST /api/v1/mcp`, which is no tool call. */
export function mcpOperation({ schemas, errors }: Components): JsonSchema {
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
        'unauthenticated',
        'forbidden',
        'too_large',
        'unsupported_media_type',
        'rate_limited',
        'internal',
        'unavailable',
      ]),
    },
  };
}

const REQUEST_ID = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } };

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

function query(name: string, description: string, schema: JsonSchema = {}): JsonSchema {
  return { name, in: 'query', description, schema: { type: 'string', ...schema } };
}
