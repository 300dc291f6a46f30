/** Where mutants are planted, and what must find them. */
export interface Area {
  /** Folders and files below the project. */
  readonly sources: readonly string[];
  /** Parts of the paths of test files. */
  readonly tests: readonly string[];
  /** Of those that run on PostgreSQL, too. */
  readonly onPostgres?: readonly string[];
}

export const areas: Readonly<Record<string, Area>> = {
  access: {
    sources: words(`tools/core/access`),
    tests: words(`
      tools/grants tools/credentials tools/api-keys tools/explain-access tools/own. tools/escalation
      tools/delegation-property tools/thread-access tools/capsule-constraints tools/capsules tools/apps
      tools/steering tools/agent-rights tools/tool-limit tools/obtained-credentials tools/fresh-sign-in
      tools/sign-in/ tools/sessions tools/storage tools/budgets tools/hidden-with-thread tools/system
      tools/cursors contract/lone-grants contract/declared-reach contract/credentials contract/narrowing
      contract/limited-people contract/not-found facade/rate-limit tools/capsule-thread-entries
      tools/audit-withheld tools/admin-users tools/idempotency contract/authorization
      tools/integrations/integration-grants tools/integrations/prefix-free store/postgres-shared
      facade/capsule-isolation facade/cluster
    `),
  },
  capsules: {
    sources: words(`
      tools/capsules tools/core/access/capsule-principal.ts tools/core/access/capsule-rights.ts
      facade/http/capsule-access.ts
    `),
    tests: words(`
      tools/capsule facade/capsule contract/capsule-door tools/credentials contract/labels contract/generated
      tools/restore tools/sign-in/chains tools/apps-standing contract/narrowing contract/declared-reach
      tools/delegation-property tools/budgets tools/explain-access tools/own. contract/limited-people
    `),
  },
  oauth: {
    sources: words(`facade/oauth tools/apps`),
    tests: words(`
      facade/oauth/ tools/apps contract/credentials tools/obtained-credentials facade/wrong-doors
      contract/generated facade/cluster
    `),
  },
  'sign-in': {
    sources: words(`facade/sign-in tools/sign-in`),
    tests: words(`
      facade/sign-in/ tools/sign-in/ tools/sessions tools/admin-users tools/fresh-sign-in tools/own.
      facade/session-c facade/ended-sessions facade/id-tokens facade/dashboard/passkeys tools/credentials
      contract/fresh-sign-in tools/offboarding facade/oauth/consent.test contract/generated
      contract/limited-people facade/dashboard/assets
      tools/integrations/oauth-accounts tools/integrations/left-accounts
    `),
  },
  journal: {
    sources: words(`store/lowdb/journal store/lowdb/files`),
    tests: words(`
      store/recovery store/manifest store/crash store/lock store/disk-errors store/full-disk store/backup
      store/line-buffer store/version-1 store/erase facade/damaged-data fuzz/corpus
    `),
  },
  versions: {
    sources: words(`tools/versions tools/core/history/history.ts`),
    tests: words(`
      tools/version tools/undo tools/restore tools/purge tools/cursors tools/audit tools/settings
      contract/fresh-sign-in tools/capsule-constraints tools/delegation-property tools/storage tools/agents.
      tools/databases tools/documents tools/hidden-with-thread tools/bounded-work tools/flow-triggers
      facade/capsule-attacks contract/generated
    `),
  },
  usage: {
    sources: words(`tools/usage`),
    tests: words(`
      tools/usage tools/budget tools/storage facade/usage-crash tools/system tools/settings tools/model-cost
      tools/dashboard-reads tools/own. tools/retention tools/meaning. tools/embedding-faults
      store/postgres-statements
    `),
    onPostgres: words(`tools/usage tools/budget tools/retention`),
  },
  flows: {
    sources: words(`tools/flows`),
    tests: words(`tools/flow tools/webhook- facade/flow-webhook tools/event-types tools/bounded-work tools/steps`),
  },
  postgres: {
    sources: words(`store/postgres`),
    tests: words(`
      store/postgres- store/change-feed store/cluster store/jobs store/stored-files tools/list-sorts tools/cursors
      tools/many-flows
    `),
    onPostgres: words(`
      tools/usage tools/budget tools/retention tools/versions tools/purge tools/audit tools/undo tools/idempotency
      tools/search tools/list- tools/cursors tools/flow-queues tools/databases tools/many-flows tools/restore
      tools/storage tools/threads tools/document contract/differential
    `),
  },
};

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
