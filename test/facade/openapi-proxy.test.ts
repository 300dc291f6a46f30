import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { z } from 'zod';
import { routes } from '../../facade/routes.ts';
import { catalog } from '../../tools/catalog.ts';
import { validInput } from '../contract/fuzz-inputs.ts';
import { isObject, mutatedInput, type Value } from '../contract/fuzz-mutations.ts';
import { workspaceOf } from '../contract/fuzz-workspace.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { credential, makeKey, rest } from '../support/calls.ts';
import { freePort } from '../support/free-port.ts';
import { rounds } from '../support/full.ts';
import { send } from '../support/http.ts';
import { judgeProgram, judgesLack } from '../support/judges.ts';
import { fc } from '../support/property.ts';
import { serverForTests } from '../support/server.ts';
import { until } from '../support/until.ts';
import { type Document, operationsOf } from './openapi-document.ts';

const PRISM = '@stoplight/prism-cli';

/** What Prism says of a request or an answer, by the place of it. */
interface Violation {
  readonly location: readonly string[];
  readonly severity: string;
  readonly message: string;
}

interface Judged {
  readonly status: number;
  readonly text: string;
  readonly ofRequest: readonly Violation[];
  readonly ofAnswer: readonly Violation[];
}

describe('Prism, between callers and the server,', { skip: judgesLack(PRISM) ?? false }, () => {
  const server = serverForTests({ STDIO_INTEGRATIONS: 'off', PRIVATE_UPSTREAMS: 'on' });
  let document: Document;
  let proxy = '';
  let workspace: ReturnType<typeof workspaceOf>;
  let keys: Readonly<Record<'full' | 'limited' | 'none', string | undefined>>;

  before(async () => {
    workspace = workspaceOf(server);
    await workspace.begin();
    keys = { full: server.adminKey, limited: await makeKey(server, { scopes: ['agents:read'] }), none: undefined };
    document = (await rest(server, 'GET', '/api/v1/openapi', { key: server.adminKey })).body;
    const file = join(server.folder, 'openapi.json');
    await writeFile(file, JSON.stringify(document));
    proxy = await startPrism(file, server.baseUrl);
  });

  async function ask(place: string, input: Value, key: string | undefined, base = proxy): Promise<Judged> {
    const { method, target, body } = requestOf(document, place, input);
    const headers = {
      ...(key !== undefined && credential(key)),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    };
    const { status, text, headers: received } = await send(`${base}${target}`, { method, headers, body });
    const violations = violationsIn(received.get('sl-violations') ?? '[]');
    const at = (side: string) => violations.filter(({ location }) => location[0] === side);
    return {
      status,
      text,
      ofRequest: at('request').filter(({ severity }) => severity === 'Error'),
      ofAnswer: at('response'),
    };
  }

  it('finds an answer, a status and a request that the document does not describe', async () => {
    const other = structuredClone(document);
    const { get, post } = other.paths['/api/v1/agents'] ?? assert.fail();
    const media = get?.responses['200']?.content?.['application/json'] ?? assert.fail();
    Object.assign(media, { schema: { type: 'object', properties: { data: { type: 'number' } } } });
    delete post?.responses['401'];
    const file = join(server.folder, 'planted.json');
    await writeFile(file, JSON.stringify(other));
    const planted = await startPrism(file, server.baseUrl);
    const agent = { name: 'a', displayName: 'A' };
    const answer = await ask('GET /api/v1/agents', {}, keys.full, planted);
    const status = await ask('POST /api/v1/agents', agent, undefined, planted);
    const request = await ask('POST /api/v1/agents', { ...agent, name: 1 }, keys.full, planted);
    assert.deepEqual([answer.ofAnswer.length, status.ofAnswer.length, request.ofRequest.length], [1, 1, 1]);
  });

  for (const { path } of routes.filter((route) => route.method === 'POST' && isCollection(route.path))) {
    it(`follows one record of ${path} from its creation to its end`, async () => {
      const { example } = operationsOf(document).get(`POST ${path}`)?.requestBody?.content['application/json'] ?? {};
      const steps = [
        ...(hasRoute('PATCH', `${path}/{id}`) ? ([['PATCH', 200]] as const) : []),
        ...([
          ['GET', 200],
          ['DELETE', 204],
          ['GET', 404],
          ['DELETE', 404],
        ] as const),
      ];
      const created = await ask(`POST ${path}`, recordOf(example), keys.full);
      assert.deepEqual([created.status, created.ofRequest, created.ofAnswer], [201, [], []], created.text);
      const { id } = JSON.parse(created.text);
      for (const [method, expected] of steps) {
        const said = await ask(`${method} ${path}/{id}`, { id }, keys.full);
        assert.deepEqual([said.status, said.ofAnswer], [expected, []], `${method} ${said.text}`);
      }
    });
  }

  for (const { method, path, tool: name } of routes) {
    it(`finds that ${name} answers as the document says`, async () => {
      const place = `${method} ${path}`;
      const { tool } = catalog.get(name) ?? assert.fail(name);
      const valid = validInput(z.toJSONSchema(tool.input, { io: 'input' }), workspace.pool, tool.name);
      const given = fc.record({
        input: fc.oneof(valid, mutatedInput(valid)),
        who: fc.constantFrom<keyof typeof keys>('full', 'full', 'full', 'limited', 'none'),
      });
      const property = fc.asyncProperty(given, async ({ input, who }) => {
        const { status, text, ofRequest, ofAnswer } = await ask(place, input, keys[who]);
        const said = `${place} ${who} ${JSON.stringify(input).slice(0, 500)}: ${status} ${text.slice(0, 500)}`;
        assert.deepEqual(ofAnswer, [], said);
        if (who === 'none') assert.equal(status, 401, said);
        else if (ofRequest.length > 0) assert.ok(status >= 400, `${JSON.stringify(ofRequest)} ${said}`);
        assert.ok(status < 500 || status === 503, said);
      });
      await fc.assert(property, { seed: 20261124, numRuns: rounds(2, 10), endOnFailure: true });
      if (tool.annotations.destructiveHint) await workspace.fill();
    });
  }
});

