import { catalog } from '../../tools/catalog.ts';
import type { ToolAnswer } from '../support/calls.ts';

export type Input = Record<string, unknown>;
export type Ask = (tool: string, input: Input) => Promise<ToolAnswer>;

// biome-ignore lint/suspicious/noExplicitAny: the story looks into outputs freely
type Act = (tool: string, input?: Input, as?: Ask) => Promise<any>;

/** The life of a thread that is shared, forked, restricted and deleted. */
async function threadStory(act: Act, keyId: string, asReader: Ask): Promise<void> {
  const messages = [
    { role: 'user', content: 'Hello?' },
    { role: 'assistant', content: 'Hello.' },
  ];
  const { id } = await act('create_thread', { title: 'First', source: 'test', messages });
  await act('create_thread', { title: 'Nobody', agentIds: ['agt_none'] });
  await act('get_thread', { id });
  const principal = { type: 'api-key', id: keyId };
  await act('add_thread_access', { id, entries: [{ principal, role: 'viewer' }] });
  await act('add_thread_access', { id, entries: [{ principal: { type: 'user', id: 'usr_none' }, role: 'viewer' }] });
  await act('get_thread_access', { id }, asReader);
  await act('update_thread', { id, status: 'archived', expectedRevision: 2 });
  await act('update_thread', { id, title: 'Second', expectedRevision: 2 });
  await act('update_thread', { id, title: 'Mine' }, asReader);
  const page = await act('list_messages', { id, limit: 1 });
  const fork = await act('fork_thread', { id, messageId: page.data[0].id });
  await act('list_messages', { id: fork.id, order: 'oldest' });
  await act('fork_thread', { id, messageId: 'msg_none' });
  await act('update_thread_access', { id, visibility: 'restricted' });
  for (const tool of ['get_thread', 'list_messages', 'get_thread_access']) await act(tool, { id }, asReader);
  for (const tool of ['list_threads', 'get_thread_stats']) await act(tool, {}, asReader);
  for (const tool of ['get_thread', 'get_thread_access']) await act(tool, { id });
  await act('get_thread_stats');
  await act('list_threads', { status: 'archived', includeTotal: true });
  await act('remove_thread_access', { id, principalType: 'api-key', principalId: keyId });
  await act('remove_thread_access', { id });
  await act('delete_thread', { id });
  await act('delete_thread', { id });
}

/** Conversations with an agent on the built-in model, and work it is given. */
async function chatStory(act: Act, asReader: Ask): Promise<void> {
  const tools = ['list_skills', 'delete_agent'];
  const { id } = await act('create_agent', { name: 'chatty', displayName: 'Chatty', tools });
  const message = '/list_skills {"limit": 1}';
  const { threadId } = await act('send_chat_message', { message, agentId: 'chatty' });
  await act('send_chat_message', { message: 'Well?', threadId });
  const { data: runs } = await act('list_agent_runs', { threadId, includeTotal: true });
  await act('get_agent_run', { id: runs[0].id });
  await act('get_agent_run', { id: 'run_none' });
  await act('cancel_agent_run', { id: runs[0].id });
  await act('cancel_agent_run', { id: 'run_none' }, asReader);
  const { data: messages } = await act('list_messages', { id: threadId, limit: 2 });
  for (const { id: messageId } of messages) await act('explain_answer', { messageId });
  await act('explain_answer', { messageId: 'msg_none' });
  await act('send_chat_message', { message: '/delete_skill {"id": "skl_none"}', threadId });
  await act('send_chat_message', { message, agentId: id }, asReader);
  await act('send_chat_message', { message, threadId: 'thr_none' });
  await act('send_chat_message', { message, agentId: id, model: 'nobody/none' });
  await act('list_messages', { id: threadId, order: 'oldest' });
  const outputSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
  await act('invoke_agent', { agent: 'chatty', input: message, outputSchema });
  await act('invoke_agent', { agent: id, input: 'x', outputSchema: { type: 'string', pattern: 'x' } });
  await act('update_agent', { id, status: 'paused' });
  await act('invoke_agent', { agent: id, input: 'x' });
  await act('delete_thread', { id: threadId });
  await act('delete_agent', { id });
}

