/** A kind of record: which tools read it, the page that shows it, and what people know a record by. */
export interface Kind {
  readonly one: string;
  readonly many: string;
  readonly list: string;
  readonly get?: string;
  /** The path of its page; empty if there is none. */
  readonly path: string;
  /** The member that people know a record by. See `titleOf`. */
  readonly title: string;
  /** How ids of such records begin. */
  readonly prefix?: string;
  /** As people call one and many of them. */
  readonly words: { readonly one: string; readonly many: string };
  /** The heading of the form for a new one. Default: `New` and what one is called. */
  readonly newTitle?: string;
}

/** A kind whose tools read one record and list all of them. */
function kind(one: string, many: string, path: string, title: string, prefix?: string): Kind {
  return { ...listed(one, many, path, title, prefix), get: `get_${one}` };
}

/** A kind whose tools only list the records. */
function listed(one: string, many: string, path: string, title: string, prefix?: string): Kind {
  const words = { one: one.replace('api_', '').replace('_', ' '), many: many.replace('api_', '').replace('_', ' ') };
  return { one, many, list: `list_${many}`, path, title, words, ...(prefix !== undefined && { prefix }) };
}

export const kinds = {
  agent: kind('agent', 'agents', '/agents', 'displayName', 'agt_'),
  skill: kind('skill', 'skills', '/skills', 'name', 'skl_'),
  flow: kind('flow', 'flows', '/flows', 'name', 'flw_'),
  thread: kind('thread', 'threads', '/chat', 'title', 'thr_'),
  memory: kind('memory', 'memories', '/memory', 'content', 'mem_'),
  project: kind('project', 'projects', '/projects', 'name', 'prj_'),
  goal: kind('goal', 'goals', '/goals', 'title', 'gol_'),
  task: kind('task', 'tasks', '/tasks', 'title', 'tsk_'),
  document: kind('document', 'documents', '/documents', 'title', 'doc_'),
  artifact: kind('artifact', 'artifacts', '/artifacts', 'name', 'art_'),
  database: kind('database', 'databases', '/databases', 'name', 'dbs_'),
  report: kind('report', 'reports', '/reports', 'title', 'rep_'),
  capsule: kind('capsule', 'capsules', '/capsules', 'name', 'cap_'),
  integration: kind('integration', 'integrations', '/integrations', 'name', 'int_'),
  connection: listed('connection', 'connections', '/connections', 'name', 'con_'),
  webhook: kind('webhook', 'webhooks', '/webhooks', 'name', 'whk_'),
  'admin-user': kind('admin_user', 'admin_users', '/people', 'email', 'usr_'),
  key: listed('api_key', 'api_keys', '/keys', 'name', 'key_'),
  'api-key': listed('api_key', 'api_keys', '/keys', 'name'),
  user: kind('user', 'users', '/users', 'email'),
  app: listed('connected_app', 'connected_apps', '/apps', 'client', 'app_'),
  budget: listed('budget', 'budgets', '/budgets', 'id', 'bud_'),
  'model-provider': {
    ...listed('model_provider', 'model_providers', '/models', 'name', 'mdp_'),
    newTitle: 'Add a provider',
  },
  model: listed('model', 'models', '', 'id'),
};

export type KindName = keyof typeof kinds;

/** The same by any word, as a schema or an answer says it. */
export const refs: Readonly<Record<string, Kind>> = kinds;

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
export function titleOf({ title }: Pick<Kind, 'title'>, record: Readonly<Record<string, unknown>>): string | undefined {
  const value = record[title];
  if (typeof value === 'string') return value.slice(0, MOST_SHOWN);
  if (title !== 'client' || typeof value !== 'object' || value === null) return undefined;
  const { name, host } = value as { readonly name: string; readonly host: string }; // of a connected app
  return `${name.slice(0, MOST_SHOWN)} (${host})`;
}

const byPrefix = new Map(Object.values(refs).map((ref) => [ref.prefix, ref]));

/** The kind that an id says it is of. */
export function refOfId(id: string): Kind | undefined {
  return byPrefix.get(/^[a-z]{3}_/.exec(id)?.[0] ?? '-');
}

/** The page of a record, if there is one. */
export function pathOf(id: string): string | undefined {
  const path = refOfId(id)?.path;
  return path ? `${path}/${encodeURIComponent(id)}` : undefined;
}

/** Types as search and the audit log name them, with the page of such a record. */
export function pathOfType(type: string, id: string): string | undefined {
  const path = refs[type]?.path ?? (type === 'product-user' ? '/users' : undefined);
  return path ? `${path}/${encodeURIComponent(id)}` : undefined;
}
