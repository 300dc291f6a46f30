import { randomBytes } from 'node:crypto';
import { routes } from '../../facade/routes.ts';
import { catalog } from '../../tools/catalog.ts';
import { Authenticator } from '../support/authenticator.ts';
import { callsOf, callTool, makeCapsule, rest } from '../support/calls.ts';
import type { Canaries } from '../support/canaries.ts';
import { send } from '../support/http.ts';
import { nodeArgs } from '../support/node-args.ts';
import { CALLBACK, OAuthClient, signedIn } from '../support/oauth.ts';
import { postIdToken } from '../support/sign-in.ts';
import { openStdio } from '../support/stdio.ts';
import { PROGRAM } from '../support/upstream.ts';
import { WebClient } from '../support/web-client.ts';
import { inputFor } from './inputs.ts';
import { oddSecret, type PlantedServer } from './planted-server.ts';
import { type SensitivePlace, sensitivePlaces, valueAt } from './sensitive-places.ts';

/** Credentials that the server makes, each noted as soon as somebody is told it. */
export async function plantCredentials(server: PlantedServer, canaries: Canaries) {
  const { must } = callsOf(server);
  const { secret: key, id: keyId } = await must('create_api_key', { name: 'planted', scopes: ['read', 'write'] });
  canaries.plant('new API key', key);
  const repeated = { key: server.adminKey, headers: { 'Idempotency-Key': 'planted-1' } };
  const capsuleInput = { name: 'planted', status: 'live', allowedTools: ['*'] };
  const first = await rest(server, 'POST', '/api/capsules', { ...repeated, body: capsuleInput });
  canaries.plant('new capsule token', first.body.token);
  await rest(server, 'POST', '/api/capsules', { ...repeated, body: capsuleInput });
  canaries.plant('rotated API key', (await must('rotate_api_key', { id: keyId })).secret);
  const rotated = await must('rotate_capsule_token', { id: first.body.id });
  canaries.plant('rotated capsule token', rotated.token);
  const capsule = await makeCapsule(server, { name: 'at its door', allowedTools: ['*'] });
  canaries.plant('new capsule token', capsule.token);
  const made = await must('create_oauth_client', { name: 'planted', redirectUris: [CALLBACK], confidential: true });
  canaries.plant('new client secret', made.secret);
  const webhook = await must('create_webhook', {
    name: 'planted',
    target: { url: `${server.far.receiver.url}?token=${canaries.plant('query of a webhook', `query-${hex()}`)}` },
    events: ['document.created'],
  });
  canaries.plant('new webhook secret', webhook.secret);
  canaries.plant('rotated webhook secret', (await must('rotate_webhook_secret', { id: webhook.id })).secret);
  await must('create_document', { title: 'planted' });
  return { key, capsule, confidential: new OAuthClient(server, made.clientId, made.secret) };
}

const hex = () => randomBytes(12).toString('hex');

/** Secrets that people give. */
export async function plantGiven({ adminKey, baseUrl, far }: PlantedServer, canaries: Canaries) {
  const { must, call } = callsOf({ adminKey, baseUrl });
  const header = canaries.plant('header of an integration', oddSecret('header'));
  const token = canaries.plant('token of an integration', hex());
  const headers = { 'X-Secret': header, Authorization: `Bearer ${token}` };
  const http = await must('create_integration', {
    name: 'Echo',
    transport: 'http',
    url: far.upstream.url,
    headers,
    toolPrefix: 'echo',
    accept: true,
  });
  const env = canaries.plant('environment of an integration', oddSecret('env'));
  const stdio = await must('create_integration', {
    name: 'Program',
    transport: 'stdio',
    command: process.execPath,
    args: [...nodeArgs(PROGRAM), `--token=${canaries.plant('argument of a program', `argument-${hex()}`)}`],
    env: { TOKEN: env, OPENAI_API_KEY: canaries.plant('key in the environment of a program', `sk-program-${hex()}`) },
    toolPrefix: 'program',
    accept: true,
  });
  const flowSecret = canaries.plant('secret of a flow', `flow-${hex()}`);
  const trigger = { kind: 'webhook', signature: { scheme: 'github', secret: flowSecret } };
  const flow = await must('create_flow', { name: 'planted', trigger, steps: [{ id: 'a', tool: 'list_skills' }] });
  const agent = await must('create_agent', { name: 'planted', displayName: 'Planted', tools: ['echo__*', 'list_*'] });
  const card = canaries.plant('card of an agent', `card-${hex()}`);
  const phone = canaries.plant('phone of an agent', `+49${BigInt(`0x${hex()}`)}`.slice(0, 30));
  await must('provision_agent_identity', { id: agent.id, phone: { number: phone }, card: { cardRef: card } });
  await call('create_memory', { content: 'planted' });
  return { http, stdio, flow, agent };
}

