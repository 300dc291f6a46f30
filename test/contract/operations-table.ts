import { readFileSync } from 'node:fs';

/** One line of operations.tsv: an operation of the specification with the tool, scope, grant and status decided for it. */
export interface Operation {
  readonly group: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly tool: string;
  readonly scope: string;
  readonly grant: string;
  readonly status: number;
}

/** The 85 operations, in the order of the specification. */
export const operations: readonly Operation[] = readFileSync(new URL('operations.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [group = '', method = '', path = '', summary = '', tool = '', scope = '', grant = '', status = ''] =
      line.split('\t');
    return { group, method, path, summary, tool, scope, grant, status: Number(status) };
  });

interface Right {
  readonly scope: string;
  readonly grant: string;
}

/** The five tools of a kind of record, with their rights. */
function lifeOf(group: string, resource: string): Readonly<Record<string, Right>> {
  const [read, write] = [`${group}:read`, `${group}:write`];
  return {
    [`list_${group}`]: { scope: read, grant: `${resource}:read` },
    [`get_${resource}`]: { scope: read, grant: `${resource}:read:{id}` },
    [`create_${resource}`]: { scope: write, grant: `${resource}:write` },
    [`update_${resource}`]: { scope: write, grant: `${resource}:write:{id}` },
    [`delete_${resource}`]: { scope: write, grant: `${resource}:delete:{id}` },
  };
}

