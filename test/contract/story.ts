import { catalog } from '../../tools/catalog.ts';
import type { ToolAnswer } from '../support/calls.ts';

export type Input = Record<string, unknown>;
export type Ask = (tool: string, input: Input) => Promise<ToolAnswer>;

// biome-ignore lint/suspicious/noExplicitAny: the story looks into outputs freely
type Tell = (tool: string, input?: Input, as?: Ask) => Promise<any>;

/** The life of a thread that is shared, forked, restricted and deleted. */
async function threadStory(tell: Tell, keyId: string, asReader: Ask): Promise<void> {
  const messages = [
    { role: 'user', content: 'Hello?' },
    { role: 'assistant', content: 'Hello.' },
  ];
  const { id } = await tell('create_thread', { title: 'First', source: 'test', messages });
  await tell('create_thread', { title: 'Nobody', agentIds: ['agt_none'] });
  await tell('get_thread', { id });
  const principal = { type: 'api-key', id: keyId };
  await tell('add_thread_access', { id, entries: [{ principal, role: 'viewer' }] });
  await tell('add_thread_access', { id, entries: [{ principal: { type: 'user', id: 'usr_none' }, role: 'viewer' }] });
  await tell('get_thread_access', { id }, asReader);
  await tell('update_thread', { id, status: 'archived', expectedRevision: 2 });
  await tell('update_thread', { id, title: 'Second', expectedRevision: 2 });
  await tell('update_thread', { id, title: 'Mine' }, asReader);
  const page = await tell('list_messages', { id, limit: 1 });
  const fork = await tell('fork_thread', { id, messageId: page.data[0].id });
  await tell('list_messages', { id: fork.id, order: 'oldest' });
  await tell('fork_thread', { id, messageId: 'msg_none' });
  await tell('update_thread_access', { id, visibility: 'restricted' });
  for (const tool of ['get_thread', 'list_messages', 'get_thread_access']) await tell(tool, { id }, asReader);
  for (const tool of ['list_threads', 'get_thread_stats']) await tell(tool, {}, asReader);
  for (const tool of ['get_thread', 'get_thread_access']) await tell(tool, { id });
  await tell('get_thread_stats');
  await tell('list_threads', { status: 'archived', includeTotal: true });
  await tell('remove_thread_access', { id, principalType: 'api-key', principalId: keyId });
  await tell('remove_thread_access', { id });
  await tell('delete_thread', { id });
  await tell('delete_thread', { id });
}

/** Conversations with an agent on the built-in model, and work it is given. */
async function chatStory(tell: Tell, asReader: Ask): Promise<void> {
  const tools = ['list_skills', 'delete_agent'];
  const { id } = await tell('create_agent', { name: 'chatty', displayName: 'Chatty', tools });
  const message = '/list_skills {"limit": 1}';
  const { threadId } = await tell('send_chat_message', { message, agentId: 'chatty' });
  await tell('send_chat_message', { message: 'Well?', threadId });
  await tell('send_chat_message', { message: '/delete_skill {"id": "skl_none"}', threadId });
  await tell('send_chat_message', { message, agentId: id }, asReader);
  await tell('send_chat_message', { message, threadId: 'thr_none' });
  await tell('send_chat_message', { message, agentId: id, model: 'nobody/none' });
  await tell('list_messages', { id: threadId, order: 'oldest' });
  const outputSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
  await tell('invoke_agent', { agent: 'chatty', input: message, outputSchema });
  await tell('invoke_agent', { agent: id, input: 'x', outputSchema: { type: 'string', pattern: 'x' } });
  await tell('update_agent', { id, status: 'paused' });
  await tell('invoke_agent', { agent: id, input: 'x' });
  await tell('delete_thread', { id: threadId });
  await tell('delete_agent', { id });
}

