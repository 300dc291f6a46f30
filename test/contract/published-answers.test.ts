import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import type { ConnectedAppRecord } from '../../resources/connected-app.ts';
import type { ErrorBody } from '../../resources/error.ts';
import type { NewRecord } from '../../store/port.ts';
import { hashSecret, newSecret, prefixOf } from '../../tools/core/access/key-secret.ts';
import { documentOf, operationsOf } from '../facade/openapi-document.ts';
import { callTool, makeKey, rest, type ToolAnswer } from '../support/calls.ts';
import { startMailServer } from '../support/mail-server.ts';
import { pluck } from '../support/pluck.ts';
import { pythonLacks, runPython } from '../support/python.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { dataFolder, onPostgres, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';
import { type FakeUpstream, startUpstream, toolCalled } from '../support/upstream.ts';
import { type Receiver, startReceiver } from '../support/webhook-world.ts';
import { writing } from '../support/writing.ts';
import { faultsOf } from './plain-words.ts';
import { type Ask, type Input, story } from './story.ts';

interface Listed {
  readonly name: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
}

interface Told {
  readonly tool: string;
  readonly input: Input;
  readonly output: object;
}

let server: TestServer;
let upstream: FakeUpstream;
let receiver: Receiver;
let backups = '';
const tools = new Map<string, Listed>();
const told: Told[] = [];
const refused: (ErrorBody & { readonly tool: string })[] = [];

before(async () => {
  upstream = await startUpstream(toolCalled('look', { inputSchema: { type: 'object' } }));
  backups = await dataFolder();
  const mail = await startMailServer();
  receiver = await startReceiver();
  const mails = { SMTP_URL: mail.url, MAIL_FROM: 'admin@example.com' };
  server = await startTestServer({
    ...mails,
    PRIVATE_UPSTREAMS: 'on',
    BACKUP_FOLDER: backups,
    BACKUP_SCHEDULE: 'never',
  });
  const reader = await makeKey(server, { scopes: ['read'] });
  const as = (key: string) => async (tool: string, input: Input) => {
    const answer: ToolAnswer = await callTool(server, key, tool, input);
    if ('output' in answer) told.push({ tool, input, output: answer.output });
    else refused.push({ tool, ...answer.error });
    return answer;
  };
  await story(as(server.adminKey), as(reader));
  await sequel(as(server.adminKey), as(await signIn(server)));
  await decided(as);
  await ofOwner(as(await signIn(server)));
  for (const mode of ['', '?mode=search']) {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const answer = await rest(server, 'POST', `/api/v1/mcp${mode}`, { key: server.adminKey, body });
    for (const tool of answer.body.result.tools as Listed[]) tools.set(tool.name, tool);
  }
});
after(() => Promise.all([server?.close(), upstream?.close(), removeFolder(backups)]));

const APP: NewRecord<ConnectedAppRecord> = {
  clientId: 'https://example.com/client',
  client: { name: 'Claude', host: 'example.com', verified: true },
  resource: 'https://example.com/api/v1/mcp',
  scopes: ['read'],
  userId: 'usr_one',
  capsuleId: 'cap_one',
  lastUsedAt: '2026-01-01T00:00:00.000Z',
};

const RUN = {
  kind: 'invoke' as const,
  status: 'running' as const,
  model: 'offline/rehearsal',
  principal: { type: 'session', id: 'usr_one', name: 'One' },
  steps: 0,
  usage: { inputTokens: 0, outputTokens: 0 },
  accessKeys: ['admin'],
};