/** What other servers repeat goes where answers go: to callers, flows, agents and their stored runs. */
export async function hearEchoes(server: PlantedServer, agentId: string): Promise<void> {
  const { call, must } = callsOf(server);
  const { far } = server;
  for (const tool of ['echo__echo', 'echo__fail', 'echo__refuse', 'program__env', 'program__crash']) {
    await call(tool);
    const flow = await must('create_flow', { name: tool, steps: [{ id: 'a', tool, arguments: {} }] });
    await call('trigger_flow', { id: flow.id, wait: true });
  }
  await call('send_chat_message', { message: 'Hello?', agentId });
  for (const modelPreference of ['openai/gpt-planted', 'anthropic/claude-planted']) {
    const { id } = await must('create_agent', {
      ...{ name: modelPreference.replace('/', '-'), displayName: modelPreference, modelPreference },
    });
    await call('send_chat_message', { message: 'Hello?', agentId: id });
  }
  const refusal = `550 no mail for ${far.smtp.pass} ${Buffer.from(`\0x\0${far.smtp.pass}`).toString('base64')}`;
  far.mail.refuse(refusal);
  const mails = await must('create_webhook', {
    name: 'm',
    target: { email: 'a@example.com' },
    alerts: ['flow.failed'],
  });
  await call('test_webhook', { id: mails.id });
  const client = new WebClient();
  await client.open(`${server.baseUrl}/sign-in`);
  await client.send({ email: 'admin@localhost' });
  await call('check_health');
  await call('get_system_health');
  await call('check_setup');
  far.mail.refuse(undefined);
  far.model.play(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls: [{ name: 'echo__echo', arguments: {} }] },
  );
  await must('send_chat_message', { message: 'Call it.', agentId });
}

/** A person and an app sign in, in every way. */
export async function signInEverywhere(server: PlantedServer, confidential: OAuthClient, canaries: Canaries) {
  const { must } = callsOf(server);
  const link = await must('create_sign_in_link', { email: 'admin@localhost' });
  canaries.plant('sign-in link', new URL(link.url).searchParams.get('token') ?? '');
  canaries.plant('ID token', link.idToken);
  const session = await postIdToken(server, link.idToken);
  const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  canaries.plant('session cookie', cookie.slice(cookie.indexOf('=') + 1));
  await postIdToken(server, `${link.idToken}x`);
  const mailed = new WebClient();
  await mailed.open(`${server.baseUrl}/sign-in`);
  await mailed.send({ email: 'admin@localhost' });
  const text = server.far.mail.mails.at(-1)?.text ?? (await server.far.mail.next()).text;
  const address = /https?:\S+\/sign-in\/link\?token=\S+/.exec(text)?.[0] ?? '';
  if (address) {
    canaries.plant('mailed sign-in link', new URL(address).searchParams.get('token') ?? '');
    await mailed.open(address);
    await mailed.send();
    for (const [name, value] of mailed.cookies.get(new URL(server.baseUrl).origin) ?? [])
      if (value.length > 20) canaries.plant(`cookie ${name.split(' ')[0]}`, value);
  }
  const provided = new WebClient();
  await provided.open(`${server.baseUrl}/sign-in/oidc`).catch(() => {});
  const public_ = await OAuthClient.registered(server);
  for (const [name, client] of [['public', public_] as const, ['confidential', confidential] as const]) {
    const code = canaries.plant(`code of a ${name} client`, await client.code());
    const { body } = await client.redeem(code);
    canaries.plant('access token', body.access_token);
    canaries.plant('refresh token', body.refresh_token);
    await rest(server, 'POST', '/api/v1/mcp', {
      key: body.access_token,
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
    });
    await rest(server, 'GET', '/api/v1/agents', { key: body.access_token });
    const again = await client.refresh(body.refresh_token);
    canaries.plant('access token', again.body.access_token);
    canaries.plant('refresh token', again.body.refresh_token);
    await client.redeem(code);
    await client.refresh(body.refresh_token);
    await client.revoke(again.body.refresh_token);
  }
  await new OAuthClient(server, confidential.clientId, `${confidential.secret}x`).redeem('none');
  return cookie;
}