/** Imported rows, the users they tell of and what is worked out from them. */
async function productStory(tell: Tell, asReader: Ask): Promise<void> {
  const users = [
    { uid: 'u1', email: 'one@example.com', status: 'PRO', createdAt: '2026-01-01' },
    { uid: 'u2', email: 'two@example.com', status: 'FREE', name: 'Two', createdAt: '2026-01-02' },
  ];
  await tell('import_records', { type: 'users', records: users });
  await tell('import_records', { type: 'users', records: [{ uid: 'u3', emial: 'x', status: 'pro' }] });
  await tell('import_records', { type: 'users', records: users }, asReader);
  const terms = { plan: 'pro', amount: 1000, currency: 'EUR', interval: 'month', status: 'active' };
  await tell('import_records', {
    type: 'subscriptions',
    records: [{ id: 's1', uid: 'u1', ...terms, startedAt: '2026-01-01' }],
  });
  await tell('list_users', { search: 'TWO@', includeTotal: true });
  await tell('list_users', { limit: 1, status: 'PRO' }, asReader);
  for (const tool of ['get_user', 'get_user_billing', 'get_user_timeline', 'list_user_websites']) {
    await tell(tool, { userId: 'u1' });
    await tell(tool, { userId: 'nobody' });
  }
  const range = { from: '2026-01-01', to: '2026-04-01', timezone: 'UTC' };
  for (const { group, tool } of catalog.entries) if (group === 'Analytics') await tell(tool.name, range);
  await tell('get_mrr', { from: '2026-02-01', to: '2026-01-01' });
}

