import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** By these files tests open their store, and others for them: that of the run, and that of processes on PostgreSQL. */
const STORES = ['support/store.ts', 'support/cluster.ts'];
const IMPORT = /(?:from|import\()\s*'(\.[^']+\.ts)'/g;

/** Test files that open a store, and run in the first pass of a full run alone, with the reason. */
export const RUN_ONCE: Readonly<Record<string, readonly string[]>> = {
  'it is about the files or the memory of the embedded store': [
    'facade/backups.test.ts',
    'facade/damaged-data.test.ts',
    'facade/full-heap.test.ts',
    'facade/health.test.ts',
  ],
  'it compares the stores, or is about processes on PostgreSQL, in each run': [
    'contract/differential.test.ts',
    'facade/cluster.test.ts',
    'facade/doctor.test.ts',
    'facade/imports-of-processes.test.ts',
    'facade/late-database.test.ts',
    'facade/rolling-update.test.ts',
    'facade/store-copy.test.ts',
    'facade/start-and-stop-postgres.test.ts',
    'facade/start-and-stop-three.test.ts',
    'facade/start-and-stop.test.ts',
    'faults/embedded.test.ts',
    'faults/postgres.test.ts',
    'facade/three-processes-rounds.test.ts',
    'facade/three-processes.test.ts',
    'store/postgres-clocks.test.ts',
    'store/postgres-outages.test.ts',
    'store/postgres-shared.test.ts',
    'store/postgres-silent-connections.test.ts',
    'store/postgres-statements.test.ts',
    'tools/analytics/engines.test.ts',
    'tools/agent-approval-cluster.test.ts',
    'tools/circuit-cluster.test.ts',
    'tools/provider-cluster.test.ts',
    'tools/approval-cluster.test.ts',
    'tools/flow-approval-cluster.test.ts',
    'tools/flow-cluster.test.ts',
    'tools/integrations/account-renewals.test.ts',
  ],
  'it starts a program that keeps its data in a folder, or is about how programs are built': [
    'facade/demo.test.ts',
    'facade/deploy.test.ts',
    'facade/guides-started.test.ts',
    'facade/launch.test.ts',
    'facade/node-versions.test.ts',
    'facade/packed.test.ts',
  ],
  'it moves the clock of the process, where the database counts by its own': ['facade/rate-limit.test.ts'],
  'it is about texts and schemas of the program': [
    'contract/compiled-schemas.test.ts',
    'contract/new-kind.test.ts',
    'contract/plain-words.test.ts',
    'contract/readme.test.ts',
  ],
  'it is about HTTP, documents and pages, which no store changes': [
    'contract/form-hints.test.ts',
    'facade/compressed-answers.test.ts',
    'facade/failed-requests.test.ts',
    'facade/guide-pages.test.ts',
    'facade/heavy-bodies.test.ts',
    'facade/mcp-instructions.test.ts',
    'facade/openapi-clients.test.ts',
    'facade/mcp-slow-readers.test.ts',
    'facade/mcp-views.test.ts',
    'facade/oauth/address-page.test.ts',
    'facade/router.test.ts',
    'facade/trusted-proxies.test.ts',
    'facade/uncaught.test.ts',
  ],
  'it is about pages in a browser, which ask through doors whose tests run on both': [
    'facade/dashboard/chat.test.ts',
    'facade/dashboard/firefox.test.ts',
    'facade/dashboard/sending-guide.test.ts',
    'facade/dashboard/forms.test.ts',
    'facade/dashboard/found-by-meaning.test.ts',
    'facade/dashboard/flow-canvas.test.ts',
    'facade/dashboard/flow-editor.test.ts',
    'facade/dashboard/journeys.test.ts',
    'facade/dashboard/live-updates.test.ts',
    'facade/dashboard/drafts.test.ts',
    'facade/dashboard/settings-drafts.test.ts',
    'facade/dashboard/list-views.test.ts',
    'facade/dashboard/long-lists.test.ts',
    'facade/dashboard/many.test.ts',
    'facade/dashboard/home.test.ts',
    'facade/dashboard/pages.test.ts',
    'facade/dashboard/ten-journeys.test.ts',
    'facade/dashboard/trace.test.ts',
    'facade/dashboard/watching.test.ts',
    'facade/dashboard/passkeys.test.ts',
    'facade/dashboard/views.test.ts',
    'facade/oauth/consent-browser.test.ts',
    'facade/sign-in/browser.test.ts',
  ],
  'it is about how tests are run': ['support/at-end.test.ts'],
};

const runOnce = new Set(Object.values(RUN_ONCE).flat());

/** Whether a full run also runs the file on PostgreSQL: every file that opens a store, except those that are named. */
export function runsOnPostgres(file: string): boolean {
  return !runOnce.has(file) && opensStore(file);
}

/** Whether the file, or what it imports from the tests, opens a store. */
export function opensStore(file: string): boolean {
  const reached = reachedFrom(file, new Set());
  return STORES.some((store) => reached.has(store));
}

function reachedFrom(file: string, reached: Set<string>): ReadonlySet<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
  for (const other of importsOf(file)) reachedFrom(other, reached);
  return reached;
}

const known = new Map<string, readonly string[]>();

/** The files of the tests that the file imports. */
function importsOf(file: string): readonly string[] {
  const found = known.get(file);
  if (found) return found;
  const text = readFileSync(join(root, file), 'utf8');
  const imports = [...text.matchAll(IMPORT)].map(([, path = '']) => join(dirname(file), path));
  // Some write programs, whose imports are nowhere.
  const own = imports.filter((path) => !path.startsWith('..') && existsSync(join(root, path)));
  known.set(file, own);
  return own;
}