/** What differs between the doors: sessions, connected apps, a run that waits, an upstream that is reached, and values at the edge of a format. */
async function sequel(ask: Ask, ofPerson: Ask): Promise<void> {
  const tell = async (tool: string, input: Input = {}) => {
    const answer = await ask(tool, input);
    // biome-ignore lint/suspicious/noExplicitAny: the sequel looks into outputs freely
    return 'output' in answer ? (answer.output as any) : assert.fail(`${tool}: ${JSON.stringify(answer.error)}`);
  };
  for (const email of ['a..b@localhost', '.@x', "o'hara+x@sub.example.test"])
    await tell('create_admin_user', { email });
  for (const { id } of (await tell('list_admin_users')).data) await tell('get_admin_user', { id });
  await signIn(server);
  const { data } = await tell('list_sessions');
  await tell('end_session', { id: data[0].id });
  const app = await writing(server.store).connectedApps.insert(APP);
  await tell('list_connected_apps');
  await tell('update_connected_app', { id: app.id, askFirst: ['delete_*'] });
  await tell('disconnect_app', { id: app.id });
  const { id: runId } = await writing(server.store).agentRuns.insert(RUN);
  await tell('cancel_agent_run', { id: runId });
  await tell('create_goal', { title: 'x', targetDate: '0001-01-01' });
  await tell('create_task', { title: 'x', dueAt: '9999-12-31T23:59:59.999Z' });
  await tell('create_capsule', { name: 'x', expiresAt: '2999-02-28T23:59:00+05:30' });
  const taken = { name: 'taken', displayName: 'Taken' };
  await tell('create_agent', taken);
  // A conflict is worth another attempt, so the run waits for it.
  const steps = [{ id: 'a', tool: 'create_agent', arguments: taken, retry: { attempts: 2, delayMs: 3_600_000 } }];
  const flow = await tell('create_flow', { name: 'Waits', steps });
  const run = await tell('trigger_flow', { id: flow.id });
  await tell('cancel_flow_run', { id: run.id });
  await until(async () => (await tell('get_flow_run', { id: run.id })).finishedAt);
  await tell('cancel_flow_run', { id: (await tell('retry_flow_run', { id: run.id })).id });
  const { id } = await tell('create_integration', { name: 'Up', transport: 'http', url: `${upstream.url}?q={a|b}` });
  const { listingHash } = await tell('refresh_integration', { id });
  await tell('refresh_integration', { id, accept: true, listingHash });
  await tell('list_integrations');
  const hook = await tell('create_webhook', { name: 'Hook', target: { url: upstream.url }, events: ['goal.created'] });
  await tell('rotate_webhook_secret', { id: hook.id });
  await tell('test_webhook', { id: hook.id });
  await tell('create_goal', { title: 'told' });
  const { data: noted } = await tell('list_webhook_deliveries', { id: hook.id });
  await tell('retry_webhook_delivery', { id: noted[0].id });
  await tell('delete_webhook', { id: hook.id });
  const link = { kind: 'http', baseUrl: upstream.url, auth: { type: 'header', header: 'x-key', secret: 'a secret' } };
  await ofPerson('create_connection', { name: 'far', ...link, askFirst: false });
  await ofPerson('create_connection', { name: 'chat', kind: 'slack', webhookUrl: receiver.url, askFirst: false });
  await ofPerson('update_settings', {
    mailAskFirst: false,
    mailRecipients: { addresses: ['a@example.com'], domains: [] },
  });
  await tell('send_http_request', { connection: 'far', path: '/none' });
  await tell('send_message', { connection: 'chat', text: 'Hello' });
  await tell('send_mail', { to: ['a@example.com'], subject: 'Hello', markdown: '# Hello' });
  const perPerson = { name: 'Own', transport: 'http', url: upstream.url, auth: 'oauth-per-person', enabled: false };
  const { id: integrationId } = await tell('create_integration', perPerson);
  await tell('connect_integration', { id: integrationId });
  const userId = (await server.store.adminUsers.find({ where: { role: 'owner' }, limit: 1 })).records[0]?.id ?? '';
  const account = { integrationId, userId, key: `${integrationId} ${userId}`, scopes: ['a'] };
  const members = { ...account, status: 'connected' as const, connectedAt: new Date().toISOString(), sealed: '' };
  await writing(server.store).integrationAccounts.insert(members);
  await tell('list_integration_accounts');
  await tell('disconnect_integration', { id: integrationId });
}

/** A key that nobody made who made another one here. */
async function keyOfAnother(email: string): Promise<string> {
  const { id: ownerId = '' } = (await server.store.adminUsers.first({ where: { email } })) ?? {};
  const secret = newSecret('key');
  const half = { name: 'other', prefix: prefixOf('key', secret) ?? '', hash: hashSecret(secret), scopes: ['admin'] };
  await writing(server.store).apiKeys.insert({ ...half, ownerId, createdBy: ownerId });
  return secret;
}

/** A call that waits for a person, who says yes. */
async function decided(as: (key: string) => Ask): Promise<void> {
  const asking = await makeKey(server, { scopes: ['write'], askFirst: ['create_goal'] });
  const answer = await callTool(server, asking, 'create_goal', { title: 'asked' });
  const id = 'error' in answer ? answer.error.approvalId : undefined;
  const other = as(await keyOfAnother('a..b@localhost'));
  await other('list_approvals', { status: 'waiting' });
  await other('decide_approval', { id, decision: 'approve', note: 'Yes.' });
  await as(asking)('wait_for_approval', { id, seconds: 60 });
  await as(asking)('get_approval', { id });
}

