import { SESSION_COOKIE } from '../../resources/session.ts';
import type { ServerContext } from '../../tools/core/registry/context.ts';
import { CAPSULE_MCP_PATH } from '../mcp/endpoints.ts';
import { takesMany } from '../rest/file-body.ts';
import { documentFileRoute, fileRoutes, type Route, routes, threadFileRoute } from '../routes.ts';
import { createErrorResponses, readTexts } from './error-responses.ts';
import { withFileAnswer, withFileBodies } from './file-operations.ts';
import { capsuleMcpOperations, mcpOperations } from './mcp-operations.ts';
import { type Components, headerRefs, readExamples, toolOperation } from './operation.ts';
import { createSchemaComponents, type Part } from './schemas.ts';

const OPENAPI = '3.1.1';

/** What is the same in every document. */
interface Texts extends Readonly<Record<'parameters' | 'headers' | 'get_openapi' | 'schema', object>> {
  readonly info: { readonly title: string };
  readonly tags: Readonly<Record<string, string>>;
  readonly securitySchemes: Readonly<Record<string, object>>;
}

const texts = readTexts<Texts>('document');

type Described = Pick<ServerContext, 'version' | 'catalog'>;

/** The OpenAPI 3.1 document of the REST door, made from the routes and the schemas of their tools. */
export function createOpenApi(server: Described, baseUrl: string, table: readonly Route[] = routes): object {
  const schemas = createSchemaComponents();
  const components = { schemas, errors: createErrorResponses(schemas), examples: readExamples() };
  const paths = pathsOf(server, table, components);
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const used = new Set(operations.flatMap(({ tags }) => tags).map(String));
  const { securitySchemes: schemes } = texts;
  return {
    openapi: OPENAPI,
    info: { ...texts.info, version: server.version },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }, { session: [] }],
    tags: Array.from(used, (name) => ({ name, ...(texts.tags[name] && { description: texts.tags[name] }) })),
    paths,
    components: {
      schemas: schemas.collect(),
      responses: components.errors.collect(),
      parameters: texts.parameters,
      headers: texts.headers,
      securitySchemes: { ...schemes, session: { ...schemes.session, name: SESSION_COOKIE } },
    },
  };
}

function pathsOf({ catalog }: Described, table: readonly Route[], components: Components) {
  const paths: Record<string, Record<string, Part>> = {};
  for (const route of [...table, ...fileRoutes]) {
    const entry = catalog.get(route.tool);
    if (!entry) throw new Error(`The route ${route.method} ${route.path} names no tool of the catalog.`);
    const operation = toolOperation(route, entry, components);
    const described =
      fileRoutes.includes(route) || takesMany(entry.tool.input)
        ? withFileBodies(operation, entry.tool, components.schemas)
        : operation;
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: described };
  }
  for (const [route, id, about] of FILE_ANSWERS) {
    const reading = catalog.get(route.tool);
    if (!reading) continue;
    const operation = toolOperation(route, reading, components);
    paths[route.path] = { get: withFileAnswer(operation, id, about) };
  }
  paths['/api/v1/mcp'] = mcpOperations(paths['/api/v1/mcp']?.get, components);
  paths[CAPSULE_MCP_PATH] = capsuleMcpOperations(components);
  paths['/api/v1/openapi'] = { get: describeApi(components) };
  return paths;
}

const FILE_ANSWERS = [
  [
    documentFileRoute,
    'get_document_file',
    'The file that the document was made of, as it was sent. Whoever may read the document gets it; tokens of capsules and apps do not.',
  ],
  [
    threadFileRoute,
    'get_thread_file',
    'A file of a message of the thread, as it was sent: an image to be shown, anything else to be saved. Whoever may read the thread gets it; tokens of capsules and apps do not.',
  ],
] as const;

function describeApi({ errors }: Components): Part {
  const { info, get_openapi: operation, schema } = texts;
  const example = { openapi: OPENAPI, info: { title: info.title, version: '1.0.0' }, paths: {} };
  return {
    ...operation,
    responses: {
      200: {
        description: 'OpenAPI 3.1.',
        headers: headerRefs('X-Request-Id'),
        content: { 'application/json': { schema, example } },
      },
      ...errors.of(['invalid_input', 'unauthenticated', 'forbidden', 'rate_limited', 'internal', 'unavailable']),
    },
  };
}
