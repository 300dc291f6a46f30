import { readFileSync } from 'node:fs';
import { type ErrorBody, type ErrorCode, errorBody, errorStatus } from '../../resources/error.ts';
import type { Part, SchemaComponents } from './schemas.ts';

/** Texts and examples of the document that belong to no tool. */
export function readTexts<Texts>(name: 'document' | 'errors' | 'mcp'): Texts {
  return JSON.parse(readFileSync(new URL(`../../data/openapi/${name}.json`, import.meta.url), 'utf8'));
}

interface ErrorAnswer {
  readonly description: string;
  readonly example: Omit<ErrorBody, 'code' | 'requestId'>;
}

export const errorAnswers: Readonly<Record<ErrorCode, ErrorAnswer>> = readTexts('errors');

const headersOf: Partial<Record<ErrorCode, string>> = {
  approval_required: 'Location',
  unauthenticated: 'WWW-Authenticate',
  method_not_allowed: 'Allow',
  rate_limited: 'Retry-After',
  unavailable: 'Retry-After',
};

export type ErrorResponses = ReturnType<typeof createErrorResponses>;

export function createErrorResponses(schemas: SchemaComponents) {
  const made = new Map<string, Part>();

  function refer(codes: readonly ErrorCode[]): Part {
    const name = codes.map(pascalCase).join('Or');
    if (!made.has(name)) made.set(name, response(codes, schemas));
    return { $ref: `#/components/responses/${name}` };
  }

  return {
    of(codes: Iterable<ErrorCode>): Record<string, Part> {
      const byStatus = new Map<number, ErrorCode[]>();
      for (const code of [...new Set(codes)].sort()) {
        const status = errorStatus[code];
        byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
      }
      return Object.fromEntries([...byStatus].map(([status, same]) => [status, refer(same)]));
    },
    collect: (): Record<string, Part> => Object.fromEntries([...made].sort(([a], [b]) => a.localeCompare(b))),
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