/** The life of two agents and a skill, with every tool called at least once and every error code on the way. */
export async function story(ask: Ask, asReader: Ask): Promise<ToolAnswer[]> {
  const answers: ToolAnswer[] = [];
  const tell = async (tool: string, input: Input = {}, as = ask) => {
    const answer = await as(tool, input);
    answers.push(answer);
    // biome-ignore lint/suspicious/noExplicitAny: the story looks into outputs freely
    return 'output' in answer ? (answer.output as any) : answer.error;
  };
  const skill = await tell('create_skill', { name: 'triage', instructions: 'one\ntwo' });
  await tell('update_skill', { id: skill.id, instructions: 'one\n2', expectedRevision: 1 });
  await tell('update_skill', { id: skill.id, instructions: 'x', expectedRevision: 1 });
  await tell('get_skill', { id: skill.id });
  const agent = await tell('create_agent', {
    name: 'ada',
    displayName: 'Ada',
    skillIds: [skill.id],
    tools: ['get_agent'],
  });
  await tell('create_agent', { name: 'vague', displayName: 'Vague', tools: ['get_agent', 'nothing'] });
  await tell('create_agent', { name: 'ada', displayName: 'Ada again' });
  await tell('create_agent', { name: '', displayname: 'x', identity: { phone: { enabled: true, number: '1' } } });
  await tell('create_agent', { name: 'bob', displayName: 'Bob' }, asReader);
  await tell('provision_agent_identity', { id: agent.id, phone: { number: '+15550100', a2pStatus: 'pending' } });
  await tell('update_agent', { id: agent.id, description: 'An agent.', identity: { bio: 'b' } });
  await tell('get_agent', { id: agent.id });
  await tell('get_agent', { id: agent.id }, asReader);
  await tell('get_agent', { id: 'agt_none' });
  await tell('list_agents', { limit: 1, includeTotal: true });
  await tell('list_agents', { limit: 0 });
  await tell('list_agents', { cursor: 'foreign' });
  await tell('delete_skill', { id: skill.id });
  const versions = await tell('list_versions', { entityType: 'agent', entityId: agent.id });
  const first = { entityType: 'agent', entityId: agent.id, versionId: versions.data.at(-1).id };
  await tell('get_version', first);
  await tell('diff_version', { ...first, against: 'current' });
  await tell('restore_version', { ...first, expectedRevision: 1 });
  await tell('restore_version', first);
  await tell('delete_agent', { id: agent.id });
  await tell('delete_skill', { id: skill.id });
  await tell('get_skill', { id: skill.id });
  await tell('list_skills', {});
  await tell('purge_record', { entityType: 'skill', id: skill.id });
  await tell('purge_record', { entityType: 'skill', id: skill.id });
  await tell('purge_record', { entityType: 'agent-config', id: 'bot-config' });
  await tell('purge_record', { entityType: 'agent', id: agent.id }, asReader);
  const user = await tell('create_admin_user', { email: 'grace@example.com', role: 'admin' });
  await tell('create_admin_user', { email: 'GRACE@example.com' });
  await tell('update_admin_user', { id: user.id, name: 'Grace', role: 'member', expectedRevision: user.revision });
  await tell('deactivate_admin_user', { id: user.id });
  await tell('reactivate_admin_user', { id: user.id });
  await tell('get_admin_user', { id: user.id });
  await tell('list_admin_users', { isActive: true });
  await tell('create_sign_in_link', { email: 'GRACE@example.com' });
  await tell('create_sign_in_link', { email: 'nobody@example.com' });
  await tell('create_sign_in_link', { email: 'grace@example.com' }, asReader);
  await clientStory(tell);
  await tell('list_sessions', { userId: user.id, includeTotal: true });
  await tell('end_session', { id: 'ses_none' });
  const steps = [{ id: 'a', tool: 'list_skills', arguments: { limit: '{{ input.limit }}' }, when: 'input.go' }];
  const flow = await tell('create_flow', {
    name: 'Nightly',
    steps,
    trigger: { kind: 'cron', expression: '0 3 * * *' },
  });
  await tell('create_flow', {
    name: 'Bad',
    steps: [{ id: 'b', tool: 'list_skill', when: '1 +' }],
    agentId: 'agt_none',
  });
  await tell('update_flow', { id: flow.id, enabled: false, description: 'Off.' });
  await tell('update_flow', { id: flow.id, runAs: {} });
  await tell('get_flow', { id: flow.id }, asReader);
  await tell('get_flow', { id: flow.id });
  await tell('list_flows', { enabled: false });
  await tell('trigger_flow', { id: flow.id });
  await tell('update_flow', { id: flow.id, enabled: true });
  const run = await tell('trigger_flow', { id: flow.id, input: { go: true, limit: 2 }, wait: true });
  await tell('trigger_flow', { id: flow.id }, asReader);
  await tell('get_flow_run', { id: run.id });
  await tell('get_flow_run', { id: 'run_none' });
  await tell('list_flow_runs', { id: flow.id, status: 'succeeded' });
  await tell('list_flow_runs', { limit: 1 }, asReader);
  await tell('cancel_flow_run', { id: run.id });
  await tell('delete_flow', { id: flow.id });
  const report = await tell('create_report', {
    title: 'Skills',
    query: { tool: 'list_skills', arguments: { limit: 1 } },
  });
  await tell('create_report', { title: 'Bad', query: { tool: 'delete_skill', arguments: { id: 'x' } } });
  await tell('get_report', { id: report.id });
  await tell('get_report', { id: report.id, render: true }, asReader);
  await tell('update_report', { id: report.id, query: { tool: 'list_api_keys' }, visualization: 'number' });
  await tell('get_report', { id: report.id, render: true }, asReader);
  await tell('list_reports');
  await tell('delete_report', { id: report.id });
  const config = await tell('get_bot_config');
  await tell('update_bot_config', { promptSections: { b: 'B', a: 'A' }, expectedRevision: config.revision });
  await tell('update_bot_config', { systemPrompt: 'x', promptSections: { 1: 'one' }, maxTokens: 1 });
  await tell('update_settings', { workspaceName: 'Acme', timezone: 'Europe/Berlin' });
  await tell('update_settings', { timezone: 'Mars/Base', currency: 'eur', color: 'red' });
  await tell('get_settings');
  await workspaceStory(tell, agent.id);
  await productStory(tell, asReader);
  const memory = await tell('create_memory', { content: 'Likes tea.', scope: 'agent', agentId: agent.id, tags: ['x'] });
  const newer = await tell('create_memory', { content: 'Likes green tea.', supersedes: memory.id });
  await tell('create_memory', { content: '', scope: 'agent', expiresAt: '2000-01-01T00:00:00Z' });
  await tell('create_memory', { content: 'x', scope: 'agent', agentId: 'agt_none', expiresAt: '2000-01-01T00:00:00Z' });
  await tell('get_memory', { id: memory.id });
  await tell('get_memory', { id: newer.id });
  await tell('update_memory', { id: newer.id, importance: 0.9, pinned: true });
  await tell('list_memories', { q: 'tea', limit: 1, includeTotal: true });
  await tell('list_memories', { tag: 'x', superseded: true });
  await tell('search_memories', { q: 'green' });
  await tell('search', { q: 'ada', limit: 2 });
  await tell('search', { q: 'ada tea', types: ['agent', 'memory'] });
  await tell('search', { q: 'ada', types: ['admin-user'] }, asReader);
  await tell('search', { q: '' });
  await tell('explain_access', { keyId: 'key_none', tool: 'list_skills' });
  await tell('search_tools', { q: 'restore a version', limit: 3 });
  await tell('describe_tool', { name: 'restore_version' });
  await tell('describe_tool', { name: 'create_api_key' }, asReader);
  await tell('call_tool', { name: 'list_projects', arguments: { limit: 1 } });
  await tell('call_tool', { name: 'create_project', arguments: { name: 'x' } }, asReader);
  await tell('delete_memory', { id: newer.id });
  const key = await tell('create_api_key', { name: 'made', scopes: ['read'], grants: ['agent:read'] });
  await tell('explain_access', { keyId: key.id, tool: 'get_agent', arguments: { id: 'agt_none' } });
  await tell('create_api_key', { name: 'bad', scopes: ['nope'], grants: ['agent:'] });
  await integrationStory(tell, asReader);
  await chatStory(tell, asReader);
  await threadStory(tell, key.id, asReader);
  await capsuleStory(tell, asReader);
  await tell('revoke_api_key', { id: key.id });
  await tell('list_api_keys', { limit: 2 });
  await tell('list_audit_entries', { tool: 'get_skill', limit: 1 });
  for (const tool of ['list_event_types', 'list_models', 'list_tool_categories', 'check_health', 'get_system_health'])
    await tell(tool);
  await tell('list_audit_entries', {}, asReader);
  return answers;
}