/** Creates a passkey and uses it. */
export async function usePasskey(server: PlantedServer, canaries: Canaries): Promise<void> {
  const browser = await signedIn(server);
  const page = await browser.open(server.baseUrl);
  const token = /"formToken":"([^"]+)"/.exec(page.text)?.[1] ?? '';
  const toMake = await browser.post(`${server.baseUrl}/account/passkeys/options`, new URLSearchParams({ form: token }));
  if (toMake.status !== 200) return;
  const device = new Authenticator(server.baseUrl);
  canaries.plant('answer of a passkey', device.make(JSON.parse(toMake.text)));
}

/** Tools whose second call would end what the others need. */
const LAST = /^(?:delete|revoke|end|deactivate|disconnect|purge|rotate|take_over|update_settings|update_bot)/;

/** Every tool at every door, with the ids of what is there where its input names a record. */
export async function callEverything(
  server: PlantedServer,
  { keys, capsule, idOf }: Callers & { readonly idOf: (placeholder: string) => string },
): Promise<number> {
  const tools = catalog.entries
    .map(({ tool }) => tool.name)
    .sort((one, other) => Number(LAST.test(one)) - Number(LAST.test(other)));
  const stdio = openStdio(server.baseUrl, keys[0] ?? '');
  let calls = 0;
  for (const tool of tools) {
    const input = JSON.parse(JSON.stringify(inputFor(tool)).replace(/\b[a-z]{3}_one\b/g, idOf)) as Record<
      string,
      unknown
    >;
    const ways: (() => Promise<unknown>)[] = [
      ...keys.map((key) => () => callTool(server, key, tool, input)),
      () => stdio.ask('tools/call', { name: tool, arguments: input }),
      () => rest(server, 'POST', `/api/capsules/${capsule.id}/mcp`, { key: capsule.token, body: callOf(tool, input) }),
      ...(LAST.test(tool) ? [] : [() => overRest(server, tool, input)]),
    ];
    for (const way of ways) {
      await way().catch(() => {});
      calls += 1;
    }
  }
  await stdio.end();
  return calls;
}

interface Callers {
  readonly keys: readonly string[];
  readonly capsule: { readonly id: string; readonly token: string };
}

const callOf = (name: string, input: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
});

async function overRest(server: PlantedServer, tool: string, input: Record<string, unknown>): Promise<void> {
  const route = routes.find((candidate) => candidate.tool === tool);
  if (!route) return;
  const members = { ...input };
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = encodeURIComponent(String(members[name]));
    delete members[name];
    return value;
  });
  const inQuery = route.method === 'GET' || route.method === 'DELETE';
  const query = inQuery ? `?${new URLSearchParams(members as Record<string, string>)}` : '';
  await rest(server, route.method, `${path}${query}`, { key: server.adminKey, ...(!inQuery && { body: members }) });
}

