/** Kinds of records: how their ids begin, where they are shown, and which tool lists them. */
interface Ref {
  readonly prefix?: string;
  /** The path of the page; undefined where there is none. */
  readonly path?: string;
  readonly list: string;
  readonly get?: string;
  /** The member that people know the record by. See `titleOf`. */
  readonly title: string;
}

export const refs: Readonly<Record<string, Ref>> = {
  agent: { prefix: 'agt_', path: '/agents', list: 'list_agents', get: 'get_agent', title: 'displayName' },
  skill: { prefix: 'skl_', path: '/skills', list: 'list_skills', get: 'get_skill', title: 'name' },
  flow: { prefix: 'flw_', path: '/flows', list: 'list_flows', get: 'get_flow', title: 'name' },
  thread: { prefix: 'thr_', path: '/chat', list: 'list_threads', get: 'get_thread', title: 'title' },
  memory: { prefix: 'mem_', path: '/memory', list: 'list_memories', get: 'get_memory', title: 'content' },
  project: { prefix: 'prj_', path: '/projects', list: 'list_projects', get: 'get_project', title: 'name' },
  goal: { prefix: 'gol_', path: '/goals', list: 'list_goals', get: 'get_goal', title: 'title' },
  task: { prefix: 'tsk_', path: '/tasks', list: 'list_tasks', get: 'get_task', title: 'title' },
  document: { prefix: 'doc_', path: '/documents', list: 'list_documents', get: 'get_document', title: 'title' },
  artifact: { prefix: 'art_', path: '/artifacts', list: 'list_artifacts', get: 'get_artifact', title: 'name' },
  database: { prefix: 'dbs_', path: '/databases', list: 'list_databases', get: 'get_database', title: 'name' },
  report: { prefix: 'rep_', path: '/reports', list: 'list_reports', get: 'get_report', title: 'title' },
  capsule: { prefix: 'cap_', path: '/capsules', list: 'list_capsules', get: 'get_capsule', title: 'name' },
  integration: {
    prefix: 'int_',
    path: '/integrations',
    list: 'list_integrations',
    get: 'get_integration',
    title: 'name',
  },
  webhook: { prefix: 'whk_', path: '/webhooks', list: 'list_webhooks', get: 'get_webhook', title: 'name' },
  'admin-user': { prefix: 'usr_', path: '/people', list: 'list_admin_users', get: 'get_admin_user', title: 'email' },
  key: { prefix: 'key_', path: '/keys', list: 'list_api_keys', title: 'name' },
  'api-key': { path: '/keys', list: 'list_api_keys', title: 'name' },
  user: { path: '/users', list: 'list_users', get: 'get_user', title: 'email' },
  app: { prefix: 'app_', path: '/apps', list: 'list_connected_apps', title: 'client' },
  budget: { prefix: 'bud_', path: '/budgets', list: 'list_budgets', title: 'id' },
  model: { list: 'list_models', title: 'id' },
};

/** The name of the kind in `refs`, by the id of a record. */
export function kindOfId(id: string): string | undefined {
  const ref = refOfId(id);
  return Object.keys(refs).find((kind) => refs[kind] === ref);
}

/** The kinds that call tools under their own id. */
export const CALLERS = {
  'admin-user': 'People',
  key: 'Keys',
  capsule: 'Capsules',
  agent: 'Agents',
  flow: 'Flows',
  app: 'Connected apps',
} as const;

const MOST_SHOWN = 100;

/** How people call a record. Anybody can give an app any name, so its host stands beside it, as in the audit log. */
export function titleOf({ title }: Pick<Ref, 'title'>, record: Readonly<Record<string, unknown>>): string | undefined {
  const value = record[title];
  if (typeof value === 'string') return value.slice(0, MOST_SHOWN);
  if (title !== 'client' || typeof value !== 'object' || value === null) return undefined;
  const { name, host } = value as { readonly name: string; readonly host: string }; // of a connected app
  return `${name.slice(0, MOST_SHOWN)} (${host})`;
}

const byPrefix = new Map(Object.values(refs).map((ref) => [ref.prefix, ref]));

/** The kind that an id says it is of. */
export function refOfId(id: string): Ref | undefined {
  return byPrefix.get(/^[a-z]{3}_/.exec(id)?.[0] ?? '-');
}

/** The page of a record, where there is one. */
export function pathOf(id: string): string | undefined {
  const path = refOfId(id)?.path;
  return path && `${path}/${encodeURIComponent(id)}`;
}

/** Types as search and the audit log name them, with the page of such a record. */
export function pathOfType(type: string, id: string): string | undefined {
  const path = refs[type]?.path ?? (type === 'product-user' ? '/users' : undefined);
  return path && `${path}/${encodeURIComponent(id)}`;
}
