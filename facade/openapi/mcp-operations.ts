import { errorBody } from '../../resources/error.ts';
import { getMcpStatus } from '../../tools/system.ts';
import { readTexts } from './error-responses.ts';
import { BODY_ERRORS, type Components, headerRefs } from './operation.ts';
import type { Part } from './schemas.ts';
import { jsonRpcRequest, jsonRpcResponse } from './schemas.ts';

interface Texts extends Readonly<Record<'status' | 'answer' | 'refusal' | 'call', object>> {
  readonly narrowing: readonly Part[];
}

const texts = readTexts<Texts>('mcp');

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
      parameters: [...texts.narrowing, KEY],
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
          content: {
            'application/json': { schema: schemas.schema(getMcpStatus.output, 'output'), example: texts.status },
          },
        },
        ...errors.of([...ALWAYS, 'invalid_input', 'method_not_allowed']),
      },
    },
    post: {
      ...about,
      operationId: 'post_capsule_mcp',
      summary: 'MCP endpoint of a capsule',
      description: `${PROTOCOL} What a client sees are the tools of the capsule.\n\n${note}`,
      parameters: [path, ...texts.narrowing, KEY],
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
          example: texts.call,
        },
      },
    },
    responses: {
      200: {
        description: 'The answer.',
        headers: REQUEST_ID,
        content: { 'application/json': { schema: answer, example: texts.answer } },
      },
      202: { description: 'The notification was taken.', headers: REQUEST_ID },
      400: {
        description:
          'The message is malformed: an error of JSON-RPC. Or the query or the encoding of the body is: the error of every door.',
        headers: REQUEST_ID,
        content: {
          'application/json': {
            schema: { anyOf: [answer, schemas.schema(errorBody, 'output')] },
            example: texts.refusal,
          },
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