/** Imported rows, the users in them, and what is computed from them. */
async function productStory(act: Act, asReader: Ask): Promise<void> {
  const users = [
    { uid: 'u1', email: 'one@example.com', status: 'PRO', createdAt: '2026-01-01' },
    { uid: 'u2', email: 'two@example.com', status: 'FREE', name: 'Two', createdAt: '2026-01-02' },
  ];
  await act('import_records', { type: 'users', records: users });
  await act('import_records', { type: 'users', records: [{ uid: 'u3', emial: 'x', status: 'pro' }] });
  await act('import_records', { type: 'users', records: users }, asReader);
  await act('rebuild_metrics', { tables: ['customer_changes'] });
  const terms = { plan: 'pro', amount: 1000, currency: 'EUR', interval: 'month', status: 'active' };
  await act('import_records', {
    type: 'subscriptions',
    records: [{ id: 's1', uid: 'u1', ...terms, startedAt: '2026-01-01' }],
  });
  await act('list_users', { search: 'TWO@', includeTotal: true });
  await act('list_users', { limit: 1, status: 'PRO' }, asReader);
  for (const tool of ['get_user', 'get_user_billing', 'get_user_timeline', 'list_user_websites']) {
    await act(tool, { userId: 'u1' });
    await act(tool, { userId: 'nobody' });
  }
  const range = { from: '2026-01-01', to: '2026-04-01', timezone: 'UTC' };
  for (const { group, tool } of catalog.entries) if (group === 'Analytics') await act(tool.name, range);
  await act('get_mrr', { from: '2026-02-01', to: '2026-01-01' });
}

