import type { ComponentType } from 'preact';
import type { IconName } from './components/icon.tsx';

/** A page: where it is, how it is called, and the file that draws it. */
export interface PageEntry {
  /** Everything below this path belongs to the page. */
  readonly path: string;
  readonly title: string;
  /** Where it stands in the navigation. Without a group, only links lead to it. */
  readonly group?: 'Top' | 'Automation' | 'Knowledge' | 'Business' | 'Access' | 'Server';
  readonly icon: IconName;
  /** Shown only to people who may call this tool. */
  readonly needs?: string;
  /** Its heading says what is open in it. The heading of others is the title. */
  readonly ownHeading?: true;
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
}

/** Every page, in the order of the navigation. */
export const pages: readonly PageEntry[] = [
  { path: '/', title: 'Home', group: 'Top', icon: 'home', load: () => import('./pages/home.tsx') },
  {
    path: '/chat',
    title: 'Chat',
    group: 'Top',
    icon: 'chat',
    needs: 'list_threads',
    load: () => import('./pages/chat.tsx'),
  },
  {
    path: '/agents',
    title: 'Agents',
    group: 'Automation',
    icon: 'agent',
    needs: 'list_agents',
    load: () => import('./pages/agents.tsx'),
  },
  {
    path: '/skills',
    title: 'Skills',
    group: 'Automation',
    icon: 'skill',
    needs: 'list_skills',
    load: () => import('./pages/skills.tsx'),
  },
  {
    path: '/flows',
    title: 'Flows',
    group: 'Automation',
    icon: 'flow',
    needs: 'list_flows',
    load: () => import('./pages/flows.tsx'),
  },
  {
    path: '/runs',
    title: 'Agent runs',
    group: 'Automation',
    icon: 'clock',
    needs: 'list_agent_runs',
    load: () => import('./pages/runs.tsx'),
  },
  {
    path: '/integrations',
    title: 'Integrations',
    group: 'Automation',
    icon: 'plug',
    needs: 'list_integrations',
    load: () => import('./pages/integrations.tsx'),
  },
  {
    path: '/webhooks',
    title: 'Webhooks',
    group: 'Automation',
    icon: 'send',
    needs: 'list_webhooks',
    load: () => import('./pages/webhooks.tsx'),
  },
  {
    path: '/memory',
    title: 'Memory',
    group: 'Knowledge',
    icon: 'memory',
    needs: 'list_memories',
    load: () => import('./pages/memory.tsx'),
  },
  {
    path: '/documents',
    title: 'Documents',
    group: 'Knowledge',
    icon: 'document',
    needs: 'list_documents',
    load: () => import('./pages/documents.tsx'),
  },
  {
    path: '/databases',
    title: 'Databases',
    group: 'Knowledge',
    icon: 'table',
    needs: 'list_databases',
    load: () => import('./pages/databases.tsx'),
  },
  {
    path: '/artifacts',
    title: 'Artifacts',
    group: 'Knowledge',
    icon: 'artifact',
    needs: 'list_artifacts',
    load: () => import('./pages/artifacts.tsx'),
  },
  {
    path: '/projects',
    title: 'Projects',
    group: 'Knowledge',
    icon: 'project',
    needs: 'list_projects',
    load: () => import('./pages/projects.tsx'),
  },
  {
    path: '/goals',
    title: 'Goals',
    group: 'Knowledge',
    icon: 'goal',
    needs: 'list_goals',
    load: () => import('./pages/goals.tsx'),
  },
  {
    path: '/tasks',
    title: 'Tasks',
    group: 'Knowledge',
    icon: 'task',
    needs: 'list_tasks',
    load: () => import('./pages/tasks.tsx'),
  },
  {
    path: '/users',
    title: 'Users',
    group: 'Business',
    icon: 'users',
    needs: 'list_users',
    load: () => import('./pages/users.tsx'),
  },
  {
    path: '/analytics',
    title: 'Analytics',
    group: 'Business',
    icon: 'chart',
    needs: 'get_overview',
    ownHeading: true,
    load: () => import('./pages/analytics.tsx'),
  },
  {
    path: '/reports',
    title: 'Reports',
    group: 'Business',
    icon: 'report',
    needs: 'list_reports',
    load: () => import('./pages/reports.tsx'),
  },
  {
    path: '/import',
    title: 'Import',
    group: 'Business',
    icon: 'import',
    needs: 'import_records',
    load: () => import('./pages/import.tsx'),
  },
  {
    path: '/capsules',
    title: 'Capsules',
    group: 'Access',
    icon: 'capsule',
    needs: 'list_capsules',
    load: () => import('./pages/capsules.tsx'),
  },
  {
    path: '/keys',
    title: 'Keys',
    group: 'Access',
    icon: 'key',
    needs: 'list_api_keys',
    load: () => import('./pages/keys.tsx'),
  },
  {
    path: '/apps',
    title: 'Connected apps',
    group: 'Access',
    icon: 'app',
    needs: 'list_connected_apps',
    load: () => import('./pages/apps.tsx'),
  },
  {
    path: '/people',
    title: 'Admin users',
    group: 'Access',
    icon: 'person',
    needs: 'list_admin_users',
    load: () => import('./pages/people.tsx'),
  },
  {
    path: '/audit',
    title: 'Audit',
    group: 'Access',
    icon: 'shield',
    needs: 'list_audit_entries',
    load: () => import('./pages/audit.tsx'),
  },
  {
    path: '/usage',
    title: 'Usage',
    group: 'Server',
    icon: 'chart',
    needs: 'get_usage',
    load: () => import('./pages/usage.tsx'),
  },
  {
    path: '/budgets',
    title: 'Budgets',
    group: 'Server',
    icon: 'gauge',
    needs: 'list_budgets',
    load: () => import('./pages/budgets.tsx'),
  },
  { path: '/tools', title: 'Tools', group: 'Server', icon: 'tool', load: () => import('./pages/tools.tsx') },
  {
    path: '/api-reference',
    title: 'API reference',
    group: 'Server',
    icon: 'code',
    load: () => import('./pages/api-reference.tsx'),
  },
  {
    path: '/backups',
    title: 'Backups',
    group: 'Server',
    icon: 'archive',
    needs: 'list_backups',
    load: () => import('./pages/backups.tsx'),
  },
  {
    path: '/settings',
    title: 'Settings',
    group: 'Server',
    icon: 'settings',
    needs: 'get_settings',
    load: () => import('./pages/settings.tsx'),
  },
  { path: '/account', title: 'My account', icon: 'person', load: () => import('./pages/account.tsx') },
  {
    path: '/history',
    title: 'Versions',
    icon: 'clock',
    needs: 'list_versions',
    load: () => import('./pages/history.tsx'),
  },
];

/** The page that a path belongs to. */
export function pageAt(path: string): PageEntry | undefined {
  if (path === '/') return pages.find((page) => page.path === '/');
  return pages.find((page) => page.path !== '/' && (path === page.path || path.startsWith(`${page.path}/`)));
}
