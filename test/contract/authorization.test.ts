import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { routes } from '../../facade/routes.ts';
import { APP_SCOPES } from '../../resources/connected-app.ts';
import { catalog } from '../../tools/catalog.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import { anonymous } from '../../tools/core/access/principal.ts';
import { callTool, makeKey, rest } from '../support/calls.ts';
import { type Capsule, capsuleClients } from '../support/capsules.ts';
import { FULL } from '../support/full.ts';
import { OAuthClient } from '../support/oauth.ts';
import { openTestRegistry } from '../support/registry.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { inputFor } from './inputs.ts';
import { operations, toolsWithoutPath } from './operations-table.ts';

/**
 * Every tool x every kind of caller x every door, from the tables and not from the declarations: what is expected here is worked out
 * by the rules of the specification written down once more, so that a tool with a wrong declaration fails.
 */
interface Right {
  readonly scope: string;
  readonly grant: string;
}

const versionRights: Right = { scope: 'agents:read', grant: 'agent:read:{entityId}' };
const versionTools = new Map([
  ['list_versions', versionRights],
  ['get_version', versionRights],
  ['diff_version', versionRights],
  ['restore_version', { scope: 'agents:write', grant: 'agent:write:{entityId}' }],
]);

/** Tools that make someone act with full access or tell the rights of everybody: only `*` and the scope admin carry the call. */
const fullAccessTools = new Set([
  'list_who_can',
  'view_as',
  ...['create_admin_user', 'update_admin_user', 'deactivate_admin_user', 'reactivate_admin_user'],
  ...['create_sign_in_link', 'create_integration', 'update_integration', 'delete_integration'],
  ...['refresh_integration', 'create_oauth_client', 'delete_oauth_client', 'delete_passkey'],
  ...['create_model_provider', 'update_model_provider', 'delete_model_provider', 'test_model_provider'],
]);
/** Those of them that whoever has their own grant can call for what is their own. */
const fullAccessForOthers = new Set(['update_admin_user']);
/** They manage accounts and passkeys of the person who calls, or ways out of the server, or decide what others wait for, so no capsule has them. */
const forPeople = new Set([
  'connect_integration',
  'disconnect_integration',
  'list_integration_accounts',
  'list_passkeys',
  'rename_passkey',
  'delete_passkey',
  'decide_approval',
  ...['create_connection', 'update_connection', 'delete_connection'],
]);
const fullAccess: Right = { scope: 'admin', grant: '*' };

function rightOf(tool: string): Right {
  const found = versionTools.get(tool) ?? operations.find((line) => line.tool === tool) ?? toolsWithoutPath[tool];
  assert.ok(found, `${tool} is in no table`);
  return found;
}

/** Specification part 5, "Scope satisfaction rules", for one held scope. */
function satisfies(held: string, required: string): boolean {
  if (held === 'admin') return true;
  if (held === 'write') return /:(read|write)$/.test(required);
  if (held === 'read') return /:read$/.test(required);
  return held === required;
}

const scopes = ['read', 'write', 'admin', 'agents:read', 'agents:write', 'skills:read', 'skills:write'];

/** All in a full run; else one that satisfies the required scope and one that does not, in turn. */
function scopesToTry(required: string): readonly string[] {
  if (FULL) return scopes;
  const inTurn = (held: readonly string[]) => held.slice(tried % held.length).slice(0, 1);
  tried += 1;
  return [true, false].flatMap((wanted) => inTurn(scopes.filter((held) => satisfies(held, required) === wanted)));
}
let tried = 0;

let server: TestServer;
let session: string;
const keys = new Map<string, Promise<string>>();
before(async () => {
  server = await startTestServer();
  session = await signIn(server);
});
after(() => server.close());

function keyWith(rights: { scopes?: string[]; grants?: string[] }): Promise<string> {
  const name = JSON.stringify(rights);
  const key = keys.get(name) ?? makeKey(server, rights);
  keys.set(name, key);
  return key;
}