/** The life of two agents and a skill, with every tool called at least once and every error code on the way. */
export async function story(ask: Ask, asReader: Ask): Promise<ToolAnswer[]> {
  const answers: ToolAnswer[] = [];
  const act = async (tool: string, input: Input = {}, as = ask) => {
    const answer = await as(tool, input);
    answers.push(answer);
    // biome-ignore lint/suspicious/noExplicitAny: the story looks into outputs freely
    return 'output' in answer ? (answer.output as any) : answer.error;
  };
  const skill = await act('create_skill', { name: 'triage', instructions: 'one\ntwo' });
  await act('update_skill', { id: skill.id, instructions: 'one\n2', expectedRevision: 1 });
  await act('update_skill', { id: skill.id, instructions: 'x', expectedRevision: 1 });
  await act('get_skill', { id: skill.id });
  const agent = await act('create_agent', {
    name: 'ada',
    displayName: 'Ada',
    skillIds: [skill.id],
    tools: ['get_agent'],
  });
  await act('create_agent', { name: 'vague', displayName: 'Vague', tools: ['get_agent', 'nothing'] });
  await act('create_agent', { name: 'ada', displayName: 'Ada again' });
  await act('create_agent', { name: '', displayname: 'x', identity: { phone: { enabled: true, number: '1' } } });
  await act('create_agent', { name: 'bob', displayName: 'Bob' }, asReader);
  await act('provision_agent_identity', { id: agent.id, phone: { number: '+15550100', a2pStatus: 'pending' } });
  await act('update_agent', { id: agent.id, description: 'An agent.', identity: { bio: 'b' } });
  await act('get_agent', { id: agent.id });
  await act('get_agent', { id: agent.id }, asReader);
  await act('get_agent', { id: 'agt_none' });
  await act('list_agents', { limit: 1, includeTotal: true });
  await act('list_agents', { limit: 0 });
  await act('list_agents', { cursor: 'foreign' });
  await act('delete_skill', { id: skill.id });
  const versions = await act('list_versions', { entityType: 'agent', entityId: agent.id });
  const first = { entityType: 'agent', entityId: agent.id, versionId: versions.data.at(-1).id };
  await act('get_version', first);
  await act('diff_version', { ...first, against: 'current' });
  await act('restore_version', { ...first, expectedRevision: 1 });
  await act('restore_version', first);
  await act('delete_agent', { id: agent.id });
  await act('delete_skill', { id: skill.id });
  await act('get_skill', { id: skill.id });
  await act('list_skills', {});
  await act('undo_changes', { by: { agentId: agent.id }, since: '2026-01-01T00:00:00Z', dryRun: true });
  await act('purge_record', { entityType: 'skill', id: skill.id });
  await act('purge_record', { entityType: 'skill', id: skill.id });
  await act('purge_record', { entityType: 'agent-config', id: 'bot-config' });
  await act('purge_record', { entityType: 'agent', id: agent.id }, asReader);
  const user = await act('create_admin_user', { email: 'grace@example.com', role: 'admin' });
  await act('create_admin_user', { email: 'GRACE@example.com' });
  await act('update_admin_user', { id: user.id, name: 'Grace', role: 'member', expectedRevision: user.revision });
  await act('deactivate_admin_user', { id: user.id });
  await act('reactivate_admin_user', { id: user.id });
  await act('get_admin_user', { id: user.id });
  await act('list_admin_users', { isActive: true });
  await act('create_sign_in_link', { email: 'GRACE@example.com' });
  await act('create_sign_in_link', { email: 'nobody@example.com' });
  await act('create_sign_in_link', { email: 'grace@example.com' }, asReader);
  await clientStory(act);
  await usageStory(act, asReader);
  await act('list_sessions', { userId: user.id, includeTotal: true });
  await act('end_session', { id: 'ses_none' });
  await act('list_passkeys', { userId: user.id, includeTotal: true });
  await act('rename_passkey', { id: 'psk_none', name: 'Phone' });
  await act('delete_passkey', { id: 'psk_none' });
  const steps = [{ id: 'a', tool: 'list_skills', arguments: { limit: '{{ input.limit }}' }, when: 'input.go' }];
  const flow = await act('create_flow', {
    name: 'Nightly',
    steps,
    trigger: { kind: 'cron', expression: '0 3 * * *' },
  });
  await act('create_flow', {
    name: 'Bad',
    steps: [{ id: 'b', tool: 'list_skill', when: '1 +' }],
    agentId: 'agt_none',
  });
  await act('update_flow', { id: flow.id, enabled: false, description: 'Off.' });
  await act('update_flow', { id: flow.id, runAs: {} });
  await act('list_flow_deliveries', { id: flow.id, outcome: 'run' });
  await act('list_flow_deliveries', { id: 'flw_none' });
  await act('get_flow', { id: flow.id }, asReader);
  await act('get_flow', { id: flow.id });
  await act('list_flows', { enabled: false });
  await act('trigger_flow', { id: flow.id });
  await act('update_flow', { id: flow.id, enabled: true });
  const run = await act('trigger_flow', { id: flow.id, input: { go: true, limit: 2 }, wait: true });
  await act('trigger_flow', { id: flow.id }, asReader);
  await act('get_flow_run', { id: run.id });
  await act('get_flow_run', { id: 'run_none' });
  await act('list_flow_runs', { id: flow.id, status: 'succeeded' });
  await act('list_flow_runs', { limit: 1 }, asReader);
  await act('cancel_flow_run', { id: run.id });
  await act('retry_flow_run', { id: run.id, fromStep: 'none' });
  await act('retry_flow_run', { id: 'run_none' });
  await act('delete_flow', { id: flow.id });
  const report = await act('create_report', {
    title: 'Skills',
    query: { tool: 'list_skills', arguments: { limit: 1 } },
  });
  await act('create_report', { title: 'Bad', query: { tool: 'delete_skill', arguments: { id: 'x' } } });
  await act('get_report', { id: report.id });
  await act('get_report', { id: report.id, render: true }, asReader);
  await act('update_report', { id: report.id, query: { tool: 'list_api_keys' }, visualization: 'number' });
  await act('get_report', { id: report.id, render: true }, asReader);
  await act('list_reports');
  await act('delete_report', { id: report.id });
  const config = await act('get_bot_config');
  await act('update_bot_config', { promptSections: { b: 'B', a: 'A' }, expectedRevision: config.revision });
  await act('update_bot_config', { systemPrompt: 'x', promptSections: { 1: 'one' }, maxTokens: 1 });
  await act('update_settings', { workspaceName: 'Acme', timezone: 'Europe/Berlin' });
  await act('update_settings', { timezone: 'Mars/Base', currency: 'eur', color: 'red' });
  await act('get_settings');
  await workspaceStory(act, agent.id);
  await productStory(act, asReader);
  const memory = await act('create_memory', { content: 'Likes tea.', scope: 'agent', agentId: agent.id, tags: ['x'] });
  const newer = await act('create_memory', { content: 'Likes green tea.', supersedes: memory.id });
  await act('create_memory', { content: '', scope: 'agent', expiresAt: '2000-01-01T00:00:00Z' });
  await act('create_memory', { content: 'x', scope: 'agent', agentId: 'agt_none', expiresAt: '2000-01-01T00:00:00Z' });
  await act('get_memory', { id: memory.id });
  await act('get_memory', { id: newer.id });
  await act('update_memory', { id: newer.id, importance: 0.9, pinned: true });
  await act('list_memories', { q: 'tea', limit: 1, includeTotal: true });
  await act('list_memories', { tag: 'x', superseded: true });
  await act('search_memories', { q: 'green' });
  await act('search', { q: 'ada', limit: 2 });
  await act('search', { q: 'ada tea', types: ['agent', 'memory'] });
  await act('search', { q: 'ada', types: ['admin-user'] }, asReader);
  await act('search', { q: '' });
  await act('explain_access', { keyId: 'key_none', tool: 'list_skills' });
  await act('search_tools', { q: 'restore a version', limit: 1 });
  await act('get_current_principal');
  await act('describe_tool', { name: 'restore_version' });
  await act('describe_tool', { name: 'create_api_key' }, asReader);
  await act('call_tool', { name: 'list_projects', arguments: { limit: 1 } });
  await act('call_tool', { name: 'create_project', arguments: { name: 'x' } }, asReader);
  await act('delete_memory', { id: newer.id });
  const key = await act('create_api_key', { name: 'made', scopes: ['read'], grants: ['agent:read'] });
  await act('explain_access', { keyId: key.id, tool: 'get_agent', arguments: { id: 'agt_none' } });
  await act('list_who_can', { tool: 'get_agent', types: ['key'], limit: 1 });
  await act('list_who_can', { tool: 'list_skills', id: 'agt_none' });
  await act('list_who_can', { tool: 'get_agnt' });
  await act('list_who_can', { tool: 'get_agent' }, asReader);
  await act('view_as', { keyId: key.id });
  await act('view_as', { keyId: 'key_none' });
  await act('replay_calls', { keyId: key.id, draft: { grants: ['skill:read'] } });
  await act('replay_calls', { keyId: key.id, draft: { tools: ['get_agent'] }, days: 1 });
  await act('suggest_access', { keyId: key.id, days: 7 });
  await act('suggest_access', { capsuleId: 'cap_none' });
  await act('create_api_key', { name: 'bad', scopes: ['nope'], grants: ['agent:'] });
  await integrationStory(act, asReader);
  await providerStory(act, asReader);
  await approvalStory(act, asReader);
  await connectionStory(act, asReader);
  await webhookStory(act, asReader);
  await chatStory(act, asReader);
  await threadStory(act, key.id, asReader);
  await capsuleStory(act, asReader);
  const bundle = await act('create_capsule', { name: 'handed over' });
  const taking = { type: 'capsule', id: bundle.id, expectedRevision: bundle.revision };
  await act('take_over', { ...taking, token: 'keep' });
  await act('take_over', taking);
  await act('rotate_api_key', { id: key.id, graceSeconds: 60 });
  await act('revoke_api_key', { id: key.id });
  await act('list_api_keys', { limit: 2 });
  await act('list_audit_entries', { tool: 'get_skill', limit: 1 });
  for (const tool of [
    ...['list_event_types', 'list_models', 'list_tool_categories', 'check_health', 'get_system_health'],
    ...['check_setup', 'list_backups', 'create_backup', 'verify_audit'],
  ])
    await act(tool);
  await act('list_audit_entries', {}, asReader);
  return answers;
}

