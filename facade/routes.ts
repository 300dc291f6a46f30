export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One REST operation: a path whose parameters are inputs of the tool, and the status of a successful call. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly tool: string;
  readonly status: number;
  /** The summary in OpenAPI, where it is not the title of the tool. */
  readonly summary?: string;
}

function route(method: Method, path: string, tool: string, status: number, summary?: string): Route {
  return { method, path, tool, status, ...(summary !== undefined && { summary }) };
}

export const routes: readonly Route[] = [
  route('POST', '/api/v1/auth/session', 'create_session', 201),
  route('GET', '/api/v1/auth/session', 'get_session', 200),
  route('DELETE', '/api/v1/auth/session', 'delete_session', 204),

  route('GET', '/api/v1/agents', 'list_agents', 200, 'List all agents'),
  route('POST', '/api/v1/agents', 'create_agent', 201),
  route('GET', '/api/v1/agents/{id}', 'get_agent', 200),
  route('PATCH', '/api/v1/agents/{id}', 'update_agent', 200),
  route('DELETE', '/api/v1/agents/{id}', 'delete_agent', 200, 'Delete agent (soft)'),
  route('GET', '/api/v1/agents/health', 'get_system_health', 200, 'System health'),
  route('GET', '/api/v1/agents/memory', 'list_memories', 200),
  route('POST', '/api/v1/agents/memory', 'create_memory', 201),
  route('GET', '/api/v1/agents/models', 'list_models', 200),
  route('GET', '/api/v1/agents/tools', 'list_tool_categories', 200),

  route('GET', '/api/v1/agents/skills', 'list_skills', 200),
  route('POST', '/api/v1/agents/skills', 'create_skill', 201),
  route('GET', '/api/v1/agents/skills/{id}', 'get_skill', 200),
  route('PATCH', '/api/v1/agents/skills/{id}', 'update_skill', 200),
  route('DELETE', '/api/v1/agents/skills/{id}', 'delete_skill', 204),

  route('GET', '/api/v1/agents/flows', 'list_flows', 200),
  route('POST', '/api/v1/agents/flows', 'create_flow', 201),
  route('GET', '/api/v1/agents/flows/{id}', 'get_flow', 200),
  route('PATCH', '/api/v1/agents/flows/{id}', 'update_flow', 200),
  route('DELETE', '/api/v1/agents/flows/{id}', 'delete_flow', 204),
  route('POST', '/api/v1/agents/flows/{id}/trigger', 'trigger_flow', 202),

  route('POST', '/api/v1/chat', 'send_chat_message', 200),
  route('GET', '/api/v1/threads', 'list_threads', 200),
  route('POST', '/api/v1/threads', 'create_thread', 201),
  route('GET', '/api/v1/threads/{id}', 'get_thread', 200),
  route('PATCH', '/api/v1/threads/{id}', 'update_thread', 200),
  route('DELETE', '/api/v1/threads/{id}', 'delete_thread', 204),
  route('GET', '/api/v1/threads/{id}/access', 'get_thread_access', 200, 'Get thread access state'),
  route('POST', '/api/v1/threads/{id}/access', 'add_thread_access', 201, 'Create thread access entries'),
  route('PATCH', '/api/v1/threads/{id}/access', 'update_thread_access', 200, 'Update thread access settings'),
  route('DELETE', '/api/v1/threads/{id}/access', 'remove_thread_access', 200, 'Remove thread access entries'),
  route('POST', '/api/v1/threads/{id}/fork', 'fork_thread', 201),
  route('GET', '/api/v1/threads/{id}/messages', 'list_messages', 200, 'Get messages'),
  route('GET', '/api/v1/threads/stats', 'get_thread_stats', 200, 'Thread stats'),

  route('GET', '/api/v1/users', 'list_users', 200, 'List users (paginated)'),
  route('GET', '/api/v1/users/{userId}', 'get_user', 200),
  route('GET', '/api/v1/users/{userId}/billing', 'get_user_billing', 200, 'User billing data'),
  route('GET', '/api/v1/users/{userId}/timeline', 'get_user_timeline', 200, 'User timeline'),
  route('GET', '/api/v1/users/{userId}/websites', 'list_user_websites', 200, 'User websites'),

  route('GET', '/api/v1/platform-users', 'list_admin_users', 200),
  route('POST', '/api/v1/platform-users', 'create_admin_user', 201),
  route('GET', '/api/v1/platform-users/{id}', 'get_admin_user', 200),
  route('POST', '/api/v1/platform-users/{id}/deactivate', 'deactivate_admin_user', 200, 'Deactivate'),
  route('POST', '/api/v1/platform-users/{id}/reactivate', 'reactivate_admin_user', 200, 'Reactivate'),

  route('GET', '/api/v1/analytics/insights', 'get_insights', 200, 'AI insights'),
  route('GET', '/api/v1/analytics/overview', 'get_overview', 200, 'Overview metrics'),
  route('GET', '/api/v1/analytics/product/active-users', 'get_active_users', 200, 'Active users'),
  route('GET', '/api/v1/analytics/product/cohort-retention', 'get_cohort_retention', 200, 'Cohort retention'),
  route('GET', '/api/v1/analytics/product/feature-adoption', 'get_feature_adoption', 200, 'Feature adoption'),
  route('GET', '/api/v1/analytics/product/onboarding-funnel', 'get_onboarding_funnel', 200, 'Onboarding funnel'),
  route('GET', '/api/v1/analytics/product/website-states', 'get_website_states', 200, 'Website states'),
  route('GET', '/api/v1/analytics/revenue/churn', 'get_churn', 200, 'Churn data'),
  route('GET', '/api/v1/analytics/revenue/ltv', 'get_ltv', 200, 'LTV data'),
  route('GET', '/api/v1/analytics/revenue/mrr', 'get_mrr', 200, 'MRR data'),
  route('GET', '/api/v1/analytics/revenue/subscriptions', 'get_subscriptions', 200, 'Subscriptions'),
  route('GET', '/api/v1/analytics/traffic/channels', 'get_traffic_channels', 200, 'Traffic by channel'),
  route('GET', '/api/v1/analytics/traffic/geography', 'get_traffic_geography', 200, 'Geographic traffic'),
  route('GET', '/api/v1/analytics/traffic/technology', 'get_traffic_technology', 200, 'Technology breakdown'),
  route('GET', '/api/v1/analytics/traffic/visitors', 'get_traffic_visitors', 200, 'Visitor traffic'),

  route('GET', '/api/v1/reports', 'list_reports', 200),
  route('POST', '/api/v1/reports', 'create_report', 201),
  route('GET', '/api/v1/reports/{id}', 'get_report', 200),
  route('PATCH', '/api/v1/reports/{id}', 'update_report', 200),
  route('DELETE', '/api/v1/reports/{id}', 'delete_report', 204),

  route('GET', '/api/v1/bot-config', 'get_bot_config', 200),
  route('PUT', '/api/v1/bot-config', 'update_bot_config', 200),
  route('GET', '/api/v1/settings', 'get_settings', 200, 'Admin settings'),
  route('PATCH', '/api/v1/settings', 'update_settings', 200),

  route('GET', '/api/v1/health', 'check_health', 200, 'Health check'),
  route('GET', '/api/v1/search', 'search', 200, 'Global search'),

  route('GET', '/api/v1/mcp', 'get_mcp_status', 200, 'Endpoint health stub'),

  route('GET', '/api/capsules', 'list_capsules', 200),
  route('POST', '/api/capsules', 'create_capsule', 201, 'Create a capsule'),
  route('GET', '/api/capsules/{id}', 'get_capsule', 200, 'Get a capsule'),
  route('PATCH', '/api/capsules/{id}', 'update_capsule', 200, 'Update a capsule'),
  route('DELETE', '/api/capsules/{id}', 'delete_capsule', 204, 'Delete a capsule'),
  route('POST', '/api/capsules/{id}/rotate-token', 'rotate_capsule_token', 200, 'Rotate the bearer token'),

  route('GET', '/api/v1/versions/{entityType}/{entityId}', 'list_versions', 200, 'List versions for an entity'),
  route('GET', '/api/v1/versions/{entityType}/{entityId}/{versionId}', 'get_version', 200, 'Get a version'),
  route('GET', '/api/v1/versions/{entityType}/{entityId}/{versionId}/diff', 'diff_version', 200, 'Diff a version'),
  route(
    'POST',
    '/api/v1/versions/{entityType}/{entityId}/{versionId}/restore',
    'restore_version',
    200,
    'Restore an entity to a version',
  ),
];

/** Their bodies are files, or JSON as of any route. */
export const fileRoutes: readonly Route[] = [
  route('POST', '/api/v1/documents', 'create_document', 201),
  route('PATCH', '/api/v1/documents/{id}', 'update_document', 200),
];

/** Their answers are files. */
export const documentFileRoute = route(
  'GET',
  '/api/v1/documents/{id}/file',
  'get_document',
  200,
  'Download the file of a document',
);

export const threadFileRoute = route(
  'GET',
  '/api/v1/threads/{id}/files/{file}',
  'get_thread',
  200,
  'Download a file of a message',
);

/** The page that `Location` of a call leads to that waits for a person, and what is done there. */
export const approvalRoutes: readonly Route[] = [
  route('GET', '/api/v1/approvals', 'list_approvals', 200),
  route('GET', '/api/v1/approvals/{id}', 'get_approval', 200),
  route('POST', '/api/v1/approvals/{id}/decide', 'decide_approval', 200),
  route('GET', '/api/v1/approvals/{id}/wait', 'wait_for_approval', 200),
];

/** Its answer is text for Prometheus, so it is no REST operation of the document. */
export const metricsRoute = route('GET', '/api/v1/metrics', 'get_metrics', 200);