/** A grant that opens no tool can be given to nobody. */
async function canBeGiven(grants: readonly string[]): Promise<boolean> {
  const answer = await callTool(server, server.adminKey, 'create_api_key', { name: 'x', scopes: [], grants });
  return !('error' in answer && answer.error.code === 'invalid_input');
}

const { make, call, listed: namesIn } = capsuleClients(() => server);
const capsules = new Map<string, Promise<Capsule>>();

function capsuleWith(...allowedTools: string[]): Promise<Capsule> {
  const capsule = capsules.get(allowedTools.join()) ?? make({ allowedTools });
  capsules.set(allowedTools.join(), capsule);
  return capsule;
}

interface Verdict {
  readonly code: string;
  readonly required?: unknown;
}

type Door = (tool: string, input: Record<string, unknown>, key: string) => Promise<Verdict>;

const doors: Readonly<Record<'mcp' | 'rest', Door>> = {
  async mcp(tool, input, key) {
    const answer = await callTool(server, key, tool, input);
    return 'error' in answer ? answer.error : { code: 'ok' };
  },
  async rest(tool, input, key) {
    const { method, path: template } = routes.find((route) => route.tool === tool) ?? assert.fail(tool);
    const members = { ...input };
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String(members[name]);
      delete members[name];
      return encodeURIComponent(value);
    });
    const inQuery = method === 'GET' || method === 'DELETE';
    const query = inQuery ? `?${new URLSearchParams(members as Record<string, string>)}` : '';
    const answer = await rest(server, method, `${path}${query}`, { key, body: inQuery ? undefined : members });
    return answer.status < 300 ? { code: 'ok' } : answer.body;
  },
};

let turn = 0;

/** The doors that a call of the tool is made at: all that have it in a full run, else one after the other. */
function doorsOf(tool: string): readonly (keyof typeof doors)[] {
  const hasRoute = routes.some((route) => route.tool === tool);
  // Pages call the tools that have neither door.
  if (catalog.get(tool)?.tool.doorOnly) return hasRoute ? ['rest'] : [];
  if (!hasRoute) return ['mcp'];
  turn += 1;
  return FULL ? ['mcp', 'rest'] : [turn % 2 === 0 ? 'mcp' : 'rest'];
}

function verdicts(
  tool: string,
  input: Record<string, unknown>,
  key: string,
): Promise<readonly (readonly [string, Verdict])[]> {
  return Promise.all(doorsOf(tool).map(async (door) => [door, await doors[door](tool, input, key)] as const));
}

const apps = new Map<string, Promise<string>>();

function appWith(give: string): Promise<string> {
  const made = apps.get(give) ?? connectApp(give);
  apps.set(give, made);
  return made;
}

async function connectApp(give: string): Promise<string> {
  const client = await OAuthClient.registered(server);
  return (await client.connected({ scope: APP_SCOPES.join(' ') }, { give })).access_token;
}

async function verdictOfApp(tool: string, input: object, give: string) {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: input } };
  const answer = await rest(server, 'POST', '/api/v1/mcp', { key: await appWith(give), body });
  const { result } = answer.body;
  const code = result?.isError ? JSON.parse(result.content[0].text).code : 'ok';
  return { status: answer.status, code, challenge: answer.headers.get('www-authenticate') };
}

const lists = new Map<string, Promise<ReadonlySet<string>>>();

/** Whether the tool is in the list of the key, which is asked for once: the rights of a key stay as they are. */
async function listed(tool: string, key: string): Promise<boolean> {
  const names = lists.get(key) ?? namesListed(key);
  lists.set(key, names);
  return (await names).has(tool);
}

async function namesListed(key: string): Promise<ReadonlySet<string>> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const answer = await rest(server, 'POST', '/api/v1/mcp', { key, body });
  return new Set(answer.body.result.tools.map(({ name }: { name: string }) => name));
}