/** The life of a capsule, and of one that could not be. */
async function capsuleStory(tell: Tell, asReader: Ask): Promise<void> {
  const made = await tell('create_capsule', {
    name: 'Support',
    allowedTools: ['list_agents', '*_skill', 'list_skils', '*_settings'],
    deniedTools: ['delete_*'],
    constraints: { list_agents: { status: 'active' } },
  });
  await tell('create_capsule', {
    name: '',
    allowedTools: ['create_api_key'],
    constraints: { list_agents: { status: 'x', nope: 1 }, list_skils: {} },
    callsPerMinute: 0,
  });
  await tell('create_capsule', { name: 'Never', allowedTools: ['create_api_key'], constraints: { list_skils: {} } });
  await tell('create_capsule', { name: 'Mine' }, asReader);
  const { id } = made;
  await tell('get_capsule', { id });
  await tell('update_capsule', { id, status: 'live', constraints: null, callsPerMinute: 60, expectedRevision: 1 });
  await tell('update_capsule', { id, status: 'disabled', expectedRevision: 1 });
  await tell('preview_capsule', { id, draft: { allowedTools: ['get_*'] } });
  await tell('preview_capsule', {});
  await tell('rotate_capsule_token', { id, graceSeconds: 60 });
  await tell('list_capsules', { status: 'live' });
  await tell('delete_capsule', { id });
  for (const tool of ['get_capsule', 'delete_capsule', 'rotate_capsule_token']) await tell(tool, { id });
}

/** A client that an administrator made, and no app that was let in. */
async function clientStory(tell: Tell): Promise<void> {
  const redirectUris = ['https://example.com/back'];
  const { id } = await tell('create_oauth_client', { name: 'Portal', redirectUris, confidential: true });
  await tell('create_oauth_client', { name: 'Desk', redirectUris: ['http://127.0.0.1/back'], confidential: false });
  await tell('create_oauth_client', { name: 'Bad', redirectUris: ['javascript:x', 'http://a.b'], confidential: false });
  await tell('list_oauth_clients', { kind: 'made' });
  await tell('delete_oauth_client', { id });
  await tell('delete_oauth_client', { id });
  await tell('list_connected_apps', { includeTotal: true });
  await tell('disconnect_app', { id: 'app_none' });
}

/** An integration that is not connected to. */
async function integrationStory(tell: Tell, asReader: Ask): Promise<void> {
  const made = { name: 'Weather', transport: 'http', url: 'http://127.0.0.1:9/mcp', enabled: false };
  const headers = { Authorization: 'Bearer very-secret' };
  const { id } = await tell('create_integration', { ...made, headers });
  await tell('create_integration', made);
  await tell('create_integration', { ...made, transport: 'stdio', toolPrefix: 'Not__good' });
  await tell('create_integration', made, asReader);
  await tell('update_integration', { id, headers: { Authorization: '•••', 'X-Other': '•••' } });
  await tell('update_integration', { id, readOnlyTools: ['get_*'], timeoutMs: 1000, expectedRevision: 1 });
  await tell('get_integration', { id });
  await tell('list_integrations', { enabled: false });
  await tell('refresh_integration', { id, accept: true });
  for (const tool of ['connect_integration', 'disconnect_integration']) await tell(tool, { id });
  await tell('list_integration_accounts', { integrationId: id });
  await tell('list_integration_accounts', { userId: 'usr_other' }, asReader);
  await tell('delete_integration', { id });
  await tell('delete_integration', { id });
}

