import type { FetchLike } from '@modelcontextprotocol/client';
import { howToRun } from '../config/how-to-run.ts';

/** A `fetch` that answers every request: a server that is away or refuses the request itself becomes a JSON-RPC error. */
export const answeringFetch: FetchLike = async (url, init) => {
  if (init?.method !== 'POST') return fetch(url, init);
  const { id } = JSON.parse(String(init.body)) as { readonly id?: string | number };
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch {
    if (init.signal?.aborted) throw init.signal.reason;
    return rpcError(
      id,
      `No server answers at ${new URL(url).origin}; start it with ${howToRun('start')}, or set BASE_URL.`,
    );
  }
  if (response.ok) return response;
  const text = await response.text();
  const body = parse(text);
  if (body && 'id' in body && body.id === id)
    return new Response(text, { headers: { 'Content-Type': 'application/json' } });
  const said = errorMessageOf(body) ?? `HTTP ${response.status}`;
  return rpcError(id, response.status === 401 ? `${said}: the server does not accept API_KEY.` : said);
};

/** The message of an error body, with its reasons, or of a JSON-RPC error that names no request. */
function errorMessageOf(body: object | undefined): string | undefined {
  const { error: given, issues } = (body ?? {}) as { readonly error?: unknown; readonly issues?: unknown }; // members of any type
  const error = typeof given === 'object' && given !== null && 'message' in given ? given.message : given;
  if (typeof error !== 'string') return undefined;
  const reasons = Array.isArray(issues) ? issues.map(({ message }: { readonly message: string }) => message) : [];
  return [error, ...reasons].join(': ');
}

/** A notification has no id and gets no answer. */
function rpcError(id: string | number | undefined, message: string): Response {
  if (id === undefined) return new Response(null, { status: 202 });
  return Response.json({ jsonrpc: '2.0', id, error: { code: -32000, message } });
}

function parse(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}
