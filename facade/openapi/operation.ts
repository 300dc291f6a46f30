import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { type ErrorCode, errorBody, errorStatus } from '../../resources/error.ts';
import { SESSION_COOKIE } from '../../resources/session.ts';
import { analyticsTools } from '../../tools/analytics/tools.ts';
import { mayNeedFresh } from '../../tools/core/access/fresh-sign-in.ts';
import { type Access, ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { COMMON_ERRORS } from '../../tools/core/errors.ts';
import type { CatalogEntry } from '../../tools/core/registry/catalog-index.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import type { JsonSchema } from '../../tools/core/registry/json-schema.ts';
import { unwrap } from '../../tools/core/registry/validate.ts';
import type { Route } from '../routes.ts';
import { type ErrorResponses, errorAnswers } from './error-responses.ts';
import type { Part, SchemaComponents } from './schemas.ts';

export interface Components {
  readonly schemas: SchemaComponents;
  readonly errors: ErrorResponses;
  readonly examples: Examples;
}

/** Errors of a request body, found before the tool is called. */
export const BODY_ERRORS = ['too_large', 'unsupported_media_type'] as const satisfies readonly ErrorCode[];

const SET_COOKIE: Readonly<Record<NonNullable<Tool['session']>, Part>> = {
  begins: cookieHeader('Hands the session to the browser, for 12 hours.', 'eyJhbGciOi…; Max-Age=43200'),
  ends: cookieHeader('Takes the cookie away.', '; Max-Age=0'),
};

function cookieHeader(description: string, value: string): Part {
  const example = `${SESSION_COOKIE}=${value}; Path=/; HttpOnly; SameSite=Lax`;
  return { description, required: true, schema: { type: 'string' }, example };
}

const SUCCESS: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; the work goes on.',
  204: 'Done; there is nothing to return.',
};

export function toolOperation(route: Route, { group, tool }: CatalogEntry, components: Components): Part {
  const { path, query, body } = placeInput(route, tool.input);
  const example = components.examples[tool.name] ?? {};
  const input = components.schemas.inline(tool.input, 'input');
  const requestBody = body.length > 0 ? requestBodyOf(tool, body, input, example, components) : undefined;
  const posts = route.method === 'POST';
  const asks = mayAsk(tool);
  const codes: ErrorCode[] = [
    ...COMMON_ERRORS,
    'rate_limited',
    ...tool.errors,
    ...(route.method === 'GET' ? [] : BODY_ERRORS),
    ...(posts ? (['conflict', 'not_found'] as const) : []), // errors of idempotency keys
  ];
  return {
    operationId: tool.name,
    tags: [group],
    summary: route.summary ?? tool.title,
    description: `${tool.description}\n\n${accessLine(tool)}`,
    ...(tool.session === 'begins' ? { security: [] } : accessMembers(tool)),
    ...parametersOf({ path, query }, input, example, { posts, asks }),
    ...(requestBody && { requestBody }),
    responses: {
      ...(tool.isPending && route.status === 202 && { 200: successOf({ ...route, status: 200 }, tool, components) }),
      ...(asks && askedOf(tool, components)),
      [route.status]: answerOf(route, tool, components),
      ...components.errors.of(codes),
      ...(tool.tellsDown && { 503: downOf(tool, components) }),
    },
  };
}

