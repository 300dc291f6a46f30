import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { CollectionName } from '../../store/collections.ts';
import { catalog } from '../../tools/catalog.ts';
import { mayNeedFresh } from '../../tools/core/access/fresh-sign-in.ts';
import type { Tool } from '../../tools/core/registry/tool.ts';
import { callsOf, callTool, makeKey } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { inputFor } from './inputs.ts';
import { type Input, story } from './story.ts';

const HOUR = 60 * 60 * 1000;

type Kept = Readonly<Record<string, unknown>>;

/** What of each record acts, or lets somebody in, when the session that made it is long over. Undefined: this record does not. */
const LASTING: { readonly [Name in CollectionName]?: (record: Kept) => unknown } = {
  apiKeys: ({ hash, scopes, grants, expiresAt, ownerId }) => [hash, scopes, grants, expiresAt, ownerId],
  capsules: ({ token, allowedTools, deniedTools, constraints, ownerId, integrationAccounts }) => [
    token,
    allowedTools,
    deniedTools,
    constraints,
    ownerId,
    integrationAccounts,
  ],
  connectedApps: ({ clientId, scopes }) => [clientId, scopes],
  oauthClients: ({ secretHash, redirectUris }) => [secretHash, redirectUris],
  adminUsers: ({ email, role, isActive, access }) => [email, role, isActive, access],
  passkeys: ({ publicKey }) => publicKey,
  webhooks: ({ target, events, alerts, secret }) => [target, events, alerts, secret],
  flows: ({ trigger, steps, agentId, prompt, runAs }) =>
    (trigger as Kept).kind === 'manual' ? undefined : [trigger, steps, agentId, prompt, runAs],
  integrations: ({ command, args, env }) => (command === undefined ? undefined : [command, args, env]),
  integrationLinks: ({ id }) => id,
};

/** The forms of secrets in an answer: of keys, capsules, clients and webhooks, ID tokens, and links that let in whoever opens them. */
const SECRETS = /\b(?:(?:ak|cpt|ocs|oat|ort)_[0-9A-Za-z]{8}_[\w-]{40}|whsec_[\w+/]{20}|eyJ[\w-]{10,}\.)|[?&]token=/;

const server = serverForTests({ PRIVATE_UPSTREAMS: 'on', STDIO_INTEGRATIONS: 'on' });
/** Tools that were seen to leave something lasting, and those that answered a secret. */
const left = new Set<string>();
const told = new Set<string>();

async function lastingOnes(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [name, partOf] of Object.entries(LASTING)) {
    const { records } = await server.store[name as 'apiKeys'].find({ limit: 1000 });
    for (const record of records) {
      const part = partOf(record as unknown as Kept); // each looks at members of its own kind
      if (part !== undefined) found.set(`${name} ${record.id}`, JSON.stringify(part));
    }
  }
  return found;
}

function toolOf(name: string): Tool {
  return catalog.get(name)?.tool ?? assert.fail(`There is no ${name}.`);
}