async function capsuleStory(act: Act, asReader: Ask): Promise<void> {
  const made = await act('create_capsule', {
    name: 'Support',
    allowedTools: ['list_agents', '*_skill', 'list_skils', '*_settings'],
    deniedTools: ['delete_*'],
    constraints: { list_agents: { status: 'active' } },
  });
  await act('create_capsule', {
    name: '',
    allowedTools: ['create_api_key'],
    constraints: { list_agents: { status: 'x', nope: 1 }, list_skils: {} },
    callsPerMinute: 0,
  });
  await act('create_capsule', { name: 'Never', allowedTools: ['create_api_key'], constraints: { list_skils: {} } });
  await act('create_capsule', { name: 'Mine' }, asReader);
  const { id } = made;
  await act('get_capsule', { id });
  await act('update_capsule', { id, status: 'live', constraints: null, callsPerMinute: 60, expectedRevision: 1 });
  await act('update_capsule', { id, status: 'disabled', expectedRevision: 1 });
  await act('preview_capsule', { id, draft: { allowedTools: ['get_*'] } });
  await act('preview_capsule', {});
  await act('rotate_capsule_token', { id, graceSeconds: 60 });
  await act('list_capsules', { status: 'live' });
  await act('delete_capsule', { id });
  for (const tool of ['get_capsule', 'delete_capsule', 'rotate_capsule_token']) await act(tool, { id });
}