async function ofOwner(ask: Ask): Promise<void> {
  const [owner] = (await server.store.adminUsers.find({ where: { role: 'owner' }, limit: 1 })).records;
  const half = { name: 'Phone', credentialId: 'a', publicKey: 'b', counter: 1, transports: ['hybrid'], isSynced: true };
  const used = { lastUsedAt: '2026-01-01T00:00:00.000Z', userId: owner?.id ?? '' };
  const { id } = await writing(server.store).passkeys.insert({ ...half, ...used });
  await ask('list_passkeys', {});
  await ask('rename_passkey', { id, name: 'Laptop' });
  await ask('delete_passkey', { id });
}

/** Asserts formats, as many clients do. */
function assertingAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  return ajv;
}

/** What a checking client finds wrong with calls of a tool, by one of the listed schemas alone. */
function wrongBy(kind: 'inputSchema' | 'outputSchema', shown: (call: Told) => object): string[] {
  const ajv = assertingAjv();
  return [...tools.values()].flatMap((tool) => {
    const schema = tool[kind];
    if (!schema) return [];
    const fits = ajv.compile(schema);
    return told
      .filter((call) => call.tool === tool.name && !fits(shown(call)))
      .map((call) => `${tool.name}: ${ajv.errorsText(fits.errors)}: ${JSON.stringify(shown(call)).slice(0, 300)}`);
  });
}

it('every refusal of the story says in plain words what to do', () => {
  const found = refused.flatMap((refusal) => faultsOf(refusal).map((fault) => `${refusal.tool}: ${fault}`));
  assert.deepEqual(found, []);
  assert.ok(refused.some(({ issues }) => issues));
});

describe('every answer of the story', () => {
  it('fits the output schema as it is listed, with formats asserted', () => {
    assert.deepEqual(
      wrongBy('outputSchema', ({ output }) => output),
      [],
    );
  });

  it('fits what zod makes of the listed schemas', () => {
    for (const [kind, shown] of Object.entries({ inputSchema: 'input', outputSchema: 'output' } as const)) {
      for (const tool of tools.values()) {
        const listed = tool[kind as 'inputSchema' | 'outputSchema']; // a key of the object above
        if (!listed) continue;
        const schema = z.fromJSONSchema(listed as z.core.JSONSchema.BaseSchema); // as it was sent
        for (const call of told.filter((each) => each.tool === tool.name)) {
          assert.deepEqual(schema.safeParse(call[shown]).error?.issues, undefined, `${tool.name} ${shown}`);
        }
      }
    }
  });

  it('fits what OpenAPI says of the same operation', () => {
    const document = documentOf();
    const ajv = assertingAjv();
    for (const [place, { operationId, responses }] of operationsOf(document)) {
      const success = Object.entries(responses).find(([status]) => Number(status) < 300);
      const schema = success?.[1].content?.['application/json']?.schema;
      if (!schema) continue;
      const fits = ajv.compile({ ...schema, components: document.components });
      for (const { tool, output } of told) {
        if (tool === operationId) assert.ok(fits(output), `${place}: ${ajv.errorsText(fits.errors)}`);
      }
    }
  });

  it('was asked for in the form of the listed input schema', () => {
    assert.deepEqual(
      wrongBy('inputSchema', ({ input }) => input),
      [],
    );
  });

  it('is there for every tool that says what it answers', () => {
    const answered = new Set(told.map(({ tool }) => tool));
    const missing = [...tools.values()].filter(({ name, outputSchema }) => outputSchema && !answered.has(name));
    assert.deepEqual(
      pluck(missing, 'name'),
      // Backups of a database are made by its own programs.
      onPostgres ? ['list_backups', 'create_backup'] : [],
    );
  });

  it('is taken by the checks of the Python clients', { skip: pythonLacks('jsonschema') ?? false }, async () => {
    const checked = told.filter(({ tool }) => tools.get(tool)?.outputSchema);
    assert.deepEqual(await runPython(PYTHON, { tools: [...tools.values()], told: checked }), []);
  });
});

/** What the client of the `mcp` package does with each answer, for all of them and for inputs too. */
const PYTHON = `
import json, sys
from jsonschema import Draft202012Validator, FormatChecker
given = json.load(sys.stdin)
problems = []
checks = {}
for tool in given["tools"]:
    for kind in ("inputSchema", "outputSchema"):
        if kind not in tool: continue
        Draft202012Validator.check_schema(tool[kind])
        checks[tool["name"], kind] = Draft202012Validator(tool[kind], format_checker=FormatChecker())
for call in given["told"]:
    for kind, value in (("inputSchema", call["input"]), ("outputSchema", call["output"])):
        try:
            for error in checks[call["tool"], kind].iter_errors(value):
                problems.append(call["tool"] + " " + kind + ": " + error.message)
        except Exception as error:
            problems.append(call["tool"] + " " + kind + " throws " + repr(error))
print(json.dumps(problems))
`;