describe('a fresh sign-in', () => {
  before(async () => {
    const watched = (key: string) => async (tool: string, input: Input) => {
      const isChange = catalog.get(tool)?.tool.annotations.readOnlyHint === false;
      const earlier = isChange ? await lastingOnes() : undefined;
      const answer = await callTool(server, key, tool, input);
      for (const [id, part] of earlier ? await lastingOnes() : []) if (earlier?.get(id) !== part) left.add(tool);
      if ('output' in answer && SECRETS.test(JSON.stringify(answer.output))) told.add(tool);
      return answer;
    };
    await story(watched(server.adminKey), watched(await makeKey(server, { scopes: ['read'] })));
    const { must } = callsOf(server);
    const act = watched(server.adminKey);
    const { id: flow } = await must('create_flow', { name: 'on event', trigger: EVENT });
    await act('update_flow', { id: flow, steps: STEPS });
    const { data } = await must('list_versions', { entityType: 'flow', entityId: flow });
    await act('restore_version', { entityType: 'flow', entityId: flow, versionId: data[1].id });
    await act('create_integration', { ...PROGRAM, name: 'cat' });
    const { id: program } = await must('create_integration', { ...PROGRAM, name: 'other' });
    await act('update_integration', { id: program, args: ['-u'] });
    await act('create_webhook', { name: 'x', target: TARGET, alerts: ['flow.failed'] });
    const [hook] = (await must('list_webhooks')).data;
    await act('update_webhook', { id: hook.id, target: { url: 'http://127.0.0.1:7/' } });
    await act('rotate_webhook_secret', { id: hook.id });
    const { id: key, revision } = await must('create_api_key', { name: 'x', scopes: ['read'] });
    await act('take_over', { type: 'key', id: key, expectedRevision: revision ?? 1 });
  });

  it('is asked for by every tool that was seen to leave what outlives a session', () => {
    for (const tool of left) assert.ok(mayNeedFresh(toolOf(tool)), `${tool} leaves something lasting and asks nobody.`);
    for (const tool of [
      ...['create_api_key', 'rotate_api_key', 'create_capsule', 'update_capsule', 'rotate_capsule_token', 'take_over'],
      ...['create_admin_user', 'update_admin_user', 'create_oauth_client', 'create_webhook', 'update_webhook'],
      ...['create_flow', 'update_flow', 'restore_version', 'create_integration', 'update_integration'],
    ])
      assert.ok(left.has(tool), `${tool} was not seen to leave anything.`);
  });

  it('is asked for by every tool that was seen to answer a secret, and each of them says so', () => {
    for (const tool of told) assert.ok(toolOf(tool).answersSecret, `${tool} answers a secret and does not say so.`);
    for (const tool of 'create_api_key create_capsule create_webhook rotate_webhook_secret create_sign_in_link'.split(
      ' ',
    ))
      assert.ok(told.has(tool), `${tool} was not seen to answer a secret.`);
  });

  it('is wanted in an older session by each of these tools, and by none where nothing lasting comes of it', async () => {
    const { must, refused } = callsOf(server);
    const calls = await lastingCalls(must);
    const stale = await signIn(server);
    server.clock.pass(HOUR);
    for (const { tool } of catalog.entries) {
      if (tool.doorOnly || !mayNeedFresh(tool)) continue;
      const isAlways = tool.answersSecret || !tool.lasting?.of;
      const asked = isAlways ? { lasting: inputFor(tool.name) } : calls[tool.name];
      assert.ok(asked, `${tool.name} asks for some inputs alone; give one of them.`);
      const { required } = await refused(tool.name, asked.lasting, stale);
      assert.deepEqual(required, { freshSignIn: true }, tool.name);
      if (asked.harmless) await must(tool.name, asked.harmless, stale);
    }
  });
});

interface Asked {
  readonly lasting: Input;
  readonly harmless?: Input;
}

/** For each tool of which some calls alone need it, one that does and one that does not. */
async function lastingCalls(must: ReturnType<typeof callsOf>['must']): Promise<Readonly<Record<string, Asked>>> {
  const { id: capsule } = await must('create_capsule', { name: 'x', allowedTools: ['list_skills'] });
  const { id: flow } = await must('create_flow', { name: 'x', trigger: EVENT });
  const { id: integration } = await must('create_integration', { ...PROGRAM, name: 'third' });
  await must('update_flow', { id: flow, steps: STEPS });
  const { data: versions } = await must('list_versions', { entityType: 'flow', entityId: flow });
  const { id: skill } = await must('create_skill', { name: 'x' });
  const { data: skills } = await must('list_versions', { entityType: 'skill', entityId: skill });
  const undoing = { by: { capsuleId: capsule }, since: '2026-01-01T00:00:00Z' };
  return {
    create_flow: { lasting: { name: 'y', trigger: EVENT }, harmless: { name: 'y', trigger: { kind: 'manual' } } },
    update_flow: { lasting: { id: flow, steps: [] }, harmless: { id: flow, name: 'z', enabled: false } },
    restore_version: {
      lasting: { entityType: 'flow', entityId: flow, versionId: versions[1].id },
      harmless: { entityType: 'skill', entityId: skill, versionId: skills[0].id },
    },
    undo_changes: { lasting: undoing, harmless: { ...undoing, dryRun: true } },
    update_capsule: { lasting: { id: capsule, allowedTools: ['*'] }, harmless: { id: capsule, status: 'disabled' } },
    create_integration: {
      lasting: { ...PROGRAM, name: 'fourth' },
      harmless: { name: 'remote', transport: 'http', url: 'http://127.0.0.1:9/mcp', enabled: false },
    },
    update_integration: { lasting: { id: integration, enabled: true }, harmless: { id: integration, timeoutMs: 2000 } },
  };
}

const EVENT = { kind: 'event', type: 'skill.created' };
const STEPS = [{ id: 'a', tool: 'list_skills' }];
const PROGRAM = { transport: 'stdio', command: '/bin/cat', enabled: false };
const TARGET = { url: 'http://127.0.0.1:9/' };