/** A client that an administrator made, and no app that was let in. */
async function clientStory(act: Act): Promise<void> {
  const redirectUris = ['https://example.com/back'];
  const { id } = await act('create_oauth_client', { name: 'Portal', redirectUris, confidential: true });
  await act('create_oauth_client', { name: 'Desk', redirectUris: ['http://127.0.0.1/back'], confidential: false });
  await act('create_oauth_client', { name: 'Bad', redirectUris: ['javascript:x', 'http://a.b'], confidential: false });
  await act('list_oauth_clients', { kind: 'made' });
  await act('delete_oauth_client', { id });
  await act('delete_oauth_client', { id });
  const [user] = (await act('list_admin_users', { limit: 1 })).data;
  await act('list_holdings', { userId: user.id, limit: 3 });
  await act('list_holdings', { userId: 'usr_none' });
  await act('list_connected_apps', { includeTotal: true });
  await act('update_connected_app', { id: 'app_none', askFirst: ['delete_*'] });
  await act('disconnect_app', { id: 'app_none' });
}

/** What was used until now, what it costs, and a budget of an agent. */
async function usageStory(act: Act, asReader: Ask): Promise<void> {
  const price = { model: 'rehearsal', from: '2026-01-01', currency: 'USD', input: 0.15, output: 0.6 };
  await act('update_settings', { prices: [price] });
  await act('update_settings', { prices: [price, price] });
  await act('get_usage', { by: 'tool', interval: 'month', limit: 2 });
  await act('get_usage', { by: 'agent', filter: { tool: 'list_agents' }, from: '2026-02-01T00:00:00Z' });
  await act('get_usage', { by: 'model', interval: 'hour', from: '2020-01-01T00:00:00Z' });
  await act('get_usage', { by: 'tool' }, asReader);
  await act('create_agent', { name: 'thrifty', displayName: 'Thrifty' });
  const subject = { type: 'agent', id: 'thrifty' };
  const { id } = await act('create_budget', { subject, measure: 'cost', period: 'month', limit: 12.5 });
  await act('create_budget', { subject, measure: 'cost', period: 'month', limit: 1 });
  await act('create_budget', { subject, measure: 'calls', period: 'day', limit: 1.5 });
  await act('create_budget', { subject: { type: 'key', id: 'key_none' }, measure: 'calls', period: 'day', limit: 1 });
  await act('update_budget', { id, limit: 20, warnAt: 0.5, expectedRevision: 1 });
  await act('update_budget', { id, enabled: false, expectedRevision: 1 });
  await act('list_budgets', { subject, includeTotal: true });
  await act('delete_budget', { id });
  for (const tool of ['update_budget', 'delete_budget']) await act(tool, { id });
}

/** An integration that is not connected to. */
async function integrationStory(act: Act, asReader: Ask): Promise<void> {
  const made = { name: 'Weather', transport: 'http', url: 'http://127.0.0.1:9/mcp', enabled: false };
  const headers = { Authorization: 'Bearer very-secret' };
  const { id } = await act('create_integration', { ...made, headers });
  await act('create_integration', made);
  await act('create_integration', { ...made, transport: 'stdio', toolPrefix: 'Not__good' });
  await act('create_integration', made, asReader);
  await act('update_integration', { id, headers: { Authorization: '•••', 'X-Other': '•••' } });
  await act('update_integration', { id, readOnlyTools: ['get_*'], timeoutMs: 1000, expectedRevision: 1 });
  await act('get_integration', { id });
  await act('list_integrations', { enabled: false });
  await act('refresh_integration', { id, accept: true });
  for (const tool of ['connect_integration', 'disconnect_integration']) await act(tool, { id });
  await act('list_integration_accounts', { integrationId: id });
  await act('list_integration_accounts', { userId: 'usr_other' }, asReader);
  await act('delete_integration', { id });
  await act('delete_integration', { id });
}