export function headerRefs(...names: readonly string[]): Part {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

interface Places {
  readonly path: readonly string[];
  readonly query: readonly string[];
  readonly body: readonly string[];
}

/** GET and DELETE take the members that are not in the path from the query, except lists and objects, which only a body can hold. */
function placeInput({ method, path }: Route, input: z.ZodObject): Places {
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
  const rest = Object.keys(input.shape).filter((name) => !inPath.includes(name));
  if (method === 'GET') return { path: inPath, query: rest, body: [] };
  if (method !== 'DELETE') return { path: inPath, query: [], body: rest };
  const nested = (name: string) => isNested(input.shape[name]);
  return { path: inPath, query: rest.filter((name) => !nested(name)), body: rest.filter(nested) };
}

function isNested(schema: unknown): boolean {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject || inner instanceof z.ZodArray || inner instanceof z.ZodRecord;
}

function parametersOf(
  { path, query }: Omit<Places, 'body'>,
  input: JsonSchema,
  { input: given = {} }: Example,
  { posts, asks }: { readonly posts: boolean; readonly asks: boolean },
): object {
  const parameters = [
    ...path.map((name) => parameter(name, 'path', input, given[name])),
    ...query.map((name) => parameter(name, 'query', input, given[name])),
    ...(posts ? [{ $ref: '#/components/parameters/Idempotency-Key' }] : []),
    ...(asks ? [{ $ref: '#/components/parameters/Approval-Id' }] : []),
  ];
  return parameters.length > 0 ? { parameters } : {};
}

function parameter(name: string, place: 'path' | 'query', input: JsonSchema, example: unknown): Part {
  const { description, ...schema } = propertiesOf(input)[name] ?? {};
  return {
    name,
    in: place,
    ...((place === 'path' || requiredOf(input).includes(name)) && { required: true }),
    ...(description !== undefined && { description }),
    schema,
    ...(example !== undefined && { example }),
  };
}

function requestBodyOf(
  tool: Tool,
  members: readonly string[],
  input: JsonSchema,
  example: Example,
  { schemas }: Components,
): Part {
  const { properties: _, required: __, ...rest } = input;
  const required = requiredOf(input).filter((name) => members.includes(name));
  const properties = Object.fromEntries(members.map((name) => [name, propertiesOf(input)[name]]));
  const isWhole = members.length === Object.keys(tool.input.shape).length;
  const given = Object.entries(example.input ?? {}).filter(([name]) => members.includes(name));
  return {
    required: required.length > 0,
    content: {
      'application/json': {
        schema: isWhole
          ? schemas.schema(tool.input, 'input')
          : { ...rest, properties, ...(required.length > 0 && { required }) },
        ...(given.length > 0 && { example: Object.fromEntries(given) }),
      },
    },
  };
}

function successOf({ method, status }: Route, tool: Tool, { schemas, examples }: Components): Part {
  const { answer: example, events = [] } = examples[tool.name] ?? {};
  return {
    description: SUCCESS[status] ?? 'Done.',
    headers: {
      ...headerRefs(
        'X-Request-Id',
        ...(method === 'POST' && tool.session !== 'begins' ? ['Idempotency-Replayed'] : []),
      ),
      ...(tool.session && { 'Set-Cookie': SET_COOKIE[tool.session] }),
    },
    ...(status !== 204 && {
      content: {
        'application/json': { schema: schemas.schema(tool.output, 'output'), ...(example && { example }) },
        ...(tool.streams && eventStream(events)),
      },
    }),
  };
}

/**
 * The answer of a call that waits for a person, which has the status 202. Of reads, which are asked about only by who asks about everything, it
 * stands as `default`: clients made from the document take each 2xx for what was asked for, and would have to look at every answer twice.
 */
function askedOf({ annotations }: Tool, { errors }: Components): Part {
  const asked = errors.of(['approval_required'])[errorStatus.approval_required];
  return annotations.readOnlyHint ? { default: asked } : { [errorStatus.approval_required]: asked };
}

/** Where it is 202, too, one of both. */
function answerOf(route: Route, tool: Tool, components: Components): Part {
  const answer = successOf(route, tool, components);
  if (route.status !== errorStatus.approval_required || !mayAsk(tool)) return answer;
  const { description, headers, content } = answer;
  const { 'application/json': json } = content as Record<string, Part>; // as made below
  const anyOf = [json?.schema, components.schemas.schema(errorBody, 'output')];
  return {
    description: `${description} Or: ${errorAnswers.approval_required.description}`,
    headers: { ...(headers as object), Location: { description: WHERE_ASKED, schema: { type: 'string' } } },
    content: { 'application/json': { ...json, schema: { anyOf } } },
  };
}

const WHERE_ASKED = 'With `code: approval_required` alone: the approval.';

/** Whether calls can wait for a person. Who begins a session is nobody yet who could be asked about. */
function mayAsk({ discovery, neverAsks, session }: Tool): boolean {
  return !discovery && !neverAsks && session !== 'begins';
}

/** The output says what is down. Where the server cannot even say that, it answers with an error. */
function downOf(tool: Tool, { schemas }: Components): Part {
  const anyOf = [schemas.schema(tool.output, 'output'), schemas.schema(errorBody, 'output')];
  return {
    description: 'The server does not work; `status` says so.',
    headers: headerRefs('X-Request-Id'),
    content: { 'application/json': { schema: { anyOf } } },
  };
}

function accessMembers({ access }: Tool): object {
  if (access === ANYONE) return {};
  if (!('among' in access)) return { 'x-required-scope': access.scope, 'x-required-grant': grantText(access) };
  const scopes = new Set(access.among.map(({ scope }) => scope));
  const grants = new Set(access.among.map(grantText));
  return {
    'x-required-scope': scopes.size === 1 ? [...scopes][0] : [...scopes],
    'x-required-grant': grants.size === 1 ? [...grants][0] : [...grants],
  };
}

function accessLine(tool: Tool): string {
  const { access, session } = tool;
  if (session === 'begins') return 'Authenticated by the ID token in the body.';
  if (access === ANYONE) return 'Every authenticated caller may call this.';
  const fresh = mayNeedFresh(tool) ? ` ${FRESH}` : '';
  if (!('among' in access)) return `Needs ${rightText(access.scope, [grantText(access)])}.${fresh}`;
  return `Needs, depending on the input, ${rightsText(access.among)}.${fresh}`;
}

/** Rights of one scope name it once. */
function rightsText(among: readonly Access[]): string {
  const byScope = new Map<string, Set<string>>();
  for (const access of among) {
    const grants = byScope.get(access.scope) ?? new Set();
    byScope.set(access.scope, grants.add(grantText(access)));
  }
  return Array.from(byScope, ([scope, grants]) => rightText(scope, [...grants])).join('; or ');
}

const FRESH = 'A caller in a session must have signed in, or confirmed with a passkey, less than 10 minutes ago.';

function rightText(scope: string, grants: readonly string[]): string {
  return `the scope \`${scope}\`, or of keys with grants ${grants.map((grant) => `\`${grant}\``).join(' or ')}`;
}

function grantText({ grant, fullAccess }: Access): string {
  return fullAccess ? '*' : [grant].flat().join(', ');
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>; // made from an object schema
}

function requiredOf(schema: JsonSchema): readonly string[] {
  return (schema.required ?? []) as readonly string[]; // made from an object schema
}

const DESCRIPTION = `Server-sent events, where the client asks for them by \`Accept: text/event-stream\` or \`stream: true\`. The data of each is JSON:

- \`run\`: \`{runId, threadId, model}\`, first
- \`delta\`: \`{text}\`, the next piece of what the model says
- \`tool_call\`: \`{id, tool, arguments}\`
- \`tool_result\`: \`{id, tool, ok, content}\`
- \`final\`: what the JSON answer would be, last; or \`error\`: the body of an error

Lines that begin with a colon keep the connection open. What is refused before the run begins is an error with its own status.`;

const eventStream = (events: NonNullable<Example['events']>): Part => ({
  'text/event-stream': {
    schema: { type: 'string', description: DESCRIPTION },
    example: events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
  },
});

/** What one call of an operation takes (path, query and body together, as its tool does) and gives. */
interface Example {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly answer?: Readonly<Record<string, unknown>>;
  /** The same answer as a stream: name and data of each event. */
  readonly events?: readonly (readonly [name: string, data: object])[];
}

type Examples = Readonly<Record<string, Example>>;

const FOLDER = new URL('../../data/examples/', import.meta.url);

/** Every operation has an answer, and an input where it needs one. For `$definition` the words of the metric are filled in. */
export function readExamples(): Examples {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  const files = names.map((name): Examples => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')));
  const examples: Examples = Object.assign({}, ...files);
  for (const { name, definition } of analyticsTools) Object.assign(examples[name]?.answer ?? {}, { definition });
  return examples;
}
