import type { ComponentType } from 'preact';
import type { IconName } from './components/icon.tsx';
import { kinds } from './kinds.ts';

/** A page: where it is, how it is called, and the file that draws it. */
export interface PageEntry {
  /** Everything below this path belongs to the page. */
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** Shown only to people who may call this tool. */
  readonly needs: string | undefined;
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
}

/** `needs`: by default the tool that lists the kind of record that the page is of. */
function page(path: string, title: string, icon: IconName, load: PageEntry['load'], needs = listAt(path)): PageEntry {
  return { path, title, icon, needs, load };
}

function listAt(path: string): string | undefined {
  return Object.values(kinds).find((kind) => kind.path === path)?.list;
}

/** The pages of the navigation, by their group and in their order. */
export const groups: Readonly<Record<string, readonly PageEntry[]>> = {
  Top: [
    page('/', 'Home', 'home', () => import('./pages/home.tsx')),
    page('/connect', 'Connect', 'link', () => import('./pages/connect.tsx')),
    page('/chat', 'Chat', 'chat', () => import('./pages/chat.tsx')),
    page('/approvals', 'Approvals', 'shield', () => import('./pages/approvals.tsx'), 'list_approvals'),
  ],
  Automation: [
    page('/agents', 'Agents', 'agent', () => import('./pages/agents.tsx')),
    page('/skills', 'Skills', 'skill', () => import('./pages/skills.tsx')),
    page('/flows', 'Flows', 'flow', () => import('./pages/flows.tsx')),
    page('/runs', 'Agent runs', 'clock', () => import('./pages/runs.tsx'), 'list_agent_runs'),
    page('/models', 'Models', 'model', () => import('./pages/models.tsx')),
    page('/integrations', 'Integrations', 'plug', () => import('./pages/integrations.tsx')),
    page('/connections', 'Connections', 'external', () => import('./pages/connections.tsx')),
    page('/webhooks', 'Webhooks', 'send', () => import('./pages/webhooks.tsx')),
  ],
  Knowledge: [
    page('/memory', 'Memory', 'memory', () => import('./pages/memory.tsx')),
    page('/documents', 'Documents', 'document', () => import('./pages/documents.tsx')),
    page('/databases', 'Databases', 'table', () => import('./pages/databases.tsx')),
    page('/artifacts', 'Artifacts', 'artifact', () => import('./pages/artifacts.tsx')),
    page('/projects', 'Projects', 'project', () => import('./pages/projects.tsx')),
    page('/goals', 'Goals', 'goal', () => import('./pages/goals.tsx')),
    page('/tasks', 'Tasks', 'task', () => import('./pages/tasks.tsx')),
  ],
  Business: [
    page('/users', 'Users', 'users', () => import('./pages/users.tsx')),
    page('/analytics', 'Analytics', 'chart', () => import('./pages/analytics.tsx'), 'get_overview'),
    page('/reports', 'Reports', 'report', () => import('./pages/reports.tsx')),
    page('/import', 'Import', 'import', () => import('./pages/import.tsx'), 'import_records'),
  ],
  Administration: [
    page('/capsules', 'Capsules', 'capsule', () => import('./pages/capsules.tsx')),
    page('/keys', 'Keys', 'key', () => import('./pages/keys.tsx')),
    page('/apps', 'Connected apps', 'app', () => import('./pages/apps.tsx')),
    page('/people', 'Admin users', 'person', () => import('./pages/people.tsx')),
    page('/access', 'Who can do what', 'eye', () => import('./pages/access.tsx'), 'view_as'),
    page('/audit', 'Audit', 'menu', () => import('./pages/audit.tsx'), 'list_audit_entries'),
    page('/usage', 'Usage', 'chart', () => import('./pages/usage.tsx'), 'get_usage'),
    page('/budgets', 'Budgets', 'gauge', () => import('./pages/budgets.tsx')),
    page('/tools', 'Tools', 'tool', () => import('./pages/tools.tsx')),
    page('/api-reference', 'API reference', 'code', () => import('./pages/api-reference.tsx')),
    page('/backups', 'Backups', 'archive', () => import('./pages/backups.tsx'), 'list_backups'),
    page('/settings', 'Settings', 'settings', () => import('./pages/settings.tsx'), 'get_settings'),
  ],
};

/** Pages that only links lead to. */
const linked: readonly PageEntry[] = [
  page('/account', 'My account', 'person', () => import('./pages/account.tsx')),
  page('/history', 'Versions', 'clock', () => import('./pages/history.tsx'), 'list_versions'),
];

/** Every page, those of the navigation first. */
export const pages: readonly PageEntry[] = [...Object.values(groups).flat(), ...linked];

/** The page that a path belongs to. */
export function pageAt(path: string): PageEntry | undefined {
  if (path === '/') return pages.find((page) => page.path === '/');
  return pages.find((page) => page.path !== '/' && (path === page.path || path.startsWith(`${page.path}/`)));
}
