import { DAY_MS } from '../../../../resources/durations.ts';
import { boot } from '../../boot.ts';

export type Span = 'days' | 'months';

export function spanIn(query: URLSearchParams): Span {
  return query.get('span') === 'days' ? 'days' : 'months';
}

export function metricInput(span: Span): object {
  if (span === 'months') return { interval: 'month' };
  return { interval: 'day', from: new Date(Date.now() - 30 * DAY_MS).toISOString().slice(0, 10) };
}

/** The midnight before so many days, where the reader is. The same all day, so that an answer that is there is not asked for again. */
function midnight(daysAgo: number): string {
  const date = new Date();
  date.setHours(0, 0, 0, 0);
  date.setDate(date.getDate() - daysAgo);
  return date.toISOString();
}

/** The beginning of what still calls for somebody. */
export const RECENT = midnight(1);
const ALL = { limit: 100 };
const COUNT = { limit: 1, includeTotal: true };

/** The calls of Home by what each is for. A person who may not make one sees Home without what it brings. */
export const HOME = {
  approvals: ['list_approvals', { decidable: true, limit: 5, includeTotal: true }],
  runs: ['list_agent_runs', { from: midnight(6), limit: 50, includeTotal: true }],
  failedRuns: ['list_agent_runs', { status: 'failed', from: midnight(6), limit: 50, includeTotal: true }],
  runsToday: ['list_agent_runs', { from: midnight(0), ...COUNT }],
  failedToday: ['list_agent_runs', { status: 'failed', from: midnight(0), ...COUNT }],
  spent: ['get_usage', { by: 'agent', interval: 'day', from: midnight(6), ...ALL }],
  spentLonger: ['get_usage', { by: 'model', interval: 'day', from: midnight(29), limit: 1 }],
  budgets: ['list_budgets', ALL],
  failedFlows: ['list_flow_runs', { status: 'failed', limit: 50 }],
  webhooks: ['list_webhooks', ALL],
  keys: ['list_api_keys', { state: 'active', ...ALL }],
  capsules: ['list_capsules', { status: 'live', ...ALL }],
  integrations: ['list_integrations', { enabled: true, ...ALL }],
  connections: ['list_connections', ALL],
  agents: ['list_agents', { limit: 20 }],
  projects: ['list_projects', { limit: 6 }],
  threads: ['list_threads', { limit: 6 }],
  models: ['list_models', {}],
  botConfig: ['get_bot_config', {}],
  clients: ['list_audit_entries', { door: 'mcp', outcome: 'ok', limit: 1 }],
  users: ['list_users', { limit: 1 }],
  health: ['get_system_health', {}],
} as const;

/** What the home page asks first, as far as the person may. */
export function firstCalls(): (readonly [string, object])[] {
  const input = metricInput(spanIn(new URLSearchParams(location.search)));
  const calls: readonly (readonly [string, object])[] = [
    ...Object.values(HOME),
    ['get_overview', input],
    ['get_traffic_visitors', input],
    ['get_mrr', input],
  ];
  return calls.filter(([tool]) => boot.tools.includes(tool));
}