/** Nobody answers at the connection. */
async function connectionStory(act: Act, asReader: Ask): Promise<void> {
  const made = { name: 'weather', kind: 'http', baseUrl: 'http://127.0.0.1:9/api', paths: ['/days/*'] };
  const { id } = await act('create_connection', { ...made, auth: { type: 'bearer', secret: 'very-secret' } });
  await act('create_connection', made);
  await act('create_connection', { ...made, name: 'Not Good' });
  await act('create_connection', { ...made, name: 'slack', kind: 'slack' });
  await act('create_connection', made, asReader);
  await act('update_connection', {
    id,
    auth: { type: 'bearer', secret: '•••' },
    methods: ['GET'],
    expectedRevision: 1,
  });
  await act('update_connection', { id, baseUrl: 'http://127.0.0.1:10/', expectedRevision: 2 });
  await act('list_connections');
  await act('send_http_request', { connection: 'weather', path: '/days/../keys' });
  await act('send_http_request', { connection: 'weather', path: '/nights/1' });
  await act('send_http_request', { connection: 'none', path: '/days/1' });
  await act('send_message', { connection: 'weather', text: 'Rain.' });
  await act('send_mail', { to: ['stranger@example.com'], subject: 'Rain', markdown: '# Rain' });
  await act('send_mail', { to: ['a@example.com'], subject: 'Two\r\nBcc: b@example.com', markdown: 'x' }, asReader);
  await act('delete_connection', { id });
  await act('delete_connection', { id });
}