/** The same for tools without a REST path. */
export const toolsWithoutPath: Readonly<Record<string, Right>> = {
  list_api_keys: { scope: 'admin', grant: 'key:read' },
  create_api_key: { scope: 'admin', grant: 'key:write' },
  revoke_api_key: { scope: 'admin', grant: 'key:write:{id}' },
  list_holdings: { scope: 'admin', grant: 'admin-user:read:{userId}' },
  take_over: { scope: 'admin', grant: 'key:write:{id}' },
  get_current_principal: { scope: '-', grant: '-' },
  rotate_api_key: { scope: 'admin', grant: 'key:write:{id}' },
  update_admin_user: { scope: 'admin', grant: 'admin-user:write:{id}' },
  create_sign_in_link: { scope: 'admin', grant: 'admin-user:write' },
  list_sessions: { scope: 'admin', grant: 'session:read' },
  end_session: { scope: 'admin', grant: 'session:write:{id}' },
  invoke_agent: { scope: 'chat:write', grant: 'agent:invoke:{agent}' },
  provision_agent_identity: { scope: 'admin', grant: 'agent:provision:{id}' },
  ...lifeOf('projects', 'project'),
  ...lifeOf('goals', 'goal'),
  ...lifeOf('tasks', 'task'),
  get_task_document: { scope: 'tasks:read', grant: 'task:read:{id}' },
  update_task_document: { scope: 'tasks:write', grant: 'task:write:{id}' },
  ...lifeOf('documents', 'document'),
  ...lifeOf('artifacts', 'artifact'),
  list_databases: { scope: 'records:read', grant: 'record:read' },
  get_database: { scope: 'records:read', grant: 'record:read:{id}' },
  create_database: { scope: 'records:write', grant: 'record:write' },
  update_database: { scope: 'records:write', grant: 'record:write:{id}' },
  delete_database: { scope: 'records:write', grant: 'record:delete:{id}' },
  ...lifeOf('records', 'record'),
  create_record: { scope: 'records:write', grant: 'record:write:{databaseId}' },
  list_flow_runs: { scope: 'flows:read', grant: 'flow:read' },
  list_flow_deliveries: { scope: 'flows:read', grant: 'flow:read:{id}' },
  receive_webhook: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  list_event_types: { scope: 'flows:read', grant: 'flow:read' },
  get_flow_run: { scope: 'flows:read', grant: 'flow:read:{id}' },
  retry_flow_run: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  cancel_flow_run: { scope: 'flows:write', grant: 'flow:trigger:{id}' },
  list_agent_runs: { scope: 'agents:read', grant: 'agent:read' },
  get_agent_run: { scope: 'agents:read', grant: 'agent:read:{id}' },
  cancel_agent_run: { scope: 'chat:write', grant: 'agent:invoke:{id}' },
  explain_answer: { scope: 'threads:read', grant: 'thread:read:{messageId}' },
  list_connected_apps: { scope: 'admin', grant: 'app:read' },
  update_connected_app: { scope: 'admin', grant: 'app:write:{id}' },
  disconnect_app: { scope: 'admin', grant: 'app:write:{id}' },
  list_oauth_clients: { scope: 'admin', grant: 'oauth-client:read' },
  create_oauth_client: { scope: 'admin', grant: 'oauth-client:write' },
  delete_oauth_client: { scope: 'admin', grant: 'oauth-client:write:{id}' },
  authorize_app: { scope: '-', grant: '-' },
  list_passkeys: { scope: 'admin', grant: 'passkey:read' },
  create_passkey: { scope: 'admin', grant: 'passkey:write' },
  rename_passkey: { scope: 'admin', grant: 'passkey:write:{id}' },
  delete_passkey: { scope: 'admin', grant: 'passkey:write:{id}' },
  confirm_session: { scope: '-', grant: '-' },
  explain_access: { scope: 'admin', grant: 'key:read' },
  list_who_can: { scope: 'admin', grant: 'key:read' },
  replay_calls: { scope: 'admin', grant: 'audit:read' },
  suggest_access: { scope: 'admin', grant: 'audit:read' },
  view_as: { scope: 'admin', grant: 'key:read' },
  search_tools: { scope: '-', grant: '-' },
  describe_tool: { scope: '-', grant: '-' },
  call_tool: { scope: '-', grant: '-' },
  import_records: { scope: 'admin', grant: 'user:import' },
  rebuild_metrics: { scope: 'admin', grant: 'user:import' },
  get_memory: { scope: 'memory:read', grant: 'memory:read:{id}' },
  update_memory: { scope: 'memory:write', grant: 'memory:write:{id}' },
  delete_memory: { scope: 'memory:write', grant: 'memory:delete:{id}' },
  search_passages: { scope: 'documents:read', grant: 'document:read' },
  search_memories: { scope: 'memory:read', grant: 'memory:read' },
  preview_capsule: { scope: 'admin', grant: 'capsule:read:{id}' },
  purge_record: { scope: 'admin', grant: 'record:purge' },
  undo_changes: { scope: 'admin', grant: 'undo:write' },
  list_integrations: { scope: 'admin', grant: 'integration:read' },
  get_integration: { scope: 'admin', grant: 'integration:read:{id}' },
  create_integration: { scope: 'admin', grant: 'integration:write' },
  update_integration: { scope: 'admin', grant: 'integration:write:{id}' },
  delete_integration: { scope: 'admin', grant: 'integration:write:{id}' },
  refresh_integration: { scope: 'admin', grant: 'integration:write:{id}' },
  list_model_providers: { scope: 'settings:read', grant: 'model-provider:read' },
  create_model_provider: { scope: 'admin', grant: 'model-provider:write' },
  update_model_provider: { scope: 'admin', grant: 'model-provider:write:{id}' },
  delete_model_provider: { scope: 'admin', grant: 'model-provider:write:{id}' },
  test_model_provider: { scope: 'admin', grant: 'model-provider:write:{id}' },
  connect_integration: { scope: 'tools:read', grant: 'tool:call:{id}' },
  disconnect_integration: { scope: 'tools:write', grant: 'tool:call:{id}' },
  list_integration_accounts: { scope: 'tools:read', grant: 'tool:call' },
  check_setup: { scope: 'admin', grant: 'system:read' },
  list_backups: { scope: 'admin', grant: 'backup:read' },
  create_backup: { scope: 'admin', grant: 'backup:write' },
  list_webhooks: { scope: 'admin', grant: 'webhook:read' },
  get_webhook: { scope: 'admin', grant: 'webhook:read:{id}' },
  create_webhook: { scope: 'admin', grant: 'webhook:write' },
  update_webhook: { scope: 'admin', grant: 'webhook:write:{id}' },
  rotate_webhook_secret: { scope: 'admin', grant: 'webhook:write:{id}' },
  delete_webhook: { scope: 'admin', grant: 'webhook:write:{id}' },
  test_webhook: { scope: 'admin', grant: 'webhook:write:{id}' },
  list_webhook_deliveries: { scope: 'admin', grant: 'webhook:read:{id}' },
  retry_webhook_delivery: { scope: 'admin', grant: 'webhook:write:{id}' },
  list_connections: { scope: 'admin', grant: 'connection:read' },
  create_connection: { scope: 'admin', grant: 'connection:write' },
  update_connection: { scope: 'admin', grant: 'connection:write:{id}' },
  delete_connection: { scope: 'admin', grant: 'connection:write:{id}' },
  send_http_request: { scope: 'tools:write', grant: 'connection:use:{connection}' },
  send_message: { scope: 'tools:write', grant: 'connection:use:{connection}' },
  send_mail: { scope: 'tools:write', grant: 'mail:send' },
  list_approvals: { scope: 'approvals:read', grant: 'approval:read' },
  get_approval: { scope: '-', grant: '-' },
  decide_approval: { scope: 'admin', grant: 'approval:decide' },
  wait_for_approval: { scope: '-', grant: '-' },
  list_audit_entries: { scope: 'admin', grant: 'audit:read' },
  verify_audit: { scope: 'admin', grant: 'audit:read' },
  get_metrics: { scope: 'agents:read', grant: 'system:read' },
  get_usage: { scope: 'admin', grant: 'usage:read' },
  list_budgets: { scope: 'admin', grant: 'budget:read' },
  create_budget: { scope: 'admin', grant: 'budget:write' },
  update_budget: { scope: 'admin', grant: 'budget:write:{id}' },
  delete_budget: { scope: 'admin', grant: 'budget:write:{id}' },
};
