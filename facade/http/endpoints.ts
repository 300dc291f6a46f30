import type { Issue } from '../../resources/error.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { Middleware } from './middleware.ts';
import type { Endpoint, RequestContext } from './request-context.ts';
import { allowed, createMatcher } from './router.ts';

/** Finds the endpoint of the path. Whoever must show who they are learns only afterwards whether there is one. */
export function findEndpoint(endpoints: readonly Endpoint[]): Middleware {
  const match = createMatcher(endpoints);
  return (context, next) => {
    const { request, target } = context;
    const found = target.url && match(request.method ?? '', target.url.pathname);
    if (found) {
      context.here = found.here;
      context.endpoint = found.target;
      context.parameters = found.parameters;
    }
    next();
  };
}

export const openDoor: Middleware = (context, next) => {
  if (!context.here[0]?.open) return next();
  if (!context.endpoint) throw wrongMethod(context);
  return context.endpoint.serve(context);
};

export const mcpDoor: Middleware = (context, next) =>
  context.endpoint?.mcp ? context.endpoint.serve(context) : next();

/** @throws ToolError (not_found, method_not_allowed) */
export function requireEndpoint(context: RequestContext): Endpoint {
  if (context.endpoint) return context.endpoint;
  if (context.here.length > 0) throw wrongMethod(context);
  throw new ToolError('not_found', 'There is nothing at this path; GET /api/v1/openapi lists every path.');
}

export function wrongMethod({ response, here }: RequestContext): ToolError {
  const methods = allowed(here);
  response.setHeader('Allow', methods);
  return new ToolError('method_not_allowed', `This path takes ${methods}.`);
}

const MOST_NAMED = 100;

/** @throws ToolError (invalid_input) for query parameters with other names */
export function requireKnownParameters({ search, searchParams }: URL, known: readonly string[]): void {
  if (search === '') return;
  const unknown = [...new Set(searchParams.keys())].filter((name) => !known.includes(name)).slice(0, MOST_NAMED);
  if (unknown.length === 0) return;
  const allowed = known.length > 0 ? `allowed: ${known.join(', ')}` : 'none is allowed';
  const issues: Issue[] = unknown.map((path) => ({
    path,
    message: `There is no such query parameter here; ${allowed}.`,
  }));
  throw new ToolError('invalid_input', `${issues[0]?.path}: ${issues[0]?.message}`, { issues });
}