/** A provider of models at which nobody answers. */
async function providerStory(act: Act, asReader: Ask): Promise<void> {
  const made = { name: 'lab', kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', enabled: false };
  const { id } = await act('create_model_provider', { ...made, apiKey: 'very-secret', headers: { 'X-Team': 'lab' } });
  await act('create_model_provider', made);
  await act('create_model_provider', { ...made, name: 'offline' });
  await act('create_model_provider', { ...made, name: 'other', baseUrl: undefined });
  await act('create_model_provider', made, asReader);
  await act('update_model_provider', { id, baseUrl: 'http://127.0.0.1:8/v1' });
  await act('update_model_provider', {
    id,
    apiKey: '•••',
    headers: {},
    models: [{ name: 'tiny' }],
    expectedRevision: 1,
  });
  await act('update_model_provider', { id, enabled: false, expectedRevision: 1 });
  await act('list_model_providers');
  await act('list_model_providers', {}, asReader);
  await act('test_model_provider', { id });
  await act('delete_model_provider', { id });
  for (const tool of ['update_model_provider', 'delete_model_provider', 'test_model_provider']) await act(tool, { id });
}

/** No call waits for a person. */
async function approvalStory(act: Act, asReader: Ask): Promise<void> {
  await act('list_approvals', { status: 'waiting', limit: 1, includeTotal: true });
  await act('get_approval', { id: 'apv_none' });
  await act('wait_for_approval', { id: 'apv_none', seconds: 0 });
  await act('decide_approval', { id: 'apv_none', decision: 'reject', note: 'No.' });
  await act('decide_approval', { id: 'apv_none', decision: 'perhaps' });
  await act('decide_approval', { id: 'apv_none', decision: 'approve' }, asReader);
}

/** A webhook that sends mails, and is switched off. */
async function webhookStory(act: Act, asReader: Ask): Promise<void> {
  const made = { name: 'Ops', target: { email: 'ops@example.com' }, alerts: ['flow.failed'], enabled: false };
  const { id } = await act('create_webhook', { ...made, events: ['skill.created'] });
  await act('create_webhook', { ...made, events: ['skill.vanished'] });
  await act('create_webhook', { ...made, target: { url: 'http://127.0.0.1:9/', email: 'a@example.com' } });
  await act('create_webhook', { ...made, target: { url: 'ftp://example.com' }, alerts: ['nope'] });
  await act('create_webhook', { ...made, alerts: [] });
  await act('create_webhook', made, asReader);
  await act('update_webhook', { id, name: 'Operators', events: [], expectedRevision: 1 });
  await act('update_webhook', { id, alerts: [] });
  await act('get_webhook', { id });
  await act('list_webhooks', { limit: 1 });
  await act('rotate_webhook_secret', { id });
  await act('list_webhook_deliveries', { id, status: 'failed' });
  await act('retry_webhook_delivery', { id: 'whd_none' });
  await act('delete_webhook', { id });
  for (const tool of ['get_webhook', 'test_webhook', 'delete_webhook']) await act(tool, { id });
}

/** A project with a goal, a task for the agent, a document, an artifact and a table. */
async function workspaceStory(act: Act, assigneeAgentId: string): Promise<void> {
  const project = await act('create_project', { name: 'Launch' });
  const projectId = project.id;
  await act('update_project', { id: projectId, description: 'Soon.' });
  const goal = await act('create_goal', { title: 'Ship', projectId, targetDate: '2026-12-24' });
  await act('update_goal', { id: goal.id, progress: 2 });
  await act('update_goal', { id: goal.id, progress: 0.5, targetDate: null });
  const task = await act('create_task', { title: 'Write', projectId, goalId: goal.id, content: '# Brief' });
  await act('update_task', { id: task.id, assigneeAgentId, dueAt: '2026-12-01T09:00:00Z' });
  await act('update_task', { id: task.id, goalId: 'gol_none' });
  await act('update_task', { id: task.id, dueAt: '2026-12-01T09:00:00+02:00' });
  await act('update_task_document', { id: task.id, content: '# Brief\nDone.', expectedRevision: 1 });
  const document = await act('create_document', { title: 'Notes', projectId, tags: ['launch'] });
  await act('update_document', { id: document.id, content: 'text' });
  await act('search_passages', { q: 'text', projectId });
  await act('get_document', { id: document.id, around: 2, limit: 2 });
  const artifact = await act('create_artifact', { name: 'a', mimeType: 'image/png', data: 'AAEC', projectId });
  await act('update_artifact', { id: artifact.id, mimeType: 'text/plain', content: 'x' });
  await act('create_artifact', { name: 'b', mimeType: 'nonsense', content: 'x', data: '!' });
  const columns = [{ name: 'Name', type: 'string', required: true }];
  const database = await act('create_database', { name: 'Leads', columns });
  const record = await act('create_record', { databaseId: database.id, values: { Name: 'Ada' } });
  await act('create_record', { databaseId: database.id, values: { Nmae: 'Ada' } });
  const inDatabase = { databaseId: database.id, id: record.id };
  await act('update_record', { ...inDatabase, values: { Name: 'Grace' } });
  const renameColumns = [{ from: 'Name', to: 'Person' }];
  await act('update_database', { id: database.id, renameColumns, addColumns: [{ name: 'Size', type: 'number' }] });
  await act('update_database', { id: database.id, renameColumns });
  await act('list_records', { databaseId: database.id, filter: { Person: 'Grace' }, sort: { column: 'Size' } });
  await act('delete_project', { id: projectId });
  await act('delete_goal', { id: goal.id });
  await act('delete_database', { id: database.id });
  for (const kind of ['project', 'goal', 'task', 'document', 'artifact', 'database']) await act(`list_${kind}s`, {});
  await act('list_records', { databaseId: database.id });
  await act('get_record', inDatabase);
  await act('delete_record', inDatabase);
  await act('get_database', { id: database.id });
  await act('delete_database', { id: database.id });
  await act('get_task_document', { id: task.id });
  for (const [kind, { id }] of Object.entries({ artifact, document, task, goal, project })) {
    await act(`get_${kind}`, { id });
    await act(`delete_${kind}`, { id });
    await act(`get_${kind}`, { id });
  }
}

/** Replaces what differs from run to run (ids by the order in which they appear, times, secrets, durations) and the door's own name. */
export function normalised(value: unknown, door: string): unknown {
  const ids = new Map<string, string>();
  const text = JSON.stringify(value)
    .replaceAll(`"door":"${door}"`, '"door":"own"')
    .replace(/"(secret|token|url|idToken)":"[^"]+"/g, '"$1":""')
    .replace(/"(prefix|tokenPrefix|nextCursor|requestId|contentHash)":"[^"]*"/g, '"$1":""')
    // What the doctor says of folders, addresses and disks.
    .replace(/("about":"[^"]+"),"text":"(?:[^"\\]|\\.)*"/g, '$1')
    .replace(/"(durationMs|latencyMs|ms|p50Ms|p95Ms|uptimeSeconds)":[\d.]+/g, '"$1":0')
    .replace(/"(hash|publicKey)":"[\w-]{43}"/g, '"$1":""')
    // A head is signed each minute too.
    .replace(/"(entries|heads|unsigned)":\d+/g, '"$1":0')
    .replace(/"number":\d+,"at"/g, '"number":0,"at"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\b[a-z]{3}_[0-9a-z]{26}\b/g, (id) => {
      const known = ids.get(id) ?? `${id.slice(0, 3)}_${ids.size}`;
      ids.set(id, known);
      return known;
    });
  return JSON.parse(text);
}
