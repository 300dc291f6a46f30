import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard } from '../../support/dashboard.ts';
import { startDemoServer } from '../../support/demo.ts';
import { capsulesJourneys, keysJourneys, peopleJourneys } from './journeys-access.ts';
import { budgetsJourneys } from './journeys-budgets.ts';
import { connectJourneys } from './journeys-connect.ts';
import { flowsJourneys } from './journeys-flows.ts';
import { importJourneys } from './journeys-import.ts';
import { modelsJourneys } from './journeys-models.ts';
import { versionsJourneys, workspaceJourneys } from './journeys-records.ts';
import { uploadJourneys } from './journeys-uploads.ts';

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: what people do in the dashboard, for ${withoutBrowser}.`);

// One server and one browser context for all of them: starting these, and reading the scripts anew, takes longer than most journeys.
describe('what people do in the dashboard', { skip: withoutBrowser }, () => {
  const backups = join(tmpdir(), `agent-admin-backups-${process.pid}`);
  const dashboard = testDashboard(() => startDemoServer({ BACKUP_FOLDER: backups, BACKUP_SCHEDULE: 'never' }));
  after(() => rm(backups, { recursive: true, force: true }));

  keysJourneys(dashboard);
  connectJourneys(dashboard);
  budgetsJourneys(dashboard);
  capsulesJourneys(dashboard);
  versionsJourneys(dashboard);
  flowsJourneys(dashboard);
  modelsJourneys(dashboard);
  workspaceJourneys(dashboard);
  importJourneys(dashboard);
  uploadJourneys(dashboard);
  peopleJourneys(dashboard); // at the end, as time passes in it
});