/** A project with a goal, a task for the agent, a document, an artifact and a table. */
async function workspaceStory(tell: Tell, assigneeAgentId: string): Promise<void> {
  const project = await tell('create_project', { name: 'Launch' });
  const projectId = project.id;
  await tell('update_project', { id: projectId, description: 'Soon.' });
  const goal = await tell('create_goal', { title: 'Ship', projectId, targetDate: '2026-12-24' });
  await tell('update_goal', { id: goal.id, progress: 2 });
  await tell('update_goal', { id: goal.id, progress: 0.5, targetDate: null });
  const task = await tell('create_task', { title: 'Write', projectId, goalId: goal.id, content: '# Brief' });
  await tell('update_task', { id: task.id, assigneeAgentId, dueAt: '2026-12-01T09:00:00Z' });
  await tell('update_task', { id: task.id, goalId: 'gol_none' });
  await tell('update_task', { id: task.id, dueAt: '2026-12-01T09:00:00+02:00' });
  await tell('update_task_document', { id: task.id, content: '# Brief\nDone.', expectedRevision: 1 });
  const document = await tell('create_document', { title: 'Notes', projectId, tags: ['launch'] });
  await tell('update_document', { id: document.id, content: 'text' });
  const artifact = await tell('create_artifact', { name: 'a', mimeType: 'image/png', data: 'AAEC', projectId });
  await tell('update_artifact', { id: artifact.id, mimeType: 'text/plain', content: 'x' });
  await tell('create_artifact', { name: 'b', mimeType: 'nonsense', content: 'x', data: '!' });
  const columns = [{ name: 'Name', type: 'string', required: true }];
  const database = await tell('create_database', { name: 'Leads', columns });
  const record = await tell('create_record', { databaseId: database.id, values: { Name: 'Ada' } });
  await tell('create_record', { databaseId: database.id, values: { Nmae: 'Ada' } });
  const inDatabase = { databaseId: database.id, id: record.id };
  await tell('update_record', { ...inDatabase, values: { Name: 'Grace' } });
  const renameColumns = [{ from: 'Name', to: 'Person' }];
  await tell('update_database', { id: database.id, renameColumns, addColumns: [{ name: 'Size', type: 'number' }] });
  await tell('update_database', { id: database.id, renameColumns });
  await tell('list_records', { databaseId: database.id, filter: { Person: 'Grace' }, sort: { column: 'Size' } });
  await tell('delete_project', { id: projectId });
  await tell('delete_goal', { id: goal.id });
  await tell('delete_database', { id: database.id });
  for (const kind of ['project', 'goal', 'task', 'document', 'artifact', 'database']) await tell(`list_${kind}s`, {});
  await tell('list_records', { databaseId: database.id });
  await tell('get_record', inDatabase);
  await tell('delete_record', inDatabase);
  await tell('get_database', { id: database.id });
  await tell('delete_database', { id: database.id });
  await tell('get_task_document', { id: task.id });
  for (const [kind, { id }] of Object.entries({ artifact, document, task, goal, project })) {
    await tell(`get_${kind}`, { id });
    await tell(`delete_${kind}`, { id });
    await tell(`get_${kind}`, { id });
  }
}

/** Replaces what differs from run to run (ids by the order in which they appear, times, secrets, durations) and the door's own name. */
export function normalised(value: unknown, door: string): unknown {
  const ids = new Map<string, string>();
  const text = JSON.stringify(value)
    .replaceAll(`"door":"${door}"`, '"door":"own"')
    .replace(/"(secret|token|url|idToken)":"[^"]+"/g, '"$1":""')
    .replace(/"(prefix|tokenPrefix|nextCursor|requestId|contentHash)":"[^"]*"/g, '"$1":""')
    .replace(/"(durationMs|latencyMs|uptimeSeconds)":[\d.]+/g, '"$1":0')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\b[a-z]{3}_[0-9a-z]{26}\b/g, (id) => {
      const known = ids.get(id) ?? `${id.slice(0, 3)}_${ids.size}`;
      ids.set(id, known);
      return known;
    });
  return JSON.parse(text);
}
