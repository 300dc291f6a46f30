import { SESSION_COOKIE } from '../../resources/session.ts';
import type { ServerFacts } from '../../tools/core/registry/context.ts';
import { CAPSULE_MCP_PATH } from '../mcp/endpoints.ts';
import { type Route, routes } from '../routes.ts';
import { createErrorResponses } from './error-responses.ts';
import { capsuleMcpOperations, mcpOperations } from './mcp-operations.ts';
import { type Components, headerRefs, readExamples, toolOperation } from './operation.ts';
import { createSchemaComponents, type Part } from './schemas.ts';

const OPENAPI = '3.1.1';
const TITLE = 'Admin REST API';

const ABOUT: Readonly<Record<string, string>> = {
  Auth: 'The session of the dashboard.',
  Agents: 'Agents, and what they can use: memories, models, tools.',
  Skills: 'Instructions that agents share.',
  Flows: 'Steps that run on demand, on a schedule or on an event.',
  Threads: 'Conversations: messages, access, forks, chat.',
  Users: 'Users of the product, read-only.',
  'Admin Users': 'People who administer the workspace.',
  Analytics: 'Metrics computed from the stored rows.',
  Reports: 'Saved analytics queries.',
  Settings: 'Bot configuration and workspace settings.',
  System: 'Health, search and this description.',
  MCP: 'The unified MCP endpoint.',
  Capsules: 'Bundles of allowed tools, each an MCP endpoint of its own.',
  Versions: 'History of records: list, diff, restore.',
};

type Described = Pick<ServerFacts, 'version' | 'catalog'>;

/** The OpenAPI 3.1 document of the REST door, made from the routes and the schemas of their tools. */
export function createOpenApi(server: Described, baseUrl: string, table: readonly Route[] = routes): object {
  const schemas = createSchemaComponents();
  const components = { schemas, errors: createErrorResponses(schemas), examples: readExamples() };
  const paths = pathsOf(server, table, components);
  const used = new Set(
    Object.values(paths)
      .flatMap((item) => Object.values(item).flatMap(({ tags }) => tags))
      .map(String),
  );
  return {
    openapi: OPENAPI,
    info: {
      title: TITLE,
      version: server.version,
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }, { session: [] }],
    tags: Array.from(used, (name) => ({ name, ...(ABOUT[name] !== undefined && { description: ABOUT[name] }) })),
    paths,
    components: {
      schemas: schemas.collect(),
      responses: components.errors.collect(),
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function pathsOf({ catalog }: Described, table: readonly Route[], components: Components) {
  const paths: Record<string, Record<string, Part>> = {};
  for (const route of table) {
    const entry = catalog.get(route.tool);
    if (!entry) throw new Error(`The route ${route.method} ${route.path} names no tool of the catalog.`);
    const operation = toolOperation(route, entry, components);
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation };
  }
  paths['/api/v1/mcp'] = mcpOperations(paths['/api/v1/mcp']?.get, components);
  paths[CAPSULE_MCP_PATH] = capsuleMcpOperations(components);
  paths['/api/v1/openapi'] = { get: describeApi(components) };
  return paths;
}

function describeApi({ errors }: Components): Part {
  return {
    operationId: 'get_openapi',
    tags: ['System'],
    summary: 'Get API description',
    description: 'This document.\n\nEvery authenticated caller may call this.',
    responses: {
      200: {
        description: 'OpenAPI 3.1.',
        headers: headerRefs('X-Request-Id'),
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: { openapi: { type: 'string' } },
              required: ['openapi'],
              additionalProperties: true,
            },
            example: { openapi: OPENAPI, info: { title: TITLE, version: '0.1.0' }, paths: {} },
          },
        },
      },
      ...errors.of(['invalid_input', 'unauthenticated', 'forbidden', 'rate_limited', 'internal', 'unavailable']),
    },
  };
}

const INTRODUCTION = `Administration of a platform of AI agents.

Every call needs an API key (\`Authorization: Bearer\`) or the session cookie of the dashboard. A key with grants is judged by
them alone, any other by its scopes. Lists are paged: pass \`nextCursor\` as \`cursor\`. Unknown fields and parameters are refused.
Errors are \`{error, code, requestId}\`; \`error\` names the next step.`;

const PARAMETERS = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A repeat with the same key and body within 24 hours gets the first answer and does nothing. Over MCP, `_meta.idempotencyKey` of `tools/call` says the same.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
};

const CHALLENGE = '^Bearer(?: error="invalid_token")?(?:,? resource_metadata="[a-zA-Z0-9_:/.%-]+", scope="[a-z ]+")?';

const HEADERS = {
  'X-Request-Id': {
    description: 'Names the request in logs and audit entries.',
    required: true,
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: 'The answer was kept from the first call with this Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': { description: 'Seconds to wait.', required: true, schema: { type: 'integer', minimum: 1 } },
  Allow: { description: 'The methods to use.', required: true, schema: { type: 'string' } },
  'WWW-Authenticate': {
    description:
      '`Bearer`, with `error="invalid_token"` where a token was given that is not valid. At MCP addresses also `resource_metadata`, the address at which clients learn where to sign in (RFC 9728), and the `scope` to ask for.',
    required: true,
    schema: { type: 'string', pattern: CHALLENGE },
  },
};

const SECURITY_SCHEMES = {
  capsuleToken: { type: 'http', scheme: 'bearer', description: 'The token of a capsule, `cpt_…`.' },
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `ak_…`.' },
  session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE, description: 'The session of the dashboard.' },
};
