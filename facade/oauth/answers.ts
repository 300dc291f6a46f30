import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import { errorStatus } from '../../resources/error.ts';
import { ToolError, toToolError } from '../../tools/core/errors.ts';
import { sendJson } from '../http/respond.ts';

/** Clients in browsers may read these answers: none depends on a cookie. */
const allow = cors({
  origin: '*',
  methods: ['GET', 'POST'],
  exposedHeaders: ['WWW-Authenticate', 'Retry-After', 'X-Request-Id'],
  maxAge: 3600,
});

/** Adds the headers of CORS. False if the request only asked for them and is answered. */
export function openToPages(request: IncomingMessage, response: ServerResponse): boolean {
  let goesOn = false;
  // The package is made for Express and uses Node's members alone.
  allow(request as never, response as never, () => {
    goesOn = true;
  });
  return goesOn;
}

export function sendDocument(response: ServerResponse, document: unknown): void {
  const json = JSON.stringify(document);
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    'Cache-Control': 'public, max-age=300',
    'X-Content-Type-Options': 'nosniff',
    Vary: 'Host',
  });
  response.end(json);
}

export interface Problem {
  readonly status: number;
  readonly error: string;
  readonly description: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** Answers an error in the form of RFC 6749. */
export function sendProblem(
  response: ServerResponse,
  { status, error, description, retryAfterSeconds }: Problem,
): void {
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
  if (status === 413) response.setHeader('Connection', 'close');
  sendJson(response, status, { error, error_description: description });
}

/** What was thrown, as clients and people may know it. */
export function problemOf(thrown: unknown): Problem {
  if (isProtocolError(thrown)) {
    return { status: thrown.statusCode, error: thrown.message, description: thrown.error_description };
  }
  const { code, message: description, detail } = toToolError(thrown);
  const status = errorStatus[code];
  if (status < 500 && status !== 429) return { status, error: 'invalid_request', description };
  const error = status === 500 ? 'server_error' : 'temporarily_unavailable';
  return { status, error, description, retryAfterSeconds: detail.retryAfterSeconds };
}

/** Ours, or the library's, which has the same members. */
function isProtocolError(thrown: unknown): thrown is OAuthError {
  if (thrown instanceof OAuthError) return true;
  return (
    !(thrown instanceof ToolError) && thrown instanceof Error && 'error_description' in thrown && 'statusCode' in thrown
  );
}

/** An error of RFC 6749. The library and our own endpoints answer it as it is. */
export class OAuthError extends Error {
  readonly status: number;
  readonly statusCode: number;
  readonly error_description: string;
  readonly expose = true;
  readonly allow_redirect = true;

  constructor(error: string, description: string, status = 400) {
    super(error);
    this.status = status;
    this.statusCode = status;
    this.error_description = description;
  }
}