/** Secrets where they do not belong, in the forms in which callers get it wrong. */
export async function misplace(server: PlantedServer, canaries: Canaries, most: number): Promise<number> {
  const { call } = callsOf(server);
  const places = sensitivePlaces.filter(
    (_, at, { length }) => Math.ceil((at * most) / length) !== Math.ceil(((at + 1) * most) / length),
  );
  for (const [at, place] of places.entries()) {
    const secret = canaries.plant(`given to ${place.tool} ${place.path.join('.')}`, `given-${at}-${hex()}`);
    for (const input of wrongInputs(place, secret)) {
      await call(place.tool, input).catch(() => {});
      await rest(server, 'POST', '/api/v1/mcp', {
        key: server.adminKey,
        body: JSON.stringify(callOf(place.tool, input)).slice(0, -4),
      });
      await overRest(server, place.tool, input).catch(() => {});
    }
  }
  const own = canaries.plant('key in a wrong place', `ak_misplace_${hex()}${hex()}`);
  const requests: [string, string, Record<string, string>?, string?][] = [
    ['GET', `/api/v1/agents?api_key=${own}`],
    ['GET', `/api/v1/agents?key=${own}&limit=${own}`],
    ['GET', `/api/v1/agents/${own}`],
    ['GET', `/api/v1/${own}`],
    ['GET', `/${own}`],
    ['GET', `/sign-in/link?token=${own}`],
    ['GET', `/oauth/authorize?client_id=${own}&state=${own}&request=${own}`],
    ['POST', '/api/v1/agents', {}, `{"name": "${own}`],
    ['POST', '/api/v1/agents', {}, `{"${own}": 1}`],
    ['POST', '/api/v1/mcp', {}, own],
    ['POST', `/api/capsules/${own}/mcp`, {}, '{}'],
    [
      'POST',
      '/oauth/token',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      `client_secret=${own}&code=${own}`,
    ],
    ['POST', '/oauth/register', {}, `{"client_secret": "${own}", "redirect_uris": 1}`],
    ['POST', '/sign-in', { 'Content-Type': 'application/x-www-form-urlencoded' }, `email=${own}&form=${own}`],
    ['GET', '/api/v1/agents', { Authorization: `Basic ${Buffer.from(`user:${own}`).toString('base64')}` }],
    ['GET', '/api/v1/agents', { Authorization: own }],
    ['GET', '/api/v1/agents', { Cookie: `admin-session=${own}; session=${own}` }],
    ['GET', '/api/v1/agents', { 'X-Api-Key': own }],
    ['GET', '/api/v1/agents', { 'Idempotency-Key': own }],
    ['GET', '/api/v1/agents', { traceparent: own, baggage: `key=${own}` }],
  ];
  for (const [method, path, headers = {}, body] of requests) {
    const key = (headers.Authorization ?? headers.Cookie) ? {} : { Authorization: `Bearer ${server.adminKey}` };
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    await send(`${server.baseUrl}${path}`, { method, headers: { ...key, ...type, ...headers }, body });
    await send(`${server.baseUrl}${path}`, { method, headers: { ...type, Accept: 'text/html', ...headers }, body });
  }
  return places.length;
}

/** Names of members are no secrets: they are in answers and in the audit log. */
function wrongInputs({ tool, path, part }: SensitivePlace, secret: string): Record<string, unknown>[] {
  const valid = { ...inputFor(tool) };
  const urls = [`http://user:${secret}@127.0.0.1/`, `http:user:${secret}@`, `${secret}@`];
  const values = part === 'userinfo' ? urls : [secret, [secret], { name: secret }, [{ name: [secret] }], `${secret}\0`];
  const inputs = values.map((value) => ({ ...valid, ...(valueAt(path, value) as object) }));
  return [...inputs, { ...valid, secret }, { secret }, { ...inputs[0], extra: [secret] }];
}