it('a caller who is not signed in reaches no tool but the one that signs in, should a door ever let it through', async () => {
  const registry = await openTestRegistry();
  for (const { tool } of catalog.entries) {
    // Shows the tools that the caller reaches, and calls no other.
    if (tool.discovery) continue;
    const answer = await registry.call(anonymous('127.0.0.1'), tool.name, inputFor(tool.name), 'rest');
    const code = 'error' in answer ? answer.error.code : 'ok';
    assert.equal(code, tool.session === 'begins' ? 'unavailable' : 'forbidden', tool.name);
  }
  await registry.close();
});

/** Called by a page of this server alone, with what the page has checked. */
const ofPages = catalog.entries.filter(
  ({ tool: { name, doorOnly } }) => doorOnly && !routes.some((route) => route.tool === name),
);

it('tools that only a page calls are unknown at every door', async () => {
  assert.deepEqual(
    ofPages.map(({ tool }) => tool.name),
    ['confirm_session', 'receive_webhook', 'create_passkey', 'authorize_app', 'get_metrics'],
  );
  const key = await keyWith({ scopes: ['admin'] });
  for (const { tool } of ofPages) {
    await assert.rejects(doors.mcp(tool.name, inputFor(tool.name), key), /There is no tool with this name/);
    assert.equal(await listed(tool.name, key), false);
  }
});