function hasRoute(method: string, path: string): boolean {
  return routes.some((route) => route.method === method && route.path === path);
}

/** Its records can be made, read and deleted for good. */
function isCollection(path: string): boolean {
  const item = `${path}/{id}`;
  return (
    hasRoute('GET', item) &&
    routes.some((route) => route.method === 'DELETE' && route.path === item && route.status === 204)
  );
}

/** An example without ids of records that are not there. */
function recordOf(example: unknown): Value {
  const kept = Object.entries(example as object).filter(([, value]) => !/"[a-z]{3}_/.test(JSON.stringify(value)));
  return Object.fromEntries(kept);
}

/** The request of an operation: what the document places in path and query there, the rest in the body. */
function requestOf(document: Document, place: string, input: Value) {
  const [method = '', template = ''] = place.split(' ');
  const members: Record<string, Value> = isObject(input) ? { ...input } : {};
  const take = (name: string) => {
    const value = members[name];
    delete members[name];
    return value;
  };
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((textOf(take(name)) || 'none').toWellFormed()),
  );
  const { parameters = [], requestBody } = operationsOf(document).get(place) ?? assert.fail(place);
  const query = new URLSearchParams();
  const inQuery = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  for (const name of method === 'GET' ? Object.keys(members) : inQuery.filter((known) => known in members)) {
    for (const value of [take(name)].flat() as Value[]) query.append(name, textOf(value));
  }
  const rest = isObject(input) ? members : input;
  const body = requestBody || (method !== 'GET' && Object.keys(members).length > 0) ? JSON.stringify(rest) : undefined;
  return { method, target: query.size > 0 ? `${path}?${query}` : path, body };
}

/** Prism cuts the list where it is long. */
function violationsIn(header: string): readonly Violation[] {
  if (header.startsWith('[')) return JSON.parse(header);
  const sides = ['request', 'response'].filter((side) => header.includes(`["${side}"`));
  return sides.map((side) => ({ location: [side], severity: 'Error', message: header }));
}

function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

async function startPrism(file: string, upstream: string): Promise<string> {
  const port = await freePort();
  const args = [judgeProgram(PRISM), 'proxy', file, upstream, '--port', String(port), '--cors', 'false', '-v', 'fatal'];
  killedAtEnd(spawn(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' }, stdio: 'ignore' }));
  const base = `http://127.0.0.1:${port}`;
  await until(() =>
    send(`${base}/`).then(
      () => true,
      () => false,
    ),
  );
  return base;
}
