import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import { type Route, routes } from '../../facade/routes.ts';
import { type ErrorCode, errorBody, errorStatus } from '../../resources/error.ts';
import { catalog } from '../../tools/catalog.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { jsonSchema } from '../../tools/core/registry/json-schema.ts';
import { rest } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { send } from '../support/http.ts';
import { fc } from '../support/property.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { validInput } from './fuzz-inputs.ts';
import { isObject, mutatedInput, type Value } from './fuzz-mutations.ts';
import { workspaceOf } from './fuzz-workspace.ts';

const SEED = Number(process.env.FUZZ_SEED ?? 20261121);
const RUNS = Number(process.env.FUZZ_RUNS ?? rounds(1, 8));

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv, ['date-time', 'date']);
const isError = ajv.compile({ ...jsonSchema(errorBody, 'output'), additionalProperties: false });

let server: TestServer;
let workspace: ReturnType<typeof workspaceOf>;
before(async () => {
  console.log(`FUZZ_SEED=${SEED} FUZZ_RUNS=${RUNS}`);
  server = await startTestServer({ STDIO_INTEGRATIONS: 'off', PRIVATE_UPSTREAMS: 'on' });
  workspace = workspaceOf(server);
  await workspace.begin();
});
after(() => server.close());

interface Said {
  readonly ok: boolean;
  readonly status?: number;
  readonly body: unknown;
}

async function overMcp(tool: Tool, input: Value): Promise<Said> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name, arguments: input } };
  const { status, body } = await rest(server, 'POST', '/api/v1/mcp', { key: server.adminKey, body: asJson(message) });
  assert.equal(status, 200);
  if (body.error) {
    // Arguments that are no object are malformed params of the protocol.
    assert.equal(body.error.code, -32602);
    return { ok: false, body: { error: body.error.message, code: 'invalid_input', requestId: '' } };
  }
  const { isError, structuredContent, content } = body.result;
  const said = JSON.parse(content[0].text);
  if (isError) assert.equal(structuredContent, undefined);
  else assert.equal(content[0].text, JSON.stringify(structuredContent));
  return { ok: !isError, body: said };
}

async function overRest(route: Route, input: Value): Promise<Said> {
  const members = isObject(input) ? { ...input } : {};
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = textIn(members[name]) || 'none';
    delete members[name];
    return encodeURIComponent(value.toWellFormed());
  });
  const inQuery = route.method === 'GET';
  const query = inQuery
    ? `?${new URLSearchParams(Object.entries(members).map(([name, value]): [string, string] => [name, textIn(value)]))}`
    : '';
  const body = inQuery ? undefined : asJson(isObject(input) ? members : input);
  const answer = await ask(route.method, `${path}${query}`, body);
  if (answer.failedLater) return { ok: false, body: answer.body };
  const ok = answer.status < 300;
  if (ok) assert.ok([route.status, 200].includes(answer.status), `${answer.status}`);
  else assert.equal(answer.body.requestId, answer.headers.get('x-request-id'));
  return { ok, status: answer.status, body: answer.body };
}

/** The answer, or the last event of a stream in the place of the answer. */
async function ask(method: string, path: string, body: string | undefined) {
  const headers = {
    Authorization: `Bearer ${server.adminKey}`,
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  const { status, headers: received, text } = await send(`${server.baseUrl}${path}`, { method, headers, body });
  const isStream = received.get('content-type')?.startsWith('text/event-stream');
  const [, event, data] = (isStream && /event: (final|error)\ndata: ([^\n]*)/.exec(text)) || [];
  const json = isStream ? (data ?? '') : text;
  return {
    status,
    headers: received,
    body: json === '' ? undefined : JSON.parse(json),
    failedLater: isStream && event === 'error',
  };
}

function textIn(value: Value | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** JSON of any value; -0 as itself. */
function asJson(value: unknown): string {
  return JSON.stringify(value, (_, item) => (Object.is(item, -0) ? '-0-' : item)).replaceAll('"-0-"', '-0');
}

function judge(said: Said, isOutput: ValidateFunction): void {
  if (said.ok) {
    const fits = said.status === 204 ? said.body === undefined : isOutput(said.body);
    assert.ok(fits, `${ajv.errorsText(isOutput.errors)}: ${JSON.stringify(said.body)?.slice(0, 2000)}`);
    return;
  }
  assert.ok(isError(said.body), `${ajv.errorsText(isError.errors)}: ${JSON.stringify(said.body)}`);
  const { code } = said.body as { code: ErrorCode };
  if (said.status !== undefined) assert.equal(said.status, errorStatus[code]);
  assert.notEqual(code, 'internal');
}

describe('calls made of the schemas, and calls with something wrong in them', () => {
  for (const { tool } of catalog.entries.filter((entry) => !entry.tool.doorOnly)) {
    const route = routes.find((candidate) => candidate.tool === tool.name);
    it(`get an answer of the contract's shape from ${tool.name}`, async () => {
      const isOutput = ajv.compile(jsonSchema(tool.output, 'output'));
      const valid = validInput(z.toJSONSchema(tool.input, { io: 'input' }), workspace.pool, tool.name);
      const input = fc.oneof({ weight: 3, arbitrary: valid }, { weight: 2, arbitrary: mutatedInput(valid) });
      const property = fc.asyncProperty(input, async (given) => {
        judge(await overMcp(tool, given), isOutput);
        if (route) judge(await overRest(route, given), isOutput);
      });
      await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
      if (tool.annotations.destructiveHint) await workspace.fill();
    });
  }
});