for (const { tool } of catalog.entries.filter((entry) => !ofPages.includes(entry))) {
  describe(`access to ${tool.name}`, () => {
    const { scope, grant } = rightOf(tool.name);
    const input = inputFor(tool.name);
    /** Where it takes several grants, the last is the one that names a record. */
    const needed = grant.replace(/\{(\w+)\}/g, (_, name: string) => String(input[name])).split(', and ');
    const bound = needed.join(', ');
    const [resource = '', op = '', id] = needed.at(-1)?.split(':') ?? [];

    const isFull = fullAccessTools.has(tool.name) && !fullAccessForOthers.has(tool.name);

    async function expect(
      rights: { scopes?: string[]; grants?: string[] },
      allowed: boolean,
      inList = allowed,
      missing: Right = isFull ? fullAccess : { scope, grant: bound },
    ) {
      const key = await keyWith(rights);
      for (const [door, { code, required }] of await verdicts(tool.name, input, key)) {
        assert.equal(code !== 'forbidden', allowed, `${door}: ${JSON.stringify(rights)} gave ${code}`);
        if (!allowed) assert.deepEqual(required, missing, door);
      }
      assert.equal(await listed(tool.name, key), inList && isListed(tool), `tools/list for ${JSON.stringify(rights)}`);
    }

    it('is refused to anonymous callers', async () => {
      const { status } = await rest(server, 'POST', '/api/v1/mcp', {
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name } },
      });
      assert.equal(status, 401);
      const route = routes.find((candidate) => candidate.tool === tool.name);
      if (route) assert.equal((await rest(server, route.method, route.path)).status, 401);
    });

    it('is open to a session', async () => {
      // Else the session would end before the other tools had their turn.
      if (tool.name === 'delete_session') return;
      for (const [door, { code }] of await verdicts(tool.name, input, session)) {
        assert.notEqual(code, 'forbidden', door);
        assert.ok(code !== 'unauthenticated' || tool.session === 'begins', door);
      }
      assert.equal(await listed(tool.name, session), isListed(tool));
    });

    if (scope === '-') {
      it('is open to every key', () => expect({ scopes: ['skills:read'] }, true));
      return;
    }

    it('in a capsule that names it, but for what manages others, and in none that does not', async () => {
      const without = tool.name === 'list_models' ? 'list_skills' : 'list_models';
      const outside = await capsuleWith(without);
      assert.equal((await call(outside, tool.name, input)).code, 'forbidden');
      assert.ok(!(await namesIn(outside)).includes(tool.name));
      const isManaging = /^(key|capsule|session|admin-user|integration|app|oauth-client|webhook|model-provider)$/.test(
        resource,
      );
      if (isManaging || forPeople.has(tool.name)) {
        const refused = await callTool(server, server.adminKey, 'create_capsule', {
          name: 'x',
          allowedTools: [tool.name],
        });
        assert.equal('error' in refused && refused.error.code, 'invalid_input');
        assert.equal((await call(await capsuleWith('*'), tool.name, input)).code, 'forbidden');
        return;
      }
      // Versions follow the record, whose tools must be there too.
      const needs = versionTools.has(tool.name) ? ['get_agent', 'update_agent'] : [];
      const inside = await capsuleWith(tool.name, ...needs);
      assert.notEqual((await call(inside, tool.name, input)).code, 'forbidden');
      assert.ok((await namesIn(inside)).includes(tool.name));
    });

    it('by a connected app that was given so much, but for what manages others and what answers a secret', async () => {
      const isManaging = /^(key|capsule|session|admin-user|integration|app|oauth-client|webhook|model-provider)$/.test(
        resource,
      );
      const isNever = isManaging || forPeople.has(tool.name) || tool.answersSecret === true;
      for (const [index, held] of APP_SCOPES.entries()) {
        const { status, code, challenge } = await verdictOfApp(tool.name, input, held);
        const allowed = !isNever && satisfies(held, scope);
        assert.equal(code !== 'forbidden' && status === 200, allowed || tool.doorOnly === true, `${held}: ${code}`);
        assert.equal(await listed(tool.name, await appWith(held)), allowed && isListed(tool), held);
        if (allowed || tool.doorOnly) continue;
        const missing = APP_SCOPES.slice(0, APP_SCOPES.findIndex((each) => satisfies(each, scope)) + 1);
        assert.equal(status, isNever ? 200 : 403, held);
        if (!isNever) assert.ok(challenge?.includes(`scope="${missing.join(' ')}"`), `${index}: ${challenge}`);
      }
    });

    for (const held of scopesToTry(scope)) {
      it(`by scope ${held}`, () => {
        const allowed = satisfies(held, scope);
        const otherEntity = versionTools.has(tool.name) && /^skills:/.test(held);
        const inList = allowed || (otherEntity && satisfies(held, scope.replace('agents', 'skills')));
        return expect({ scopes: [held] }, allowed, inList);
      });
    }

    it('by its own grant, which counts instead of scopes', async () => {
      const own = !fullAccessTools.has(tool.name);
      const shown = own || fullAccessForOthers.has(tool.name);
      for (const grants of [needed, [...needed.slice(0, -1), `${resource}:${op}`], [resource]]) {
        if (!shown && !(await canBeGiven(grants))) continue;
        await expect({ grants }, own, shown, own ? undefined : fullAccess);
      }
      if (shown) await expect({ scopes: ['skills:read'], grants: needed }, own, true, own ? undefined : fullAccess);
      await expect({ grants: ['*'] }, true);
    });

    it('not by the grant of another resource or operation, whatever the scopes', async () => {
      const other = resource === 'skill' ? 'agent' : 'skill';
      const lists = versionTools.has(tool.name) && other === 'skill';
      await expect({ scopes: ['admin'], grants: [other] }, false, lists);
      await expect({ scopes: ['admin'], grants: [resource === 'model' ? 'audit:read' : 'model:read'] }, false);
    });

    it('not by a grant for another record, but for lists, which it narrows', async () => {
      const elsewhere = { scopes: ['admin'], grants: [...needed.slice(0, -1), `${resource}:${op}:elsewhere`] };
      if (isFull) return (await canBeGiven(elsewhere.grants)) ? expect(elsewhere, false, false) : undefined;
      if (id !== undefined) return expect(elsewhere, false, grant.includes('{'));
      const narrows = 'narrows' in tool.access && tool.access.narrows === true;
      await expect(elsewhere, narrows);
      if (!narrows) return;
      const answer = await callTool(server, await keyWith(elsewhere), tool.name, input);
      assert.ok('output' in answer);
      const { data, threads } = answer.output;
      assert.deepEqual(data ?? threads, data ? [] : 0);
    });
  });
}
