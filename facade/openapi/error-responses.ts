import { type ErrorBody, type ErrorCode, errorBody, errorStatus } from '../../resources/error.ts';
import type { Part, SchemaComponents } from './schemas.ts';

interface ErrorAnswer {
  readonly description: string;
  readonly example: Omit<ErrorBody, 'code' | 'requestId'>;
}

export const errorAnswers: Readonly<Record<ErrorCode, ErrorAnswer>> = {
  invalid_input: {
    description: 'The input is invalid; `issues` names every problem.',
    example: {
      error: 'Invalid input: limit: Is too big; give 100 or less.',
      issues: [{ path: 'limit', message: 'Is too big; give 100 or less.' }],
    },
  },
  unauthenticated: {
    description: 'No valid session or API key.',
    example: { error: 'Authentication required' },
  },
  forbidden: {
    description: 'The scopes or grants of the caller do not suffice; `required` names what is missing.',
    example: { error: 'Insufficient permissions', required: { scope: 'agents:write', grant: 'agent:write' } },
  },
  not_found: {
    description: 'There is no such record, or the caller may not see it.',
    example: { error: 'There is no agent agt_unknown; list_agents shows the ones you can see.' },
  },
  method_not_allowed: {
    description: 'The path takes other methods, see the header Allow.',
    example: { error: 'This path takes HEAD, GET, POST.' },
  },
  conflict: {
    description: 'The state of the record, a name that is taken or a repeated Idempotency-Key forbids the call.',
    example: {
      error: 'The record is now at revision 4; read it again and repeat the change on that.',
      currentRevision: 4,
    },
  },
  interrupted: {
    description:
      'An earlier call under the same Idempotency-Key was cut off, and is not made again; `runId` names its run.',
    example: {
      error:
        'The run run_01k0aaaaaaaaaaaaaaaaaaaaaa, which this call began, was cut off, and is not repeated. get_agent_run shows what it did; send_chat_message {"continue": "run_01k0aaaaaaaaaaaaaaaaaaaaaa"} goes on with it.',
      runId: 'run_01k0aaaaaaaaaaaaaaaaaaaaaa',
      threadId: 'thr_01k0aaaaaaaaaaaaaaaaaaaaaa',
    },
  },
  too_large: {
    description: 'The body is too large, or what it would store is more than a limit of storage allows.',
    example: { error: 'The body is larger than 4194304 bytes; send less at a time.' },
  },
  unsupported_media_type: {
    description: 'The body is not JSON, or in an unknown encoding.',
    example: { error: 'Send the body with Content-Type: application/json (UTF-8).' },
  },
  rate_limited: {
    description: 'Too many calls; wait for Retry-After seconds.',
    example: { error: 'More than 600 calls a minute; try again in 12 seconds.' },
  },
  internal: {
    description: 'The server failed.',
    example: { error: 'The server failed; the operator finds the cause in the log under the requestId.' },
  },
  unavailable: {
    description: 'The server cannot do this now; try again after Retry-After seconds.',
    example: { error: 'The change could not be stored and was not made; try again.' },
  },
};

const headersOf: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'WWW-Authenticate',
  method_not_allowed: 'Allow',
  rate_limited: 'Retry-After',
  unavailable: 'Retry-After',
};

export interface ErrorResponses {
  of(codes: Iterable<ErrorCode>): Record<string, Part>;
  collect(): Record<string, Part>;
}

export function createErrorResponses(schemas: SchemaComponents): ErrorResponses {
  const made = new Map<string, Part>();

  function refer(codes: readonly ErrorCode[]): Part {
    const name = codes.map(pascalCase).join('Or');
    if (!made.has(name)) made.set(name, response(codes, schemas));
    return { $ref: `#/components/responses/${name}` };
  }

  return {
    of(codes) {
      const byStatus = new Map<number, ErrorCode[]>();
      for (const code of [...new Set(codes)].sort()) {
        const status = errorStatus[code];
        byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
      }
      return Object.fromEntries([...byStatus].map(([status, same]) => [status, refer(same)]));
    },
    collect: () => Object.fromEntries([...made].sort(([a], [b]) => a.localeCompare(b))),
  };
}

function response(codes: readonly ErrorCode[], schemas: SchemaComponents): Part {
  const headers = new Set(['X-Request-Id', ...codes.flatMap((code) => headersOf[code] ?? [])]);
  return {
    description: codes.map((code) => errorAnswers[code].description).join(' Or: '),
    headers: Object.fromEntries([...headers].map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      'application/json': {
        schema: schemas.schema(errorBody, 'output'),
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

function exampleOf(code: ErrorCode): ErrorBody {
  const { error, ...detail } = errorAnswers[code].example;
  return { error, code, requestId: '01980f2e-7c51-7a33-9d0e-5b1f6c2a4e77', ...detail };
}

function pascalCase(code: string): string {
  return code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
